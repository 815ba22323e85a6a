"""TD3: trains target policies over actions that are vectors.

Twin delayed deep deterministic policy gradients (Fujimoto et al., 2018) with
n-step returns, in rounds (see `rounds`). Within the networks actions lie in
[-1, 1]: bounds are -1 and 1.
"""

from collections.abc import Sequence
import functools

import numpy as np
import sonnet as snt
import tensorflow as tf

from dfiv_ope import actions as actions_lib
from dfiv_ope import types
from dfiv_ope.agents import replay, rounds
from dfiv_ope.agents.entries import td3 as entry
from dfiv_ope.nn import layers as layers_lib
from dfiv_ope.nn import networks
from dfiv_ope.policies import continuous, rollout

# Known before this module is loaded.
Config = entry.Config


class ActionNetwork(tf.Module):
  """Actions of scaled observations within their bounds, [B, D] -> [B, d].

  Attributes:
    middle: of the bounds, float32 [d].
    half_range: half the distance of the bounds, float32 [d].
  """

  def __init__(
    self,
    scale: rounds.RunningScale,
    *,
    hidden: Sequence[int],
    actions: actions_lib.Continuous,
    seed: int,
  ):
    super().__init__('action_network')
    low, high = actions.bounds
    self.middle = ((low + high) / 2.0).astype(np.float32)
    self.half_range = ((high - low) / 2.0).astype(np.float32)
    self._scale = scale
    layers = [layers_lib.Dense(size) for size in hidden]
    layers.append(layers_lib.Dense(actions.size, activation='tanh'))
    self._network = networks.Network(layers, input_size=scale.size, seed=seed)

  def __call__(self, observation: tf.Tensor) -> tf.Tensor:
    return self.middle + self.half_range * self.unit(observation)

  def unit(self, observation: tf.Tensor) -> tf.Tensor:
    """Returns actions on the scale of [-1, 1]."""
    return self._network(self._scale(observation))


class Critic(tf.Module):
  """The value of a state and an action on the scale of [-1, 1], [B]."""

  def __init__(
    self,
    scale: rounds.RunningScale,
    *,
    hidden: Sequence[int],
    entries: int,
    seed: tuple[int, int],
  ):
    super().__init__('critic')
    self._scale = scale
    layers = [layers_lib.Dense(size) for size in hidden]
    layers.append(layers_lib.Dense(1, activation=None))
    self._network = networks.Network(
      layers, input_size=scale.size + entries, seed=seed
    )

  def __call__(self, observation: tf.Tensor, unit: tf.Tensor) -> tf.Tensor:
    inputs = tf.concat([self._scale(observation), unit], axis=1)
    return self._network(inputs)[:, 0]


class TD3Learner(rounds.Learner):
  """Learns a network of actions, with two critics."""

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
      seed: of the weights and of the noise in the targets.
    """
    if sizes.continuous is None:
      raise ValueError('TD3 is for actions that are vectors; take DQN.')
    make_network = functools.partial(
      ActionNetwork, hidden=config.hidden, actions=sizes.continuous, seed=seed
    )
    super().__init__(
      config,
      source,
      make_network,
      num_observations=sizes.num_observations,
      categories=sizes.categories,
    )
    self._td3 = config
    self._actions = sizes.continuous
    self._seed = seed
    self._target_network = make_network(self.scale)
    self._critics, self._target_critics = (
      [
        Critic(
          self.scale,
          hidden=config.hidden,
          seed=(seed, number),
          entries=sizes.continuous.size,
        )
        for number in (1, 2)
      ]
      for _ in range(2)
    )
    self._optimizer = snt.optimizers.Adam(self._learning_rate)
    self._critic_optimizer = snt.optimizers.Adam(self._learning_rate)

  def policy(self, network: ActionNetwork) -> continuous.Gaussian:
    """Returns the policy of a network, with its noise."""
    return continuous.Gaussian(
      network,
      actions=self._actions,
      standard_deviation=self._td3.policy_noise * network.half_range,
    )

  def _update(self, batch: types.Transition) -> tf.Tensor:
    """One update of the critics, now and then one of the policy."""
    target = self._target(batch)
    unit = (batch.action - self.network.middle) / self.network.half_range
    variables = [
      each for critic in self._critics for each in critic.trainable_variables
    ]
    with tf.GradientTape() as tape:
      loss = tf.add_n(
        [
          0.5
          * tf.reduce_mean(tf.square(target - critic(batch.observation, unit)))
          for critic in self._critics
        ]
      )
    self._critic_optimizer.apply(tape.gradient(loss, variables), variables)
    self._updates.assign_add(1)
    tf.cond(
      self._updates % self._td3.policy_delay == 0,
      lambda: self._improve(batch.observation),
      lambda: None,
    )
    return loss

  def _target(self, batch: types.Transition) -> tf.Tensor:
    """Returns r + d min Q'(s', pi'(s') + noise), [B]."""
    config = self._td3
    unit = self._target_network.unit(batch.next_observation)
    noise = config.smoothing * tf.random.stateless_normal(
      tf.shape(unit),
      tf.stack([tf.constant(self._seed, tf.int64), self._updates]),
    )
    noise = tf.clip_by_value(
      noise, -config.smoothing_bound, config.smoothing_bound
    )
    smooth = tf.clip_by_value(unit + noise, -1.0, 1.0)
    value = tf.minimum(
      *(
        critic(batch.next_observation, smooth)
        for critic in self._target_critics
      )
    )
    return batch.reward + batch.discount * value

  def _improve(self, observation: tf.Tensor) -> None:
    """Makes the policy's actions better, and moves the target networks."""
    variables = self.network.trainable_variables
    with tf.GradientTape(watch_accessed_variables=False) as tape:
      tape.watch(variables)
      loss = -tf.reduce_mean(
        self._critics[0](observation, self.network.unit(observation))
      )
    self._optimizer.apply(tape.gradient(loss, variables), variables)
    _move(self._target_network, self.network, self._td3.target_rate)
    for target, critic in zip(self._target_critics, self._critics, strict=True):
      _move(target, critic, self._td3.target_rate)

  @property
  def state(self) -> dict[str, tf.Module]:
    """What a checkpoint must hold to go on exactly as before."""
    return {
      **super().state,
      'target_network': self._target_network,
      **{
        f'{kind}_{number}': critic
        for kind, critics in (
          ('critic', self._critics),
          ('target_critic', self._target_critics),
        )
        for number, critic in enumerate(critics)
      },
      'optimizer': self._optimizer,
      'critic_optimizer': self._critic_optimizer,
    }


def _move(target: tf.Module, source: tf.Module, rate: float) -> None:
  """Takes a part of a network over into its target network."""
  for old, new in zip(
    target.trainable_variables, source.trainable_variables, strict=True
  ):
    old.assign_add(rate * (new - old))


class ExploringActor:
  """The network's actions with noise that is held for a while.

  In the first rounds actions are uniform, and held, too: see
  `dqn.ExploringActor` for why.
  """

  def __init__(self, learner: TD3Learner, config: Config):
    """Initialises the slots.

    Args:
      learner: whose network acts.
      config: the hyper-parameters.
    """
    copies = config.episodes_per_round
    self._config = config
    self._network = learner.network
    self._unit = tf.function(learner.network.unit)
    self._warm = False
    self._generators = [np.random.default_rng(0)] * copies
    self._noise = np.zeros((copies, len(learner.network.middle)))

  def begin_round(self, done: float, *, warm: bool) -> None:
    """Sets how much is explored, given the share of the run that is done."""
    del done
    self._warm = warm

  def begin(self, slot: int, seed: int) -> None:
    self._generators[slot] = np.random.default_rng(seed)
    self._draw(slot)

  def act(self, observations: np.ndarray, slots: list[int]) -> np.ndarray:
    for slot in slots:
      if self._generators[slot].random() >= self._config.hold:
        self._draw(slot)
    unit = self._noise
    if self._warm:
      unit = unit + self._unit(tf.constant(observations)).numpy()
    return self._network.middle + self._network.half_range * np.clip(
      unit, -1.0, 1.0
    )

  def _draw(self, slot: int) -> None:
    generator, size = self._generators[slot], self._noise.shape[1]
    self._noise[slot] = (
      self._config.exploration * generator.standard_normal(size)
      if self._warm
      else generator.uniform(-1.0, 1.0, size)
    )
