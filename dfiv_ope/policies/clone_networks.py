"""The behaviour policy of a log as a network, trained by `clone_training`."""

import numpy as np
import tensorflow as tf

from dfiv_ope import types
from dfiv_ope.nn import encoding, layers, networks
from dfiv_ope.policies import clone_config, clone_training

# Probabilities that are made at a time of held-out rows.
_AT_ONCE = 2_000_000


class ClonedPolicy(tf.Module):
  """Probabilities of a network, with a floor of frequencies."""

  def __init__(
    self,
    network: networks.Network,
    *,
    states: encoding.Encoding,
    frequencies: np.ndarray,
    floor: float,
  ):
    """Initialises the policy.

    Args:
      network: maps encoded observations to what is added to the logits of
        the frequencies.
      states: encodes observations.
      frequencies: of the actions, [A]; an action of frequency zero is never
        taken.
      floor: share of the frequencies in the probabilities; 1 for nothing else.
    """
    super().__init__('cloned')
    self.network = network
    self.floor = tf.Variable(floor, trainable=False, dtype=tf.float32)
    self._encode = states.apply
    self._frequencies = tf.constant(frequencies, tf.float32)

  def logits(self, observation: tf.Tensor) -> tf.Tensor:
    """Returns the network's logits before the floor, [B, A]."""
    return self.encoded_logits(self._encode(observation))

  def encoded_logits(self, encoded: tf.Tensor) -> tf.Tensor:
    """Returns the logits of encoded observations, [B, A]."""
    return self.network(encoded) + tf.math.log(self._frequencies)

  def action_probabilities(self, observation: tf.Tensor) -> tf.Tensor:
    """Returns the estimate of b(.|s), [B, A]."""
    probabilities = tf.nn.softmax(self.logits(observation))
    return (1.0 - self.floor) * probabilities + self.floor * self._frequencies


def fit(
  observations: types.FloatArray,
  actions: np.ndarray,
  states: encoding.Encoding,
  held_out: np.ndarray,
  frequencies: np.ndarray,
  *,
  constant_loss: float,
  config: clone_config.Config,
  seed: int,
) -> clone_training.Clone[ClonedPolicy]:
  """Trains a network to tell what the behaviour policy does.

  Args:
    observations: of the log, raw, [N, D].
    actions: that were taken, int32 [N].
    states: encodes observations.
    held_out: rows that are not learned from, [N].
    frequencies: of the actions, [A].
    constant_loss: held-out log loss of these.
    config: hyper-parameters.
    seed: same seed, same policy.
  """
  policy = ClonedPolicy(
    networks.Network(
      (
        *(layers.Dense(size) for size in config.hidden),
        layers.Dense(len(frequencies), None),
      ),
      input_size=states.size,
      seed=seed,
    ),
    states=states,
    frequencies=frequencies,
    floor=config.floor,
  )
  s = tf.constant(states.compact(observations))
  a = tf.constant(actions)
  held_s, held_a = observations[held_out], actions[held_out]
  rows = max(1, _AT_ONCE // len(frequencies))

  def batch_loss(rows: tf.Tensor) -> tf.Tensor:
    return tf.reduce_mean(
      tf.nn.sparse_softmax_cross_entropy_with_logits(
        tf.gather(a, rows),
        policy.encoded_logits(states.expand(tf.gather(s, rows))),
      )
    )

  def held_out_loss() -> tf.Tensor:
    return _log_loss(
      tf.concat(
        [
          tf.gather(
            policy.action_probabilities(held_s[start : start + rows]),
            held_a[start : start + rows],
            batch_dims=1,
          )
          for start in range(0, len(held_a), rows)
        ],
        axis=0,
      )
    )

  return clone_training.fit(
    policy,
    loss=batch_loss,
    held_out=held_out_loss,
    constant_loss=constant_loss,
    training=np.flatnonzero(~held_out),
    config=config,
    seed=seed,
  )


def _log_loss(taken: tf.Tensor) -> tf.Tensor:
  """Returns the mean log loss of the taken actions' probabilities, [B]."""
  return -tf.reduce_mean(tf.math.log(taken))
