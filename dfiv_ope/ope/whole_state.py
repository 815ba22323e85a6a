"""Is the observation the whole state, where observations are numbers?

If it is, what (s, a) leaves unexplained of the next change, the reward and the
end is new: it does not go with what the step before left unexplained. Where
something that lasts is not observed, such as a speed or a season, it does, and
every method that takes the observation for the state has the same bias. Nor
does it go with the action of the step before: where changing it costs, or its
effect comes late, it does, even if actions are drawn at random, so that nothing
lasts between what two steps leave unexplained. Nor with how likely the
behaviour policy was to act so: where recorded probabilities tell it, that
policy saw something that is not observed.

    left = whole_state.unexplained(states, actions, outcomes, episodes)
    found = whole_state.remembered(left, episodes)
    found.share, found.z          # of each outcome
    whole_state.acted(left, left_of_actions_before, actions, episodes)
    whole_state.foreseen(left, left_of_log_probabilities, actions, episodes)

Both residuals are of a kernel ridge regression that the other half of the
episodes was fitted to, and the regression of one on the other too. Residuals of
a function that is fitted badly go with each other as well; where steps are
nearly deterministic these are all there is, but they are a small share of the
outcome, which is why the share is of the outcome and not of the residual.
"""

from typing import NamedTuple

import numpy as np
from scipy.spatial import distance

from dfiv_ope import types
from dfiv_ope.iv import features
from dfiv_ope.ope import relevance

# Random features, and the range of their bandwidths in median distances.
_SIZE, _WIDTHS = 400, (0.3, 1.5)
_PENALTIES = 10.0 ** np.arange(-8, 1)
# States times each action are columns too, if there are no more of them.
_MOST_PRODUCTS = 60
_PAIRS = 500


class Told(NamedTuple):
  """What something tells of what (s, a) does not explain.

  Attributes:
    share: of the variance of each outcome, [T]; negative by chance.
    z: the same in standard errors, of episodes, [T].
  """

  share: types.FloatArray
  z: types.FloatArray


def unexplained(
  states: types.FloatArray,
  actions: types.FloatArray,
  outcomes: types.FloatArray,
  episodes: np.ndarray,
  *,
  seed: types.Seed = 0,
) -> types.FloatArray:
  """Returns what (s, a) leaves of outcomes, in their spreads, [N, T].

  Args:
    states: standardised, [N, K], in order.
    actions: indicators or standardised entries, [N, A].
    outcomes: changes, rewards, ends, [N, T]; each varies.
    episodes: index of the episode of each row, [N].
    seed: seeds the random features.
  """
  inputs = np.concatenate([states, actions], axis=1)
  if states.shape[1] * actions.shape[1] <= _MOST_PRODUCTS:
    products = states[:, :, None] * actions[:, None, :]
    inputs = np.concatenate([inputs, products.reshape(len(states), -1)], axis=1)
  wanted = (outcomes - np.mean(outcomes, axis=0)) / np.std(outcomes, axis=0)
  return _left(_basis(inputs, seed), wanted, episodes % 2 == 0)


def remembered(left: types.FloatArray, episodes: np.ndarray) -> Told:
  """Returns how much of each outcome the step before explains.

  Args:
    left: of `unexplained`, [N, T].
    episodes: index of the episode of each row, [N].
  """
  follows = np.flatnonzero(np.diff(episodes, prepend=-1) == 0)
  return _told(left[follows], left[follows - 1], episodes[follows])


def acted(
  left: types.FloatArray,
  before: types.FloatArray,
  actions: types.FloatArray,
  episodes: np.ndarray,
) -> Told:
  """Returns how much of each outcome the action of the step before explains.

  Args:
    left: of `unexplained`, [N, T].
    before: the same of the action of the step before, [N, B].
    actions: as in `unexplained`, [N, A]: for each, it may go another way, if
      there are no more than so many products.
    episodes: index of the episode of each row, [N].
  """
  follows = np.diff(episodes, prepend=-1) == 0
  said = before
  if before.shape[1] * actions.shape[1] <= _MOST_PRODUCTS:
    each = before[:, :, None] * actions[:, None, :]
    said = np.concatenate([said, each.reshape(len(before), -1)], axis=1)
  return _told(left[follows], said[follows], episodes[follows])


def foreseen(
  left: types.FloatArray,
  logs: types.FloatArray,
  actions: types.FloatArray,
  episodes: np.ndarray,
) -> Told:
  """Returns how much of each outcome the behaviour policy foresaw.

  Args:
    left: of `unexplained`, [N, T].
    logs: the same of the logarithms of recorded probabilities, [N].
    actions: as in `unexplained`, [N, A]: for each, it may go another way.
    episodes: index of the episode of each row, [N].
  """
  said = np.c_[logs, logs[:, None] * actions]
  return _told(left, said, episodes)


def _told(
  left: types.FloatArray, said: types.FloatArray, episodes: np.ndarray
) -> Told:
  """Returns what a regression on some columns of other episodes explains."""
  half = episodes % 2 == 0
  told = np.zeros_like(left)
  for learns in (half, ~half):
    slopes = np.linalg.lstsq(said[learns], left[learns], rcond=1e-3)[0]
    told[~learns] = said[~learns] @ slopes
  gain = np.square(left) - np.square(left - told)
  return Told(
    np.mean(gain, axis=0),
    np.array([relevance.standard_errors(each, episodes) for each in gain.T]),
  )


def _basis(inputs: types.FloatArray, seed: types.Seed) -> types.FloatArray:
  """Returns waves of several bandwidths, the inputs and a constant, [N, D]."""
  generator = np.random.default_rng(seed)
  some = inputs[
    generator.choice(len(inputs), min(_PAIRS, len(inputs)), replace=False)
  ]
  typical = float(np.median(distance.pdist(some))) or 1.0
  waves = features.FourierFeatures(
    np.full(inputs.shape[1], typical), size=_SIZE, seed=seed
  )
  waves.frequencies = waves.frequencies / np.geomspace(*_WIDTHS, _SIZE // 2)
  return np.concatenate(
    [waves(inputs), inputs, np.ones((len(inputs), 1))], axis=1
  )


def _left(
  basis: types.FloatArray, wanted: types.FloatArray, half: np.ndarray
) -> types.FloatArray:
  """Returns what ridge regressions of the other half leave, [N, T].

  Of the penalties, each outcome has the one that leaves least.
  """
  left = np.zeros_like(wanted)
  sums = {}
  for name, rows in ((True, half), (False, ~half)):
    phi = basis[rows]
    sums[name] = phi.T @ phi, phi.T @ wanted[rows]
  for learns in (True, False):
    penalties = _PENALTIES * np.count_nonzero(half == learns)
    weights = judged_weights(*sums[learns], *sums[not learns], penalties)
    rows = half != learns
    left[rows] = wanted[rows] - basis[rows] @ weights
  return left


def judged_weights(
  gram: types.FloatArray,
  moment: types.FloatArray,
  judging_gram: types.FloatArray,
  judging_moment: types.FloatArray,
  penalties: types.FloatArray,
) -> types.FloatArray:
  """Returns the ridge weights w of least loss on other rows, [D, T].

  Of these rows no more is needed than their sums: their loss is
  w' G w - 2 w' m and what no penalty changes.

  Args:
    gram: phi' phi of the rows to fit, [D, D].
    moment: phi' y of them, [D, T].
    judging_gram: of the rows that judge, [D, D].
    judging_moment: of them, [D, T].
    penalties: to choose from, for each column of y.
  """
  values, vectors = np.linalg.eigh(gram)
  turned = vectors.T @ moment
  tries = np.stack(
    [turned / (values + penalty)[:, None] for penalty in penalties]
  )  # [P, D, T]
  seen = vectors.T @ judging_gram @ vectors
  losses = np.sum(
    tries * (seen @ tries - 2.0 * (vectors.T @ judging_moment)), axis=1
  )
  least = np.argmin(losses, axis=0)
  return vectors @ tries[least, :, np.arange(moment.shape[1])].T
