"""DeepGMM (Bennett et al., 2019) for OPE: Q against a critic.

The critic g(s, a) looks for states and actions at which the Bellman residual
r - (q(s, a) - gamma d q(s', pi)) is predictable, q for residuals that no critic
can predict.

    agent = deepgmm.make(deepgmm.Config(), problem, seed=0)
    agent.update(rows, more_rows)           # inside a tf.function
    agent.predict(decision)                 # [B, 1]
"""

from collections.abc import Callable, Mapping

import sonnet as snt
import tensorflow as tf

from dfiv_ope import types
from dfiv_ope.agents import network_agent
from dfiv_ope.agents.entries import deepgmm as entry
from dfiv_ope.iv.methods import deepgmm_update
from dfiv_ope.nn import layers as layers_lib
from dfiv_ope.ope import bellman, decision_networks, decisions

# Known before this module is loaded.
Config = entry.Config
CONFIGS = entry.CONFIGS

Network = decision_networks.Heads | decision_networks.Joint


class Structural(snt.Module):
  """The structural function of a step, Eq. (10): q less the discounted q."""

  def __init__(self, network: Network, mean: float):
    """Initialises the function; q starts near `mean`."""
    super().__init__('structural')
    self._network = network
    self._mean = mean
    self._offset = tf.Variable(0.0, name='offset')

  def __call__(
    self, step: bellman.Step, *, is_training: bool = False
  ) -> tf.Tensor:
    """Returns q(s, a) - gamma d E_pi q(s', .), [B, 1]."""
    return bellman.difference(
      lambda decision: self.q(decision, is_training=is_training), step
    )

  def q(
    self, decision: decisions.Decision, *, is_training: bool = False
  ) -> tf.Tensor:
    """Returns the value of decisions, [B, 1]."""
    return (
      self._mean
      + self._offset
      + self._network(decision, is_training=is_training)
    )


class DeepGMM(network_agent.NetworkAgent):
  """The game, and the average of what q was in it."""

  loss_names = ('game_value',)

  def __init__(
    self,
    config: Config,
    *,
    make_structural: Callable[[], Structural],
    critic: Network,
  ):
    """Initialises the agent; `make_structural` returns equal functions."""
    super().__init__('deepgmm')
    self.config: Config = config
    self._game = deepgmm_update.DeepGMM(
      config, treatment_nets=[make_structural()], instrument_nets=[critic]
    )
    self._present = self._game.structurals[0].network
    self._average = (
      self._present if config.average_rate == 1.0 else make_structural()
    )

  def update(
    self, first: types.IVBatch, second: types.IVBatch
  ) -> Mapping[str, tf.Tensor]:
    """Makes the critic's steps and one of q, the last of each together."""
    for _ in range(self.config.critic_steps - 1):
      self._game.critic_step(0, first)
    value = self._game.joint_step(0, second)
    if self._average is not self._present:
      pairs = zip(
        self._average.trainable_variables,
        self._present.trainable_variables,
        strict=True,
      )
      for average, present in pairs:
        average.assign_add(self.config.average_rate * (present - average))
    return {'game_value': value}

  def anneal(self, share: float) -> None:
    """Lowers the learning rates, if the config says so."""
    if self.config.falling_rates:
      for each in (*self._game.structurals, *self._game.critics):
        each.anneal(share)

  def predict(self, decision: decisions.Decision) -> tf.Tensor:
    """Returns the averaged q: the structural function of a last step."""
    return self._average.q(decision)


def make(config: Config, problem: bellman.Problem, *, seed: int) -> DeepGMM:
  """Returns the agent of a problem."""

  def network(
    layers: tuple[layers_lib.Layer, ...], seed: types.Seed
  ) -> Network:
    return decision_networks.value_network(
      layers, spaces=problem.spaces, per_action=config.per_action, seed=seed
    )

  return DeepGMM(
    config,
    make_structural=lambda: Structural(
      network(config.treatment_net, (seed, 0)), problem.value_mean
    ),
    critic=network(config.instrument_net, (seed, 1)),
  )
