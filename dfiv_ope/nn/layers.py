"""Networks as data: a tuple of layers that a config can hold and print.

    (Dense(128), Dense(64), Dense(32, activation=None))

Inputs are rows of numbers. A picture is a row of pixels that `Image` folds:

    (Image(28, 28), Conv(16, 5), MaxPool(2), Dense(32))

`networks.Network` makes the module of such a tuple. Nothing here needs
TensorFlow.
"""

from collections.abc import Sequence
import dataclasses
import typing

ACTIVATIONS = ('relu', 'silu', 'tanh', None)


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
class Waves:
  """Cosines and sines of directions that are learned; of unit norm in all.

  Directions start as normal draws, so that features start as random Fourier
  features of a Gaussian kernel whose bandwidth is a unit of the inputs
  (Rahimi and Recht, 2007).

  Attributes:
    size: number of outputs, even: half of them cosines, half of them sines.
  """

  size: int

  def __post_init__(self) -> None:
    if self.size < 2 or self.size % 2:
      raise ValueError(
        f'Waves.size must be even and at least 2, got {self.size}.'
      )


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
class Shift:
  """Moves each picture in training, by whole pixels in each direction.

  What comes in at one side repeats the border.

  Attributes:
    most: pixels at most; all distances up to it are as likely.
  """

  most: int

  def __post_init__(self) -> None:
    _check_size(self, 'most')


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


Layer = (
  Dense
  | Waves
  | Dropout
  | BatchNorm
  | Image
  | Shift
  | Conv
  | MaxPool
  | MeanPool
  | Branch
)
LAYERS: tuple[type, ...] = typing.get_args(Layer)


def has_pictures(layers: Sequence[Layer]) -> bool:
  """Returns whether layers fold rows into pictures."""
  return any(
    isinstance(layer, Image)
    or isinstance(layer, Branch)
    and has_pictures(layer.layers)
    for layer in layers
  )


def check_output(name: str, layers: Sequence[Layer]) -> None:
  """Raises a ValueError where a network does not end in one linear output."""
  last = layers[-1] if layers else None
  if last != Dense(1, None):
    raise ValueError(
      f'{name} must end in Dense(1, None), one linear output, got {last}.'
    )


def _check_size(layer: Layer, *names: str) -> None:
  for name in names:
    if getattr(layer, name) < 1:
      raise ValueError(
        f'{type(layer).__name__}.{name} must be at least 1, got '
        f'{getattr(layer, name)}.'
      )


def _check_activation(layer: Dense | Conv | BatchNorm) -> None:
  if layer.activation not in ACTIVATIONS:
    raise ValueError(
      f'{type(layer).__name__}.activation must be one of '
      f'{list(ACTIVATIONS)}, got {layer.activation!r}.'
    )
