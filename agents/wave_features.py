"""Random Fourier features of decisions.

- `Waves` are features of the state alone; `decisions.Outer` makes one set of
  them for each action.
- `Together` are features of state and action together, of a size that does not
  grow with the number of actions, and the only ones for actions that are
  vectors.
"""

import numpy as np

from dfiv_ope import types
from dfiv_ope.iv import features, waves
from dfiv_ope.nn import encoding, tensors
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


class Angles:
  """Random directions of encoded rows: [B, F], float64."""

  def __init__(self, rows: encoding.Encoding, frequencies: types.FloatArray):
    """Initialises them with frequencies of expanded rows, [K, F]."""
    self._numbers = len(rows.numbers)
    self._sizes = rows.category_sizes
    self._frequencies = np.asarray(frequencies, np.float64)

  def __call__(self, compact: types.Array) -> types.FloatArray:
    """Returns directions of compact rows; no indicators are made."""
    compact = tensors.array(compact)
    frequencies, start = self._frequencies, self._numbers
    angle: types.FloatArray = (
      compact[:, :start].astype(np.float64) @ frequencies[:start]
    )
    for index, size in enumerate(self._sizes):
      place = compact[:, self._numbers + index].astype(np.int32)
      known = np.flatnonzero(place >= 0)
      angle[known] += frequencies[start + place[known]]
      start += size
    return angle


class Waves:
  """`features.FourierFeatures` of states, encoded compactly."""

  def __init__(
    self, fourier: features.FourierFeatures, states: encoding.Encoding
  ):
    """Initialises them with the frequencies of the others."""
    self._angles = Angles(states, fourier.frequencies)

  def __call__(
    self, compact: types.Array, out: types.FloatArray | None = None
  ) -> types.FloatArray:
    """Returns features [B, size], float64, of unit norm; in `out` if given."""
    angle = self._angles(compact)
    return waves.cosines_and_sines(angle, 1.0 / np.sqrt(angle.shape[1]), out)


class Together:
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
      self._table = np.concatenate([np.cos(beta), np.sin(beta)], axis=1)
    else:
      self._actions = Angles(
        problem.vectors, draws / (problem.action_distance * bandwidth_scale)
      )

  def __call__(
    self, decision: decisions.Decision, *, is_training: bool = False
  ) -> types.FloatArray:
    """Returns [B, output_size], float64; the last column is ones."""
    del is_training
    decision = decisions.Decision(*map(tensors.array, decision))
    scale = 1.0 / np.sqrt(self._count + self._alone)
    across, along = np.split(
      waves.cosines_and_sines(self._states(decision.observation), scale),
      2,
      axis=1,
    )
    cosine, sine = np.split(self._action_waves(decision), 2, axis=1)
    numbers = decision.observation[:, : self._numbers].astype(np.float64)
    return np.concatenate(
      [
        across * cosine - along * sine,
        along * cosine + across * sine,
        waves.cosines_and_sines(
          self._states_alone(decision.observation), scale
        ),
        _ALONE * numbers,
        _ALONE * self._action_alone(decision),
        np.ones((len(numbers), 1)),
      ],
      axis=1,
    )

  def dot(
    self, decision: decisions.Decision, coefficients: types.FloatArray
  ) -> types.FloatArray:
    """Returns psi times coefficients [D, 1], [B, 1]."""
    return self(decision) @ np.asarray(coefficients, np.float64)

  def _action_alone(self, decision: decisions.Decision) -> types.FloatArray:
    """Returns the expectation of an action's own columns, [B, columns]."""
    if self._vectors is None:
      shared = decision._replace(actions=decision.actions % self._indicators)
      return decisions.weights(shared, self._indicators).astype(np.float64)
    rows, choices, size = decision.actions.shape
    inputs = self._vectors.expand(
      decision.actions.reshape(rows * choices, size)
    )[:, : self._action_columns].reshape(rows, choices, self._action_columns)
    return np.sum(inputs * decision.probabilities[..., None], axis=1).astype(
      np.float64
    )

  def _action_waves(self, decision: decisions.Decision) -> types.FloatArray:
    """Returns E [cos(beta), sin(beta)] over the actions, [B, 2 F]."""
    choices = decision.actions.shape[1]
    if self._num_actions and choices > _FEW_CHOICES:
      chosen = decisions.weights(decision, self._num_actions)
      return chosen.astype(np.float64) @ self._table
    total = np.zeros((len(decision.actions), 2 * self._count))
    for choice in range(choices):
      share = decision.probabilities[:, choice, None].astype(np.float64)
      if self._num_actions:
        wave = self._table[decision.actions[:, choice]]
      else:
        wave = waves.cosines_and_sines(
          self._actions(decision.actions[:, choice]), 1.0
        )
      total += share * wave
    return total
