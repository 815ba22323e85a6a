"""What stands beside the learned features of DFIV: a line and a kernel.

Few learned features are right where the effect has their form, and far off
where training does not find it. So the same rows are fitted once more in closed
form, on features that nothing trains, and both answers are averaged:

    f = share * u'(psi (x) xi) + (1 - share) * v' fixed

The share is estimated like any other effect: among functions a f1 + (1 - a) f2
of two given ones, E[y - a f1 - (1 - a) f2 | z] = 0 is a regression of y - f2 on
f1 - f2, with E[f1 - f2 | z] as its one instrument.

Deviation: the paper has learned features alone.
"""

import numpy as np
import tensorflow as tf

from dfiv_ope import types
from dfiv_ope.iv import (
  closed_form,
  fold_fits,
  kernels,
  landmarks,
  ridge,
  two_stage,
)
from dfiv_ope.iv.methods.entries import kernel_rules, penalties

# Candidates, slack and the projection's penalty are those of KIV's default. Of
# few folds, lambda2 depends on how they are cut. Of two minima of the losses
# the one of the larger penalty counts unless it is higher by `_DIP` errors.
_KIV = kernel_rules.Kernels()
_FOLDS, _MOMENT_PENALTY, _DIP = 10, 1e-6, 0.5
# Beyond the candidates of a kernel: a line alone takes more.
_STAGE2_PENALTIES = (*penalties.CANDIDATES, 10.0**0.5, 10.0)
# Rows that bandwidths are searched with, and what may be left of a kernel.
_SEARCH_ROWS, _TOLERANCE = 2000, 1e-6
# Of fewer rows in a half, or of more columns, nothing is fitted.
_LEAST_ROWS, _MOST_COLUMNS = 20, 50


class FixedFeatures(tf.Module):
  """Columns, scaled, and features of a Gaussian kernel; they can be saved."""

  def __init__(self, columns: int, scale: float):
    """Initialises the features of `columns` inputs; `adapt` fits them."""
    super().__init__()
    self._scale = scale
    self._points = _variable(np.zeros([0, columns]), [None, columns])
    self._bandwidth = _variable(np.ones(columns), [columns])
    self._factor = _variable(np.zeros([0, 0]), [None, None])

  def adapt(
    self, x: types.FloatArray, bandwidth: types.FloatArray, most: int
  ) -> None:
    """Picks at most so many landmarks among the rows of x [B, D]."""
    kernel = landmarks.Landmarks(x.shape[1])
    kernel.adapt(x, bandwidth, _TOLERANCE, most)
    state = kernel.state()
    self._points.assign(state['points'])
    self._bandwidth.assign(state['bandwidth'])
    self._factor.assign(state['factor'])

  def __call__(self, x: types.FloatArray) -> types.FloatArray:
    """Returns features [B, D + landmarks] of x [B, D], float64."""
    kernel = landmarks.Landmarks(x.shape[1])
    kernel.restore(
      {
        'points': self._points.numpy(),
        'bandwidth': self._bandwidth.numpy(),
        'factor': self._factor.numpy(),
      }
    )
    return np.concatenate([self._scale * x, kernel(x)], axis=1)


class FixedPart(tf.Module):
  """v' fixed and how much of f it is.

  Attributes:
    treatment: features of treatments and covariates.
    instrument: features of instruments and covariates.
    weights: v, the last of the constant, [D, 1]; empty before a fit.
    share: of the learned features in f.
  """

  def __init__(self, sizes: types.Sizes, scale: float):
    """Initialises a part that f has nothing of."""
    super().__init__()
    self.treatment = FixedFeatures(sizes.treatment + sizes.covariate, scale)
    self.instrument = FixedFeatures(sizes.instrument, 1.0)
    self.weights = _variable(np.zeros([0, 1]), [None, 1])
    self.share = _variable(np.ones([]), [])

  @property
  def fitted(self) -> bool:
    """Whether there is something to add to the learned features."""
    return bool(self.weights.numpy().size) and float(self.share) < 1.0

  def columns(
    self, treatment: types.Nest, covariate: types.Nest | None
  ) -> types.FloatArray:
    """Returns what f is linear in, without the constant, [B, D]."""
    return self.treatment(closed_form.join(treatment, covariate))

  def predict(
    self, treatment: types.Nest, covariate: types.Nest | None
  ) -> types.FloatArray:
    """Returns v' fixed, [B, 1]."""
    return (
      ridge.append_intercept(self.columns(treatment, covariate))
      @ self.weights.numpy()
    )

  def fit(
    self, first: types.IVBatch, second: types.IVBatch, *, most: int
  ) -> types.FloatArray | None:
    """Fits v to all rows.

    Args:
      first: standardised rows of stage 1.
      second: those of stage 2.
      most: landmarks of each kernel.

    Returns:
      v of the rows of stage 2 alone, [D, 1], with which the share is found;
      None where there are too few rows or too many columns.
    """
    columns = max(
      first.instrument.shape[1],
      sum(
        each.shape[1]
        for each in (first.treatment, first.covariate)
        if each is not None
      ),
    )
    if (
      len(first.outcome) < _LEAST_ROWS
      or len(second.outcome) < (_LEAST_ROWS)
      or columns > _MOST_COLUMNS
    ):
      return None
    some = _joined(
      *(_first(half, _SEARCH_ROWS // 2) for half in (first, second))
    )
    rows = kernels.columns(_joined(first, second))
    bandwidths = kernels.chosen_bandwidths(
      kernel_rules.Kernels(most_landmarks=most), some
    )
    for features, x, bandwidth in zip(
      (self.treatment, self.instrument),
      (rows.treatment, rows.instrument),
      bandwidths,
      strict=True,
    ):
      features.adapt(x, bandwidth, most)
    self.weights.assign(self._solved(rows).stage2_weights)
    return self._solved(
      fold_fits.Rows(*(each[len(first.outcome) :] for each in rows))
    ).stage2_weights

  def _solved(self, rows: fold_fits.Rows) -> two_stage.Solution:
    return fold_fits.two_stages(
      fold_fits.of_folds(rows, self.instrument, self.treatment, _FOLDS),
      stage1_penalties=_KIV.stage1_penalties,
      stage2_penalties=_STAGE2_PENALTIES,
      slack=_KIV.slack,
      dip=_DIP,
      moment_penalty=_MOMENT_PENALTY,
    )


def share(
  learned: types.FloatArray,
  fixed: types.FloatArray,
  outcome: types.FloatArray,
  instruments: tuple[types.FloatArray, ...],
) -> float:
  """Returns the share of one of two functions, in [0, 1].

  Args:
    learned: the one at rows of stage 1, then of stage 2, [n1 + n2, 1]. Both
      functions were fitted to outcomes of stage 2 alone.
    fixed: the other.
    outcome: of stage 1, [n1, 1].
    instruments: features of both halves, [n1, D] and [n2, D]; those of stage 2
      fit the expected difference, and that of stage 1 says with which penalty.
  """
  count = len(outcome)
  difference, rest = learned - fixed, outcome - fixed[:count]
  here, there = difference[:count], difference[count:]
  given = ridge.append_intercept(instruments[0])
  grid = ridge.solve_grid(
    ridge.sums(ridge.append_intercept(instruments[1]), there),
    _KIV.stage1_penalties,
    intercept=True,
  )
  expected = min(
    (given @ weights for weights in grid),
    key=lambda each: float(np.sum(np.square(here - each))),
  )
  expected = expected - np.mean(expected)
  slope = float(np.sum(expected * here))
  if not slope > 0.0:  # The instruments cannot tell both functions apart.
    return 0.5
  return float(np.clip(np.sum(expected * rest) / slope, 0.0, 1.0))


def _variable(value: types.FloatArray, shape: list[int | None]) -> tf.Variable:
  return tf.Variable(value, shape=shape, dtype=tf.float64, trainable=False)


def _joined(*halves: types.IVBatch) -> types.IVBatch:
  return types.IVBatch(
    *(
      None if members[0] is None else np.concatenate(members).astype(np.float64)
      for members in zip(*halves, strict=True)
    )
  )


def _first(rows: types.IVBatch, count: int) -> types.IVBatch:
  return types.IVBatch(
    *(None if each is None else np.asarray(each)[:count] for each in rows)
  )
