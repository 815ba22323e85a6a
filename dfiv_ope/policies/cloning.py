"""The behaviour policy of a log, estimated from its actions.

A network classifies encoded observations by the log loss and is kept
where whole episodes that were held out are likeliest. It has to beat the mere
frequencies of the actions there; otherwise these are the policy.

    found = cloning.clone(transitions, episodes, num_actions=3, seed=0)
    found.policy.action_probabilities(s)            # [B, A]
    found.held_out_loss, found.constant_loss
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import tensorflow as tf

from dfiv_ope import types
from dfiv_ope.nn import descent, encoding, layers, networks, optimizers
from dfiv_ope.policies import clone_config

Config = clone_config.Config  # Known before this module is loaded.


class Clone(NamedTuple):
  """An estimated policy and how well it foretells held-out actions.

  Attributes:
    policy: the estimate.
    held_out_loss: its mean log loss on held-out episodes.
    constant_loss: that of the frequencies of the actions.
  """
  policy: types.Policy
  held_out_loss: float
  constant_loss: float


class ClonedPolicy(tf.Module):
  """Probabilities of a network, with a floor of frequencies."""

  def __init__(
      self, network: networks.Network, *, states: encoding.Encoding,
      frequencies: np.ndarray, floor: float):
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
    return (1. - self.floor) * probabilities + self.floor * self._frequencies


def clone(
    transitions: types.Transition,
    episodes: np.ndarray,
    *,
    num_actions: int,
    seed: int,
    categorical: Sequence[int] = (),
    config: Config | None = None,
) -> Clone:
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
  config = config or Config()
  observations = np.asarray(transitions.observation, np.float64)
  actions = np.asarray(transitions.action, np.int32)
  if len(actions) < 2:
    raise ValueError(
        'The policy of a log of fewer than two transitions cannot be '
        'estimated. Name another policy.')
  held_out = _held_out(episodes, share=config.held_out, seed=seed)
  frequencies = _frequencies(actions, held_out, num_actions)
  states = encoding.fit(
      observations[~held_out], observations, categorical=categorical)
  policy = ClonedPolicy(
      networks.Network(
          (*(layers.Dense(size) for size in config.hidden),
           layers.Dense(num_actions, None)),
          input_size=states.size, seed=seed),
      states=states, frequencies=frequencies, floor=config.floor)
  s, a = states.apply(observations), tf.constant(actions)
  training = tf.constant(np.flatnonzero(~held_out))
  held_s, held_a = observations[held_out], actions[held_out]
  search = descent.Descent(
      policy.network, optimizers.Adam, rate=config.learning_rate,
      decay=config.decay)
  generator = tf.random.Generator.from_seed(seed)

  def step(_: int) -> tf.Tensor:
    rows = tf.gather(training, generator.uniform(
        [config.batch_size], maxval=len(training), dtype=tf.int32))
    return search.step(lambda: tf.reduce_mean(
        tf.nn.sparse_softmax_cross_entropy_with_logits(
            tf.gather(a, rows), policy.encoded_logits(tf.gather(s, rows)))))

  def held_out_loss(_: int = 0) -> tf.Tensor:
    return _log_loss(policy.action_probabilities(held_s), held_a)

  descent.train(
      [search], step=step, held_out=held_out_loss, steps=config.updates,
      checks=min(config.checks, config.updates), label='cloning')
  loss = float(held_out_loss())
  constant = float(_log_loss(
      tf.tile(frequencies[None, :], [len(held_a), 1]), held_a))
  if constant <= loss:
    policy.floor.assign(1.)
    loss = constant
  return Clone(policy, held_out_loss=loss, constant_loss=constant)


def _held_out(episodes: np.ndarray, *, share: float, seed: int) -> np.ndarray:
  """Returns which rows are held out, [N]: whole episodes, at least one."""
  names, index = np.unique(episodes, return_inverse=True)
  if len(names) == 1:
    index = np.arange(len(episodes))
  order = np.random.default_rng((seed, 1)).permutation(int(index.max()) + 1)
  chosen = order[:max(1, round(share * len(order)))]
  return np.isin(index, chosen)


def _frequencies(
    actions: np.ndarray, held_out: np.ndarray, num_actions: int) -> np.ndarray:
  """Returns those of the rows to train on, float32 [A].

  Each action of the log counts one more, for those that are only held out.
  """
  counts = np.bincount(actions[~held_out], minlength=num_actions)
  counts = counts + np.isin(np.arange(num_actions), actions)
  return (counts / counts.sum()).astype(np.float32)


def _log_loss(probabilities: tf.Tensor, actions: np.ndarray) -> tf.Tensor:
  taken = tf.gather(probabilities, actions, batch_dims=1)
  return -tf.reduce_mean(tf.math.log(taken))
