"""The update rule of DeepIV on any networks.

model = deepiv_update.DeepIV(
    rule, instrument_nets=[density], treatment_nets=[response], seed=0)
model.update(batch1, batch2)            # inside a tf.function
model.predict(treatment)                # [B, 1]
"""

from collections.abc import Mapping, Sequence

import sonnet as snt
import tensorflow as tf

from dfiv_ope import types
from dfiv_ope.iv.methods import deepiv_mixture
from dfiv_ope.iv.methods.entries import update_rules
from dfiv_ope.nn import descent, optimizers


def two_sample_loss(
  outcome: tf.Tensor, first: tf.Tensor, second: tf.Tensor
) -> tf.Tensor:
  """Returns mean_i (y_i - mean_s h(a_is)) (y_i - mean_s h(b_is)): [].

  With independent draws a and b its expectation is (y - E h)^2, and that of
  its gradient the gradient of it. The same draws in both factors would add
  Var(h) / S, the bias that Hartford et al. discuss.

  Args:
    outcome: y, [B, 1].
    first: h at the draws a, [S, B, 1].
    second: h at the draws b, [S, B, 1].
  """
  return tf.reduce_mean(
    (outcome - tf.reduce_mean(first, axis=0))
    * (outcome - tf.reduce_mean(second, axis=0))
  )


class DeepIV(tf.Module):
  """An ensemble of densities of the treatment and responses to it.

  Attributes:
    config: the update rule.
    densities: instrument nets in training, one a member.
    responses: treatment nets in training, one a member.
    history: losses at each check of the training.
  """

  def __init__(
    self,
    config: update_rules.DeepIV,
    *,
    instrument_nets: Sequence[snt.Module],
    treatment_nets: Sequence[snt.Module],
    seed: int,
    name: str | None = None,
  ):
    """Initialises the method.

    Args:
      config: the update rule.
      instrument_nets: a net a member, instruments [B, E] to outputs
        [B, `deepiv_mixture.output_size`]; the variables exist.
      treatment_nets: a net a member, treatments with covariates to [B, 1].
      seed: seeds the draws of the treatment.
      name: name of the module.
    """
    super().__init__(name=name)
    self.config = config
    self.history: dict[str, list[float]] = {}
    self.densities = [
      descent.Descent(
        net,
        optimizers.Adam,
        rate=config.density_rate,
        decay=config.density_decay,
      )
      for net in instrument_nets
    ]
    self.responses = [
      descent.Descent(
        net,
        optimizers.Adam,
        rate=config.response_rate,
        decay=config.response_decay,
      )
      for net in treatment_nets
    ]
    self._generator = tf.random.Generator.from_seed(seed)

  def predict(
    self, treatment: tf.Tensor, covariate: tf.Tensor | None = None
  ) -> tf.Tensor:
    """Returns the mean of the members' h at the given points, [B, 1]."""
    inputs = descent.join(treatment, covariate)
    return tf.reduce_mean(
      [each.network(inputs) for each in self.responses], axis=0
    )

  def structural_columns(
    self, treatment: tf.Tensor, covariate: tf.Tensor | None = None
  ) -> tf.Tensor:
    """Returns h of each member, [B, members]: f is linear in them."""
    inputs = descent.join(treatment, covariate)
    return tf.concat([each.network(inputs) for each in self.responses], axis=1)

  def instrument_columns(self, instrument: tf.Tensor) -> tf.Tensor:
    """Returns the mean treatment of each member's density, [B, members D]."""
    return tf.concat(
      [
        deepiv_mixture.mean(self._mixture(member, instrument, False))
        for member in range(len(self.densities))
      ],
      axis=1,
    )

  def update(
    self, stage1: types.IVBatch, stage2: types.IVBatch
  ) -> Mapping[str, tf.Tensor]:
    """Makes a density step on `stage1` and a response step on `stage2`."""
    members = range(len(self.densities))
    density = [self.density_step(member, stage1) for member in members]
    response = [self.response_step(member, stage2) for member in members]
    return {
      'density_loss': tf.reduce_mean(density),
      'response_loss': tf.reduce_mean(response),
    }

  def density_step(self, member: int, batch: types.IVBatch) -> tf.Tensor:
    """Makes a gradient step on a member's density; returns the loss."""
    return self.densities[member].step(
      lambda: self.density_loss(member, batch, is_training=True)
    )

  def response_step(self, member: int, batch: types.IVBatch) -> tf.Tensor:
    """Makes a gradient step on a member's response; returns the loss."""
    draws = self.draw(member, batch.instrument, self.config.samples)
    return self.responses[member].step(
      lambda: self.response_loss(member, batch, draws, is_training=True)
    )

  def density_loss(
    self, member: int, batch: types.IVBatch, *, is_training: bool = False
  ) -> tf.Tensor:
    """Returns the mean of -log p(treatment | instrument): []."""
    mixture = self._mixture(member, batch.instrument, is_training)
    return -tf.reduce_mean(deepiv_mixture.log_density(mixture, batch.treatment))

  def draw(self, member: int, instrument: tf.Tensor, samples: int) -> tf.Tensor:
    """Returns two sets of draws of the treatment, [2 samples, B, D]."""
    return deepiv_mixture.draw(
      self._mixture(member, instrument, False), 2 * samples, self._generator
    )

  def response_loss(
    self,
    member: int,
    batch: types.IVBatch,
    draws: tf.Tensor,
    *,
    is_training: bool = False,
  ) -> tf.Tensor:
    """Returns the two-sample loss of a member with draws [2 S, B, D]: []."""
    count, rows = tf.shape(draws)[0], tf.shape(draws)[1]
    covariate = batch.covariate
    if covariate is not None:
      covariate = tf.tile(covariate, [count, 1])
    inputs = descent.join(tf.reshape(draws, [-1, draws.shape[2]]), covariate)
    fitted = self.responses[member].network(inputs, is_training=is_training)
    first, second = tf.split(tf.reshape(fitted, [count, rows, 1]), 2)
    return two_sample_loss(batch.outcome, first, second)

  def _mixture(
    self, member: int, instrument: tf.Tensor, is_training: bool
  ) -> deepiv_mixture.Mixture:
    return deepiv_mixture.from_outputs(
      self.densities[member].network(instrument, is_training=is_training),
      self.config.components,
      self.config.min_scale,
    )
