"""DeepIV (Hartford et al., 2017) for OPE: a model of the next state, then Q.

A mixture density network learns where a step leads, and with what probability
the episode ends there. The values are then fitted so that their Bellman
equation, Eq. (10), holds on average over draws from that model:

    E (r - q(s, a) + gamma E_{s', d} d E_pi q(s', .))^2

Two independent sets of draws of s' make the gradient unbiased.
"""

from collections.abc import Mapping

import numpy as np
import sonnet as snt
import tensorflow as tf

from dfiv_ope import types
from dfiv_ope.agents import network_agent
from dfiv_ope.agents.entries import deepiv as entry
from dfiv_ope.iv.methods import deepiv_mixture, deepiv_update
from dfiv_ope.nn import descent, layers, optimizers
from dfiv_ope.ope import bellman, decision_networks, decisions

# Known before this module is loaded.
Config = entry.Config
CONFIGS = entry.CONFIGS


class DeepIV(network_agent.NetworkAgent):
  """A density of the next state and the values that agree with it."""

  config: Config

  loss_names = ('density_loss', 'value_loss')

  def __init__(
    self,
    config: Config,
    problem: bellman.Problem,
    density_net: snt.Module,
    value_net: snt.Module,
    *,
    seed: int,
  ):
    """Initialises the agent.

    Args:
      config: hyper-parameters.
      problem: says what the target policy does in drawn states.
      density_net: decisions to the outputs of a mixture and the logit of the
        end of the episode, [B, `deepiv_mixture.output_size` + 1].
      value_net: decisions to values less their mean, [B, 1].
      seed: of the draws.
    """
    super().__init__('deepiv')
    self.config = config
    self._problem = problem
    self._density = descent.Descent(
      density_net,
      optimizers.Adam,
      rate=config.density_rate,
      decay=config.density_decay,
    )
    self._values = descent.Descent(
      value_net,
      optimizers.Adam,
      rate=config.response_rate,
      decay=config.response_decay,
    )
    self._unit = tf.Variable(
      tf.ones([problem.num_observations]), trainable=False
    )
    self._done = tf.Variable(0, dtype=tf.int64, trainable=False)
    # Philox: the same numbers on every machine and in every tf.function.
    self._generator = tf.random.Generator.from_seed(seed, alg='philox')

  def update(
    self, first: types.IVBatch, second: types.IVBatch
  ) -> Mapping[str, tf.Tensor]:
    """Trains the density on `first`, or later the values on `second`.

    The loss of the one that rests is given as 0.
    """
    self._done.assign_add(1)
    zero = tf.zeros([])
    density_loss, value_loss = tf.cond(
      self._done <= round(self.config.density_share * self.config.updates),
      lambda: (self.density_step(first.treatment), zero),
      lambda: (zero, self.value_step(second)),
    )
    return {'density_loss': density_loss, 'value_loss': value_loss}

  def anneal(self, share: float) -> None:
    if self.config.falling_rates:
      turn = self.config.density_share
      self._density.anneal(min(share / turn, 1.0))
      self._values.anneal(max((share - turn) / (1.0 - turn), 0.0))

  def density_step(self, step: bellman.Step) -> tf.Tensor:
    """Makes a gradient step on the density; returns the loss, []."""
    if self.config.predict_change:
      # The first batch tells the spread of each entry.
      expand = self._problem.observations.expand
      change = tf.where(
        step.continuation > 0.0,
        expand(step.later.observation) - expand(step.now.observation),
        0.0,
      )
      spread = tf.sqrt(tf.reduce_mean(tf.square(change), axis=0))
      self._unit.assign(
        tf.where((self._done == 1) & (spread > 0.0), spread, self._unit)
      )
    return self._density.step(lambda: self.density_loss(step, is_training=True))

  def density_loss(
    self, step: bellman.Step, *, is_training: bool = False
  ) -> tf.Tensor:
    """Returns the mean of -log p(s', d | s, a): [].

    A state that an episode ends in has no value, so the mixture is of those
    it goes on from.
    """
    mixture, logit = self._model(step.now, is_training=is_training)
    # The environment's discount, which is 1 wherever an episode goes on, or
    # less if it has discounts of its own.
    going_on = tf.math.divide_no_nan(step.continuation, self._problem.discount)
    expand = self._problem.observations.expand
    target = expand(step.later.observation)
    if self.config.predict_change:
      target = (target - expand(step.now.observation)) / self._unit
    end = tf.nn.sigmoid_cross_entropy_with_logits(1.0 - going_on, logit)
    return tf.reduce_mean(end) - tf.reduce_mean(
      going_on[:, 0] * deepiv_mixture.log_density(mixture, target)
    )

  def value_step(self, batch: types.IVBatch) -> tf.Tensor:
    """Makes a gradient step on the values; returns the loss, []."""
    step = self.imagine(
      batch.instrument,
      2 * self.config.samples,
      support=batch.treatment.later.actions.shape[1],
    )
    return self._values.step(
      lambda: self.value_loss(step, batch.outcome, is_training=True)
    )

  def imagine(
    self, now: decisions.Decision, count: int, *, support: int | None = None
  ) -> bellman.Step:
    """Returns `count` draws of where each step leads."""
    mixture, logit = self._model(now)
    later = deepiv_mixture.draw(
      mixture, count, self._generator, rows_per_noise=self.config.rows_per_noise
    )
    if self.config.predict_change:
      later = (
        self._problem.observations.expand(now.observation) + self._unit * later
      )
    return self._problem.imagine(
      now, later, tf.sigmoid(-logit), support=support
    )

  def value_loss(
    self, step: bellman.Step, outcome: tf.Tensor, *, is_training: bool = False
  ) -> tf.Tensor:
    """Returns the two-sample loss of an even number of draws: []."""
    first, second = tf.split(
      bellman.drawn_difference(
        lambda decision: self._value(decision, is_training=is_training), step
      ),
      2,
    )
    return deepiv_update.two_sample_loss(outcome, first, second)

  def predict(self, decision: decisions.Decision) -> tf.Tensor:
    return self._value(decision)

  def _value(
    self, decision: decisions.Decision, *, is_training: bool = False
  ) -> tf.Tensor:
    return self._problem.value_mean + self._values.network(
      decision, is_training=is_training
    )

  def _model(
    self, now: decisions.Decision, *, is_training: bool = False
  ) -> tuple[deepiv_mixture.Mixture, tf.Tensor]:
    """Returns the density of s' and the logit of the end, [B, 1]."""
    outputs = self._density.network(now, is_training=is_training)
    # Slices would be put back into two arrays of zeros in the gradient.
    described, logit = tf.split(outputs, [outputs.shape[1] - 1, 1], axis=1)
    mixture = deepiv_mixture.from_outputs(
      described, self.config.components, self.config.min_scale
    )
    return mixture, logit


def make(
  config: Config, problem: bellman.Problem, *, seed: types.Seed
) -> DeepIV:
  """Returns the agent of a problem."""
  seeds = [int(each) for each in np.random.SeedSequence(seed).generate_state(3)]
  outputs = 1 + deepiv_mixture.output_size(
    config.components, problem.num_observations
  )
  value_net = decision_networks.value_network(
    config.value_net,
    spaces=problem.spaces,
    per_action=config.per_action,
    seed=seeds[1],
  )
  density_net = decision_networks.Joint(
    (*config.density_net, layers.Dense(outputs, None)),
    seed=seeds[0],
    spaces=problem.spaces,
  )
  return DeepIV(config, problem, density_net, value_net, seed=seeds[2])
