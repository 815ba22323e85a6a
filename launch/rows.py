"""Rows of off-policy evaluation: what is known of one before it is run.

Nothing here needs TensorFlow, so a driver can plan without it.
"""

from collections.abc import Mapping, Sequence
import dataclasses
import hashlib
import json
import math
import pathlib
import shlex
from typing import TYPE_CHECKING, Any

from dfiv_ope import agents, result_checks, results, versions, whole_files

if TYPE_CHECKING:
  from dfiv_ope.datasets import spec as spec_lib
  from dfiv_ope.evaluation import runs
  from dfiv_ope.ope import task as task_lib

# The method and config of the naive answer: the average return of the log.
LOG = 'log'
LOG_CONFIG = {'type': 'AverageReturn'}
# Of its numbers: raised when they change, see `registry.Entry`.
LOG_VERSION = 1


def version(method: str) -> int:
  """Returns the version of a method's numbers, which is part of its key."""
  return LOG_VERSION if method == LOG else agents.ENTRIES[method].version


def inference(method: str) -> dict[str, Any]:
  """Returns the settings of a method's interval, which are part of its key.

  This imports TensorFlow, for the features of the influence.
  """
  if method == LOG:
    return {}
  from dfiv_ope.evaluation import influence
  return influence.constants()


def describe(
    metadata: 'spec_lib.Metadata', *, target_epsilon: float) -> dict[str, Any]:
  """Returns what a made dataset's record says of a row's problem."""
  from dfiv_ope.datasets import spec as spec_lib
  spec = metadata.spec
  assert isinstance(spec, spec_lib.Spec), 'An imported log has no task.'
  return {
      'name': 'ope', **_content(metadata), 'task': spec.task,
      'action_noise': spec.action_noise, 'epsilon': spec.epsilon,
      'target': _own_policy(metadata), 'target_epsilon': target_epsilon}


def describe_log(
    task: 'task_lib.EvaluationTask', *, target: str, policy: str,
) -> dict[str, Any]:
  """Returns what a log and a user's policy say of a row's problem.

  Args:
    task: the log and the policy.
    target: digest of the policy.
    policy: what it is, in a few words.
  """
  log, found = task.log, task.overlap
  average = log.average_return
  return finite({
      'name': 'log', 'dataset': log.name, 'digest': log.digest,
      'discount': log.discount, 'actions': log.num_actions,
      'transitions': len(log), 'episodes': log.num_episodes,
      'log_return': average.mean, 'log_standard_error': average.standard_error,
      'target': target, 'policy': policy,
      'overlap': {
          **dataclasses.asdict(found), 'grade': found.grade,
          'verdict': found.verdict,
          'warnings': found.warnings(log.action_labels)},
      'columns': [note._asdict() for note in log.notes]})


def _content(metadata: 'spec_lib.Metadata') -> dict[str, Any]:
  return finite({
      'dataset': metadata.spec.id, 'digest': metadata.digest,
      'discount': metadata.spec.discount, 'actions': metadata.num_actions,
      'transitions': metadata.transitions, 'episodes': metadata.episodes,
      'log_return': metadata.behaviour.mean,
      'log_standard_error': metadata.behaviour.standard_error})


def _own_policy(metadata: 'spec_lib.Metadata') -> str:
  """Returns a digest of the policy that lies beside a made dataset.

  It is that of the network's config and weights: TensorFlow writes the same
  graph differently each time.
  """
  weights = {
      name: record['sha256'] for name, record in metadata.files.items()
      if name.startswith('policy/variables/')}
  config = (metadata.policy or {}).get('dqn')
  text = json.dumps([config, weights], sort_keys=True)
  return hashlib.sha256(text.encode()).hexdigest()


def finite(data: Any) -> Any:
  """Returns data as JSON gives it back, with None for nan and infinity."""
  if isinstance(data, Mapping):
    return {str(name): finite(each) for name, each in data.items()}
  if isinstance(data, list | tuple):
    return [finite(each) for each in data]
  if isinstance(data, float) and not result_checks.is_finite(data):
    return None
  return data


def errors(
    estimate: float, description: Mapping[str, Any]) -> dict[str, float]:
  """Returns an estimate and its distance from the truth, if that is known."""
  truth = description.get('truth')
  if truth is None:
    return {'estimate': estimate}
  error = abs(estimate - truth)
  return {'estimate': estimate, 'error': error,
          **({'relative_error': error / abs(truth)} if truth else {})}


def of_run(
    problem: Mapping[str, Any], method: str, config: Mapping[str, Any],
    run: 'runs.Run', *, preset: str = 'default', command: str = '',
) -> results.ResultRow:
  """Returns the row of a run.

  Args:
    problem: of `describe` or `describe_log`, with the truth if it is known.
    method: name of the agent, or LOG.
    config: its hyper-parameters, encoded.
    run: what it found.
    preset: what the config is called.
    command: the command that makes the row.
  """
  metrics = {} if run.failure else {
      **run.metrics, **errors(run.metrics['estimate'], problem)}
  return results.ResultRow(
      problem=problem, method=method, config=config, seed=run.seed,
      metrics=metrics,
      curves={name: [each if math.isfinite(each) else None for each in values]
              for name, values in run.curves.items()},
      cpu_seconds=run.cpu_seconds, versions=versions.versions(),
      failure=run.failure, preset=preset, command=command,
      version=version(method), inference=inference(method),
      # Few digits keep rows small.
      resamples=[float(f'{change:.6g}') for change in run.resamples])


def preset(name: str, settings: Sequence[str]) -> str:
  """Returns what a row calls its config.

  Args:
    name: of the preset.
    settings: changes of it, name=value.
  """
  if not settings:
    return name
  return 'custom' if name == 'default' else f'{name}, custom'


def command(
    dataset: pathlib.Path,
    out: pathlib.Path,
    *,
    method: str,
    preset: str,
    settings: Sequence[str],
    seed: int,
    target_epsilon: float,
    truth_episodes: int,
    policy: str | None = None,
    trust_policy: bool = False,
) -> str:
  """Returns the command that makes a row; that of the log comes with any."""
  parts = ['dfiv-ope', 'evaluate', str(dataset), '--out', str(out)]
  if policy is not None:
    parts += ['--policy', policy]
  if trust_policy:
    parts.append('--trust-policy')
  if target_epsilon:
    parts += ['--target-epsilon', f'{target_epsilon:g}',
              '--truth-episodes', str(truth_episodes)]
  if method == LOG:
    return shlex.join([*parts, '--method', agents.NAMES[0]])
  parts += ['--method', method, '--config', preset]
  for setting in settings:
    parts += ['--set', setting]
  return shlex.join([*parts, '--seeds', str(seed + 1)])


def truth_file(
    out: pathlib.Path, description: Mapping[str, Any], *, max_episodes: int,
) -> pathlib.Path:
  """Returns where a run directory keeps the value of a target policy.

  Args:
    out: run directory.
    description: of `describe`: the policy, its epsilon, the task, the discount.
    max_episodes: how many episodes the simulation may take.
  """
  from dfiv_ope.policies import rollout
  return out / 'truths' / (
      f'{results.question(description)}-epsilon-'
      f'{description["target_epsilon"]:g}-{max_episodes}-'
      f'v{rollout.VERSION}.json')


def checkpoints(out: pathlib.Path, key: str) -> pathlib.Path:
  """Returns where a run directory keeps the checkpoints of a run."""
  return out / 'checkpoints' / key


def add(out: pathlib.Path, row: results.ResultRow) -> None:
  """Adds a row; the checkpoints of its run are no longer needed."""
  results.append(out, row)
  whole_files.remove(checkpoints(out, row.key))
