"""The Sonnet module of a network that is described as data.

described = (layers.Dense(128), layers.Dense(32, activation=None))
network = Network(described, input_size=3, seed=0)
network(x)                                     # [B, 3] -> [B, 32]
"""

from collections.abc import Sequence

import numpy as np
import sonnet as snt
import tensorflow as tf

from dfiv_ope import types
from dfiv_ope.nn import layers as layers_lib
from dfiv_ope.nn import weights


def _silu(x: tf.Tensor) -> tf.Tensor:
  """Returns x sigmoid(x); `tf.nn.silu` takes longer to trace and to derive."""
  return x * tf.sigmoid(x)


_ACTIVATIONS = {
  'relu': tf.nn.relu,
  'silu': _silu,
  'tanh': tf.nn.tanh,
  None: tf.identity,
}
# Pictures that go through convolutions at a time where nothing is trained.
_ROWS = 512


class Network(snt.Module):
  """The module of a tuple of layers, built at once from one seed.

  Weights and biases start uniform in +-1/sqrt(fan-in), so that the kinks of a
  network of one input spread over its range.
  """

  def __init__(
    self,
    layers: Sequence[layers_lib.Layer],
    *,
    input_size: int,
    seed: types.Seed,
    name: str | None = None,
  ):
    """Initialises the network.

    Args:
      layers: the layers, first to last.
      input_size: number of columns of the input.
      seed: seeds the weights, dropout masks and shifts.
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
    self._masks = tf.random.Generator.from_seed(int(generator.integers(2**31)))

  @property
  def masks(self) -> tf.random.Generator:
    """What draws dropout masks and shifts."""
    return self._masks

  def __call__(self, x: tf.Tensor, *, is_training: bool = False) -> tf.Tensor:
    """Returns features [B, output_size] of inputs [B, input_size].

    Args:
      x: inputs.
      is_training: whether dropout and shifts are on and batch statistics are
        used.
    """
    x = tf.convert_to_tensor(x)
    rows = x.shape[0]
    if (
      is_training
      or rows is None
      or rows <= _ROWS
      or not layers_lib.has_pictures(self.layers)
    ):
      return self._apply(x, is_training)
    # The maps of a convolution are far larger than its picture.
    return tf.concat(
      [
        self._apply(x[start : start + _ROWS], False)
        for start in range(0, rows, _ROWS)
      ],
      axis=0,
    )

  # AutoGraph cannot read `match`, and says so to users.
  @tf.autograph.experimental.do_not_convert
  def _apply(self, x: tf.Tensor, is_training: bool) -> tf.Tensor:
    for layer, module in zip(self.layers, self._modules, strict=True):
      match layer:
        case layers_lib.Dense():
          x = _ACTIVATIONS[layer.activation](
            module(_flat(x), is_training=is_training)
          )
        case layers_lib.Waves():
          x = module(_flat(x))
        case layers_lib.Conv():
          x = _ACTIVATIONS[layer.activation](module(x, is_training=is_training))
        case layers_lib.BatchNorm():
          x = _ACTIVATIONS[layer.activation](module(x, is_training=is_training))
        case layers_lib.Branch():
          x = tf.concat(
            [
              x[:, : -layer.columns],
              module(x[:, -layer.columns :], is_training=is_training),
            ],
            axis=1,
          )
        case layers_lib.Image():
          x = tf.reshape(x, [-1, layer.height, layer.width, 1])
        case layers_lib.Shift() if is_training:
          x = _shifted(x, layer.most, self._masks)
        case layers_lib.MaxPool():
          x = tf.nn.max_pool2d(x, layer.size, layer.size, 'VALID')
        case layers_lib.MeanPool():
          x = tf.nn.avg_pool2d(x, layer.size, layer.size, 'VALID')
        case layers_lib.Dropout() if is_training:
          x = tf.nn.experimental.general_dropout(
            x, layer.rate, self._masks.uniform
          )
    return _flat(x)


def _make(
  layer: layers_lib.Layer,
  shape: tuple[int, ...],
  generator: np.random.Generator,
) -> tuple[snt.Module, tuple[int, ...]]:
  """Returns the module of a layer, and the shape of a row that leaves it."""
  if isinstance(layer, layers_lib.Image | layers_lib.Branch) and len(shape) > 1:
    raise ValueError(
      f'{type(layer).__name__} takes rows of numbers, but gets pictures of '
      f'shape {shape}. Put it before the layers that fold.'
    )
  if len(shape) != 3 and isinstance(
    layer,
    layers_lib.Shift
    | layers_lib.Conv
    | layers_lib.MaxPool
    | layers_lib.MeanPool,
  ):
    raise ValueError(
      f'{type(layer).__name__} takes pictures, but gets rows of {shape[0]} '
      'numbers. Put Image(height, width) before it.'
    )
  match layer:
    case layers_lib.Dense():
      inputs = int(np.prod(shape))
      return weights.Weights(
        [inputs, layer.size], generator, spectral=layer.spectral
      ), (layer.size,)
    case layers_lib.Waves():
      return weights.Waves(int(np.prod(shape)), layer.size // 2, generator), (
        layer.size,
      )
    case layers_lib.Conv():
      sides = [side - layer.kernel + 1 for side in shape[:2]]
      _check_sides(layer, shape, sides)
      return weights.Weights(
        [layer.kernel, layer.kernel, shape[2], layer.channels],
        generator,
        spectral=layer.spectral,
      ), (*sides, layer.channels)
    case layers_lib.MaxPool() | layers_lib.MeanPool():
      sides = [side // layer.size for side in shape[:2]]
      _check_sides(layer, shape, sides)
      return snt.Module(), (*sides, shape[2])
    case layers_lib.Image():
      if layer.height * layer.width != shape[0]:
        raise ValueError(
          f'{layer} takes {layer.height * layer.width} pixels, but gets rows '
          f'of {shape[0]} numbers.'
        )
      return snt.Module(), (layer.height, layer.width, 1)
    case layers_lib.Branch():
      if layer.columns > shape[0]:
        raise ValueError(
          f'A Branch of {layer.columns} columns gets rows of {shape[0]} '
          'numbers.'
        )
      branch = Network(
        layer.layers,
        input_size=layer.columns,
        seed=int(generator.integers(2**31)),
      )
      return branch, (shape[0] - layer.columns + branch.output_size,)
    case layers_lib.BatchNorm():
      norm = snt.BatchNorm(
        create_scale=True, create_offset=True, decay_rate=layer.decay
      )
      norm(tf.zeros([2, *shape]), is_training=False)
      return norm, shape
  return snt.Module(), shape


def _shifted(
  x: tf.Tensor, most: int, generator: tf.random.Generator
) -> tf.Tensor:
  """Returns pictures [B, height, width, C], each moved by its own distances."""
  for axis in (1, 2):
    distances = generator.uniform(
      [tf.shape(x)[0], 1], -most, most + 1, dtype=tf.int32
    )
    last = x.shape[axis] - 1
    places = tf.clip_by_value(tf.range(last + 1) - distances, 0, last)
    x = tf.gather(x, places, axis=axis, batch_dims=1)
  return x


def _flat(x: tf.Tensor) -> tf.Tensor:
  if x.shape.rank == 2:
    return x
  return tf.reshape(x, [-1, int(np.prod(x.shape[1:]))])


def _check_sides(
  layer: layers_lib.Layer, shape: Sequence[int], sides: Sequence[int]
) -> None:
  if min(sides) < 1:
    raise ValueError(
      f'{layer} is larger than its pictures of {shape[0]} x {shape[1]}.'
    )
