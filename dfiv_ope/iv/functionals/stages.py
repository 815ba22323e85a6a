"""Averages of a structural function, with a bound on what penalties take.

f = D'u is solved for with instruments P, predictions of D by rows of other
folds, and a ridge penalty k:

    u = argmin (y - D u)' Q Q' (y - D u) + k |u|^2,   Q a basis of P, Q'Q = I.

An average m'u is then sum_i a_i y_i with weights a = P A'm, a penalised Riesz
representer: it balances D up to r = m - D'a. So its error has two parts,

    m'u - theta = sum_i a_i e_i  -  r'u.

The first is noise of the rows. The second is a bias that no row tells of. It
is bounded by what is usual for coefficients of size tau, |r| tau, and
k = sigma^2 / tau^2 makes both together least: Wahba's (1983) interval for a
regression on such features, with instruments.

Instruments tell of few directions of u, three or four where they are weak, so
what they say of tau is vague. The most likely tau is then too small as often as
it is too large, and intervals are too short where curves bend more than it
says. So tau^2 is its posterior mean, and what lines leave of the directions
decides (a restricted likelihood): a steep line does not say that a curve is
bent, nor a flat one that it is not.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from dfiv_ope import types
from dfiv_ope.iv import ridge, ridge_path
from dfiv_ope.iv.functionals import spaces

# Candidates of lambda1, on features of unit mean square.
PENALTIES = tuple(float(x) for x in 10.0 ** np.arange(-9.0, 0.5, 0.5))
# Candidates of k, for outcomes and features of unit variance.
_STRENGTHS = 10.0 ** np.arange(-4.0, 4.01, 0.125)
# Every tau up to this is as likely beforehand: features of its size alone would
# make the whole variance of the outcome.
_LARGEST = 1.0
FOLDS = 5
# Predicted directions of less than this share of the largest are rounding.
_SMALLEST = 1e-6
# Those of a smaller F predict nothing, and bring the bias of plain regression.
_LEAST_F = 10.0
# Leverages count up to this.
_MOST_LEVERAGE = 0.5

# One functional, an average over the rows or at one point, of coefficients u.
Moment = Callable[[types.FloatArray], spaces.Average]


class Rows(NamedTuple):
  """Features of rows; the last column of both is the constant.

  Attributes:
    design: D, what f is linear in, [n, D].
    instruments: phi(z, o), [n, K].
    outcome: y, [n].
    lines: columns that f may be steep in, [n, L].
  """

  design: types.FloatArray
  instruments: types.FloatArray
  outcome: types.FloatArray
  lines: types.FloatArray


class Functionals(NamedTuple):
  """Estimates of G functionals.

  Attributes:
    estimate: [G].
    influence: what each row adds to its error, [n, G].
    change: how the noise's variance changes with the functional's value, in
      itself: 1 + change[0] d + change[1] d^2 for a value larger by d, [2, G].
      If the value were larger, so would residuals be, or smaller.
    bias: directions that a bias may have, of unit variance each, [D, G].
  """

  estimate: types.FloatArray
  influence: types.FloatArray
  change: types.FloatArray
  bias: types.FloatArray


class Stages:
  """Both stages of the rows; functionals share them.

  Attributes:
    coefficients: u, [D]; the last belongs to the constant.
    residuals: y - D u, [n].
  """

  def __init__(self, rows: Rows, folds: types.FloatArray):
    """Initialises and solves the stages.

    Args:
      rows: of all folds.
      folds: codes 0, 1, ..., [n]; rows that depend on each other share one.
    """
    fits = cross_fit(rows.instruments, rows.design, folds)[:, :-1]
    self._fits = fits - fits.mean(axis=0)
    self._means = rows.design[:, :-1].mean(axis=0)
    self._design = rows.design[:, :-1] - self._means
    self._level = float(rows.outcome.mean())
    outcome = rows.outcome - self._level
    basis = _relevant(self._fits, self._design)
    left, self._sizes, self._directions = np.linalg.svd(
      basis.T @ (self._fits.T @ self._design), full_matrices=False
    )
    # Instruments and outcomes along the directions that they tell of u.
    self._instruments = basis @ left
    told = self._instruments.T @ (self._fits.T @ outcome)
    lines = rows.lines - rows.lines.mean(axis=0)
    self._strength, self._scale = _likely(
      self._sizes,
      self._directions,
      told,
      self._instruments.T @ (self._fits.T @ lines),
      ridge.sums(self._design, outcome[:, None]),
    )
    slopes = _slopes(self._sizes, self._directions, told, self._strength)
    self.coefficients = np.append(slopes, self._level - self._means @ slopes)
    self.residuals = outcome - self._design @ slopes
    self._residuals = self.residuals / (
      1.0 - np.clip(self._leverages(), 0.0, _MOST_LEVERAGE)
    )

  def estimate(self, moments: Sequence[Moment]) -> Functionals:
    """Returns functionals, one for each moment."""
    rows = len(self._residuals)
    means = np.zeros((len(self.coefficients), len(moments)))
    own = np.zeros((rows, len(moments)))
    for place, moment in enumerate(moments):
      means[:, place], values = moment(self.coefficients)
      own[:, place] = (values - values.mean()) / rows
    # With the mean outcome for the constant.
    target = means[:-1] - np.outer(self._means, means[-1])
    weights = self._fits @ self._weights(target) + means[-1] / rows
    # If the functional were larger by one, the likely u would move by this.
    move = self._shrunk(target)
    size = np.sum(target * move, axis=0)
    moved = self._design @ (move / np.where(size > 0.0, size, 1.0))
    square = float(np.mean(np.square(self.residuals)))
    change = np.stack(
      [-2.0 * self.residuals @ moved / rows, np.mean(np.square(moved), axis=0)]
    )
    return Functionals(
      estimate=means.T @ self.coefficients,
      influence=own + weights * self._residuals[:, None],
      change=change / max(square, np.finfo(float).tiny),
      bias=self._scale * self._strength * move,
    )

  def _weights(self, target: types.FloatArray) -> types.FloatArray:
    """Returns A'm, [D, G]: what a row's outcome adds is its fit times this."""
    kept = (self._sizes / (self._sizes**2 + self._strength))[:, None]
    return self._instruments @ (kept * (self._directions @ target))

  def _shrunk(self, target: types.FloatArray) -> types.FloatArray:
    """Returns (D'QQ'D + k)^-1 m, [D, G]."""
    more = 1.0 / (self._sizes**2 + self._strength) - 1.0 / self._strength
    return target / self._strength + self._directions.T @ (
      more[:, None] * (self._directions @ target)
    )

  def _leverages(self) -> types.FloatArray:
    """Returns how much each row's outcome moves its own fit, [n]."""
    kept = self._sizes / (self._sizes**2 + self._strength)
    return np.sum(
      (self._fits @ self._instruments * kept)
      * (self._design @ self._directions.T),
      axis=1,
    )


def cross_fit(
  features: types.FloatArray, targets: types.FloatArray, folds: types.FloatArray
) -> types.FloatArray:
  """Returns ridge predictions of each fold's targets by other folds, [n, D].

  Args:
    features: the constant last, [n, K].
    targets: [n, D].
    folds: codes 0, 1, ..., [n].
  """
  count = int(folds.max()) + 1
  sums = [
    ridge.sums(features[folds == fold], targets[folds == fold])
    for fold in range(count)
  ]
  paths = [
    ridge_path.Path(
      ridge.merge(*(each for place, each in enumerate(sums) if place != fold)),
      PENALTIES,
    )
    for fold in range(count)
  ]
  chosen = int(
    np.argmin(
      np.sum(
        [path.errors(own) for path, own in zip(paths, sums, strict=True)],
        axis=0,
      )
    )
  )
  fits = np.zeros_like(targets)
  for fold, path in enumerate(paths):
    inside = folds == fold
    fits[inside] = features[inside] @ path.weights(chosen)
  return fits


def _relevant(
  fits: types.FloatArray, design: types.FloatArray
) -> types.FloatArray:
  """Returns B, [D, K], of the orthonormal instruments fits B.

  They are principal directions of the fits that tell of the same directions of
  the design, which rows of other folds could not make them do by chance.

  Args:
    fits: P, centred, [n, D].
    design: D, centred, [n, D].
  """
  values, vectors = np.linalg.eigh(fits.T @ fits)
  large = values > _SMALLEST * values[-1]
  values, vectors = values[large], vectors[:, large]
  ours, theirs = fits @ vectors, design @ vectors
  slopes = np.sum(ours * theirs, axis=0) / values
  left = np.mean(np.square(theirs - slopes * ours), axis=0)
  f = slopes * np.abs(slopes) * values / np.maximum(left, np.finfo(float).tiny)
  keep = f >= min(_LEAST_F, float(f.max()))
  return vectors[:, keep] / np.sqrt(values[keep])


def _likely(
  sizes: types.FloatArray,
  directions: types.FloatArray,
  told: types.FloatArray,
  lines: types.FloatArray,
  total: ridge.Sums,
) -> tuple[float, float]:
  """Returns the likely penalty, sigma^2 / tau^2, and tau.

  tau^2 is its posterior mean, by the likelihood of what lines leave of `told`.

  Args:
    sizes: singular values of Q'D, [K].
    directions: of D that they belong to, [K, D].
    told: Q'y along them, [K]; of variance sigma^2 (sizes^2 / k + 1) each.
    lines: Q'L along them, [K, L].
    total: sums of D and y.
  """
  left, scales, _ = np.linalg.svd(lines)
  rank = int(np.sum(scales > _SMALLEST * sizes[0]))
  rest = left[:, rank:].T  # [K - rank, K]
  values, vectors = np.linalg.eigh((rest * sizes**2) @ rest.T)
  squares = np.square(vectors.T @ (rest @ told))
  moment = total.moment[:, 0]
  likelihoods, variances = [], []
  for strength in _STRENGTHS:
    slopes = _slopes(sizes, directions, told, float(strength))
    variances.append(
      float(
        total.square[0] - 2.0 * slopes @ moment + slopes @ total.gram @ slopes
      )
      / float(total.count)
    )
    spread = variances[-1] * (np.maximum(values, 0.0) / strength + 1.0)
    likelihoods.append(-0.5 * float(np.sum(np.log(spread) + squares / spread)))
  noise = np.array(variances)
  sizes_squared = noise / _STRENGTHS  # tau^2
  likely = np.array(likelihoods) + 0.5 * np.log(sizes_squared)
  likely[sizes_squared > _LARGEST**2] = -np.inf
  share = np.exp(likely - likely.max())
  share /= share.sum()
  square = float(share @ sizes_squared)
  return float(share @ noise) / square, float(np.sqrt(square))


def _slopes(
  sizes: types.FloatArray,
  directions: types.FloatArray,
  told: types.FloatArray,
  strength: float,
) -> types.FloatArray:
  """Returns u [D] of a penalty; arguments as in `_likely`."""
  return directions.T @ (sizes * told / (sizes**2 + strength))
