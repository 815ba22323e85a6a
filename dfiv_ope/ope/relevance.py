"""Which columns of the observations neither the policy nor the steps need.

A clock that the policy ignores and that changes nothing else still makes every
state of a log far from the states of other times: methods then find nothing
near where the target policy is slower or faster than the log. Such a column is
left out if

1. the target policy does the same where the column is shuffled,
2. on held-out episodes, the other columns' changes, the reward and the end are
   predicted as well from a shuffled one (extremely randomised trees, Geurts et
   al., 2006), and
3. what is left of these after the other columns, with any action, does not go
   with what is left of the column after the other columns (generalised
   covariance measure, Shah and Peters, 2020): an effect that is too weak for
   trees to gain by it is seen so.

Columns that are all silent together are left out at once; where they are not,
as two that say the same, one goes after the other, the least telling first.

A column that says something only where the log never was looks the same, so
what was dropped is said, and can be overruled.
"""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from dfiv_ope import types
from dfiv_ope.ope import episodes

if TYPE_CHECKING:
  from sklearn import ensemble

# Rows that the policy is asked in, and that trees learn from.
_ASKED, _ROWS = 500, 4_000
# Logs of fewer rows or episodes tell nothing, pictures have too many columns.
_FEWEST_ROWS, _FEWEST_EPISODES, _MOST_COLUMNS = 1_000, 20, 32
_TREES, _LEAF = 20, 5
# A column stays if errors grow without it by as many standard errors, or if
# residuals go with each other by as many; there are several of these.
_GROWTH, _COVARIANCE = 3.0, 4.0
# Of a column that is shuffled in a forest of all, which errs less by chance.
_PLAIN = 6.0
_SAME = 1e-6
# An action of fewer rows is not looked at on its own.
_COMMON = 0.05


def irrelevant(
  log: episodes.Episodes,
  *policies: types.Policy | types.ContinuousPolicy,
  seed: types.Seed = 0,
) -> tuple[int, ...]:
  """Returns the columns of numbers that can be left out, rising.

  Args:
    log: whole episodes.
    *policies: target policies; none of them looks at such a column.
    seed: seeds shuffles and trees.
  """
  size = log.num_observations
  fixed = {*log.categorical, *([size - 1] if log.time_feature else [])}
  if (
    size - len(fixed) < 2
    or size > _MOST_COLUMNS
    or len(log) < _FEWEST_ROWS
    or log.num_episodes < _FEWEST_EPISODES
  ):
    return ()
  unasked = [column for column in range(size) if column not in fixed]
  for policy in policies:
    unasked = _ignored(log, policy, unasked, seed) if unasked else []
  telling = _telling(log, seed) if len(unasked) > 1 else set()
  unasked = [column for column in unasked if column not in telling]
  dropped: list[int] = []
  while unasked and len(dropped) < size - 1:
    if _silent(log, dropped, unasked, seed):
      dropped += unasked
      break
    evidence = {
      column: _evidence(log, dropped, (column,), seed) for column in unasked
    }
    least = min(unasked, key=lambda column: evidence[column])
    if evidence[least] >= 1.0:
      break
    dropped.append(least)
    unasked = [
      column for column in unasked if column != least and evidence[column] < 1.0
    ]
  return tuple(sorted(dropped))


def _telling(log: episodes.Episodes, seed: types.Seed) -> set[int]:
  """Returns columns that plainly stay: one forest of all predicts by them.

  Predictions for held-out episodes are far worse where such a column is
  shuffled (Breiman, 2001). It takes no fit without each.
  """
  inputs, targets, sources, episode = _prediction(log, set(), seed)
  if not targets.shape[1]:
    return set()
  half = episode % 2 == 0
  growth = np.zeros((len(inputs), log.num_observations))
  generator = np.random.default_rng(seed)
  for learns in (half, ~half):
    forest = _fit(inputs[learns], targets[learns], seed)
    judged, wanted = inputs[~learns], targets[~learns]

    def errors(
      rows: types.FloatArray,
      forest: 'ensemble.ExtraTreesRegressor' = forest,
      wanted: types.FloatArray = wanted,
    ) -> types.FloatArray:
      found = forest.predict(rows).reshape(len(rows), -1)
      return np.square(wanted - found)

    plain = errors(judged)
    for column in range(log.num_observations):
      rows = judged.copy()
      rows[:, column] = generator.permutation(rows[:, column])
      # Its own change does not count.
      growth[~learns, column] = np.sum(
        (errors(rows) - plain)[:, sources != column], axis=1
      )
  return {
    column
    for column in range(log.num_observations)
    if standard_errors(growth[:, column], episode) >= _PLAIN
  }


def _silent(
  log: episodes.Episodes,
  dropped: Sequence[int],
  columns: Sequence[int],
  seed: types.Seed,
) -> bool:
  """Returns whether nothing speaks for columns together, others being left."""
  return (
    len(dropped) + len(columns) < log.num_observations
    and _evidence(log, dropped, columns, seed) < 1.0
  )


def _ignored(
  log: episodes.Episodes,
  policy: types.Policy | types.ContinuousPolicy,
  columns: Sequence[int],
  seed: types.Seed,
) -> list[int]:
  """Returns the columns that vary and that a policy does not look at."""
  generator = np.random.default_rng(seed)
  chosen = _drawn(generator, len(log), _ASKED)
  raw = np.asarray(log.transitions.observation[chosen], np.float64)
  ask = _asking(log, policy, len(raw), generator)
  plain, found = ask(raw), []
  for column in columns:
    if np.ptp(raw[:, column]) == 0.0:
      continue
    shuffled = raw.copy()
    shuffled[:, column] = generator.permutation(raw[:, column])
    try:
      same = np.max(np.abs(ask(shuffled) - plain)) <= _SAME
    except ValueError:
      continue  # It is not defined there.
    if same:
      found.append(column)
  return found


def _asking(
  log: episodes.Episodes,
  policy: types.Policy | types.ContinuousPolicy,
  count: int,
  generator: np.random.Generator,
) -> Callable[[np.ndarray], np.ndarray]:
  """Returns what a policy does in raw observations [B, D]."""
  if log.continuous is None:
    assert isinstance(policy, types.Policy)
    return lambda raw: np.asarray(policy.action_probabilities(raw))
  assert isinstance(policy, types.ContinuousPolicy)
  uniforms = generator.uniform(
    0.05, 0.95, (count, 1, log.continuous.size)
  ).astype(np.float32)
  return lambda raw: np.asarray(policy.draw(raw, uniforms))


def _evidence(
  log: episodes.Episodes,
  dropped: Sequence[int],
  columns: Sequence[int],
  seed: types.Seed,
) -> float:
  """Returns how much speaks for columns together; they stay from 1 on."""
  inputs, targets, _, episode = _prediction(log, {*dropped, *columns}, seed)
  if not targets.shape[1]:
    return np.inf  # Nothing changes, so nothing can be told.
  chosen = _chosen(log, seed)
  own = np.asarray(log.transitions.observation[chosen], np.float64)[
    :, list(columns)
  ]
  # A shuffled column takes its place: any further column makes trees differ
  # more, and so their mean better.
  shuffled = np.random.default_rng(seed).permutation(own)
  without, with_it = (
    np.concatenate([inputs, each], axis=1) for each in (shuffled, own)
  )
  # Half of the episodes, as they come, judge what the others say.
  half = episode % 2 == 0
  left = _left(without, targets, half, seed)
  growth = np.mean(
    np.square(left) - np.square(_left(with_it, targets, half, seed)), axis=1
  )
  # What is left of the columns themselves, with each action.
  own_left = _left(inputs, own, half, seed)
  actions = _weights(log, seed)
  covariances = np.einsum('mc,ma,mt->mcat', own_left, actions, left)
  return max(
    standard_errors(growth, episode) / _GROWTH,
    max(
      abs(standard_errors(each, episode))
      for each in covariances.reshape(len(own), -1).T
    )
    / _COVARIANCE,
  )


def _left(
  inputs: types.FloatArray,
  targets: types.FloatArray,
  half: np.ndarray,
  seed: types.Seed,
) -> types.FloatArray:
  """Returns what trees of the other half leave of targets, [M, T]."""
  left = np.zeros_like(targets)
  for learns in (half, ~half):
    forest = _fit(inputs[learns], targets[learns], seed)
    left[~learns] = targets[~learns] - forest.predict(inputs[~learns]).reshape(
      -1, targets.shape[1]
    )
  return left


def _fit(
  inputs: types.FloatArray, targets: types.FloatArray, seed: types.Seed
) -> 'ensemble.ExtraTreesRegressor':
  """Returns trees; of one target they want and give a vector."""
  return _trees(seed).fit(
    inputs, targets if targets.shape[1] > 1 else targets[:, 0]
  )


def _weights(log: episodes.Episodes, seed: types.Seed) -> types.FloatArray:
  """Returns one, and which common action was taken, [M, 1 + A]."""
  chosen = _chosen(log, seed)
  if log.continuous is not None:
    return np.ones((len(chosen), 1))
  taken = np.eye(log.num_actions)[np.asarray(log.transitions.action[chosen])]
  common = np.mean(taken, axis=0) >= _COMMON
  return np.concatenate([np.ones((len(chosen), 1)), taken[:, common]], axis=1)


def standard_errors(values: types.FloatArray, episode: np.ndarray) -> float:
  """Returns a sum in standard errors, of episodes as they are independent."""
  total = np.bincount(episode, weights=values)
  total = total[np.bincount(episode) > 0]
  spread = np.sqrt(len(total)) * np.std(total)
  return float(np.sum(total) / spread) if spread else 0.0


def _trees(seed: types.Seed) -> 'ensemble.ExtraTreesRegressor':
  from sklearn import ensemble  # Takes a second, and most logs need no trees.

  return ensemble.ExtraTreesRegressor(
    _TREES, min_samples_leaf=_LEAF, max_features=1.0, random_state=seed
  )


def _chosen(log: episodes.Episodes, seed: types.Seed) -> np.ndarray:
  """Returns the rows that are looked at."""
  return np.sort(_drawn(np.random.default_rng(seed), len(log), _ROWS))


def _drawn(generator: np.random.Generator, count: int, most: int) -> np.ndarray:
  return generator.choice(count, min(most, count), replace=False)


def places(count: int, seed: types.Seed = 0) -> np.ndarray:
  """Returns all rows of a log that `irrelevant` looks at, rising.

  Args:
    count: rows of the log.
    seed: of `irrelevant`.
  """
  return np.unique(
    np.concatenate(
      [
        _drawn(np.random.default_rng(seed), count, most)
        for most in (_ASKED, _ROWS)
      ]
    )
  )


def _prediction(
  log: episodes.Episodes, left_out: set[int], seed: types.Seed
) -> tuple[types.FloatArray, types.FloatArray, np.ndarray, np.ndarray]:
  """Returns inputs [M, K], standardised targets [M, T] and episodes [M].

  Before episodes come the columns whose changes the targets are, [T]; -1 for
  rewards and ends.
  """
  chosen, rows = _chosen(log, seed), log.transitions
  kept = [
    column for column in range(log.num_observations) if column not in left_out
  ]
  state = np.asarray(rows.observation[chosen], np.float64)[:, kept]
  following = np.asarray(rows.next_observation[chosen], np.float64)[:, kept]
  action = np.asarray(rows.action[chosen], np.float64).reshape(len(chosen), -1)
  if log.continuous is None:
    action = np.eye(log.num_actions)[action[:, 0].astype(int)]
  targets = np.concatenate(
    [
      following - state,
      np.asarray(rows.reward[chosen], np.float64)[:, None],
      np.asarray(rows.discount[chosen], np.float64)[:, None],
    ],
    axis=1,
  )
  spread = np.std(targets, axis=0)
  varying = spread > 0.0
  targets = (targets - np.mean(targets, axis=0))[:, varying] / spread[varying]
  return (
    np.concatenate([state, action], axis=1),
    targets,
    np.array([*kept, -1, -1])[varying],
    log.episodes[chosen],
  )
