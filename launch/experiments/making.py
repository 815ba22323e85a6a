"""Makes what experiments need first: policies, datasets, true values."""

import dataclasses
import json
import pathlib

from dfiv_ope import atomic_output, envs, stages, whole_files
from dfiv_ope.agents import training
from dfiv_ope.agents.entries import trainers
from dfiv_ope.datasets import making
from dfiv_ope.datasets import spec as spec_lib
from dfiv_ope.launch.experiments import jobs, store
from dfiv_ope.policies import trained


def train(job: jobs.PolicyJob, places: store.Places) -> None:
  """Trains a policy, if that is not done."""
  path = places.policy(job.training)
  if not (path / trained.RECORD).exists():
    policy(job.training, path)


def policy(
  wanted: trainers.Training,
  path: pathlib.Path,
  progress: stages.Progress = stages.silent,
) -> None:
  """Trains a policy into a new directory."""
  with atomic_output.building(
    path, record=trained.RECORD, request=wanted.request
  ):
    training.write(
      path,
      wanted,
      progress=progress,
      make_environment=envs.maker(
        wanted.task, action_noise=wanted.action_noise
      ),
    )


def collect(job: jobs.DatasetJob, places: store.Places) -> None:
  """Makes a dataset, if that is not done."""
  wanted = job.making
  path = places.dataset(wanted)
  if (path / spec_lib.METADATA).exists():
    spec_lib.read_metadata(path)  # Says what is wrong with it.
    return
  with atomic_output.building(
    path,
    record=spec_lib.METADATA,
    request={
      'training': wanted.training.request,
      'spec': dataclasses.asdict(wanted.spec),
      'truth_episodes': wanted.truth_episodes,
    },
  ):
    making.make(
      path,
      spec=wanted.spec,
      truth_episodes=wanted.truth_episodes,
      policy_path=places.policy(wanted.training),
      make_environment=envs.maker(
        wanted.spec.task, action_noise=wanted.spec.action_noise
      ),
    )


def simulate(job: jobs.TruthJob, places: store.Places) -> None:
  """Simulates the value of a policy, if that is not done."""
  wanted = job.problem
  path = places.dataset(wanted.dataset)
  file = places.truth(wanted, spec_lib.read_metadata(path))
  if file.is_file():
    return
  truth = making.true_value(
    path,
    envs.maker,
    epsilon=wanted.target_epsilon,
    max_episodes=wanted.truth_episodes,
    trusted=wanted.trust_policy,
  )
  file.parent.mkdir(parents=True, exist_ok=True)
  whole_files.write(file, json.dumps(dataclasses.asdict(truth)))
