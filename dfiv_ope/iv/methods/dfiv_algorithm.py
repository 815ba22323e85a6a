"""Algorithm 1 of DFIV and, where there are covariates, Algorithm 2.

In each iteration, with V-hat of Eq. (7) and u-hat of Eq. (9) in closed form,

    T1 steps on phi go down the stage-1 loss, Eq. (6), at V-hat,
    T2 steps on psi go down the stage-2 loss, Eq. (8), at V-hat and u-hat.

`iterate` does that. It asks a `Learned` for the features of rows and for how
they enter the regressions: regression on arrays (`dfiv`) hands in psi(x),
off-policy evaluation (`agents.dfiv`) differences of psi.

Features of rows are an `IVBatch`: treatment psi (a nest, where regressions need
more of it than one matrix), instrument phi, covariate xi or None, outcome.
"""

from collections.abc import Callable
from typing import NamedTuple, Protocol

import tensorflow as tf

from dfiv_ope import types
from dfiv_ope.iv import differentiable
from dfiv_ope.iv.methods.entries import update_rules
from dfiv_ope.nn import descent


class Learned(Protocol):
  """The networks of Algorithm 1 and how their features are regressed.

  Attributes:
    treatment: psi in training.
    instrument: phi in training.
    covariate: xi in training, or None.
  """

  treatment: descent.Descent
  instrument: descent.Descent
  covariate: descent.Descent | None

  def psi(self, rows: types.IVBatch) -> types.Nest:
    """Returns the treatment features of rows, in training."""

  def phi(self, rows: types.IVBatch) -> tf.Tensor:
    """Returns the instrument features of rows, [B, d2], in training."""

  def xi(self, rows: types.IVBatch) -> tf.Tensor | None:
    """Returns the covariate features of rows, [B, d3], in training."""

  def regression(self, features: types.IVBatch) -> tuple[tf.Tensor, tf.Tensor]:
    """Returns the regressors of stage 1 and what they predict, [B, d1]."""

  def design(self, treatment: tf.Tensor, features: types.IVBatch) -> tf.Tensor:
    """Returns the stage-2 features, [B, D]; the last weight is not penalised.

    Args:
      treatment: what stage 1 predicts: as predicted, or as it is.
      features: of the same rows.
    """

  def step_at_once(
    self, rule: update_rules.DFIV, stage1: types.IVBatch, stage2: types.IVBatch
  ) -> tuple[tf.Tensor, tf.Tensor]:
    """Makes a step on phi and one on psi as `step_at_once` does."""


def iterate(
  learned: Learned,
  rule: update_rules.DFIV,
  stage1: types.IVBatch,
  stage2: types.IVBatch,
  *,
  covariate_steps: int = 0,
) -> dict[str, tf.Tensor]:
  """Makes one iteration of Algorithm 1, of Algorithm 2 where there is xi.

  Deviation: Algorithm 2 descends every loss until it has converged, and psi
  before xi; here each network makes a given number of steps, xi first.

  Args:
    learned: psi, phi and xi. A step moves the network that makes it alone.
    rule: penalties and numbers of steps.
    stage1: a batch (x, z) of stage 1.
    stage2: a batch (y, z) of stage 2, with x if there are refinements.
    covariate_steps: gradient steps on xi.

  Returns:
    Both losses at their last steps, Eq. (6) and (8).
  """
  together = int(rule.at_once)
  if (
    together
    and rule.instrument_steps == rule.treatment_steps == 1
    and learned.covariate is None
  ):
    loss1, loss2 = learned.step_at_once(rule, stage1, stage2)
    return {'stage1_loss': loss1, 'stage2_loss': loss2}
  first, second = features(learned, stage1), features(learned, stage2)

  def loss_of_phi() -> tf.Tensor:
    rows1 = first._replace(instrument=learned.phi(stage1))
    return stage1_loss(
      learned, rule, rows1, stage1_weights(learned, rule, rows1)
    )

  def loss_of_xi(weights: tf.Tensor) -> tf.Tensor:
    rows2 = second._replace(covariate=learned.xi(stage2))
    return stage2_loss(learned, rule, rows2, weights)

  def loss_of_psi() -> tf.Tensor:
    rows1 = first._replace(treatment=learned.psi(stage1))
    rows2 = second._replace(treatment=learned.psi(stage2))
    return stage2_loss(
      learned, rule, rows2, stage1_weights(learned, rule, rows1)
    )

  # Stage 1 learning, t = 1 to T1.
  loss1 = _repeat(
    rule.instrument_steps - together,
    lambda: learned.instrument.step(loss_of_phi),
  )
  if together:
    loss1, loss2 = learned.step_at_once(rule, stage1, stage2)
  first = first._replace(instrument=learned.phi(stage1))
  second = second._replace(instrument=learned.phi(stage2))
  # Stage 2 learning, t = 1 to T2.
  if learned.covariate is not None:
    xi, fitted = learned.covariate, stage1_weights(learned, rule, first)
    _repeat(covariate_steps, lambda: xi.step(lambda: loss_of_xi(fitted)))
    second = second._replace(covariate=learned.xi(stage2))
  if rule.treatment_steps > together:
    loss2 = _repeat(
      rule.treatment_steps - together,
      lambda: learned.treatment.step(loss_of_psi),
    )
  return {'stage1_loss': loss1, 'stage2_loss': loss2}


def features(learned: Learned, rows: types.IVBatch) -> types.IVBatch:
  """Returns the features of rows, in training."""
  return types.IVBatch(
    treatment=learned.psi(rows),
    instrument=learned.phi(rows),
    outcome=rows.outcome,
    covariate=learned.xi(rows),
  )


def stage1_weights(
  learned: Learned, rule: update_rules.DFIV, first: types.IVBatch
) -> tf.Tensor:
  """Returns V-hat, Eq. (7), transposed; a function of psi and phi."""
  return differentiable.stage1(*learned.regression(first), rule.stage1_penalty)


def stage1_loss(
  learned: Learned,
  rule: update_rules.DFIV,
  first: types.IVBatch,
  weights: tf.Tensor,
) -> tf.Tensor:
  """Returns the loss of `first` at V-hat of the same rows, Eq. (6): []."""
  # V-hat minimises the loss, so the loss does not change with it.
  return differentiable.stage1_loss(
    *learned.regression(first), tf.stop_gradient(weights), rule.stage1_penalty
  )


def stage2_loss(
  learned: Learned,
  rule: update_rules.DFIV,
  second: types.IVBatch,
  weights: tf.Tensor,
) -> tf.Tensor:
  """Returns the loss of `second` at V-hat and u-hat, Eq. (8) and (9): []."""
  _, loss = stage2(
    designs(learned, second, weights), rule.stage2_penalty, rule.refinements
  )
  return loss


def iterate_jointly(
  learned: Learned,
  rule: update_rules.DFIV,
  stage1: types.IVBatch,
  stage2: types.IVBatch,
) -> dict[str, tf.Tensor]:
  """Makes T1 steps of all networks down the stage-2 loss, Eq. (8).

  It fails (appendix "Failure of Joint Optimization") and is here to show that.
  """
  descents = [learned.instrument, learned.treatment]
  if learned.covariate is not None:
    descents.append(learned.covariate)

  def loss() -> tf.Tensor:
    weights = stage1_weights(learned, rule, features(learned, stage1))
    return stage2_loss(learned, rule, features(learned, stage2), weights)

  loss2 = _repeat(
    rule.instrument_steps, lambda: [each.step(loss) for each in descents][-1]
  )
  first = features(learned, stage1)
  return {
    'stage1_loss': stage1_loss(
      learned, rule, first, stage1_weights(learned, rule, first)
    ),
    'stage2_loss': loss2,
  }


def step_at_once(
  learned: Learned,
  rule: update_rules.DFIV,
  stage1: types.IVBatch,
  stage2: types.IVBatch,
) -> tuple[tf.Tensor, tf.Tensor]:
  """Makes a step on phi and one on psi; returns their losses.

  Deviation: psi moves before it has seen the step of phi. One evaluation of the
  networks and one V-hat serve both, which saves about a sixth of an update of
  off-policy evaluation. Each loss moves its own network.
  """
  losses = []

  def loss() -> tf.Tensor:
    first, second = features(learned, stage1), features(learned, stage2)
    weights = stage1_weights(learned, rule, _still(first, 'instrument'))
    losses.extend(
      [
        stage1_loss(learned, rule, _still(first, 'treatment'), weights),
        stage2_loss(learned, rule, _still(second, 'instrument'), weights),
      ]
    )
    return losses[0] + losses[1]

  descent.step_together([learned.instrument, learned.treatment], loss)
  return losses[0], losses[1]


def _still(batch: types.IVBatch, member: str) -> types.IVBatch:
  """Returns features of which one member lets no gradient pass."""
  return batch._replace(
    **{member: tf.nest.map_structure(tf.stop_gradient, getattr(batch, member))}
  )


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


def designs(
  learned: Learned, second: types.IVBatch, weights: tf.Tensor
) -> Designs:
  """Returns the designs of `second`, predicted by V-hat of `stage1_weights`."""
  regressors, treatment = learned.regression(second)
  return Designs(
    predicted=learned.design(
      differentiable.predict_treatment(regressors, weights), second
    ),
    actual=learned.design(treatment, second),
    outcome=second.outcome,
  )


def stage2(
  given: Designs, penalty: float, refinements: int
) -> tuple[tf.Tensor, tf.Tensor]:
  """Solves stage 2, Eq. (9), then again without the noise of the treatment.

  Stage 2 of the paper regresses y on E[psi(X) | z]. Its noise is then not only
  that of y but also u'(psi(x) - E[psi(X) | z]), the part of the treatment's
  effect that the instrument does not explain. Where the rows of stage 2 hold
  the treatment (Appendix A asks for that), the part can be subtracted: its mean
  given z is zero, so the answer stays, and only the noise of y remains.

  Deviation: each refinement replaces y by y - (X - W) u with the u before it.
  The fixed point solves W'(y - X u) = 0, where the predicted features W are the
  instruments of the actual ones X: an error of stage 1 costs precision, but
  does not bias the answer. Without refinements this is Eq. (9) and (8).

  Args:
    given: predicted and actual stage-2 features and outcomes.
    penalty: lambda2.
    refinements: how often stage 2 is solved again.

  Returns:
    Weights u [D, 1] and their loss, Eq. (8), on the outcomes used: [].
  """
  # The weights minimise the loss, so it does not change with them.
  solve = differentiable.stage2(tf.stop_gradient(given.predicted), penalty)
  outcome = given.outcome
  weights = tf.stop_gradient(solve(outcome))
  for _ in range(refinements):
    # No gradient: the features explain y, they must not change it.
    outcome = given.outcome - differentiable.predict(
      tf.stop_gradient(given.actual - given.predicted), weights
    )
    weights = tf.stop_gradient(solve(outcome))
  return weights, differentiable.stage2_loss(
    given.predicted, outcome, weights, penalty
  )


def _repeat(times: int, step: Callable[[], tf.Tensor]) -> tf.Tensor:
  """Makes steps in a loop of the graph and returns the last one's loss: []."""
  if times == 1:
    return step()
  _, loss = tf.while_loop(
    lambda count, _: count < times,
    lambda count, _: (count + 1, step()),
    (tf.constant(0), tf.zeros([])),
  )
  return loss
