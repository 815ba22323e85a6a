"""The returns of whole episodes, averaged; a leaf that loads only numpy."""

import dataclasses

import numpy as np


@dataclasses.dataclass(frozen=True, kw_only=True)
class MonteCarlo:
  """The mean of a policy's discounted return, by simulation.

  Attributes:
    mean: average discounted return.
    standard_error: of the mean.
    episodes: how many episodes were averaged.
    mean_length: average number of steps of an episode.
  """
  mean: float
  standard_error: float
  episodes: int
  mean_length: float


def summarise(returns: list[float], lengths: list[int]) -> MonteCarlo:
  """Averages the returns of whole episodes."""
  if not returns:
    raise ValueError('At least one episode is needed.')
  spread = np.std(returns, ddof=1) if len(returns) > 1 else np.nan
  return MonteCarlo(
      mean=float(np.mean(returns)),
      standard_error=float(spread / np.sqrt(len(returns))),
      episodes=len(returns),
      mean_length=float(np.mean(lengths)))
