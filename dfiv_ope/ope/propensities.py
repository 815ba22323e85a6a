"""How likely the logged actions were, in the target and in the log's policy.

Of the target only what was taken is asked for, in parts, so that nothing grows
with the number of actions. Where the log has no probabilities of its own, each
episode gets those of a clone that never saw it (cross-fitting): a clone knows
the actions that it was trained on, and weights by it would be too even.
"""

from typing import NamedTuple

import numpy as np

from dfiv_ope import types
from dfiv_ope.ope import episodes
from dfiv_ope.policies import cloning

# Entries of a matrix of probabilities that are asked for at a time.
_BLOCK = 4_000_000
# No density of what was taken is zero.
_TINY = float(np.finfo(np.float64).tiny)


class Propensities(NamedTuple):
  """Probabilities of the logged actions in the behaviour policy.

  Attributes:
    probabilities: [N]; densities if actions are vectors.
    estimated: whether they come from a clone, because the log has none.
  """

  probabilities: types.FloatArray
  estimated: bool


class UnanswerableError(ValueError):
  """What is asked has no answer by weights, for the reason that it says."""


def log_taken(
  policy: types.Policy | types.ContinuousPolicy,
  observations: np.ndarray,
  actions: np.ndarray,
  *,
  num_actions: int,
) -> types.FloatArray:
  """Returns the log probability of actions in a policy, float64 [N].

  Args:
    policy: the policy.
    observations: raw, [N, D].
    actions: that were taken, [N], or vectors, [N, d].
    num_actions: A; 0 for vectors.

  Raises:
    UnanswerableError: actions are vectors, and the policy has no density.
  """
  if num_actions:
    assert isinstance(policy, types.Policy)
    return _finite(policy, observations, actions, _BLOCK // num_actions)
  assert isinstance(policy, types.ContinuousPolicy)
  if policy.deterministic:
    raise UnanswerableError(
      'The target policy takes one vector in each state, so the logged '
      'actions have no density in it and nothing can be weighted. Use lstd, '
      'kiv or fqe, or give the policy a standard deviation.'
    )
  return np.asarray(policy.log_prob(observations, actions), np.float64)


def _finite(
  policy: types.Policy, observations: np.ndarray, actions: np.ndarray, rows: int
) -> types.FloatArray:
  """Returns `log_taken`, so many rows at a time."""
  rows, parts = max(1, rows), []
  for start in range(0, len(actions), rows):
    found = np.asarray(
      policy.action_probabilities(observations[start : start + rows]),
      np.float64,
    )
    taken = actions[start : start + rows]
    parts.append(found[np.arange(len(taken)), taken])
  with np.errstate(divide='ignore'):
    return np.log(np.concatenate(parts))


def folds(num_episodes: int, count: int, *, seed: types.Seed = 0) -> np.ndarray:
  """Returns the fold of each episode, [E]: as equal as can be, drawn.

  Args:
    num_episodes: E.
    count: how many; one for each episode if there are fewer of these.
    seed: same seed, same folds.

  Raises:
    UnanswerableError: one episode leaves nothing to learn from.
  """
  if num_episodes < 2:
    raise UnanswerableError(
      'Cross-fitting takes two episodes, one to learn from and one to '
      'weigh; this log has one.'
    )
  order = np.random.default_rng(seed).permutation(num_episodes)
  return order % min(count, num_episodes)


def cross_fitted(
  log: episodes.Episodes, *, count: int, seed: int = 0
) -> types.FloatArray:
  """Returns b(a|s) of the logged actions by clones of other episodes, [N].

  An action that the other episodes never take has the probability of one row
  among theirs.

  Args:
    log: whole episodes.
    count: how many folds.
    seed: of folds and clones.

  Raises:
    UnanswerableError: the log has one episode.
  """
  fold = folds(log.num_episodes, count, seed=(seed, 2))[log.episodes]
  result = np.empty(len(log))
  for each in range(int(fold.max()) + 1):
    learned, weighed = fold != each, fold == each
    found = np.exp(
      log_taken(
        _clone(log, learned, seed),
        np.asarray(log.transitions.observation)[weighed],
        np.asarray(log.transitions.action)[weighed],
        num_actions=log.num_actions,
      )
    )
    result[weighed] = np.maximum(
      found, 1.0 / (1.0 + learned.sum()) if log.num_actions else _TINY
    )
  return result


def _clone(
  log: episodes.Episodes, learned: np.ndarray, seed: int
) -> types.Policy | types.ContinuousPolicy:
  """Returns the behaviour policy of some rows."""
  part = types.Transition(
    *(np.asarray(column)[learned] for column in log.transitions)
  )
  if log.continuous is not None:
    from dfiv_ope.policies import density_cloning  # Imports TensorFlow.

    return density_cloning.clone(
      part,
      log.episodes[learned],
      actions=log.continuous,
      seed=seed,
      categorical=log.categorical,
    ).policy
  policy: types.Policy = cloning.clone(
    part,
    log.episodes[learned],
    num_actions=log.num_actions,
    seed=seed,
    categorical=log.categorical,
  ).policy
  return policy
