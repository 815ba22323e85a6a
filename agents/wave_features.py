"""Random Fourier features of decisions, made inside graphs.

- `Waves` are features of the state alone; `decisions.Outer` makes one set of
  them for each action.
- `Together` are features of state and action together, of a size that does not
  grow with the number of actions, and the only ones for actions that are
  vectors.
"""

import numpy as np
import tensorflow as tf

from dfiv_ope import types
from dfiv_ope.iv import features, waves
from dfiv_ope.nn import encoding
from dfiv_ope.ope import bellman, decisions

# Bandwidth of indicators of actions, which are sqrt(2) apart: what is known of
# one action tells exp(-1 / bandwidth^2) of the next, 0.37.
_ACTION_BANDWIDTH = 1.0
# Actions of a decision whose waves are looked up one by one; where there are
# more, one product with the probabilities of all actions is cheaper.
_FEW_CHOICES = 8
# Of all waves, those of the state alone.
_STATE_SHARE = 0.6
# Columns of a state's numbers and of an action alone, and their size: waves of
# both have unit norm in all.
_MOST_NUMBERS, _MOST_INDICATORS, _ALONE = 100, 500, 0.3


class Angles(tf.Module):
  """Random directions of encoded rows: [B, F], float64."""

  def __init__(self, rows: encoding.Encoding, frequencies: types.FloatArray):
    """Initialises them with frequencies of expanded rows, [K, F]."""
    super().__init__('angles')
    self._numbers = len(rows.numbers)
    self._sizes = rows.category_sizes
    self._frequencies = tf.Variable(
      frequencies, dtype=tf.float64, trainable=False
    )

  def __call__(self, compact: tf.Tensor) -> tf.Tensor:
    """Returns directions of compact rows; no indicators are made."""
    if tf.executing_eagerly():
      return tf.constant(self.array(np.asarray(compact)))
    start = self._numbers
    angle = tf.matmul(
      tf.cast(compact[:, :start], tf.float64), self._frequencies[:start]
    )
    for index, size in enumerate(self._sizes):
      place = tf.cast(compact[:, self._numbers + index], tf.int32)
      known = tf.cast(place >= 0, tf.float64)[:, None]
      angle += known * tf.gather(
        self._frequencies, start + tf.maximum(place, 0)
      )
      start += size
    return angle

  def array(self, compact: types.FloatArray) -> types.FloatArray:
    """Returns the same as arrays, without the cost of small operations."""
    frequencies = self._frequencies.numpy()
    start = self._numbers
    angle: types.FloatArray = (
      compact[:, :start].astype(np.float64) @ frequencies[:start]
    )
    for index, size in enumerate(self._sizes):
      place = compact[:, self._numbers + index].astype(np.int32)
      known = np.flatnonzero(place >= 0)
      angle[known] += frequencies[start + place[known]]
      start += size
    return angle


def _waves(angle: tf.Tensor, scale: float) -> tf.Tensor:
  """Returns [cos(angle), sin(angle)] times a scale, [B, 2 F], float64."""
  if tf.executing_eagerly():  # In graphs there is no numpy.
    return tf.constant(waves.cosines_and_sines(angle.numpy(), scale))
  return scale * tf.concat([tf.cos(angle), tf.sin(angle)], axis=1)


class Waves(tf.Module):
  """`features.FourierFeatures` of states, encoded compactly."""

  def __init__(
    self, fourier: features.FourierFeatures, states: encoding.Encoding
  ):
    """Initialises them with the frequencies of the others."""
    super().__init__('waves')
    self._angles = Angles(states, fourier.frequencies)

  def __call__(self, compact: tf.Tensor) -> tf.Tensor:
    """Returns features [B, size], float64, of unit norm."""
    angle = self._angles(compact)
    return _waves(angle, 1.0 / np.sqrt(angle.shape[1]))

  def array(
    self, compact: types.FloatArray, out: types.FloatArray
  ) -> types.FloatArray:
    """Puts the features of states [B, K] into an array, [B, size]."""
    angle = self._angles.array(compact)
    return waves.cosines_and_sines(angle, 1.0 / np.sqrt(angle.shape[1]), out)


class Together(tf.Module):
  """Features of a Gaussian kernel of (s, a), of each alone, and a constant.

  The wave of an expectation over actions is a product of waves: with angles
  alpha of s and beta of a, E cos(alpha + beta) = cos(alpha) E cos(beta) -
  sin(alpha) E sin(beta).

  What a few hundred waves of both cannot say well is said by columns of their
  own: waves and numbers of the state, which most of a value depends on; and the
  action: its entries if it is a vector, else its indicator, which actions share
  where there are many. Without the former LSTD-Q is unstable off-policy: the
  error of the state's part is carried from step to step.

  Bandwidths of states go evenly, in logarithms, from the median distance to
  the typical one: a log that rests in one place for most of its time has a
  median distance that is too small for the rest of it.

  Attributes:
    output_size: number of features, with the constant.
  """

  def __init__(
    self,
    problem: bellman.Problem,
    *,
    size: int,
    bandwidth_scale: float,
    seed: types.Seed,
  ):
    """Initialises the features.

    Args:
      problem: says what states and actions are, and their scales.
      size: number of waves, even.
      bandwidth_scale: multiplies the distances.
      seed: seeds the frequencies.
    """
    super().__init__('together')
    self._alone = round(_STATE_SHARE * size / 2)
    self._count = size // 2 - self._alone
    self._num_actions = problem.num_actions
    self._numbers = min(len(problem.observations.numbers), _MOST_NUMBERS)
    self._indicators = min(problem.num_actions, _MOST_INDICATORS)
    self._vectors = problem.vectors
    alone = self._indicators or min(problem.spaces.action_size, _MOST_NUMBERS)
    self._action_columns = alone
    self.output_size = size + self._numbers + alone + 1
    generator = np.random.default_rng(seed)

    def frequencies(count: int) -> types.FloatArray:
      widths = (
        bandwidth_scale
        * np.geomspace(
          problem.distance, problem.typical_distance, max(count, 2)
        )[:count]
      )
      return (
        generator.standard_normal((problem.num_observations, count)) / widths
      )

    self._states = Angles(problem.observations, frequencies(self._count))
    self._states_alone = Angles(problem.observations, frequencies(self._alone))
    draws = generator.standard_normal((problem.spaces.action_size, self._count))
    if problem.vectors is None:
      beta = draws / _ACTION_BANDWIDTH
      # Cosines and sines of every action, [A, 2 F].
      self._table = tf.Variable(
        np.concatenate([np.cos(beta), np.sin(beta)], axis=1), trainable=False
      )
    else:
      self._actions = Angles(
        problem.vectors, draws / (problem.action_distance * bandwidth_scale)
      )

  def __call__(
    self, decision: decisions.Decision, *, is_training: bool = False
  ) -> tf.Tensor:
    """Returns [B, output_size], float64; the last column is ones."""
    del is_training
    scale = 1.0 / np.sqrt(self._count + self._alone)
    across, along = tf.split(
      _waves(self._states(decision.observation), scale), 2, axis=1
    )
    cosine, sine = tf.split(self._action_waves(decision), 2, axis=1)
    numbers = tf.cast(decision.observation[:, : self._numbers], tf.float64)
    return tf.concat(
      [
        across * cosine - along * sine,
        along * cosine + across * sine,
        _waves(self._states_alone(decision.observation), scale),
        _ALONE * numbers,
        _ALONE * self._action_alone(decision),
        tf.ones([tf.shape(numbers)[0], 1], tf.float64),
      ],
      axis=1,
    )

  def dot(
    self, decision: decisions.Decision, coefficients: tf.Tensor
  ) -> tf.Tensor:
    """Returns psi times coefficients [D, 1], [B, 1]."""
    return tf.matmul(self(decision), tf.cast(coefficients, tf.float64))

  def _action_alone(self, decision: decisions.Decision) -> tf.Tensor:
    """Returns the expectation of an action's own columns, [B, columns]."""
    if self._vectors is None:
      shared = decision._replace(actions=decision.actions % self._indicators)
      return tf.cast(decisions.weights(shared, self._indicators), tf.float64)
    rows, choices = tf.unstack(tf.shape(decision.probabilities))
    inputs = self._vectors.expand(
      tf.reshape(decision.actions, [rows * choices, decision.actions.shape[2]])
    )
    inputs = tf.reshape(
      inputs[:, : self._action_columns], [rows, choices, self._action_columns]
    )
    return tf.cast(
      tf.reduce_sum(inputs * decision.probabilities[..., None], axis=1),
      tf.float64,
    )

  def _action_waves(self, decision: decisions.Decision) -> tf.Tensor:
    """Returns E [cos(beta), sin(beta)] over the actions, [B, 2 F]."""
    choices = decision.actions.shape[1] or self._num_actions
    if self._num_actions and choices > _FEW_CHOICES:
      return tf.matmul(
        tf.cast(decisions.weights(decision, self._num_actions), tf.float64),
        self._table,
      )
    total = tf.zeros([], tf.float64)
    for choice in range(choices):
      share = tf.cast(decision.probabilities[:, choice, None], tf.float64)
      if self._num_actions:
        wave = tf.gather(self._table, decision.actions[:, choice])
      else:
        wave = _waves(self._actions(decision.actions[:, choice]), 1.0)
      total += share * wave
    return total
