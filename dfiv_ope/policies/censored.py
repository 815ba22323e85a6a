"""Normal numbers that are clipped to bounds: a density, and mass at the bounds.

Pure functions on entries: `mean`, `deviation`, `low` and `high` are broadcast.
"""

import tensorflow as tf


def draw(
  mean: tf.Tensor,
  deviation: tf.Tensor,
  uniforms: tf.Tensor,
  low: tf.Tensor,
  high: tf.Tensor,
) -> tf.Tensor:
  """Returns mean + deviation * normal quantile of uniforms, clipped."""
  return tf.clip_by_value(mean + deviation * tf.math.ndtri(uniforms), low, high)


def log_prob(
  mean: tf.Tensor,
  deviation: tf.Tensor,
  values: tf.Tensor,
  low: tf.Tensor,
  high: tf.Tensor,
) -> tf.Tensor:
  """Returns the log density of values, at a bound the log of its mass.

  Values beyond a bound count as on it. Gradients are finite for bounds that
  are infinite.
  """
  import tensorflow_probability as tfp  # Takes a second.

  standard = tfp.distributions.Normal(
    tf.zeros([], mean.dtype), tf.ones([], mean.dtype)
  )
  at_low, at_high = values <= low, values >= high
  inside = (tf.clip_by_value(values, low, high) - mean) / deviation
  # A branch that is not chosen is asked about something finite.
  mass = standard.log_cdf(
    tf.where(
      at_low,
      (tf.where(at_low, low, values) - mean) / deviation,
      tf.where(
        at_high, (mean - tf.where(at_high, high, values)) / deviation, 0.0
      ),
    )
  )
  return tf.where(
    at_low | at_high, mass, standard.log_prob(inside) - tf.math.log(deviation)
  )
