"""What stands beside the learned features of DFIV: a line and kernels.

Few learned features are right where the effect has their form, and far off
where training does not find it. So the same rows are fitted once more in closed
form, on features that nothing trains, and both answers are averaged:

    f = share * u'(psi (x) xi) + (1 - share) * v' fixed

The fixed part goes from a plain function to a rich one: a line (two-stage least
squares); where there are covariates, a fit of KIV that is wide in the
treatment, nearly a line whose slope depends on covariates; KIV's fit. The more
clearly one of them predicts what the one before leaves, at held-out rows, the
more of it is taken (`linearity`).

The share is estimated like any other effect: among functions a f1 + (1 - a) f2
of two given ones, E[y - a f1 - (1 - a) f2 | z] = 0 is a regression of y - f2 on
f1 - f2, with E[f1 - f2 | z] as its one instrument. Where both are about as
good, a is noise; so the lower end of its confidence interval is taken.

Deviation: the paper has learned features alone.
"""

from typing import NamedTuple

import numpy as np
import tensorflow as tf

from dfiv_ope import types
from dfiv_ope.iv import (
  closed_form,
  fold_curves,
  kernels,
  landmarks,
  linearity,
  ridge,
)
from dfiv_ope.iv.methods import two_sls
from dfiv_ope.iv.methods.entries import kernel_rules

# Standard errors by which a kernel has to predict what the wide kernel leaves,
# median distances of the latter's treatment, and standard errors by which the
# share of the learned features lies below its estimate.
_LEAST_BEND, _WIDE, _SHARE_ERRORS = 1.0, 10.0, 2.0
_KIV = kernel_rules.Kernels()


class FixedFeatures(tf.Module):
  """Features of a Gaussian kernel that can be saved."""

  def __init__(self, columns: int):
    """Initialises the features of `columns` inputs; `adapt` fits them."""
    super().__init__()
    self._points = _variable(np.zeros([0, columns]), [None, columns])
    self._bandwidth = _variable(np.ones(columns), None)
    self._factor = _variable(np.zeros([0, 0]), [None, None])

  def adapt(
    self, x: types.FloatArray, bandwidth: types.FloatArray, most: int
  ) -> None:
    """Picks at most so many landmarks among the rows of x [B, D].

    Args:
      x: rows.
      bandwidth: of each column, [D], or of directions, [D, D].
      most: landmarks.
    """
    kernel = landmarks.Landmarks(x.shape[1])
    kernel.adapt(x, bandwidth, fold_curves.TOLERANCE, most)
    state = kernel.state()
    self._points.assign(state['points'])
    self._bandwidth.assign(state['bandwidth'])
    self._factor.assign(state['factor'])

  def __call__(self, x: types.FloatArray) -> types.FloatArray:
    """Returns features [B, landmarks] of x [B, D], float64."""
    kernel = landmarks.Landmarks(x.shape[1])
    kernel.restore(
      {
        'points': self._points.numpy(),
        'bandwidth': self._bandwidth.numpy(),
        'factor': self._factor.numpy(),
      }
    )
    return kernel(x)


class Fit(NamedTuple):
  """What a fit of the fixed part tells.

  Attributes:
    of_stage2: v of the rows of stage 2 alone, [D, 1], by which the share is
      found.
    curve: of `linearity.t_statistic`.
    bend: likewise, of a kernel against one that is wide in the treatment; None
      without covariates, where there is none.
  """

  of_stage2: types.FloatArray
  curve: float
  bend: float | None


class FixedPart(tf.Module):
  """v' fixed and how much of f it is.

  Attributes:
    treatment: kernel of treatments and covariates.
    wide: the same, wide in the treatments; without landmarks where there are no
      covariates.
    instrument: kernel of instruments and covariates.
    weights: v, the last of the constant, [D, 1]; empty before a fit.
    share: of the learned features in f.
  """

  def __init__(self, sizes: types.Sizes):
    """Initialises a part that f has nothing of."""
    super().__init__()
    self.treatment = FixedFeatures(sizes.treatment + sizes.covariate)
    self.wide = FixedFeatures(sizes.treatment + sizes.covariate)
    self.instrument = FixedFeatures(sizes.instrument)
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
    x = closed_form.join(treatment, covariate)
    return np.concatenate([x, self.wide(x), self.treatment(x)], axis=1)

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
  ) -> Fit | None:
    """Fits v to all rows.

    Args:
      first: standardised rows of stage 1.
      second: those of stage 2.
      most: landmarks of each kernel.

    Returns:
      What it tells; None where there are too few rows or too many columns.
    """
    both = _joined(first, second)
    rows = kernels.columns(both)
    halves = [kernels.columns(_joined(half)) for half in (first, second)]
    if not fold_curves.possible(halves):
      return None
    some = _joined(
      *(
        _rows(half, slice(fold_curves.SEARCH_ROWS // 2))
        for half in (first, second)
      )
    )
    config = kernel_rules.Kernels(most_landmarks=most)
    treatment, instrument = kernels.chosen_bandwidths(config, some)
    self.treatment.adapt(rows.treatment, treatment, most)
    self.instrument.adapt(rows.instrument, instrument, most)
    curve = fold_curves.fit(halves, self.treatment, self.instrument)
    lines = _lines(first, second)
    weights = [curve.weights, curve.of_stage2]
    expected, bend = curve.expected, None
    if both.covariate is not None:
      found, _ = kernels.chosen_bandwidths(config, some, least=_WIDE)
      self.wide.adapt(rows.treatment, found, most)
      wide = fold_curves.fit(halves, self.wide, self.instrument)
      bend = linearity.standardised(
        linearity.own_fold(
          curve.expected - wide.expected, fold_curves.folds(halves)
        )
        * (rows.outcome - wide.held_out)
      )
      part = linearity.weight(bend, _LEAST_BEND)
      expected = part * curve.expected + (1.0 - part) * wide.expected
      weights = [
        _mixed(part, rich, plain)
        for rich, plain in zip(
          weights, (wide.weights, wide.of_stage2), strict=True
        )
      ]
    told = fold_curves.t_statistic(expected, halves, lines[0])
    part = linearity.weight(told, fold_curves.LEAST_CURVE)
    weights = [
      _mixed(part, rich, plain)
      for rich, plain in zip(weights, lines, strict=True)
    ]
    self.weights.assign(weights[0])
    return Fit(of_stage2=weights[1], curve=told, bend=bend)


def _mixed(
  part: float, rich: types.FloatArray, plain: types.FloatArray
) -> types.FloatArray:
  """Returns weights of [plain, rich, 1] for a part of a rich function.

  Args:
    part: of the rich function.
    rich: its weights, the last of the constant, [D1, 1].
    plain: those of the other, [D2, 1].
  """
  rich, plain = part * rich, (1.0 - part) * plain
  return np.concatenate([plain[:-1], rich[:-1], rich[-1:] + plain[-1:]])


def _lines(
  first: types.IVBatch, second: types.IVBatch
) -> list[types.FloatArray]:
  """Returns two-stage least squares of all rows and of `second`, [D, 1]."""
  middle = len(second.outcome) // 2
  return [
    two_sls.fit(two_sls.Config(), *halves, seed=0).weights
    for halves in (
      (first, second),
      (_rows(second, slice(middle)), _rows(second, slice(middle, None))),
    )
  ]


def share(
  learned: types.FloatArray,
  fixed: types.FloatArray,
  outcome: types.FloatArray,
  instruments: tuple[types.FloatArray, ...],
) -> float:
  """Returns the share of one of two functions that is sure, in [0, 1].

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
    return 0.0
  estimate = float(np.sum(expected * rest)) / slope
  noise = rest - estimate * here
  noise = noise - np.mean(noise)
  error = float(np.sqrt(np.sum(np.square(expected * noise)))) / slope
  return float(np.clip(estimate - _SHARE_ERRORS * error, 0.0, 1.0))


def _variable(
  value: types.FloatArray, shape: list[int | None] | None
) -> tf.Variable:
  shape = tf.TensorShape(shape)
  return tf.Variable(value, shape=shape, dtype=tf.float64, trainable=False)


def _joined(*halves: types.IVBatch) -> types.IVBatch:
  return types.IVBatch(
    *(
      None if members[0] is None else np.concatenate(members).astype(np.float64)
      for members in zip(*halves, strict=True)
    )
  )


def _rows(rows: types.IVBatch, which: slice) -> types.IVBatch:
  return types.IVBatch(
    *(None if each is None else np.asarray(each)[which] for each in rows)
  )
