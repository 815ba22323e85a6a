"""Columns of states that one-step logs of many actions are fitted with.

g has the same coefficients for all actions, h coefficients of each action's own
(`ope.action_ridge`).
"""

import numpy as np

from dfiv_ope import types
from dfiv_ope.agents import wave_features
from dfiv_ope.agents.entries import random_features
from dfiv_ope.iv import features
from dfiv_ope.ope import action_ridge, bellman

# Numbers that all actions together may have: in squares of the columns of each,
# and in its columns times those of all; half of these with waves.
_SQUARES, _PRODUCTS = 2_500_000, 12_000_000
# Waves of each action's own: fewer are not worth it, more take too long.
_FEWEST_WAVES, _MOST_WAVES = 50, 100
# Indicators of categories that states have columns for.
_MOST_INDICATORS = 200
# Groups of columns that share a penalty.
_CONSTANT, _LINEAR, _SHARED, _WAVES = range(4)
# Columns at the end of g: the bend, two scores and a constant.
EXTRA = 4


class Columns:
  """g and h of states, encoded compactly; the last of h is a constant.

  Attributes:
    groups: of g, with the scores at its end, and of h.
  """

  def __init__(
    self,
    problem: bellman.Problem,
    settings: random_features.Settings,
    *,
    seed: types.Seed,
  ):
    """Initialises the columns.

    Args:
      problem: says what states are, and their scales.
      settings: number and bandwidth of the random features.
      seed: seeds their frequencies.
    """
    states, actions = problem.observations, problem.num_actions
    self._states = states
    self._numbers = len(states.numbers)
    self._expanded = states.size - self._numbers <= _MOST_INDICATORS
    width = states.size if self._expanded else self._numbers
    seeds = np.random.SeedSequence(seed).generate_state(3)

    def waves(size: int, scale: float, place: int) -> wave_features.Waves:
      return wave_features.Waves(
        features.FourierFeatures(
          np.full(states.size, problem.distance * scale),
          size=size,
          seed=int(seeds[place]),
        ),
        states,
      )

    # Half of the features are twice as wide: the more columns a state has, the
    # less the narrow ones can say.
    scale = settings.bandwidth_scale
    half = shared_features(settings) // 2
    self._shared = [waves(half, scale, 0), waves(half, 2.0 * scale, 1)]
    shared = 2 * half + width + EXTRA
    own = (
      min(
        _MOST_WAVES,
        int(np.sqrt(_SQUARES / actions)) - width - 1,
        _PRODUCTS // (2 * actions * shared) - width - 1,
      )
      // 2
      * 2
    )
    self._waves = waves(own, scale, 2) if own >= _FEWEST_WAVES else None
    # With many columns and many actions each has its level alone.
    self._level = (
      actions * (width + 1) ** 2 > _SQUARES
      or actions * (width + 1) * shared > _PRODUCTS
    )
    linear = 0 if self._level else width
    self.groups = action_ridge.Groups(
      np.array(
        [
          *[_SHARED] * (2 * half),
          *[-1] * self._numbers,
          *[_SHARED] * (width - self._numbers),
          *[-1] * EXTRA,
        ]
      ),
      np.array(
        [
          *[_WAVES] * (own if self._waves else 0),
          *[_LINEAR] * linear,
          _CONSTANT,
        ]
      ),
    )

  def shared(self, compact: types.FloatArray) -> types.FloatArray:
    """Returns g without the scores, [B, P], float64; the last is a constant."""
    return np.concatenate(
      [*(waves(compact) for waves in self._shared), *self._linear(compact)],
      axis=1,
    )

  def own(self, compact: types.FloatArray) -> types.FloatArray:
    """Returns h, [B, D], float64."""
    linear = self._linear(compact)
    return np.concatenate(
      [
        *([self._waves(compact)] if self._waves else []),
        *(linear[1:] if self._level else linear),
      ],
      axis=1,
    )

  def _linear(self, compact: types.FloatArray) -> list[types.FloatArray]:
    columns = (
      self._states.expand(compact)
      if self._expanded
      else compact[:, : self._numbers]
    )
    return [columns.astype(np.float64), np.ones((len(compact), 1))]


def shared_features(settings: random_features.Settings) -> int:
  """Returns the number of random features of the state that actions share.

  There are fewer than an action has for itself elsewhere, as each costs memory
  for every action.
  """
  return max(4, settings.shared_features // 6 * 4)
