"""Summaries of errors over problems and runs.

They are those of Agarwal et al. (2021), "Deep RL at the Edge
of the Statistical Precipice": the runs of one problem are a cell, and the
bootstrap draws runs within cells. The authors' library, rliable, draws from
numpy's global generator, so only the tests use it.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy import typing as npt

# Share cut off at either end for the interquartile mean.
_CUT = 0.25
_LEVEL = 0.95
_REPLICATES = 2000


class Score(NamedTuple):
  """A summary of errors and its 95 % bootstrap interval."""

  value: float
  low: float
  high: float


def interquartile_mean(cells: Sequence[npt.ArrayLike], *, seed: int) -> Score:
  """Returns the mean of the middle half of all errors, over cells and runs.

  A run that failed has the error inf: it is among the worst quarter or it
  makes the mean infinite, but it is never left out.

  Args:
    cells: for each problem the errors of its runs.
    seed: seeds the bootstrap.
  """
  arrays = _cells(cells)
  generator = np.random.default_rng(seed)
  draws = np.concatenate(
    [generator.choice(cell, (_REPLICATES, len(cell))) for cell in arrays],
    axis=1,
  )
  return _interval(_trimmed(np.concatenate(arrays)), _trimmed(draws))


def probability_of_improvement(
  first: Sequence[npt.ArrayLike], second: Sequence[npt.ArrayLike], *, seed: int
) -> Score:
  """Returns how often a run of the first has the smaller error of the two.

  Averaged over cells; a tie counts half. Two failures (inf) tie.

  Args:
    first: for each problem the errors of the runs of one method.
    second: of another method, for the same problems.
    seed: seeds the bootstrap.
  """
  if len(first) != len(second):
    raise ValueError(
      f'Both methods need the same cells, got {len(first)} and {len(second)}.'
    )
  generator = np.random.default_rng(seed)
  values, draws = [], []
  for ours, theirs in zip(_cells(first), _cells(second), strict=True):
    wins = (ours[:, None] < theirs) + 0.5 * (ours[:, None] == theirs)
    values.append(wins.mean())
    drawn = [_resample(size, generator) for size in wins.shape]
    draws.append(((drawn[0] @ wins) * drawn[1]).sum(axis=1))
  return _interval(float(np.mean(values)), np.mean(draws, axis=0))


def _cells(cells: Sequence[npt.ArrayLike]) -> list[npt.NDArray[np.float64]]:
  arrays = [np.asarray(cell, np.float64) for cell in cells]
  if not arrays or not all(len(cell) for cell in arrays):
    raise ValueError('At least one cell is needed, and a run in each.')
  if any(np.isnan(cell).any() for cell in arrays):
    raise ValueError('An error is nan; a run that failed should have inf.')
  return arrays


def _resample(
  size: int, generator: np.random.Generator
) -> npt.NDArray[np.float64]:
  """Returns the share of each run in each resample, [replicates, runs]."""
  drawn = generator.integers(size, size=(_REPLICATES, size))
  places = drawn + size * np.arange(_REPLICATES)[:, None]
  counts = np.bincount(places.ravel(), minlength=_REPLICATES * size)
  return counts.reshape(_REPLICATES, size) / size


def _trimmed(errors: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
  """Returns the interquartile mean along the last axis."""
  cut = int(_CUT * errors.shape[-1])
  kept = np.sort(errors, axis=-1)[..., cut : errors.shape[-1] - cut]
  return np.mean(kept, axis=-1)


def _interval(value: npt.ArrayLike, draws: npt.NDArray[np.float64]) -> Score:
  # Quantiles are draws, not means of two: one of them may be inf.
  low, high = (1.0 - _LEVEL) / 2.0, (1.0 + _LEVEL) / 2.0
  return Score(
    float(value),  # type: ignore[arg-type]
    float(np.quantile(draws, low, method='lower')),
    float(np.quantile(draws, high, method='higher')),
  )
