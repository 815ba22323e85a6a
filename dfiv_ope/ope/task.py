"""What is asked: the value of a policy, from a log alone.

    task = EvaluationTask(log, policy)
    task.problem, task.rows          # OPE as an IV regression, Eq. (10)
    task.behaviour                   # probabilities of the logged actions
    task.overlap                     # what the log shows of the policy

Pure: no paths, no simulation, no writing. Everything that an estimator may
need is made when it is first asked for, and once.
"""

from collections.abc import Callable
import functools
from typing import Any, NamedTuple

import numpy as np
import tensorflow as tf

from dfiv_ope import types
from dfiv_ope.ope import bellman, episodes, overlap
from dfiv_ope.policies import cloning, foreign, resolve


class Propensities(NamedTuple):
  """Probabilities of the logged actions in the behaviour policy.

  Attributes:
    probabilities: [N].
    estimated: whether they come from a clone, because the log has none.
  """
  probabilities: types.FloatArray
  estimated: bool


class EvaluationTask:
  """A log and a target policy: what every estimator is given.

  Attributes:
    log: whole episodes.
    policy: the target policy.
  """

  def __init__(
      self, log: episodes.Episodes, policy: types.Policy, *,
      like: 'EvaluationTask | None' = None):
    """Asks for the value of a policy.

    Args:
      log: whole episodes.
      policy: the target policy.
      like: another task of the same log; what does not depend on the policy
        is taken from it.
    """
    self.log = log
    self.policy = policy
    self._like = like

  @functools.cached_property
  def transitions(self) -> types.Transition:
    """The log's transitions as tensors, [N, ...]."""
    if self._like is not None:
      return self._like.transitions
    return types.Transition(*map(tf.constant, self.log.transitions))

  @functools.cached_property
  def initial_observations(self) -> tf.Tensor:
    """Raw observations that episodes start from, [E, D]."""
    if self._like is not None:
      return self._like.initial_observations
    return tf.constant(self.log.initial_observations)

  @functools.cached_property
  def problem(self) -> bellman.Problem:
    """The Bellman equation of the policy, with scales from the log."""
    return bellman.pose(
        self.transitions, self.policy, discount=self.log.discount,
        num_actions=self.log.num_actions, categorical=self.log.categorical,
        continuous=self.log.continuous,
        longest=self.log.longest)

  @functools.cached_property
  def rows(self) -> types.IVBatch:
    """The log as rows of the regression."""
    return self.problem.log_rows(self.transitions)

  @functools.cached_property
  def target_probabilities(self) -> types.FloatArray:
    """Probabilities of all actions in the target policy, [N, A]."""
    return np.asarray(
        self.policy.action_probabilities(self.transitions.observation))

  @functools.cached_property
  def behaviour(self) -> Propensities:
    """The behaviour policy's: as recorded, else of a clone."""
    if self._like is not None:
      return self._like.behaviour
    log = self.log
    if log.behaviour_probabilities is not None:
      return Propensities(log.behaviour_probabilities, estimated=False)
    clone = cloning.clone(
        self.transitions, log.episodes, num_actions=log.num_actions, seed=0,
        categorical=log.categorical).policy
    taken = np.asarray(log.transitions.action)
    return Propensities(
        np.asarray(clone.action_probabilities(
            self.transitions.observation))[np.arange(len(taken)), taken],
        estimated=True)

  @functools.cached_property
  def overlap(self) -> overlap.Overlap:
    """How far the log holds what the target policy would do."""
    return overlap.measure(
        self.target_probabilities, np.asarray(self.log.transitions.action),
        self.log.episodes, self.problem.observations.expand(
            self.rows.instrument.observation).numpy(),
        behaviour=self.behaviour.probabilities,
        estimated=self.behaviour.estimated)


def find_policy(
    policy: str | Callable[[np.ndarray], Any] | types.Policy,
    log: episodes.Episodes, *, trusted: bool = False,
) -> resolve.Target:
  """Returns the policy that a user names, tried on states of the log.

  Args:
    policy: as `resolve.resolve` takes it.
    log: that it has to fit.
    trusted: load a SavedModel whatever operations it holds.

  Raises:
    FileNotFoundError: there is nothing at the path.
    ValueError: it is not a policy, or not one for this log.
  """
  target = resolve.resolve(
      policy, num_observations=log.num_observations - log.time_feature,
      trusted=trusted, **log.for_policies())
  if log.time_feature:
    return target._replace(policy=foreign.Timeless(target.policy))
  return target
