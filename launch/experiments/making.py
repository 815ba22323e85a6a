"""Makes what experiments need first: policies, datasets, true values."""

import dataclasses
import json

from dfiv_ope import atomic_output, envs, whole_files
from dfiv_ope.agents import training
from dfiv_ope.datasets import making, reading
from dfiv_ope.datasets import spec as spec_lib
from dfiv_ope.launch.experiments import jobs, store
from dfiv_ope.policies import acting, rollout, simulation, trained


def train(job: jobs.PolicyJob, places: store.Places) -> None:
  """Trains a policy, if that is not done."""
  wanted = job.training
  path = places.policy(wanted)
  if (path / trained.RECORD).exists():
    return
  with atomic_output.building(
      path, record=trained.RECORD, request=wanted.request):
    training.write(
        path, task=wanted.task, action_noise=wanted.action_noise,
        seed=wanted.seed, config=wanted.config,
        make_environment=envs.maker(
            wanted.task, action_noise=wanted.action_noise))


def collect(job: jobs.DatasetJob, places: store.Places) -> None:
  """Makes a dataset, if that is not done."""
  wanted = job.making
  path = places.dataset(wanted)
  if (path / spec_lib.METADATA).exists():
    spec_lib.read_metadata(path)  # Says what is wrong with it.
    return
  with atomic_output.building(path, record=spec_lib.METADATA, request={
      'training': wanted.training.request,
      'spec': dataclasses.asdict(wanted.spec),
      'truth_episodes': wanted.truth_episodes}):
    making.make(
        path, spec=wanted.spec, truth_episodes=wanted.truth_episodes,
        policy_path=places.policy(wanted.training),
        make_environment=envs.maker(
            wanted.spec.task, action_noise=wanted.spec.action_noise))


def simulate(job: jobs.TruthJob, places: store.Places) -> None:
  """Simulates the value of a policy, if that is not done."""
  wanted = job.problem
  path = places.dataset(wanted.dataset)
  metadata = spec_lib.read_metadata(path)
  file, spec = places.truth(wanted, metadata), metadata.spec
  if file.is_file():
    return
  own = reading.load_policy(path, metadata, trusted=wanted.trust_policy)
  assert own is not None and isinstance(spec, spec_lib.Spec)
  truth = simulation.true_value(
      envs.maker(spec.task, action_noise=spec.action_noise),
      acting.explore(own, epsilon=wanted.target_epsilon),
      discount=spec.discount, max_episodes=wanted.truth_episodes,
      seed=rollout.stream(spec.seed, f'truth {wanted.target_epsilon:g}'))
  file.parent.mkdir(parents=True, exist_ok=True)
  whole_files.write(file, json.dumps(dataclasses.asdict(truth)))
