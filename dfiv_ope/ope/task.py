"""What is asked: the value of a policy, from a log alone.

    task = EvaluationTask(log, policy)
    task.problem, task.rows          # OPE as an IV regression, Eq. (10)
    task.behaviour                   # probabilities of the logged actions
    task.overlap                     # what the log shows of the policy

Pure: no paths, no simulation, no writing. Everything that an estimator may
need is made when it is first asked for, and once.
"""

import functools
from typing import Any

import numpy as np

from dfiv_ope import types
from dfiv_ope.nn import encoding
from dfiv_ope.ope import (
  bellman,
  episodes,
  importance,
  log_notes,
  neighbours,
  overlap,
  propensities,
  relevance,
)
from dfiv_ope.policies import clone_config, cloning, foreign, resolve

# Entries of a matrix of probabilities that are asked for at a time.
_BLOCK = 1_000_000


Propensities = propensities.Propensities


class EvaluationTask:
  """A log and a target policy: what every estimator is given.

  Attributes:
    log: whole episodes.
    policy: the target policy.
  """

  def __init__(
    self,
    log: episodes.Episodes,
    policy: types.Policy | types.ContinuousPolicy,
    *,
    like: 'EvaluationTask | None' = None,
    dropped: tuple[int, ...] | None = None,
  ):
    """Asks for the value of a policy.

    Args:
      log: whole episodes.
      policy: the target policy.
      like: another task of the same log; what does not depend on the policy
        is taken from it.
      dropped: columns of the observations that no method sees; None to find
        them out (`ope.relevance`).
    """
    self.log = log
    self._dropped = dropped
    self.policy = policy
    self._like = like
    self._others: dict[int, Propensities] = {}

  @functools.cached_property
  def transitions(self) -> types.Transition:
    """The log's transitions as arrays, [N, ...]."""
    if self._like is not None:
      return self._like.transitions
    return types.Transition(*map(np.asarray, self.log.transitions))

  @functools.cached_property
  def initial_observations(self) -> types.FloatArray:
    """Raw start states of the value: of episodes, [E, D], or given, [M, D].

    Raises:
      ValueError: nothing says what they are.
    """
    if self._like is not None:
      return self._like.initial_observations
    return np.asarray(self.log.start_states)

  @functools.cached_property
  def problem(self) -> bellman.Problem:
    """The Bellman equation of the policy, with scales from the log."""
    return bellman.pose(
      self.transitions,
      self.policy,
      discount=self.log.discount,
      num_actions=self.log.num_actions,
      categorical=self.log.categorical,
      continuous=self.log.continuous,
      longest=self.log.longest,
      dropped=self.dropped,
      like=self._same_scales,
    )

  @property
  def _same_scales(self) -> bellman.Problem | None:
    """The problem of another policy whose methods see the same columns."""
    if self._like is None or self._like.dropped != self.dropped:
      return None
    return self._like.problem

  @functools.cached_property
  def dropped(self) -> tuple[int, ...]:
    """Columns of the observations that no method sees."""
    if self._dropped is not None:
      return self._dropped
    return relevance.irrelevant(self.log, self.policy)

  @functools.cached_property
  def notes(self) -> tuple[log_notes.Note, ...]:
    """What there is to say of the log, and of columns that are left out."""
    if not self.dropped:
      return self.log.notes
    names = self.log.observation_names
    return (
      *self.log.notes,
      log_notes.Note(
        kind=log_notes.IRRELEVANT,
        column=', '.join(
          names[each] if names else str(each) for each in self.dropped
        ),
        numbers={'columns': len(self.dropped)},
      ),
    )

  @functools.cached_property
  def rows(self) -> types.IVBatch:
    """The log as rows of the regression."""
    return self.problem.log_rows(self.transitions)

  @functools.cached_property
  def target_probabilities(self) -> overlap.Asked:
    """What the target policy does in the states of the log.

    All of it, [N, A], is never held at once.

    Raises:
      ValueError: actions are vectors.
    """
    policy = self.policy
    if self.log.continuous is not None or not isinstance(policy, types.Policy):
      raise ValueError(
        'The actions of the log are vectors, so they have densities and no '
        'probabilities.'
      )
    actions = np.asarray(self.log.transitions.action)

    def ask(rows: np.ndarray | slice) -> types.FloatArray:
      return np.asarray(
        policy.action_probabilities(self.log.transitions.observation[rows])
      )

    taken, total = [], np.zeros(self.log.num_actions)
    for part in self._parts:
      found = ask(part)
      taken.append(found[np.arange(len(found)), actions[part]])
      total += np.sum(found, axis=0, dtype=np.float64)
    return overlap.Asked(np.concatenate(taken), total / len(actions), ask)

  @functools.cached_property
  def behaviour(self) -> Propensities:
    """The behaviour policy's: as recorded, else of a clone."""
    if self._like is not None:
      return self._like.behaviour
    log = self.log
    if log.behaviour_probabilities is not None:
      return Propensities(log.behaviour_probabilities, estimated=False)
    if log.continuous is not None:
      from dfiv_ope.policies import density_cloning  # Imports TensorFlow.

      density = density_cloning.clone(
        self.transitions,
        log.episodes,
        actions=log.continuous,
        seed=0,
        categorical=log.categorical,
      ).policy
      return Propensities(np.exp(self._log_densities(density)), estimated=True)
    clone = cloning.clone(
      self.transitions,
      log.episodes,
      num_actions=log.num_actions,
      seed=0,
      categorical=log.categorical,
      config=clone_config.for_overlap(len(log), log.num_actions),
    ).policy
    taken = np.asarray(log.transitions.action)
    return Propensities(
      np.concatenate(
        [
          np.asarray(
            clone.action_probabilities(self.transitions.observation[part])
          )[np.arange(len(taken[part])), taken[part]]
          for part in self._parts
        ]
      ),
      estimated=True,
    )

  def behaviour_of_others(self, folds: int) -> Propensities:
    """Returns `behaviour` whose clones never saw the episode they are asked of.

    Args:
      folds: of episodes; recorded probabilities need none.

    Raises:
      UnanswerableError: the log has one episode, and no probabilities.
    """
    if self._like is not None:
      return self._like.behaviour_of_others(folds)
    if self.log.behaviour_probabilities is not None:
      return self.behaviour
    if folds not in self._others:
      self._others[folds] = Propensities(
        propensities.cross_fitted(self.log, count=folds), estimated=True
      )
    return self._others[folds]

  @functools.cached_property
  def log_target(self) -> types.FloatArray:
    """Log probabilities of the logged actions in the target policy, [N].

    Raises:
      UnanswerableError: actions are vectors, and the policy has no density.
    """
    return propensities.log_taken(
      self.policy,
      np.asarray(self.log.transitions.observation),
      np.asarray(self.log.transitions.action),
      num_actions=self.log.num_actions,
    )

  def log_ratios(self, folds: int) -> types.FloatArray:
    """Returns log pi(a|s) - log b(a|s) of the logged actions, [N].

    Args:
      folds: of `behaviour_of_others`.

    Raises:
      UnanswerableError: there is no such ratio.
      ValueError: the log's own probabilities are none.
    """
    return importance.log_ratios(
      self.log_target,
      self.behaviour_of_others(folds).probabilities,
      densities=self.log.continuous is not None,
    )

  @property
  def glance(self) -> overlap.Overlap:
    """The part of the overlap that takes no time."""
    if self.log.continuous is not None:
      return overlap.glance_vectors(len(self.log))
    return overlap.glance(
      self.target_probabilities, np.asarray(self.log.transitions.action)
    )

  def _vector_overlap(self) -> overlap.Overlap:
    """Returns the overlap where actions are vectors."""
    log, policy, space = self.log, self.policy, self.log.continuous
    assert space is not None and isinstance(policy, types.ContinuousPolicy)
    states = encoding.fit(
      log.transitions.observation,
      log.transitions.next_observation,
      categorical=log.categorical,
      dropped=self.dropped,
    )
    vectors = encoding.fit(
      log.transitions.action, categorical=tuple(space.categories)
    )

    def intended(rows: np.ndarray) -> types.FloatArray:
      uniforms = (
        np.random.default_rng(0)
        .uniform(1e-6, 1.0 - 1e-6, (len(rows), 1, space.size))
        .astype(np.float32)
      )
      drawn = policy.draw(log.transitions.observation[rows], uniforms)
      return vectors.apply(np.asarray(drawn)[:, 0])

    return overlap.measure_vectors(
      None if policy.deterministic else self._log_densities(policy),
      vectors.apply(log.transitions.action),
      intended,
      log.episodes,
      states.compact(log.transitions.observation),
      names=len(states.categories),
      behaviour=None if policy.deterministic else self.behaviour.probabilities,
      estimated=not policy.deterministic and self.behaviour.estimated,
    )

  @functools.cached_property
  def overlap(self) -> overlap.Overlap:
    """How far the log holds what the target policy would do."""
    if self.log.continuous is not None:
      return self._vector_overlap()
    return overlap.measure(
      self.target_probabilities,
      np.asarray(self.log.transitions.action),
      self.log.episodes,
      self._nearby,
      behaviour=self.behaviour.probabilities,
      estimated=self.behaviour.estimated,
    )

  @functools.cached_property
  def _nearby(self) -> neighbours.Nearby:
    """Which actions the log took near its states; policies share it."""
    if self._like is not None:
      return self._like._nearby
    states = self.problem.observations
    return neighbours.nearby(
      self.log.num_actions,
      np.asarray(self.log.transitions.action),
      self.log.episodes,
      states.compact(self.transitions.observation),
      names=len(states.categories),
      seed=0,
    )

  def forget(self) -> None:
    """Drops what takes as much memory as the log and can be made again."""
    for name in ('rows', 'target_probabilities', 'log_target'):
      self.__dict__.pop(name, None)

  def _log_densities(self, policy: types.ContinuousPolicy) -> types.FloatArray:
    """Returns log densities of the logged actions, float64 [N]."""
    return np.asarray(
      policy.log_prob(self.transitions.observation, self.transitions.action),
      np.float64,
    )

  @property
  def _parts(self) -> list[slice]:
    """Rows of which all probabilities fit into memory."""
    rows = max(1, _BLOCK // max(1, self.log.num_actions))
    return [
      slice(start, start + rows) for start in range(0, len(self.log), rows)
    ]


def find_policy(
  policy: Any, log: episodes.Episodes, *, trusted: bool = False
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
    policy,
    num_observations=log.num_observations - log.time_feature,
    trusted=trusted,
    **log.for_policies(),
  )
  if log.time_feature:
    return target._replace(policy=foreign.timeless(target.policy))
  return target
