"""The update rule of DeepGMM on any networks.

model = deepgmm_update.DeepGMM(
    rule, treatment_nets=[structural], instrument_nets=[critic])
model.update(batch1, batch2)            # inside a tf.function
model.predict(treatment)                # [B, 1]
"""

from collections.abc import Mapping, Sequence

import sonnet as snt
import tensorflow as tf

from dfiv_ope import types
from dfiv_ope.iv.methods.entries import update_rules
from dfiv_ope.nn import descent, optimizers


def game_value(
  critic: tf.Tensor,
  residual: tf.Tensor,
  lagged_residual: tf.Tensor,
  *,
  even_weights: float = 0.0,
) -> tf.Tensor:
  """Returns mean(g (y - f)) - mean(g^2 (y - f~)^2) / 4 (Bennett et al.): [].

  f minimises it, g maximises it. The second term is the optimal weighting of
  the moments; f~ is an earlier f and has no gradient.

  Args:
    critic: g at the instruments, [B, 1].
    residual: y - f, [B, 1].
    lagged_residual: y - f~, [B, 1].
    even_weights: share of the mean of (y - f~)^2 in what weighs g^2.
  """
  weight = tf.square(tf.stop_gradient(lagged_residual))
  if even_weights:
    weight += even_weights * (tf.reduce_mean(weight) - weight)
  weighting = tf.square(critic) * weight
  return tf.reduce_mean(critic * residual) - tf.reduce_mean(weighting) / 4.0


class DeepGMM(tf.Module):
  """Games of a structural function and a critic; the functions' mean is f.

  Attributes:
    config: the update rule.
    structurals: treatment nets in training, one a game.
    critics: instrument nets in training, one a game.
    history: losses at each check of the training.
  """

  def __init__(
    self,
    config: update_rules.DeepGMM,
    *,
    treatment_nets: Sequence[snt.Module],
    instrument_nets: Sequence[snt.Module],
    name: str | None = None,
  ):
    """Initialises the method.

    Args:
      config: the update rule.
      treatment_nets: a net a game, treatments with covariates to f, [B, 1];
        the variables exist. A treatment may be a nest if there are no
        covariates.
      instrument_nets: a net a game, instruments to g, [B, 1].
      name: name of the module.
    """
    super().__init__(name=name)
    self.config = config
    self.history: dict[str, list[float]] = {}
    self.structurals = [
      descent.Descent(net, self._optimizer, rate=config.treatment_rate)
      for net in treatment_nets
    ]
    self.critics = [
      descent.Descent(net, self._optimizer, rate=config.instrument_rate)
      for net in instrument_nets
    ]

  def predict(
    self, treatment: types.Nest, covariate: tf.Tensor | None = None
  ) -> tf.Tensor:
    """Returns the structural function at the given points, [B, 1]."""
    inputs = descent.join(treatment, covariate)
    return tf.reduce_mean(
      [each.network(inputs) for each in self.structurals], axis=0
    )

  def structural_columns(
    self, treatment: types.Nest, covariate: tf.Tensor | None = None
  ) -> tf.Tensor:
    """Returns the function of each game, [B, games]: f is linear in them."""
    inputs = descent.join(treatment, covariate)
    return tf.concat(
      [each.network(inputs) for each in self.structurals], axis=1
    )

  def instrument_columns(self, instrument: types.Nest) -> tf.Tensor:
    """Returns the critic of each game, [B, games]."""
    return tf.concat(
      [each.network(instrument) for each in self.critics], axis=1
    )

  def update(
    self, stage1: types.IVBatch, stage2: types.IVBatch
  ) -> Mapping[str, tf.Tensor]:
    """Makes the critics' steps on `stage1`, then one of f on `stage2`."""
    values = []
    for game in range(len(self.structurals)):
      for _ in tf.range(self.config.critic_steps):
        self.critic_step(game, stage1)
      values.append(self.structural_step(game, stage2))
    return {'game_value': tf.reduce_mean(values)}

  @tf.autograph.experimental.do_not_convert
  def critic_step(self, game: int, batch: types.IVBatch) -> tf.Tensor:
    """Makes a step of g up the game value; returns it."""
    residual = self._scaled(self.residual(game, batch))
    return -self.critics[game].step(
      lambda: (
        -self._value(
          self.critic(game, batch, is_training=True), residual, residual
        )
      )
    )

  @tf.autograph.experimental.do_not_convert
  def structural_step(self, game: int, batch: types.IVBatch) -> tf.Tensor:
    """Makes a step of f down the game value; returns it."""
    critic = self.critic(game, batch)

    def value() -> tf.Tensor:
      residual = self._scaled(self.residual(game, batch, is_training=True))
      # The earlier f is the one before this step.
      return self._value(critic, residual, residual)

    return self.structurals[game].step(value)

  def joint_step(self, game: int, batch: types.IVBatch) -> tf.Tensor:
    """Makes a step of f and one of g, each against the other as it was.

    Both networks are evaluated once, which is what makes it cheap.

    Returns:
      The game value.
    """
    players = [self.structurals[game], self.critics[game]]
    values = []

    def loss() -> tf.Tensor:
      residual = self._scaled(self.residual(game, batch, is_training=True))
      critic = self.critic(game, batch, is_training=True)
      still = tf.stop_gradient(residual)
      values.append(self._value(tf.stop_gradient(critic), residual, still))
      return values[0] - self._value(critic, still, still)

    descent.step_together(players, loss)
    return values[0]

  def _value(
    self, critic: tf.Tensor, residual: tf.Tensor, lagged_residual: tf.Tensor
  ) -> tf.Tensor:
    """Returns `game_value` as the rule weighs it."""
    return game_value(
      critic, residual, lagged_residual, even_weights=self.config.even_weights
    )

  def residual(
    self, game: int, batch: types.IVBatch, *, is_training: bool = False
  ) -> tf.Tensor:
    """Returns y - f, [B, 1]."""
    inputs = descent.join(batch.treatment, batch.covariate)
    return batch.outcome - self.structurals[game].network(
      inputs, is_training=is_training
    )

  def _scaled(self, residual: tf.Tensor) -> tf.Tensor:
    """Returns residuals as the game sees them, see `update_rules.DeepGMM`."""
    if not self.config.unit_residuals:
      return residual
    size = tf.sqrt(tf.reduce_mean(tf.square(residual)))
    return tf.math.divide_no_nan(residual, tf.stop_gradient(size))

  def critic(
    self, game: int, batch: types.IVBatch, *, is_training: bool = False
  ) -> tf.Tensor:
    """Returns g at the instruments, [B, 1]."""
    return self.critics[game].network(batch.instrument, is_training=is_training)

  def _optimizer(self, rate: tf.Variable) -> optimizers.OAdam:
    return optimizers.OAdam(rate, self.config.beta1, self.config.beta2)
