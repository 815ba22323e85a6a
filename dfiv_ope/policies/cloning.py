"""The behaviour policy of a log, estimated from its actions.

A network classifies encoded observations (`clone_training`). It has to beat the
mere frequencies of the actions; otherwise these are the policy. Where states
are cells of a table, it is a table of frequencies (`table_cloning`).

    found = cloning.clone(transitions, episodes, num_actions=3, seed=0)
    found.policy.action_probabilities(s)            # [B, A]
    found.held_out_loss, found.constant_loss
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import tensorflow as tf

from dfiv_ope import types
from dfiv_ope.nn import encoding, layers, networks
from dfiv_ope.policies import clone_config, clone_training, table_cloning

Config = clone_config.Config  # Known before this module is loaded.
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


def clone(
  transitions: types.Transition,
  episodes: np.ndarray,
  *,
  num_actions: int,
  seed: int,
  categorical: Sequence[int] = (),
  config: Config | None = None,
) -> clone_training.Clone[Any]:
  """Estimates the behaviour policy of a log.

  Args:
    transitions: the log, N rows.
    episodes: to which episode each row belongs, [N]. The rows of a log of one
      episode are held out as if each were an episode.
    num_actions: A.
    seed: same seed, same policy.
    categorical: columns of the observations whose values are names.
    config: hyper-parameters, the default ones if None.

  Raises:
    ValueError: the log has fewer than two rows.
  """
  config = config or clone_config.for_log(len(episodes), num_actions)
  observations = np.asarray(transitions.observation, np.float64)
  actions = np.asarray(transitions.action, np.int32)
  held_out = clone_training.held_out_rows(episodes, config=config, seed=seed)
  frequencies = clone_training.frequencies(actions, held_out, num_actions)
  states = encoding.fit(
    observations[~held_out], observations, categorical=categorical
  )
  if states.cells is not None:
    cells = states.cell(states.compact(observations)).numpy()
    table, loss = table_cloning.clone(
      cells, actions, held_out, frequencies, states
    )
    return clone_training.Clone(
      table,
      held_out_loss=loss,
      constant_loss=float(_log_loss(frequencies[actions[held_out]])),
    )
  policy = ClonedPolicy(
    networks.Network(
      (
        *(layers.Dense(size) for size in config.hidden),
        layers.Dense(num_actions, None),
      ),
      input_size=states.size,
      seed=seed,
    ),
    states=states,
    frequencies=frequencies,
    floor=config.floor,
  )
  s, a = states.compact(observations), tf.constant(actions)
  held_s, held_a = observations[held_out], actions[held_out]
  rows = max(1, _AT_ONCE // num_actions)

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
    constant_loss=float(_log_loss(tf.gather(frequencies, held_a))),
    training=np.flatnonzero(~held_out),
    config=config,
    seed=seed,
  )


def _log_loss(taken: tf.Tensor) -> tf.Tensor:
  """Returns the mean log loss of the taken actions' probabilities, [B]."""
  return -tf.reduce_mean(tf.math.log(taken))
