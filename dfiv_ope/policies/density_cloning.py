"""The behaviour policy of a log whose actions are vectors, estimated.

A network of the encoded observation gives mean and standard deviation of each
entry of the action, and probabilities of the labels of an entry that is a name
(`clone_training`). Numbers are Gaussian and clipped to their bounds.

    found = density_cloning.clone(transitions, episodes, actions=a, seed=0)
    found.policy.log_prob(s, a)                     # [B]
"""

from collections.abc import Sequence

import numpy as np
import tensorflow as tf

from dfiv_ope import actions as actions_lib
from dfiv_ope import types
from dfiv_ope.nn import encoding, layers, networks, scaling
from dfiv_ope.policies import censored, clone_config, clone_training

# No standard deviation is less than this part of the entry's own, exp(-5):
# the density of an entry that follows from the state has no bound.
_LEAST_LOG_DEVIATION = -5.0


class ClonedDensity(tf.Module):
  """Densities of a network, with a floor of those without the state.

  Attributes:
    network: maps encoded observations to means and logs of standard
      deviations of the standardised numbers, then what is added to the logits
      of the labels' frequencies.
    floor: share of the density without the state; 1 for nothing else.
    actions: what an action is.
  """

  def __init__(
    self,
    network: networks.Network,
    *,
    states: encoding.Encoding,
    actions: actions_lib.Continuous,
    scale: scaling.Standardiser,
    frequencies: Sequence[np.ndarray],
    floor: float,
  ):
    """Initialises the policy.

    Args:
      network: see the attributes.
      states: encodes observations.
      actions: what an action is.
      scale: standardises the entries that are numbers.
      frequencies: of the labels of each entry that is a name, rising.
      floor: share of the density without the state.
    """
    super().__init__('cloned_density')
    self.network = network
    self.floor = tf.Variable(floor, trainable=False, dtype=tf.float32)
    self.actions = actions
    self._encode = states.apply
    self._scale = scale
    self._names = np.array(sorted(actions.categories), np.int32)
    self._numbers = numbers(actions)
    self._logits = [
      tf.math.log(tf.constant(each, tf.float32)) for each in frequencies
    ]
    self._low, self._high = (
      tf.constant(scale.apply(bound[None, self._numbers])[0], tf.float32)
      for bound in actions.bounds
    )
    self._log_scale = tf.constant(np.log(np.asarray(scale.scale)), tf.float32)

  @property
  def deterministic(self) -> bool:
    return False

  def draw(self, observation: tf.Tensor, uniforms: tf.Tensor) -> tf.Tensor:
    """Returns actions by the inverse of the distribution, [B, K, d].

    The first number says which of network and floor an action comes from, and
    what remains of it is uniform again.
    """
    uniforms = tf.cast(uniforms, tf.float32)
    first = uniforms[..., :1]
    constant = first < self.floor
    first = tf.where(
      constant,
      first / self.floor,
      tf.math.divide_no_nan(first - self.floor, 1.0 - self.floor),
    )
    edge = 1e-6
    uniforms = tf.concat(
      [tf.clip_by_value(first, edge, 1.0 - edge), uniforms[..., 1:]], axis=-1
    )
    outputs = self.network(self._encode(observation))
    return tf.where(
      constant,
      self._quantiles(tf.zeros_like(outputs), uniforms),
      self._quantiles(outputs, uniforms),
    )

  def log_prob(self, observation: tf.Tensor, action: tf.Tensor) -> tf.Tensor:
    """Returns the log density, at a bound the log of the mass there, [B]."""
    outputs = self.network(self._encode(observation))
    return self.mixed(outputs, *self.encode_actions(action))

  def mixed(
    self, outputs: tf.Tensor, values: tf.Tensor, labels: tf.Tensor
  ) -> tf.Tensor:
    """Returns log densities, floor included, of encoded actions, [B]."""
    network = self.log_density(outputs, values, labels)
    constant = self.log_density(tf.zeros_like(outputs), values, labels)
    return tf.reduce_logsumexp(
      tf.stack(
        [
          network + tf.math.log(1.0 - self.floor),
          constant + tf.math.log(self.floor),
        ]
      ),
      axis=0,
    )

  def log_density(
    self, outputs: tf.Tensor, values: tf.Tensor, labels: tf.Tensor
  ) -> tf.Tensor:
    """Returns log densities of encoded actions without the floor, [B].

    Args:
      outputs: of the network; zeros for what does not look at the state.
      values: standardised numbers, [B, n].
      labels: places of labels, int32 [B, c].
    """
    mean, deviation, logits = self._parts(outputs)
    entries = censored.log_prob(mean, deviation, values, self._low, self._high)
    inside = (values > self._low) & (values < self._high)
    result = tf.reduce_sum(
      entries - tf.where(inside, self._log_scale, 0.0), axis=1
    )
    for place, each in enumerate(logits):
      result -= tf.nn.sparse_softmax_cross_entropy_with_logits(
        labels[:, place], each
      )
    return result

  def encode_actions(self, action: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
    """Returns the numbers standardised, [B, n], and the labels, [B, c]."""
    action = tf.cast(action, tf.float64)
    return (
      tf.cast(
        self._scale.apply(tf.gather(action, self._numbers, axis=1)), tf.float32
      ),
      tf.cast(tf.gather(action, self._names, axis=1), tf.int32),
    )

  def _parts(
    self, outputs: tf.Tensor
  ) -> tuple[tf.Tensor, tf.Tensor, list[tf.Tensor]]:
    """Returns means, standard deviations and logits."""
    count = len(self._numbers)
    mean, spread, *logits = tf.split(
      outputs, [count, count, *(len(each) for each in self._logits)], axis=1
    )
    least = _LEAST_LOG_DEVIATION
    # Zero stays zero.
    log_deviation = tf.nn.softplus(spread - least) - tf.nn.softplus(-least)
    return (
      mean,
      tf.exp(log_deviation),
      [each + own for each, own in zip(logits, self._logits, strict=True)],
    )

  def _quantiles(self, outputs: tf.Tensor, uniforms: tf.Tensor) -> tf.Tensor:
    """Returns actions on their raw scale, [B, K, d]."""
    mean, deviation, logits = self._parts(outputs)
    standard = censored.draw(
      mean[:, None],
      deviation[:, None],
      tf.gather(uniforms, self._numbers, axis=2),
      self._low,
      self._high,
    )
    flat = tf.reshape(standard, [-1, len(self._numbers)])
    raw = tf.reshape(
      tf.cast(self._scale.invert(tf.cast(flat, tf.float64)), tf.float32),
      tf.shape(standard),
    )
    columns = dict(
      zip(self._numbers.tolist(), tf.unstack(raw, axis=2), strict=True)
    )
    for place, each in zip(self._names.tolist(), logits, strict=True):
      below = tf.cumsum(tf.nn.softmax(each), axis=1)[:, None, :-1]
      columns[place] = tf.reduce_sum(
        tf.cast(uniforms[..., place, None] >= below, tf.float32), axis=2
      )
    low, high = self.actions.bounds
    return tf.clip_by_value(
      tf.stack([columns[place] for place in sorted(columns)], axis=2),
      low.astype(np.float32),
      high.astype(np.float32),
    )


def numbers(actions: actions_lib.Continuous) -> np.ndarray:
  """Returns the places of the entries that are no names, int32."""
  return np.array(
    [place for place in range(actions.size) if place not in actions.categories],
    np.int32,
  )


def clone(
  transitions: types.Transition,
  episodes: np.ndarray,
  *,
  actions: actions_lib.Continuous,
  seed: int,
  categorical: Sequence[int] = (),
  config: clone_config.Config | None = None,
) -> clone_training.Clone[ClonedDensity]:
  """Estimates the behaviour policy of a log.

  Args:
    transitions: the log, N rows.
    episodes: to which episode each row belongs, [N].
    actions: what an action is.
    seed: same seed, same policy.
    categorical: columns of the observations whose values are names.
    config: hyper-parameters, the default ones if None.

  Raises:
    ValueError: the log has fewer than two rows.
  """
  config = config or clone_config.for_log(len(episodes), 0)
  observations = np.asarray(transitions.observation, np.float64)
  taken = np.asarray(transitions.action, np.float64)
  held_out = clone_training.held_out_rows(episodes, config=config, seed=seed)
  frequencies = [
    clone_training.frequencies(
      taken[:, place].astype(np.int32), held_out, len(labels)
    )
    for place, labels in sorted(actions.categories.items())
  ]
  states = encoding.fit(
    observations[~held_out], observations, categorical=categorical
  )
  count = len(numbers(actions))
  policy = ClonedDensity(
    networks.Network(
      (
        *(layers.Dense(size) for size in config.hidden),
        layers.Dense(2 * count + sum(map(len, frequencies)), None),
      ),
      input_size=states.size,
      seed=seed,
    ),
    states=states,
    actions=actions,
    frequencies=frequencies,
    scale=scaling.fit_standardiser(taken[~held_out][:, numbers(actions)]),
    floor=config.floor,
  )
  s = states.compact(observations)
  values, labels = policy.encode_actions(taken)
  held = tf.constant(np.flatnonzero(held_out))

  def loss(rows: tf.Tensor) -> tf.Tensor:
    return -tf.reduce_mean(
      policy.log_density(
        policy.network(states.expand(tf.gather(s, rows))),
        tf.gather(values, rows),
        tf.gather(labels, rows),
      )
    )

  def held_out_loss(share: float = 1.0) -> tf.Tensor:
    return -tf.reduce_mean(
      policy.mixed(
        policy.network(states.expand(tf.gather(s, held))) * share,
        tf.gather(values, held),
        tf.gather(labels, held),
      )
    )

  return clone_training.fit(
    policy,
    loss=loss,
    held_out=held_out_loss,
    constant_loss=float(held_out_loss(0.0)),
    training=np.flatnonzero(~held_out),
    config=config,
    seed=seed,
  )
