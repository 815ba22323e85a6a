"""What is asked of a log: a dataset, a target policy, a true value if known."""

import dataclasses
import json
import pathlib
from typing import Any

import numpy as np

from dfiv_ope import envs, types, whole_files
from dfiv_ope.datasets import log as log_lib
from dfiv_ope.datasets import reading
from dfiv_ope.datasets import spec as spec_lib
from dfiv_ope.evaluation import runs
from dfiv_ope.launch import rows as rows_lib
from dfiv_ope.ope import overlap
from dfiv_ope.ope import task as task_lib
from dfiv_ope.policies import (
  episode_returns,
  finite,
  resolve,
  rollout,
  simulation,
)


class Question:
  """A dataset and a target policy: what all cells of a comparison share.

  Attributes:
    log: the dataset's.
    metadata: the dataset's record.
    task: the log and the target policy.
    evaluator: runs methods on it.
    description: the `problem` of result rows.
  """

  def __init__(
      self,
      path: pathlib.Path,
      *,
      target_epsilon: float,
      out: pathlib.Path,
      truth_episodes: int = 40_000,
      policy: str | None = None,
      trust_policy: bool = False,
  ):
    """Opens a dataset and finds out the true value of the target policy.

    Args:
      path: directory of the dataset.
      target_epsilon: the target policy is the dataset's, with this
        probability of a uniform action.
      out: run directory; keeps the true value of a policy that is not the
        dataset's own.
      truth_episodes: simulate at most as many episodes for it.
      policy: another target policy, as `resolve.resolve` takes it. Its true
        value is not known.
      trust_policy: load a SavedModel whatever operations it holds.
    """
    self.log = log_lib.Log.open(path)
    assert self.log.metadata is not None, 'A dataset has a record.'
    self.metadata = self.log.metadata
    self.description: dict[str, Any]
    if policy is not None:
      target = task_lib.find_policy(
          policy, self.log, trusted=trust_policy)
      self._take(target.policy)
      self.description = rows_lib.describe_log(
          self.task, target=target.digest, policy=target.description)
      return
    own = reading.load_policy(path, self.metadata, trusted=trust_policy)
    if own is None or self.metadata.truth is None:
      raise ValueError(
          f'{path} is an imported log without a target policy. Name one with '
          f'--policy. {resolve.CHOICES}')
    truth = self.metadata.truth
    description = rows_lib.describe(
        self.metadata, target_epsilon=target_epsilon)
    if target_epsilon:
      own = finite.Explore(own, epsilon=target_epsilon)
      truth = simulate(
          self.metadata, own, target_epsilon=target_epsilon, out=out,
          max_episodes=truth_episodes)
    self._take(own)
    agreement = overlap.agreement(
        self.task.target_probabilities,
        np.asarray(self.log.transitions.action))
    self.description = rows_lib.finite({
        **description, 'overlap': round(agreement, 4),
        'truth': truth.mean, 'truth_standard_error': truth.standard_error})

  def _take(self, policy: types.Policy) -> None:
    self.task = task_lib.EvaluationTask(self.log, policy)
    self.evaluator = runs.Evaluator(self.task)


def simulate(
    metadata: spec_lib.Metadata, policy: types.Policy, *,
    target_epsilon: float, out: pathlib.Path, max_episodes: int = 40_000,
) -> episode_returns.MonteCarlo:
  """Simulates the value of a policy of a dataset, or reads it back.

  Args:
    metadata: of the dataset, one of `dataset make`.
    policy: its own, with `target_epsilon`.
    target_epsilon: probability of a uniform action.
    out: run directory that keeps the value.
    max_episodes: stop there in any case.
  """
  spec = metadata.spec
  if not isinstance(spec, spec_lib.Spec):
    raise ValueError('An imported log has no task to simulate.')
  path = rows_lib.truth_file(
      out, rows_lib.describe(metadata, target_epsilon=target_epsilon),
      max_episodes=max_episodes)
  if not path.is_file():
    truth = simulation.monte_carlo(
        envs.maker(spec.task, action_noise=spec.action_noise), policy,
        discount=spec.discount,
        seed=rollout.stream(spec.seed, f'truth {target_epsilon:g}'),
        max_episodes=max_episodes)
    path.parent.mkdir(parents=True, exist_ok=True)
    whole_files.write(path, json.dumps(dataclasses.asdict(truth)))
  return episode_returns.MonteCarlo(**json.loads(path.read_text()))
