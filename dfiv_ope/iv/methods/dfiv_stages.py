"""The closed forms of DFIV: both stages on matrices of learned features.

A batch of features is an `IVBatch` as in `two_stage`: treatment psi(x)
[B, d1], instrument phi(z) [B, d2], outcome [B, 1], covariate xi(o) [B, d3] or
None.

Stage 2 of the paper regresses y on E[psi(X) | z]. Its noise is then not only
that of y but also u'(psi(x) - E[psi(X) | z]), the part of the treatment's
effect that the instrument does not explain. Where the rows of stage 2 hold the
treatment (Appendix A asks for that), the part can be subtracted: its mean
given z is zero, so the answer stays, and only the noise of y remains. `stage2`
does that. Its fixed point solves W'(y - X u) = 0, where the predicted features
W are the instruments of the actual ones X: an error of stage 1 costs
precision, but does not bias the answer.
"""

from typing import NamedTuple

import tensorflow as tf

from dfiv_ope import types
from dfiv_ope.iv import differentiable


class Designs(NamedTuple):
  """What stage 2 regresses.

  Attributes:
    predicted: W, stage-2 features of the predicted treatment, [B, D].
    actual: X, stage-2 features of the actual treatment, [B, D].
    outcome: y, [B, 1].
  """
  predicted: tf.Tensor
  actual: tf.Tensor
  outcome: tf.Tensor


class Losses(NamedTuple):
  """Out-of-sample losses of Appendix A.

  Attributes:
    stage1: L_1-oos as a share of the variance of psi, 1 - R^2. Deviation: the
      scale of psi changes in training, which the loss itself would show.
    stage2: L_2-oos.
  """
  stage1: tf.Tensor
  stage2: tf.Tensor


def predict_treatment(
    first: types.IVBatch, instrument: tf.Tensor, penalty: float,
) -> tf.Tensor:
  """Solves stage 1 on `first`, Eq. (7), and returns V phi(z), [B, d1].

  Args:
    first: features of the stage-1 rows.
    instrument: phi(z) of the rows to predict, [B, d2].
    penalty: lambda1.
  """
  weights = differentiable.stage1(first.instrument, first.treatment, penalty)
  return differentiable.predict_treatment(instrument, weights)


def design(
    treatment: tf.Tensor, covariate: tf.Tensor | None, *, intercept: bool,
) -> tf.Tensor:
  """Returns the stage-2 features of psi [B, d1] and xi [B, d3]: [B, D].

  Args:
    treatment: psi(x) or its prediction.
    covariate: xi(o), or None.
    intercept: whether constants are appended. Without, psi is taken as it is
      and its last column stands for the constant: it is not penalised.
  """
  if intercept:
    return differentiable.design(treatment, covariate)
  if covariate is not None:
    raise ValueError(
        'A covariate needs the constants of the stage-2 design: drop the '
        'covariate or pass intercept=True.')
  return treatment


def designs(
    predicted: tf.Tensor, second: types.IVBatch, *, intercept: bool,
) -> Designs:
  """Returns the stage-2 designs of `second` and its predicted psi [B, d1]."""
  return Designs(
      predicted=design(predicted, second.covariate, intercept=intercept),
      actual=design(
          second.treatment, second.covariate, intercept=intercept),
      outcome=second.outcome)


def swapped_designs(
    first: types.IVBatch,
    second: types.IVBatch,
    penalty: float,
    *,
    intercept: bool,
) -> Designs:
  """Returns the designs of all rows, each predicted from the other batch."""
  parts = [
      designs(predict_treatment(source, rows.instrument, penalty), rows,
              intercept=intercept)
      for source, rows in ((first, second), (second, first))]
  return Designs(*(tf.concat(part, 0) for part in zip(*parts, strict=True)))


def stage2(
    given: Designs, penalty: float, refinements: int,
) -> tuple[tf.Tensor, tf.Tensor]:
  """Solves stage 2, Eq. (9), then again without the noise of the treatment.

  Deviation: each refinement replaces y by y - (X - W) u with the u before it
  (see the module). Without refinements this is Eq. (9) and (8).

  Args:
    given: predicted and actual stage-2 features and outcomes.
    penalty: lambda2.
    refinements: how often stage 2 is solved again.

  Returns:
    Weights u [D, 1] and their loss, Eq. (8), on the outcomes used: [].
  """

  def solve(outcome: tf.Tensor) -> tf.Tensor:
    # The weights minimise the loss, so it does not change with them.
    return tf.stop_gradient(
        differentiable.stage2(given.predicted, outcome, penalty))

  outcome = given.outcome
  weights = solve(outcome)
  for _ in range(refinements):
    unexplained = differentiable.predict(
        given.actual - given.predicted, weights)
    # No gradient: the features explain y, they must not change it.
    outcome = given.outcome - tf.stop_gradient(unexplained)
    weights = solve(outcome)
  return weights, differentiable.stage2_loss(
      given.predicted, outcome, weights, penalty)


def held_out_losses(
    first: types.IVBatch,
    second: types.IVBatch,
    *,
    stage1_penalty: float,
    stage2_penalty: float,
    refinements: int,
    intercept: bool,
) -> Losses:
  """Solves each stage on its rows; the other rows judge it (Appendix A).

  Args:
    first: features of the stage-1 rows, which judge stage 2.
    second: features of the stage-2 rows, which judge stage 1.
    stage1_penalty: lambda1.
    stage2_penalty: lambda2.
    refinements: as in `stage2`.
    intercept: as in `design`.
  """
  predicted1 = predict_treatment(first, first.instrument, stage1_penalty)
  predicted2 = predict_treatment(first, second.instrument, stage1_penalty)
  weights, _ = stage2(
      designs(predicted2, second, intercept=intercept), stage2_penalty,
      refinements)
  fitted = differentiable.predict(
      design(predicted1, first.covariate, intercept=intercept), weights)
  error = tf.reduce_sum(tf.square(second.treatment - predicted2))
  centred = second.treatment - tf.reduce_mean(
      second.treatment, axis=0, keepdims=True)
  return Losses(
      stage1=tf.math.divide_no_nan(
          error, tf.reduce_sum(tf.square(centred))),
      stage2=tf.reduce_mean(tf.square(first.outcome - fitted)))


def cross_fitted_loss(
    first: types.IVBatch,
    second: types.IVBatch,
    *,
    stage1_penalty: float,
    stage2_penalty: float,
    refinements: int,
    intercept: bool,
) -> tf.Tensor:
  """Returns the stage-2 loss with everything fitted on other rows: [].

  Each half's treatment is predicted by the other's stage 1, and each half's
  stage 2 is judged by the other. `held_out_losses` predicts the judging rows
  from themselves.

  Args:
    first: features of one half of the rows.
    second: features of the other.
    stage1_penalty: lambda1.
    stage2_penalty: lambda2.
    refinements: as in `stage2`.
    intercept: as in `design`.
  """
  halves = [
      designs(predict_treatment(source, rows.instrument, stage1_penalty), rows,
              intercept=intercept)
      for source, rows in ((first, second), (second, first))]
  weights = [stage2(half, stage2_penalty, refinements)[0] for half in halves]
  losses = [
      tf.reduce_mean(tf.square(
          half.outcome - differentiable.predict(half.predicted, other)))
      for half, other in zip(halves, weights[::-1], strict=True)]
  return (losses[0] + losses[1]) / 2.
