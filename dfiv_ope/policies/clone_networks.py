"""The behaviour policy of a log as a network, trained in numpy.

A classifier of encoded observations, with Adam on the log loss (Kingma and Ba,
2015). Its steps are a few small products, which take numpy no longer than
TensorFlow, and importing that takes longer than many a clone.
"""

from typing import NamedTuple

import numpy as np
from scipy import special

from dfiv_ope import types
from dfiv_ope.nn import encoding, tensors
from dfiv_ope.policies import clone_config, clone_training

# Rows that are asked at once, and held-out rows that are looked at.
_BLOCK, _MOST_HELD_OUT = 8_192, 20_000
# Of Adam: decay of both moments, and what is added to roots.
_FIRST, _SECOND, _TINY = 0.9, 0.999, 1e-8
# Weights start as a normal distribution within as many deviations.
_WITHIN = (-2.0, 2.0)


class _Layers(NamedTuple):
  """Weights [I, O] and biases [O] of layers, parts of one vector.

  Attributes:
    flat: all of them, float32.
    weights: of each layer.
    biases: of each layer.
  """

  flat: types.FloatArray
  weights: list[types.FloatArray]
  biases: list[types.FloatArray]

  @classmethod
  def zeros(cls, sizes: list[int]) -> '_Layers':
    """Returns layers of zeros between so many entries."""
    pairs = list(zip(sizes, sizes[1:], strict=False))
    flat = np.zeros(sum((low + 1) * high for low, high in pairs), np.float32)
    found, start = cls(flat, [], []), 0
    for low, high in pairs:
      end = start + low * high
      found.weights.append(flat[start:end].reshape(low, high))
      found.biases.append(flat[end : end + high])
      start = end + high
    return found

  def forward(self, inputs: types.FloatArray) -> list[types.FloatArray]:
    """Returns the inputs of each layer, and the outputs of the last."""
    values = [inputs]
    for weights, biases in zip(self.weights, self.biases, strict=True):
      outputs = values[-1] @ weights
      outputs += biases
      if weights is not self.weights[-1]:
        np.maximum(outputs, 0.0, out=outputs)
      values.append(outputs)
    return values


class ClonedPolicy:
  """Probabilities of a network, with a floor of frequencies.

  Attributes:
    floor: share of the frequencies in the probabilities; 1 for nothing else.
  """

  def __init__(
    self,
    network: _Layers,
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
      floor: as the attribute.
    """
    self.floor = floor
    self._network = network
    self._states = states
    self._frequencies = np.asarray(frequencies, np.float32)
    with np.errstate(divide='ignore'):
      self._offsets = np.log(self._frequencies)

  def action_probabilities(self, observation: types.Array) -> types.Array:
    """Returns the estimate of b(.|s), [B, A]."""
    return tensors.ask(
      self._of_raw, observation, columns=len(self._frequencies)
    )

  def _of_raw(self, observation: types.FloatArray) -> types.FloatArray:
    parts = [
      self.encoded(self._states.apply(observation[start : start + _BLOCK]))
      for start in range(0, max(1, len(observation)), _BLOCK)
    ]
    return np.concatenate(parts)

  def encoded(self, inputs: types.FloatArray) -> types.FloatArray:
    """Returns the estimate for encoded observations, float32 [B, A]."""
    found = self.softmax(self._network.forward(inputs)[-1])
    found *= 1.0 - self.floor
    found += self.floor * self._frequencies
    return found

  def softmax(self, outputs: types.FloatArray) -> types.FloatArray:
    """Returns probabilities before the floor, in place of outputs [B, A]."""
    outputs += self._offsets
    outputs -= np.max(outputs, axis=1, keepdims=True)
    np.exp(outputs, out=outputs)
    outputs /= np.sum(outputs, axis=1, keepdims=True)
    return outputs


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

  It is kept where held-out rows are likeliest, and has to beat frequencies.

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
  generator = np.random.default_rng((seed, 3))
  sizes = [states.size, *config.hidden, len(frequencies)]
  network, slope = _Layers.zeros(sizes), _Layers.zeros(sizes)
  low, high = map(float, special.ndtr(_WITHIN))
  for weights in network.weights:
    drawn = generator.uniform(low, high, weights.shape)
    weights[:] = special.ndtri(drawn) / np.sqrt(len(weights))
  policy = ClonedPolicy(
    network, states=states, frequencies=frequencies, floor=config.floor
  )
  compact = states.compact(observations)
  places, judges = np.flatnonzero(~held_out), np.flatnonzero(held_out)
  judges = judges[:: -(-len(judges) // _MOST_HELD_OUT)]

  def held_out_loss(rows: np.ndarray) -> float:
    total = 0.0
    for start in range(0, len(rows), _BLOCK):
      some = rows[start : start + _BLOCK]
      found = policy.encoded(states.expand(compact[some]))
      taken = found[np.arange(len(some)), actions[some]]
      total -= float(np.sum(np.log(taken), dtype=np.float64))
    return total / len(rows)

  first, second = np.zeros((2, len(network.flat)), np.float32)
  checks = min(config.checks, config.updates)
  marks = {config.updates * (each + 1) // checks for each in range(checks)}
  best, kept = np.inf, network.flat.copy()
  for step in range(1, config.updates + 1):
    some = places[generator.integers(len(places), size=config.batch_size)]
    _backward(
      policy, network, slope, states.expand(compact[some]), actions[some]
    )
    for weights, change in zip(network.weights, slope.weights, strict=True):
      change += config.decay * weights
    share = (step - 1) / config.updates
    rate = config.learning_rate * 0.5 * (1.0 + np.cos(np.pi * share))
    first += (1.0 - _FIRST) * (slope.flat - first)
    second += (1.0 - _SECOND) * (np.square(slope.flat) - second)
    root = np.sqrt(second / (1.0 - _SECOND**step))
    root += _TINY
    network.flat[:] -= (rate / (1.0 - _FIRST**step)) * (first / root)
    if step in marks and (loss := held_out_loss(judges)) < best:
      best, kept = loss, network.flat.copy()
  network.flat[:] = kept
  if not best < constant_loss:
    policy.floor, best = 1.0, constant_loss
  return clone_training.Clone(
    policy, held_out_loss=best, constant_loss=constant_loss
  )


def _backward(
  policy: ClonedPolicy,
  network: _Layers,
  slope: _Layers,
  inputs: types.FloatArray,
  actions: np.ndarray,
) -> None:
  """Puts the gradient of the mean log loss of rows [B] into `slope`."""
  values = network.forward(inputs)
  change = policy.softmax(values[-1])
  change[np.arange(len(actions)), actions] -= 1.0
  change /= len(actions)
  for place in reversed(range(len(network.weights))):
    np.matmul(values[place].T, change, out=slope.weights[place])
    np.sum(change, axis=0, out=slope.biases[place])
    if place:
      change = change @ network.weights[place].T
      change *= values[place] > 0.0
