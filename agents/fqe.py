"""Fitted Q evaluation (Le et al., 2019).

Regresses r + gamma d E_pi Q~(s', .) on (s, a), where Q~ is a target network
that follows the one in training. The expectation over the policy's actions is
exact, see `decisions`. This is no IV method: the target is held still, so
the noise of r and s' is in the outcome alone.

    agent = fqe.make(fqe.Config(), problem, seed=0)
    agent.update(rows, more_rows)           # inside a tf.function
    agent.predict(decision)                 # [B, 1]
"""

from collections.abc import Callable, Mapping

import numpy as np
import sonnet as snt
import tensorflow as tf

from dfiv_ope import types
from dfiv_ope.agents import network_agent
from dfiv_ope.agents.entries import fqe as entry
from dfiv_ope.nn import descent, optimizers
from dfiv_ope.nn import layers as layers_lib
from dfiv_ope.ope import bellman, decision_networks, decisions

# Known before this module is loaded.
Config = entry.Config
CONFIGS = entry.CONFIGS


def two_hot(values: tf.Tensor, atoms: tf.Tensor) -> tf.Tensor:
  """Returns the probabilities of two neighbouring atoms with these means.

  Args:
    values: [B, 1]; those beyond the atoms are moved to the nearest.
    atoms: evenly spaced, rising, [N].

  Returns:
    [B, N]; rows sum to one.
  """
  spacing = atoms[1] - atoms[0]
  values = tf.clip_by_value(values, atoms[0], atoms[-1])
  return tf.nn.relu(1.0 - tf.abs(values - atoms[None, :]) / spacing)


class Scalar(snt.Module):
  """A network of values that starts near `mean`."""

  def __init__(
    self, network: Callable[[decisions.Decision], tf.Tensor], mean: float
  ):
    super().__init__('scalar')
    self._network = network
    self._mean = mean

  def __call__(self, decision: decisions.Decision) -> tf.Tensor:
    """Returns sum_a p(a) q(s, a), [B, 1]."""
    return self._mean + self._network(decision)

  def loss(self, decision: decisions.Decision, target: tf.Tensor) -> tf.Tensor:
    """Returns mean((q - target)^2) / 2, []."""
    return 0.5 * tf.reduce_mean(tf.square(self(decision) - target))


class Categorical(snt.Module):
  """A network of the probabilities of values, whose mean is q."""

  def __init__(self, network: decision_networks.Joint, atoms: np.ndarray):
    super().__init__('categorical')
    self._network = network
    self._atoms = tf.constant(atoms, tf.float32)

  def __call__(self, decision: decisions.Decision) -> tf.Tensor:
    """Returns sum_a p(a) q(s, a), [B, 1]."""
    total = tf.zeros([])
    for choice in range(decision.actions.shape[1]):
      logits = self._network(
        decisions.taken(decision.observation, decision.actions[:, choice])
      )
      value = tf.linalg.matvec(tf.nn.softmax(logits), self._atoms)  # [B]
      total += decision.probabilities[:, choice] * value
    return total[:, None]

  def loss(self, decision: decisions.Decision, target: tf.Tensor) -> tf.Tensor:
    """Returns the cross-entropy of logged actions' values, []."""
    return tf.reduce_mean(
      tf.nn.softmax_cross_entropy_with_logits(
        two_hot(target, self._atoms), self._network(decision)
      )
    )


class FQE(network_agent.NetworkAgent):
  """A Q-network and the target network that follows it."""

  loss_names = ('loss',)

  def __init__(
    self, config: Config, make_network: Callable[[], Scalar | Categorical]
  ):
    """Initialises the agent; `make_network` returns equal networks."""
    super().__init__('fqe')
    self.config: Config = config
    self._descent = descent.Descent(
      make_network(), optimizers.Adam, rate=config.learning_rate
    )
    self._target = make_network()
    self._updates = tf.Variable(0, dtype=tf.int64, trainable=False)

  def update(
    self, first: types.IVBatch, second: types.IVBatch
  ) -> Mapping[str, tf.Tensor]:
    """Makes a step towards the target, then the target's move."""
    del second  # Its rows would cost as much again and change little.
    target = first.outcome - bellman.change(self._target, first.treatment)
    network = self._descent.network
    loss = self._descent.step(lambda: network.loss(first.treatment.now, target))
    self._updates.assign_add(1)
    period = self.config.target_period
    if period == 1:
      self._follow()
    else:
      tf.cond(self._updates % period == 0, self._follow, lambda: None)
    return {'loss': loss}

  def _follow(self) -> None:
    pairs = zip(
      self._target.trainable_variables,
      self._descent.network.trainable_variables,
      strict=True,
    )
    for target, source in pairs:
      target.assign_add(self.config.target_rate * (source - target))

  def anneal(self, share: float) -> None:
    """Lowers the learning rate, if the config says so."""
    if self.config.falling_rate:
      self._descent.anneal(share)

  def predict(self, decision: decisions.Decision) -> tf.Tensor:
    """Returns the value by the target network, which is the steadier one."""
    return self._target(decision)


def make(config: Config, problem: bellman.Problem, *, seed: types.Seed) -> FQE:
  """Returns the agent of a problem."""
  if config.atoms:
    atoms = (
      np.linspace(problem.lowest, problem.highest, config.atoms)
      / problem.value_scale
    )
    return FQE(
      config,
      lambda: Categorical(
        decision_networks.Joint(
          (*config.layers, layers_lib.Dense(config.atoms, None)),
          spaces=problem.spaces,
          seed=seed,
        ),
        atoms,
      ),
    )
  return FQE(
    config,
    lambda: Scalar(
      decision_networks.value_network(
        config.layers,
        spaces=problem.spaces,
        per_action=config.per_action,
        seed=seed,
      ),
      problem.value_mean,
    ),
  )
