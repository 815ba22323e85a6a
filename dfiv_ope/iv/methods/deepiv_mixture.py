"""Mixtures of Gaussians for each row: DeepIV's model of the treatment."""

import math
from typing import NamedTuple

import tensorflow as tf


class Mixture(NamedTuple):
  """A mixture of K diagonal Gaussians for each of B rows.

  Attributes:
    log_weight: [B, K], its exponentials sum to one.
    mean: [B, K, D].
    scale: standard deviations, [B, K, D].
  """

  log_weight: tf.Tensor
  mean: tf.Tensor
  scale: tf.Tensor


def output_size(components: int, size: int) -> int:
  """Returns how many outputs `from_outputs` wants for treatments [B, size]."""
  return components * (1 + 2 * size)


def from_outputs(
  outputs: tf.Tensor, components: int, min_scale: float
) -> Mixture:
  """Returns the mixture that network outputs [B, K (1 + 2 D)] stand for.

  Args:
    outputs: K logits, then K D means, then K D unbounded scales a row.
    components: K.
    min_scale: least standard deviation.
  """
  logit, mean, scale = tf.split(
    outputs, [components] + 2 * [(outputs.shape[1] - components) // 2], axis=1
  )
  shape = [-1, components, mean.shape[1] // components]
  return Mixture(
    log_weight=tf.nn.log_softmax(logit),
    mean=tf.reshape(mean, shape),
    scale=min_scale + tf.nn.softplus(tf.reshape(scale, shape)),
  )


def mean(mixture: Mixture) -> tf.Tensor:
  """Returns the mean of each row's mixture, [B, D]."""
  return tf.reduce_sum(
    tf.exp(mixture.log_weight)[:, :, None] * mixture.mean, axis=1
  )


def log_density(mixture: Mixture, treatment: tf.Tensor) -> tf.Tensor:
  """Returns log sum_k w_k N(t; mean_k, diag(scale_k^2)) at t [B, D]: [B]."""
  score = (treatment[:, None, :] - mixture.mean) / mixture.scale  # [B, K, D]
  gaussian = tf.reduce_sum(
    -tf.square(score) / 2.0
    - tf.math.log(mixture.scale)
    - math.log(2.0 * math.pi) / 2.0,
    axis=2,
  )  # [B, K]
  return tf.reduce_logsumexp(mixture.log_weight + gaussian, axis=1)


def draw(
  mixture: Mixture,
  count: int,
  generator: tf.random.Generator,
  *,
  rows_per_noise: int = 1,
) -> tf.Tensor:
  """Returns `count` independent draws for each row, [count, B, D].

  Args:
    mixture: of each row.
    count: number of draws.
    generator: makes the random numbers.
    rows_per_noise: rows that share normal numbers. Draws of the same row stay
      independent, which is all that an unbiased gradient needs; with wide
      treatments the numbers cost more than the networks.
  """
  rows, components, size = tf.unstack(tf.shape(mixture.mean))
  reach = tf.cumsum(tf.exp(mixture.log_weight), axis=1)  # [B, K]
  level = generator.uniform([count, rows, 1])
  # Rounding can leave the last reach below one.
  index = tf.minimum(
    tf.reduce_sum(tf.cast(level > reach, tf.int32), axis=2), components - 1
  )
  index += components * tf.range(rows)  # [count, B]
  mean = tf.gather(tf.reshape(mixture.mean, [-1, size]), index)
  scale = tf.gather(tf.reshape(mixture.scale, [-1, size]), index)
  groups = -(-rows // rows_per_noise)
  noise = generator.normal([count, groups, size])
  if rows_per_noise > 1:
    noise = tf.tile(noise, [1, rows_per_noise, 1])[:, :rows]
  return mean + scale * noise
