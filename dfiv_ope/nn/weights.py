"""Weights of layers: with or without a spectral norm, and of waves."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import sonnet as snt
import tensorflow as tf

# Power iterations before the first use of a spectral norm; one more a step.
_FIRST_ITERATIONS = 20


class Weights(snt.Module):
  """The weights of a dense layer or a convolution.

  With a spectral norm, W / sigma(W). Two vectors follow the singular ones of
  the largest value, by one power iteration a training step; sigma = u' W v.
  """

  def __init__(
    self,
    shape: Sequence[int],
    generator: np.random.Generator,
    *,
    spectral: bool,
  ):
    """Draws weights of a shape whose last axis are the outputs."""
    super().__init__()
    bound = 1.0 / np.sqrt(np.prod(shape[:-1]))
    self.w = tf.Variable(
      generator.uniform(-bound, bound, shape), dtype=tf.float32
    )
    self.b = tf.Variable(
      generator.uniform(-bound, bound, shape[-1:]), dtype=tf.float32
    )
    self._left: Any = None
    if spectral:
      start = generator.standard_normal((int(np.prod(shape[:-1])), 1))
      self._left = tf.Variable(start, dtype=tf.float32, trainable=False)
      for _ in range(_FIRST_ITERATIONS):
        self._iterate()

  def __call__(self, x: tf.Tensor, *, is_training: bool) -> tf.Tensor:
    """Returns x W + b, or the convolution of pictures with W, plus b."""
    weights = self.w
    if self._left is not None:
      if is_training:
        self._iterate()
      weights = weights / self._norm()
    if self.w.shape.rank == 2:
      return tf.matmul(x, weights) + self.b
    return tf.nn.conv2d(x, weights, strides=1, padding='VALID') + self.b

  def _matrix(self) -> tf.Tensor:
    return tf.reshape(self.w, [-1, self.w.shape[-1]])

  def _right(self) -> tf.Tensor:
    return tf.math.l2_normalize(
      tf.matmul(self._matrix(), self._left, transpose_a=True)
    )

  def _iterate(self) -> None:
    self._left.assign(
      tf.math.l2_normalize(tf.matmul(self._matrix(), self._right()))
    )

  def _norm(self) -> tf.Tensor:
    left, right = map(tf.stop_gradient, (self._left, self._right()))
    return tf.reduce_sum(left * tf.matmul(self._matrix(), right))


class Waves(snt.Module):
  """Directions of inputs, and the cosines and sines along them."""

  def __init__(self, inputs: int, count: int, generator: np.random.Generator):
    """Draws `count` directions of so many inputs."""
    super().__init__()
    self.w = tf.Variable(
      generator.standard_normal((inputs, count)), dtype=tf.float32
    )

  def __call__(self, x: tf.Tensor) -> tf.Tensor:
    """Returns [cos(x W), sin(x W)] / sqrt(count), [B, 2 count]."""
    angle = tf.matmul(x, self.w)
    scale = 1.0 / np.sqrt(self.w.shape[1])
    return tf.concat([scale * tf.cos(angle), scale * tf.sin(angle)], axis=1)
