"""DFIV's stages for off-policy evaluation (appendix "Application to OPE").

With Q(s, a) = u'psi(s, a) the treatment feature is X = K + C: what is known
from the instrument, K = psi(s, a), and what is not, C = -gamma d psi(s', pi).
Stage 1 predicts X from features of (s, a), and since all of these are linear
the prediction is W = [phi, K] B for a matrix B of two kinds:

- the paper's, W = K + V phi, where V predicts C from phi alone;
- of classical two-stage least squares, where the exogenous regressor K is one
  of the instruments and B predicts X from both (`augment`).

The last columns of phi and of psi are constants (that of X is 1 - gamma d).
"""

from typing import NamedTuple

import tensorflow as tf

from dfiv_ope.iv import differentiable, poles, ridge


class Features(NamedTuple):
  """Features of rows.

  Attributes:
    instrument: phi(s, a), [B, d2].
    known: K = psi(s, a), [B, d1].
    change: C = -gamma d psi(s', pi), [B, d1].
    outcome: r, [B, 1].
  """
  instrument: tf.Tensor
  known: tf.Tensor
  change: tf.Tensor
  outcome: tf.Tensor

  @property
  def actual(self) -> tf.Tensor:
    """X, the treatment feature of Eq. (10), [B, d1]."""
    return self.known + self.change

  @property
  def instruments(self) -> tf.Tensor:
    """[phi, K], [B, d2 + d1]."""
    return tf.concat([self.instrument, self.known], axis=1)


def stage1(
    rows: Features, penalty: float, *, augment: bool,
) -> tf.Tensor:
  """Returns V of the paper, [d2, d1], or B, [d2 + d1, d1]: Eq. (7).

  Args:
    rows: rows that stage 1 is solved on.
    penalty: lambda1.
    augment: whether K is an instrument.
  """
  return differentiable.solve(
      *_regression(rows, augment), penalty, intercept=True)


def stage1_loss(
    rows: Features, weights: tf.Tensor, penalty: float, *, augment: bool,
) -> tf.Tensor:
  """Returns the stage-1 loss, Eq. (6), of weights from `stage1`: []."""
  return differentiable.loss(
      *_regression(rows, augment), weights, penalty, intercept=True)


def predict_treatment(
    rows: Features, weights: tf.Tensor, *, augment: bool,
) -> tf.Tensor:
  """Returns W, [B, d1], with weights from `stage1`."""
  if augment:
    return differentiable.predict(rows.instruments, weights)
  return rows.known + differentiable.predict(rows.instrument, weights)


def sums(rows: Features) -> ridge.Sums:
  """Returns what both stages need of rows: of [phi, K] and [X, r]."""
  return differentiable.sums(
      rows.instruments, tf.concat([rows.actual, rows.outcome], axis=1))


def stage1_sums(
    total: ridge.Sums, penalty: float, *, augment: bool,
) -> tf.Tensor:
  """Returns B from `sums`, [d2 + d1, d1], of either kind."""
  treatment = ridge.targets(total, slice(None, -1))
  if augment:
    return ridge.solve_sums(treatment, penalty, intercept=True)
  size = treatment.moment.shape[0] - treatment.moment.shape[1]  # d2
  change = ridge.Sums(
      gram=total.gram[:size, :size],
      moment=treatment.moment[:size] - total.gram[:size, size:],
      square=treatment.square,  # not used
      count=total.count)
  weights = ridge.solve_sums(change, penalty, intercept=True)
  return tf.concat(
      [weights, tf.eye(weights.shape[1], dtype=weights.dtype)], axis=0)


def stage2_sums(
    total: ridge.Sums, weights: tf.Tensor, penalty: float,
) -> tf.Tensor:
  """Returns u, Eq. (9), from `sums` and B of `stage1_sums`: [d1, 1], float64.

  With `augment` and rows that are the same in both stages, W'X = W'W: the
  predicted treatment as regressor and as instrument give the same answer.
  """
  predicted = ridge.project(total, weights)
  return ridge.solve_sums(
      ridge.targets(predicted, slice(-1, None)), penalty, intercept=True)


def own_instruments(total: ridge.Sums, penalty: float) -> tf.Tensor:
  """Returns u with psi(s, a) as the only instruments, [d1, 1], float64.

  As many instruments as regressors: the solution of both stages is LSTD-Q's,
  u = (K'X)^-1 K'r. Where no u fits the Bellman equation everywhere, it holds
  along the features that make up Q, while instruments beyond those pull u
  towards a small residual wherever the log has rows.
  """
  size = total.moment.shape[0] - total.moment.shape[1] + 1  # d2
  own = total._replace(gram=total.gram[size:, size:],
                       moment=total.moment[size:])
  return ridge.solve_cross(own, poles.steady_penalty(own, penalty))


def held_out_loss(
    total: ridge.Sums, weights: tf.Tensor, stage2_weights: tf.Tensor,
) -> tf.Tensor:
  """Returns the stage-2 loss, Eq. (8) without penalty, on other rows: [].

  Args:
    total: sums of rows that neither stage was solved on.
    weights: B.
    stage2_weights: u.
  """
  predicted = ridge.targets(ridge.project(total, weights), slice(-1, None))
  return ridge.mean_squared_error(predicted, stage2_weights)


def _regression(
    rows: Features, augment: bool) -> tuple[tf.Tensor, tf.Tensor]:
  """Returns features and targets of stage 1."""
  if augment:
    return rows.instruments, rows.actual
  return rows.instrument, rows.change
