"""The update rule of DFIV on any networks (Algorithms 1 and 2).

    model = dfiv_update.DFIV(config, treatment_net=psi, instrument_net=phi)
    model.update(batch1, batch2)            # inside a tf.function
    model.solve(data1, data2)
    model.predict(treatment)                # [B, 1]
"""

from collections.abc import Callable, Mapping

import sonnet as snt
import tensorflow as tf

from dfiv_ope import types
from dfiv_ope.iv import differentiable
from dfiv_ope.iv.methods import dfiv_rule, dfiv_stages
from dfiv_ope.nn import descent, networks, optimizers


class DFIV(tf.Module):
  """Deep feature instrumental variable regression.

  Attributes:
    config: the update rule.
    treatment: psi in training.
    instrument: phi in training.
    covariate: xi in training, or None.
    stage2_weights: u of the last `solve`, [D, 1]; empty before the first.
    history: losses at each check of the training.
  """

  def __init__(
      self,
      config: dfiv_rule.UpdateRule,
      *,
      treatment_net: snt.Module,
      instrument_net: snt.Module,
      covariate_net: snt.Module | None = None,
      intercept: bool = True,
      name: str | None = None,
  ):
    """Initialises the method.

    Args:
      config: the update rule.
      treatment_net: psi; the variables of all networks exist.
      instrument_net: phi.
      covariate_net: xi; None for data without covariates.
      intercept: whether stage 2 appends a constant. Off-policy evaluation has
        its own, as the last column of psi.
      name: name of the module.
    """
    super().__init__(name=name)
    self.config = config
    self.history: dict[str, list[float]] = {}
    self.stage2_weights = tf.Variable(
        tf.zeros([0, 1]), shape=[None, 1], trainable=False)
    self.treatment = descent.Descent(
        treatment_net, optimizers.Adam, rate=config.treatment_learning_rate)
    self.instrument = descent.Descent(
        instrument_net, optimizers.Adam, rate=config.learning_rate)
    self.covariate = None
    if covariate_net is not None:
      self.covariate = descent.Descent(
          covariate_net, optimizers.Adam, rate=config.learning_rate)
    self._intercept = intercept

  # AutoGraph has nothing to convert here, and would take seconds to see that.
  @tf.autograph.experimental.do_not_convert
  def update(
      self, stage1: types.IVBatch, stage2: types.IVBatch,
  ) -> Mapping[str, tf.Tensor]:
    """Makes one iteration of Algorithm 1 or 2 from two independent batches.

    Deviation: Algorithm 2 descends every loss until it has converged, and psi
    before xi; here each network makes a given number of steps, xi first.

    Args:
      stage1: rows that stage 1 is solved on.
      stage2: rows that stage 2 is solved on.

    Returns:
      Both losses at the last step, Eq. (6) and (8).
    """
    if self.config.joint:
      return self._joint_update(stage1, stage2)
    first, second = self._train(stage1), self._train(stage2)
    stage1_loss = _repeat(
        self.config.instrument_steps,
        lambda: self.instrument.step(lambda: self._stage1_loss(
            first._replace(instrument=self._phi(stage1)))))
    first = first._replace(instrument=self._phi(stage1))
    second = second._replace(instrument=self._phi(stage2))
    if self.covariate is not None:
      covariate = self.covariate
      _repeat(
          self.config.covariate_steps,
          lambda: covariate.step(lambda: self._stage2_loss(
              first, second._replace(
                  covariate=_call(covariate, stage2.covariate, True)))))
      second = second._replace(
          covariate=_call(covariate, stage2.covariate, True))
    stage2_loss = _repeat(
        self.config.treatment_steps,
        lambda: self.treatment.step(lambda: self._stage2_loss(
            first._replace(
                treatment=_call(self.treatment, stage1.treatment, True)),
            second._replace(
                treatment=_call(self.treatment, stage2.treatment, True)))))
    return {'stage1_loss': stage1_loss, 'stage2_loss': stage2_loss}

  def solve(self, stage1: types.IVBatch, stage2: types.IVBatch) -> None:
    """Solves both stages on the whole data set, Eq. (7) and (9).

    Deviation: with `swap_solve` both batches serve in both stages; with
    `refinements` see `dfiv_stages.stage2`.

    Args:
      stage1: all rows of stage 1.
      stage2: all rows of stage 2, disjoint from those of stage 1.
    """
    first, second = self.features(stage1), self.features(stage2)
    if self.config.swap_solve:
      given = dfiv_stages.swapped_designs(
          first, second, self.config.stage1_penalty, intercept=self._intercept)
    else:
      given = self._designs(first, second)
    weights, _ = dfiv_stages.stage2(
        given, self.config.stage2_penalty, self.config.effective_refinements)
    self.stage2_weights.assign(weights)

  def held_out_losses(
      self, stage1: types.IVBatch, stage2: types.IVBatch,
  ) -> dfiv_stages.Losses:
    """Returns the losses of Appendix A, without `swap_solve`."""
    return dfiv_stages.held_out_losses(
        self.features(stage1), self.features(stage2),
        stage1_penalty=self.config.stage1_penalty,
        stage2_penalty=self.config.stage2_penalty,
        refinements=self.config.effective_refinements,
        intercept=self._intercept)

  def predict(
      self, treatment: types.Nest, covariate: types.Nest | None = None,
  ) -> tf.Tensor:
    """Returns the structural function at the given points, [B, 1]."""
    return differentiable.predict(
        dfiv_stages.design(
            _call(self.treatment, treatment, False),
            _call(self.covariate, covariate, False),
            intercept=self._intercept),
        self.stage2_weights)

  def features(
      self, batch: types.IVBatch, *, is_training: bool = False,
  ) -> types.IVBatch:
    """Returns the batch with psi, phi, xi in place of the raw variables.

    Args:
      batch: raw variables, [B, ...] each.
      is_training: whether networks use dropout and batch statistics, if any.
    """
    return types.IVBatch(
        treatment=_call(self.treatment, batch.treatment, is_training),
        instrument=_call(self.instrument, batch.instrument, is_training),
        outcome=batch.outcome,
        covariate=_call(self.covariate, batch.covariate, is_training))

  def _joint_update(
      self, stage1: types.IVBatch, stage2: types.IVBatch,
  ) -> Mapping[str, tf.Tensor]:
    descents = [self.instrument, self.treatment]
    if self.covariate is not None:
      descents.append(self.covariate)

    def step() -> tf.Tensor:
      losses = [
          each.step(lambda: self._stage2_loss(
              self._train(stage1), self._train(stage2)))
          for each in descents]
      return losses[-1]

    stage2_loss = _repeat(self.config.instrument_steps, step)
    return {'stage1_loss': self._stage1_loss(self._train(stage1)),
            'stage2_loss': stage2_loss}

  def _train(self, batch: types.IVBatch) -> types.IVBatch:
    return self.features(batch, is_training=True)

  def _phi(self, batch: types.IVBatch) -> tf.Tensor:
    return _call(self.instrument, batch.instrument, True)

  def _designs(
      self, first: types.IVBatch, second: types.IVBatch,
  ) -> dfiv_stages.Designs:
    predicted = dfiv_stages.predict_treatment(
        first, second.instrument, self.config.stage1_penalty)
    return dfiv_stages.designs(predicted, second, intercept=self._intercept)

  def _stage1_loss(self, first: types.IVBatch) -> tf.Tensor:
    penalty = self.config.stage1_penalty
    # The weights minimise the loss, so it does not change with them.
    weights = tf.stop_gradient(
        differentiable.stage1(first.instrument, first.treatment, penalty))
    return differentiable.stage1_loss(
        first.instrument, first.treatment, weights, penalty)

  def _stage2_loss(
      self, first: types.IVBatch, second: types.IVBatch,
  ) -> tf.Tensor:
    _, loss = dfiv_stages.stage2(
        self._designs(first, second), self.config.stage2_penalty,
        self.config.effective_refinements)
    return loss


def _repeat(times: int, step: Callable[[], tf.Tensor]) -> tf.Tensor:
  """Makes steps in a loop of the graph and returns the last one's loss: []."""
  _, loss = tf.while_loop(
      lambda count, _: count < times,
      lambda count, _: (count + 1, step()),
      (tf.constant(0), tf.zeros([])))
  return loss


def _call(
    trained: descent.Descent | None, x: types.Nest, is_training: bool,
) -> tf.Tensor | None:
  """Returns features of x, [B, D]; None where there is no network."""
  if trained is None:
    return None
  if isinstance(trained.network, networks.Network):
    return trained.network(x, is_training=is_training)
  return trained.network(x)
