"""DQN: trains target policies over finitely many actions.

Double Q-learning with n-step returns, in rounds (see `rounds`).
"""

from collections.abc import Sequence
import functools

import numpy as np
import sonnet as snt
import tensorflow as tf

from dfiv_ope import types
from dfiv_ope.agents import replay, rounds
from dfiv_ope.agents.entries import dqn as entry
from dfiv_ope.nn import layers as layers_lib
from dfiv_ope.nn import networks
from dfiv_ope.policies import greedy, rollout

# Known before this module is loaded.
Config = entry.Config


def double_q_error(
  values: tf.Tensor,
  next_values: tf.Tensor,
  next_target_values: tf.Tensor,
  transition: types.Transition,
) -> tf.Tensor:
  """Returns r + d Q'(s', argmax_a Q(s', a)) - Q(s, a), [B].

  Args:
    values: Q(s, .), [B, A].
    next_values: Q(s', .), [B, A].
    next_target_values: Q'(s', .) of the target network, [B, A].
    transition: n-step transitions whose discount includes the agent's.
  """
  best = tf.argmax(next_values, axis=-1, output_type=tf.int32)  # [B]
  bootstrap = tf.gather(next_target_values, best, batch_dims=1)  # [B]
  target = transition.reward + transition.discount * bootstrap
  chosen = tf.gather(values, transition.action, batch_dims=1)
  return tf.stop_gradient(target) - chosen


class QNetwork(tf.Module):
  """A multi-layer perceptron on scaled observations, [B, D] -> [B, A]."""

  def __init__(
    self,
    scale: rounds.RunningScale,
    *,
    hidden: Sequence[int],
    num_actions: int,
    seed: int,
  ):
    super().__init__('q_network')
    self._scale = scale
    layers = [layers_lib.Dense(size) for size in hidden]
    layers.append(layers_lib.Dense(num_actions, activation=None))
    self._network = networks.Network(layers, input_size=scale.size, seed=seed)

  def __call__(self, observation: tf.Tensor) -> tf.Tensor:
    return self._network(self._scale(observation))


class DQNLearner(rounds.Learner):
  """Learns a Q-network from the batches of a replay."""

  def __init__(
    self,
    config: Config,
    source: replay.Replay,
    *,
    sizes: rollout.Sizes,
    seed: int,
  ):
    """Builds the networks.

    Args:
      config: the hyper-parameters.
      source: where batches come from.
      sizes: of the environment.
      seed: of the weights.
    """
    make_network = functools.partial(
      QNetwork, hidden=config.hidden, num_actions=sizes.num_actions, seed=seed
    )
    super().__init__(
      config,
      source,
      make_network,
      num_observations=sizes.num_observations,
      categories=sizes.categories,
    )
    self._sizes = sizes
    self._period = config.target_period
    self._target_network = make_network(self.scale)
    self._optimizer = snt.optimizers.Adam(self._learning_rate)

  def policy(self, network: QNetwork) -> greedy.Greedy:
    """Returns the policy of a network."""
    return greedy.Greedy(network, num_observations=self._sizes.num_observations)

  def _update(self, batch: types.Transition) -> tf.Tensor:
    """One update of the Q-network."""
    variables = self.network.trainable_variables
    with tf.GradientTape() as tape:
      error = double_q_error(
        self.network(batch.observation),
        self.network(batch.next_observation),
        self._target_network(batch.next_observation),
        batch,
      )
      loss = 0.5 * tf.reduce_mean(tf.square(error))
    self._optimizer.apply(tape.gradient(loss, variables), variables)
    self._updates.assign_add(1)
    tf.cond(self._updates % self._period == 0, self._copy, lambda: None)
    return loss

  def _copy(self) -> None:
    """Makes the target network the present one."""
    for target, source in zip(
      self._target_network.trainable_variables,
      self.network.trainable_variables,
      strict=True,
    ):
      target.assign(source)

  @property
  def state(self) -> dict[str, tf.Module]:
    """What a checkpoint must hold to go on exactly as before."""
    return {
      **super().state,
      'target_network': self._target_network,
      'optimizer': self._optimizer,
    }


class ExploringActor:
  """Epsilon-greedy with exploratory actions that are held for a while.

  A random action that lasts a single step hardly moves a heavy car; held for a
  geometric number of steps it does (Dabney et al., 2021).
  """

  def __init__(self, learner: DQNLearner, config: Config):
    """Initialises the slots.

    Args:
      learner: whose network acts.
      config: the hyper-parameters.
    """
    copies = config.episodes_per_round
    self._config = config
    self._epsilon = 1.0
    self._values = tf.function(learner.network)
    self._generators = [np.random.default_rng(0)] * copies
    self._held: list[int | None] = [None] * copies

  def begin_round(self, done: float, *, warm: bool) -> None:
    """Sets how much is explored, given the share of the run that is done."""
    self._epsilon = max(self._config.epsilon, 1.0 - 2.0 * done) if warm else 1.0

  def begin(self, slot: int, seed: int) -> None:
    self._generators[slot] = np.random.default_rng(seed)
    self._held[slot] = None

  def act(self, observations: np.ndarray, slots: list[int]) -> np.ndarray:
    values = self._values(tf.constant(observations)).numpy()
    actions = np.argmax(values, axis=1).astype(np.int32)
    for slot in slots:
      generator = self._generators[slot]
      if self._held[slot] is None or generator.random() >= self._config.hold:
        explores = generator.random() < self._epsilon
        self._held[slot] = (
          int(generator.integers(values.shape[1])) if explores else None
        )
      if self._held[slot] is not None:
        actions[slot] = self._held[slot]
    return actions
