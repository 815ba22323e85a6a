"""Feature maps: networks as data, random Fourier features, standardisation.

A network is a tuple of layer specifications, so that a config can hold, print
and store it; `Network` makes the Sonnet module:

    layers = (Dense(128), Dense(64), Dense(32, activation=None))
    network = Network(layers, input_size=3, seed=0)
    network(x)                                     # [B, 3] -> [B, 32]
"""

from collections.abc import Sequence
import dataclasses
from typing import NamedTuple

import numpy as np
import sonnet as snt
import tensorflow as tf

from dfiv_ope import types

_ACTIVATIONS = {
    'relu': tf.nn.relu, 'silu': tf.nn.silu, 'tanh': tf.nn.tanh,
    None: tf.identity}
# Pairwise distances of more rows than this cost more than they tell.
_BANDWIDTH_ROWS = 2000


@dataclasses.dataclass(frozen=True)
class Dense:
  """A fully connected layer.

  Attributes:
    size: number of outputs.
    activation: 'relu', 'silu', 'tanh', or None for a linear layer.
  """
  size: int
  activation: str | None = 'relu'

  def __post_init__(self) -> None:
    if self.size < 1:
      raise ValueError(f'Dense.size must be at least 1, got {self.size}.')
    if self.activation not in _ACTIVATIONS:
      raise ValueError(
          f'Dense.activation must be one of {list(_ACTIVATIONS)}, got '
          f'{self.activation!r}.')


@dataclasses.dataclass(frozen=True)
class Dropout:
  """Sets a share `rate` of its inputs to zero in training."""
  rate: float

  def __post_init__(self) -> None:
    if not 0 <= self.rate < 1:
      raise ValueError(f'Dropout.rate must lie in [0, 1), got {self.rate}.')


@dataclasses.dataclass(frozen=True)
class BatchNorm:
  """Batch normalisation with scale and offset, then an activation."""
  activation: str | None = None

  def __post_init__(self) -> None:
    if self.activation not in _ACTIVATIONS:
      raise ValueError(
          f'BatchNorm.activation must be one of {list(_ACTIVATIONS)}, got '
          f'{self.activation!r}.')


Layer = Dense | Dropout | BatchNorm


class Network(snt.Module):
  """The module of a tuple of layers, built at once from one seed.

  Weights and biases start uniform in +-1/sqrt(fan-in), so that the kinks of a
  network of one input spread over its range.
  """

  def __init__(
      self,
      layers: Sequence[Layer],
      *,
      input_size: int,
      seed: types.Seed,
      name: str | None = None,
  ):
    """Initialises the network.

    Args:
      layers: the layers, first to last.
      input_size: number of columns of the input.
      seed: seeds the weights and the dropout masks.
      name: name of the module.
    """
    super().__init__(name=name)
    if input_size < 1:
      raise ValueError(f'input_size must be at least 1, got {input_size}.')
    generator = np.random.default_rng(seed)
    self.layers = tuple(layers)
    self.input_size = input_size
    self.output_size = input_size
    self._modules: list[snt.Module] = []
    for layer in self.layers:
      self._modules.append(self._make(layer, generator))
    self._masks = tf.random.Generator.from_seed(
        int(generator.integers(2 ** 31)))

  def _make(
      self, layer: Layer, generator: np.random.Generator,
  ) -> snt.Module:
    """Returns the module of a layer; dropout needs none but the masks."""
    module = snt.Module()
    if isinstance(layer, Dense):
      start = _Uniform(generator, 1. / np.sqrt(self.output_size))
      module = snt.Linear(layer.size, w_init=start, b_init=start)
      module(tf.zeros([1, self.output_size]))
      self.output_size = layer.size
    elif isinstance(layer, BatchNorm):
      module = snt.BatchNorm(create_scale=True, create_offset=True)
      module(tf.zeros([2, self.output_size]), is_training=False)
    return module

  def __call__(self, x: tf.Tensor, *, is_training: bool = False) -> tf.Tensor:
    """Returns features [B, output_size] of inputs [B, input_size].

    Args:
      x: inputs.
      is_training: whether dropout is on and batch statistics are used.
    """
    for layer, module in zip(self.layers, self._modules, strict=True):
      if isinstance(layer, Dense):
        x = _ACTIVATIONS[layer.activation](module(x))
      elif isinstance(layer, BatchNorm):
        x = _ACTIVATIONS[layer.activation](module(x, is_training=is_training))
      elif is_training:
        x = tf.nn.experimental.general_dropout(
            x, layer.rate, self._masks.uniform)
    return x


class _Uniform(snt.initializers.Initializer):
  """Draws from a given generator, because nothing may use the global one."""

  def __init__(self, generator: np.random.Generator, bound: float):
    self._generator = generator
    self._bound = bound

  def __call__(self, shape: Sequence[int], dtype: tf.DType) -> tf.Tensor:
    values = self._generator.uniform(-self._bound, self._bound, shape)
    return tf.constant(values, dtype)


class FourierFeatures(tf.Module):
  """Random Fourier features of the Gaussian kernel (Rahimi and Recht, 2008).

  The inner product of two feature vectors approximates
  exp(-|(x - y) / bandwidth|^2 / 2).
  """

  def __init__(
      self,
      bandwidth: types.FloatArray,
      *,
      size: int,
      seed: types.Seed,
      name: str | None = None,
  ):
    """Initialises the features.

    Args:
      bandwidth: of each input, [D].
      size: number of features; even, one sine and one cosine a frequency.
      seed: seeds the frequencies.
      name: name of the module.
    """
    super().__init__(name=name)
    if size < 2 or size % 2:
      raise ValueError(f'size must be even and at least 2, got {size}.')
    generator = np.random.default_rng(seed)
    bandwidth = np.asarray(bandwidth)
    draws = generator.standard_normal((len(bandwidth), size // 2))
    self._frequencies = tf.Variable(
        draws / bandwidth[:, None], dtype=tf.float64, trainable=False)

  def __call__(self, x: tf.Tensor) -> tf.Tensor:
    """Returns features [B, size] of inputs [B, D], float64, of unit norm."""
    angle = tf.matmul(tf.cast(x, tf.float64), self._frequencies)
    waves = tf.concat([tf.cos(angle), tf.sin(angle)], axis=1)
    return waves / tf.sqrt(tf.cast(tf.shape(angle)[1], tf.float64))


def median_bandwidth(x: types.FloatArray) -> types.FloatArray:
  """Returns the median distance between rows of x [B, D] in each column, [D].

  Zero distances (a column of few values) are left out; a constant column has
  bandwidth 1.
  """
  x = np.asarray(x, np.float64)
  stride = -(-len(x) // _BANDWIDTH_ROWS)
  x = x[::stride]
  rows, others = np.triu_indices(len(x), k=1)
  result = np.ones(x.shape[1])
  for column in range(x.shape[1]):
    distance = np.abs(x[rows, column] - x[others, column])
    distance = distance[distance > 0]
    if distance.size:
      result[column] = np.median(distance)
  return result


def median_distance(x: types.FloatArray) -> float:
  """Returns the median distance between rows of x [B, D], 1 if all are equal.

  One bandwidth for all columns. With many columns it is the better rule:
  rows that differ a little in each of them are not far apart.
  """
  x = np.asarray(x, np.float64)
  x = x[::-(-len(x) // _BANDWIDTH_ROWS)]
  norm = np.sum(np.square(x), axis=1)
  square = norm[:, None] + norm[None, :] - 2. * x @ x.T
  distance = np.sqrt(np.maximum(square[np.triu_indices(len(x), k=1)], 0.))
  # Rounding makes the distance of equal rows small, not zero.
  distance = distance[distance > 1e-6]
  return float(np.median(distance)) if distance.size else 1.


class Standardiser(NamedTuple):
  """An affine map to mean zero and standard deviation one.

  Attributes:
    mean: [D].
    scale: [D], positive.
  """
  mean: types.FloatArray
  scale: types.FloatArray

  def apply(self, x: types.Nest) -> types.Nest:
    """Returns x [B, D], array or tensor, on the standardised scale."""
    return (x - self.mean) / self.scale

  def invert(self, x: types.Nest) -> types.Nest:
    """Returns standardised x [B, D] on the raw scale."""
    return x * self.scale + self.mean


def fit_standardiser(x: types.FloatArray) -> Standardiser:
  """Returns the standardiser of x [B, D]; constant columns are only centred."""
  x = np.asarray(x, np.float64)
  mean, scale = x.mean(axis=0), x.std(axis=0)
  # A constant column has a standard deviation of rounding size, not zero.
  flat = scale <= 1e-12 * np.maximum(1., np.abs(mean))
  return Standardiser(mean, np.where(flat, 1., scale))
