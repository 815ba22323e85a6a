"""Do Bellman errors depend on more than the state and the action?

If the state is all that matters, e = r + gamma d Q(s', pi) - Q(s, a) has mean
zero whatever came before (s, a). Where observations leave out the number of the
step, in a game that ends after so many, or anything else that lasts, errors
depend on the past, and every method that takes the observation for the state
has the same bias: they agree and are wrong.

    steps = history.steps(log.episodes)
    history.by_step(errors, log.episodes, rollouts.visits)
    history.lagged(errors, log.episodes)
    history.acted(errors, log.episodes, actions)
"""

from typing import NamedTuple

import numpy as np

from dfiv_ope import types

# Errors are a polynomial of the step number of this degree.
_DEGREE = 2
# Errors that go with others by as many standard errors do so by no chance.
CERTAIN = 5.0
# As many episodes that all end at the log's last step make that a horizon.
_HORIZON = 10


class Missing(NamedTuple):
  """What is missing from a value.

  Attributes:
    value: to be added.
    standard_error: of it, by episodes.
  """

  value: float
  standard_error: float


class Lagged(NamedTuple):
  """How an error goes with the one before it.

  Attributes:
    correlation: of errors and those one step earlier.
    z: in standard errors, by episodes.
    size: of the correlations, averaged over the target policy's actions where
      they are beyond chance.
  """

  correlation: float
  z: float
  size: float


def steps(episodes: np.ndarray) -> np.ndarray:
  """Returns the number of each transition within its episode, from 0, [N]."""
  starts = np.flatnonzero(np.diff(episodes, prepend=-1))
  return np.arange(len(episodes)) - starts[episodes]


def at_horizon(episodes: np.ndarray, ended: np.ndarray) -> np.ndarray:
  """Returns which transitions are the last before a horizon, [N].

  None are if some episode goes on after the log's last step, or if few come
  so far.

  Args:
    episodes: index of the episode of each transition, [N].
    ended: whether the transition terminated its episode, [N].
  """
  number = steps(episodes)
  final = number == number.max()
  return final & bool(
    number.max() and np.sum(final) >= _HORIZON and np.all(ended[final])
  )


def by_step(
  errors: types.FloatArray,
  episodes: np.ndarray,
  visits: types.FloatArray,
  ended: np.ndarray | None = None,
  chosen: types.FloatArray | None = None,
) -> Missing:
  """Returns what the value misses if errors depend on the step number.

  With e(t) the regression of errors on [1, t, t^2], it is the sum over steps of
  the target policy's discounted visits times e(t). Where all episodes that come
  to the log's last step H terminate there, H is a horizon: values that do not
  know of it are wrong at that step most of all, so that [t = H] joins the
  regression, and there are no later visits.

  Args:
    errors: Bellman errors, [N].
    episodes: index of the episode of each transition, [N].
    visits: sum of gamma^t d of the target policy at each step, [T].
    ended: whether the transition terminated its episode, [N]; None if unknown.
    chosen: probability of its action in the target policy, [N], by which the
      regression is weighted: errors may differ between actions. None for one.
  """
  number = steps(episodes)
  last = int(number.max())
  if not last:
    return Missing(0.0, 0.0)
  horizon = ended is not None and bool(np.any(at_horizon(episodes, ended)))
  if horizon:
    visits = visits[: last + 1]

  def columns(step: np.ndarray) -> types.FloatArray:
    # Beyond the log's longest episode the errors of its last step stand.
    powers = (np.minimum(step, last)[:, None] / last) ** np.arange(_DEGREE + 1)
    return np.c_[powers, step == last] if horizon else powers

  x = columns(number)  # [N, 3 or 4]
  weighed = x if chosen is None else x * chosen[:, None]
  inverse = np.linalg.pinv(weighed.T @ x)
  weights = weighed @ (inverse.T @ (columns(np.arange(len(visits))).T @ visits))
  total = np.bincount(episodes, weights=weights * errors)
  left = np.bincount(
    episodes, weights=weights * (errors - x @ (inverse @ (weighed.T @ errors)))
  )
  return Missing(float(np.sum(total)), float(np.sqrt(np.sum(np.square(left)))))


def lagged(
  errors: types.FloatArray,
  episodes: np.ndarray,
  actions: np.ndarray | None = None,
  chosen: types.FloatArray | None = None,
) -> Lagged:
  """Returns how Bellman errors go with those one step earlier.

  What is hidden may help one action and hurt another, so that products cancel
  over all rows: rows of each action are looked at, too, and those are returned
  that chance explains least.

  Args:
    errors: Bellman errors, [N].
    episodes: index of the episode of each transition, [N].
    actions: of each transition, [N]; None for all rows alone.
    chosen: probability of its action in the target policy, [N]; None for one.
  """
  same = episodes[1:] == episodes[:-1]
  weights = np.ones(len(errors)) if chosen is None else chosen
  most = _lagged(errors, episodes, same)
  size = 0.0
  for action in () if actions is None else np.unique(actions):
    here = actions == action
    found = _lagged(errors, episodes, same & here[1:])
    if abs(found.z) > CERTAIN:
      size += found.size * float(np.sum(weights[here]) / np.sum(weights))
    if abs(found.z) > abs(most.z):
      most = found._replace(size=most.size)
  return most._replace(size=max(size, most.size))


def acted(
  errors: types.FloatArray,
  episodes: np.ndarray,
  actions: np.ndarray,
  chosen: types.FloatArray | None = None,
) -> Lagged:
  """Returns how Bellman errors go with the action of the step before.

  Where changing the action costs and nothing shows which one came before,
  errors of consecutive steps may have no correlation at all. Looked at is, for
  each action, whether some action came before. In standard errors, it is the
  less of two: with the variance of these products, and with that of all errors
  of the action, since a few errors without one of the rare large ones are much
  alike. If the state is all that matters both hold without clusters.

  Args:
    errors: Bellman errors, [N].
    episodes: index of the episode of each transition, [N].
    actions: of each transition, [N].
    chosen: probability of its action in the target policy, [N]; None for one.
  """
  later = np.flatnonzero(episodes[1:] == episodes[:-1]) + 1
  weights = np.ones(len(errors)) if chosen is None else chosen
  most, size = Lagged(0.0, 0.0, 0.0), 0.0
  for action in np.unique(actions):
    here = later[actions[later] == action]
    before, place = np.unique(actions[here - 1], return_inverse=True)
    if len(before) < 2:
      continue
    found = _grouped(errors[here], place, len(before))
    if abs(found.z) > CERTAIN:
      size += found.size * float(
        np.sum(weights[actions == action]) / np.sum(weights)
      )
    if abs(found.z) > abs(most.z):
      most = found
  return most._replace(size=size)


def _grouped(errors: types.FloatArray, place: np.ndarray, count: int) -> Lagged:
  """Returns how errors go with the group, [N], that does most of some.

  With p the share of a group and x = [in it] - p, sums over rows of e x and of
  its square are those of e and e^2 in the group and in all rows.
  """
  share = np.bincount(place, minlength=count) / len(place)
  total, square = np.sum(errors), float(np.sum(np.square(errors)))
  inside = np.bincount(place, weights=errors, minlength=count)
  squares = np.bincount(place, weights=np.square(errors), minlength=count)
  product = inside - share * total
  own = (1.0 - share) ** 2 * squares + share**2 * (square - squares)
  spread = np.sqrt(np.maximum(own, square * share * (1.0 - share)))
  z = np.divide(product, spread, out=np.zeros(count), where=spread > 0.0)
  most = int(np.argmax(np.abs(z)))
  scale = np.sqrt(square * len(place) * share[most] * (1.0 - share[most]))
  correlation = float(product[most] / scale) if scale else 0.0
  return Lagged(correlation, float(z[most]), abs(correlation))


def _lagged(
  errors: types.FloatArray, episodes: np.ndarray, counted: np.ndarray
) -> Lagged:
  """Returns it for some of the later rows of all pairs, [N - 1]."""
  later, earlier = errors[1:] * counted, errors[:-1] * counted
  each = np.bincount(episodes[1:], weights=later * earlier)
  scale = float(np.sqrt(np.sum(np.square(later)) * np.sum(np.square(earlier))))
  spread = float(np.sqrt(np.sum(np.square(each))))
  correlation = float(np.sum(each)) / scale if scale else 0.0
  z = float(np.sum(each)) / spread if spread else 0.0
  return Lagged(correlation, z, abs(correlation))
