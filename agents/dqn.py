"""DQN: trains the target policies that the datasets are about.

Double Q-learning with n-step returns. Training goes in rounds: roll whole
episodes with the current network in many environments at once, put their
transitions into the replay, make as many updates as the replay has uses due.
A round depends only on the state at its start, so a run resumed at a round is
equal to one that was never stopped.
"""

from collections.abc import Sequence
import functools

import acme
from acme.tf import savers
from acme.utils import counting
import numpy as np
import sonnet as snt
import tensorflow as tf

from dfiv_ope import types
from dfiv_ope.agents import replay
from dfiv_ope.agents.entries import dqn as entry
from dfiv_ope.nn import layers as layers_lib
from dfiv_ope.nn import networks

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


class RunningScale(tf.Module):
  """Mean and standard deviation of all observations seen so far.

  The first episodes of a task cover little of what a good policy will see (a
  pole that falls at once never shows a late clock), so the scale goes on
  following the data.
  """

  def __init__(self, size: int):
    super().__init__('running_scale')
    zeros = tf.zeros([size], tf.float64)
    self._count = tf.Variable(0., dtype=tf.float64, trainable=False)
    self._mean = tf.Variable(zeros, trainable=False)
    self._squares = tf.Variable(zeros, trainable=False)  # about the mean

  def __call__(self, observation: tf.Tensor) -> tf.Tensor:
    """Returns standardised observations; constant columns are centred."""
    deviation = tf.sqrt(self._squares / tf.maximum(self._count, 1.))
    scale = tf.where(deviation > 1e-6, deviation, tf.ones_like(deviation))
    mean = tf.cast(self._mean, tf.float32)
    return ((tf.cast(observation, tf.float32) - mean)
            / tf.cast(scale, tf.float32))

  def update(self, observations: np.ndarray) -> None:
    """Merges observations [N, D] into the moments (Chan et al., 1983)."""
    rows = observations.astype(np.float64)
    count, total = len(rows), self._count + len(rows)
    shift = rows.mean(axis=0) - self._mean
    self._squares.assign_add(
        rows.var(axis=0) * count + shift**2 * self._count * count / total)
    self._mean.assign_add(shift * count / total)
    self._count.assign(total)


class QNetwork(tf.Module):
  """A multi-layer perceptron on scaled observations, [B, D] -> [B, A]."""

  def __init__(
      self, hidden: Sequence[int], *, scale: RunningScale,
      num_observations: int, num_actions: int, seed: int):
    super().__init__('q_network')
    self._scale = scale
    layers = [layers_lib.Dense(size) for size in hidden]
    layers.append(layers_lib.Dense(num_actions, activation=None))
    self._network = networks.Network(
        layers, input_size=num_observations, seed=seed)

  def __call__(self, observation: tf.Tensor) -> tf.Tensor:
    return self._network(self._scale(observation))


class DQNLearner(acme.Learner, savers.TFSaveable):
  """Learns a Q-network from the batches of a replay."""

  def __init__(
      self,
      config: Config,
      source: replay.Replay,
      *,
      num_observations: int,
      num_actions: int,
      seed: int,
      counter: counting.Counter | None = None,
  ):
    self.scale = RunningScale(num_observations)
    make_network = functools.partial(
        QNetwork, config.hidden, num_observations=num_observations,
        num_actions=num_actions, seed=seed)
    self._config = config
    self._source = source
    self._counter = counter or counting.Counter()
    self.q_network = make_network(scale=self.scale)
    self._target_network = make_network(scale=self.scale)
    # A snapshot stays as it is, so it has a scale of its own.
    self.best_network = make_network(scale=RunningScale(num_observations))
    self._best_value = tf.Variable(-np.inf, trainable=False)
    self._learning_rate = tf.Variable(config.learning_rate, trainable=False)
    self._optimizer = snt.optimizers.Adam(self._learning_rate)
    self._updates = tf.Variable(0, dtype=tf.int64, trainable=False)
    self.loss = float('nan')

  def run(self, num_steps: int | None = None) -> None:
    """Makes a number of updates within one graph call."""
    if num_steps is None:
      raise ValueError('DQN learns in rounds; pass the number of updates.')
    per_batch = self._config.blocks_per_batch
    rows = self._source.sample(num_steps * per_batch)
    batches = types.Transition(
        *(tf.reshape(x, (num_steps, -1, *x.shape[1:])) for x in rows))
    self.loss = float(self._update_many(batches))
    self._counter.increment(updates=num_steps)

  def step(self) -> None:
    """Makes one update."""
    self.run(1)

  @tf.function(reduce_retracing=True)
  def _update_many(self, batches: types.Transition) -> tf.Tensor:
    """Makes an update with each of the batches [U, B, ...]; mean loss."""
    total = 0.
    count = tf.shape(batches.action)[0]
    for i in tf.range(count):
      total += self._update(types.Transition(*(x[i] for x in batches)))
    return total / tf.cast(count, tf.float32)

  def _update(self, batch: types.Transition) -> tf.Tensor:
    """One update of the Q-network."""
    config = self._config
    done = tf.cast(self._updates, tf.float32) / config.updates
    self._learning_rate.assign(
        config.learning_rate * tf.maximum(1. - done, 0.))
    variables = self.q_network.trainable_variables
    with tf.GradientTape() as tape:
      error = double_q_error(
          self.q_network(batch.observation),
          self.q_network(batch.next_observation),
          self._target_network(batch.next_observation),
          batch)
      loss = 0.5 * tf.reduce_mean(tf.square(error))
    self._optimizer.apply(tape.gradient(loss, variables), variables)
    self._updates.assign_add(1)
    if self._updates % config.target_period == 0:
      for target, source in zip(
          self._target_network.trainable_variables, variables, strict=True):
        target.assign(source)
    return loss

  def keep_if_good(self, value: float, *, standard_error: float) -> None:
    """Keeps the present network unless an earlier one was clearly better.

    The largest of many noisy values is mostly luck, so a later network, which
    has learnt more, may fall short of the best by two standard errors.
    """
    if value >= self._best_value - 2. * standard_error:
      for best, present in zip(
          self.best_network.variables, self.q_network.variables, strict=True):
        best.assign(present)
    self._best_value.assign(tf.maximum(self._best_value, value))

  def get_variables(self, names: Sequence[str]) -> list[list[np.ndarray]]:
    """Returns the Q-network's weights, the only variables there are."""
    if list(names) != ['q_network']:
      raise ValueError(f"DQN serves ['q_network'], not {list(names)}.")
    return [[x.numpy() for x in self.q_network.variables]]

  @property
  def state(self) -> dict[str, savers.Checkpointable]:
    """What a checkpoint must hold to go on exactly as before."""
    return {
        'q_network': self.q_network,
        'target_network': self._target_network,
        'best_network': self.best_network,
        'best_value': self._best_value,
        'optimizer': self._optimizer,
        'updates': self._updates,
    }
