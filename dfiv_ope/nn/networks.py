"""Networks as data: a tuple of layers that a config can hold and print.

`Network` makes the Sonnet module of such a tuple:

    layers = (Dense(128), Dense(64), Dense(32, activation=None))
    network = Network(layers, input_size=3, seed=0)
    network(x)                                     # [B, 3] -> [B, 32]

Inputs are rows of numbers. A picture is a row of pixels that `Image` folds:

    (Image(28, 28), Conv(16, 5), MaxPool(2), Dense(32))
"""

from collections.abc import Sequence
import dataclasses
import typing

import numpy as np
import sonnet as snt
import tensorflow as tf

from dfiv_ope import types
from dfiv_ope.nn import weights

_ACTIVATIONS = {
    'relu': tf.nn.relu, 'silu': tf.nn.silu, 'tanh': tf.nn.tanh,
    None: tf.identity}
# Pictures that go through convolutions at a time where nothing is trained.
_ROWS = 512


@dataclasses.dataclass(frozen=True)
class Dense:
  """A fully connected layer; it unfolds pictures.

  Attributes:
    size: number of outputs.
    activation: 'relu', 'silu', 'tanh', or None for a linear layer.
    spectral: whether weights are divided by their largest singular value
      (Miyato et al., 2018).
  """
  size: int
  activation: str | None = 'relu'
  spectral: bool = False

  def __post_init__(self) -> None:
    _check_size(self, 'size')
    _check_activation(self)


@dataclasses.dataclass(frozen=True)
class Dropout:
  """Sets a share `rate` of its inputs to zero in training."""
  rate: float

  def __post_init__(self) -> None:
    if not 0 <= self.rate < 1:
      raise ValueError(f'Dropout.rate must lie in [0, 1), got {self.rate}.')


@dataclasses.dataclass(frozen=True)
class BatchNorm:
  """Batch normalisation with scale and offset, then an activation.

  Attributes:
    activation: as of `Dense`.
    decay: of the averages that predictions use instead of a batch's own.
  """
  activation: str | None = None
  decay: float = 0.999

  def __post_init__(self) -> None:
    _check_activation(self)
    if not 0 <= self.decay < 1:
      raise ValueError(f'BatchNorm.decay must lie in [0, 1), got {self.decay}.')


@dataclasses.dataclass(frozen=True)
class Image:
  """Folds rows of pixels into pictures [B, height, width, 1]."""
  height: int
  width: int

  def __post_init__(self) -> None:
    _check_size(self, 'height', 'width')


@dataclasses.dataclass(frozen=True)
class Conv:
  """A convolution without padding, stride one.

  Attributes:
    channels: number of outputs.
    kernel: height and width of the window.
    activation: as of `Dense`.
    spectral: as of `Dense`; weights are [window and inputs, outputs].
  """
  channels: int
  kernel: int
  activation: str | None = 'relu'
  spectral: bool = False

  def __post_init__(self) -> None:
    _check_size(self, 'channels', 'kernel')
    _check_activation(self)


@dataclasses.dataclass(frozen=True)
class MaxPool:
  """Keeps the largest of each square of `size` by `size`."""
  size: int

  def __post_init__(self) -> None:
    _check_size(self, 'size')


@dataclasses.dataclass(frozen=True)
class MeanPool:
  """Averages each square of `size` by `size`."""
  size: int

  def __post_init__(self) -> None:
    _check_size(self, 'size')


@dataclasses.dataclass(frozen=True)
class Branch:
  """Sends the last columns through layers of their own.

  The result takes the place of these columns; the others stay as they are.

  Attributes:
    columns: how many of the last columns.
    layers: the layers, first to last.
  """
  columns: int
  layers: tuple['Layer', ...]

  def __post_init__(self) -> None:
    _check_size(self, 'columns')


Layer = (Dense | Dropout | BatchNorm | Image | Conv | MaxPool | MeanPool
         | Branch)
LAYERS: tuple[type, ...] = typing.get_args(Layer)


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
    self._modules: list[snt.Module] = []
    shape: tuple[int, ...] = (input_size,)
    for layer in self.layers:
      module, shape = _make(layer, shape, generator)
      self._modules.append(module)
    self.output_size = int(np.prod(shape))
    self._masks = tf.random.Generator.from_seed(
        int(generator.integers(2 ** 31)))

  def __call__(self, x: tf.Tensor, *, is_training: bool = False) -> tf.Tensor:
    """Returns features [B, output_size] of inputs [B, input_size].

    Args:
      x: inputs.
      is_training: whether dropout is on and batch statistics are used.
    """
    x = tf.convert_to_tensor(x)
    rows = x.shape[0]
    if is_training or rows is None or rows <= _ROWS or not has_pictures(
        self.layers):
      return self._apply(x, is_training)
    # The maps of a convolution are far larger than its picture.
    return tf.concat(
        [self._apply(x[start:start + _ROWS], False)
         for start in range(0, rows, _ROWS)], axis=0)

  # AutoGraph cannot read `match`, and says so to users.
  @tf.autograph.experimental.do_not_convert
  def _apply(self, x: tf.Tensor, is_training: bool) -> tf.Tensor:
    for layer, module in zip(self.layers, self._modules, strict=True):
      match layer:
        case Dense():
          x = _ACTIVATIONS[layer.activation](
              module(_flat(x), is_training=is_training))
        case Conv():
          x = _ACTIVATIONS[layer.activation](
              module(x, is_training=is_training))
        case BatchNorm():
          x = _ACTIVATIONS[layer.activation](
              module(x, is_training=is_training))
        case Branch():
          x = tf.concat(
              [x[:, :-layer.columns],
               module(x[:, -layer.columns:], is_training=is_training)], axis=1)
        case Image():
          x = tf.reshape(x, [-1, layer.height, layer.width, 1])
        case MaxPool():
          x = tf.nn.max_pool2d(x, layer.size, layer.size, 'VALID')
        case MeanPool():
          x = tf.nn.avg_pool2d(x, layer.size, layer.size, 'VALID')
        case Dropout() if is_training:
          x = tf.nn.experimental.general_dropout(
              x, layer.rate, self._masks.uniform)
    return _flat(x)


def has_pictures(layers: Sequence[Layer]) -> bool:
  """Returns whether layers fold rows into pictures."""
  return any(
      isinstance(layer, Image)
      or isinstance(layer, Branch) and has_pictures(layer.layers)
      for layer in layers)


def _make(
    layer: Layer, shape: tuple[int, ...], generator: np.random.Generator,
) -> tuple[snt.Module, tuple[int, ...]]:
  """Returns the module of a layer, and the shape of a row that leaves it."""
  if isinstance(layer, Image | Branch) and len(shape) > 1:
    raise ValueError(
        f'{type(layer).__name__} takes rows of numbers, but gets pictures of '
        f'shape {shape}. Put it before the layers that fold.')
  if isinstance(layer, Conv | MaxPool | MeanPool) and len(shape) != 3:
    raise ValueError(
        f'{type(layer).__name__} takes pictures, but gets rows of {shape[0]} '
        'numbers. Put Image(height, width) before it.')
  match layer:
    case Dense():
      inputs = int(np.prod(shape))
      return weights.Weights(
          [inputs, layer.size], generator,
          spectral=layer.spectral), (layer.size,)
    case Conv():
      sides = [side - layer.kernel + 1 for side in shape[:2]]
      _check_sides(layer, shape, sides)
      return weights.Weights(
          [layer.kernel, layer.kernel, shape[2], layer.channels], generator,
          spectral=layer.spectral), (*sides, layer.channels)
    case MaxPool() | MeanPool():
      sides = [side // layer.size for side in shape[:2]]
      _check_sides(layer, shape, sides)
      return snt.Module(), (*sides, shape[2])
    case Image():
      if layer.height * layer.width != shape[0]:
        raise ValueError(
            f'{layer} takes {layer.height * layer.width} pixels, but gets rows '
            f'of {shape[0]} numbers.')
      return snt.Module(), (layer.height, layer.width, 1)
    case Branch():
      if layer.columns > shape[0]:
        raise ValueError(
            f'A Branch of {layer.columns} columns gets rows of {shape[0]} '
            'numbers.')
      branch = Network(
          layer.layers, input_size=layer.columns,
          seed=int(generator.integers(2 ** 31)))
      return branch, (shape[0] - layer.columns + branch.output_size,)
    case BatchNorm():
      norm = snt.BatchNorm(
          create_scale=True, create_offset=True, decay_rate=layer.decay)
      norm(tf.zeros([2, *shape]), is_training=False)
      return norm, shape
  return snt.Module(), shape


def _flat(x: tf.Tensor) -> tf.Tensor:
  if x.shape.rank == 2:
    return x
  return tf.reshape(x, [-1, int(np.prod(x.shape[1:]))])


def _check_size(layer: Layer, *names: str) -> None:
  for name in names:
    if getattr(layer, name) < 1:
      raise ValueError(
          f'{type(layer).__name__}.{name} must be at least 1, got '
          f'{getattr(layer, name)}.')


def _check_activation(layer: Dense | Conv | BatchNorm) -> None:
  if layer.activation not in _ACTIVATIONS:
    raise ValueError(
        f'{type(layer).__name__}.activation must be one of '
        f'{list(_ACTIVATIONS)}, got {layer.activation!r}.')


def _check_sides(
    layer: Layer, shape: Sequence[int], sides: Sequence[int],
) -> None:
  if min(sides) < 1:
    raise ValueError(
        f'{layer} is larger than its pictures of {shape[0]} x {shape[1]}.')
