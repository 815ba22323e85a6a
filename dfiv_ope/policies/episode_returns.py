"""The returns of whole episodes, averaged; a leaf that loads only numpy."""

import dataclasses

import numpy as np

from dfiv_ope import types


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


def weights(discount: float, step_discounts: np.ndarray) -> types.FloatArray:
  """Returns what the rewards of an episode count at its start, [T].

  It is the running product of the discount and the environment's own.

  Args:
    discount: of the value.
    step_discounts: the environment's, [T].
  """
  result = discount ** np.arange(len(step_discounts))
  result[1:] *= np.cumprod(step_discounts[:-1], dtype=np.float64)
  return result


def weights_of_all(
  discount: float, step_discounts: np.ndarray, starts: np.ndarray
) -> types.FloatArray:
  """Returns `weights` of episodes that follow each other, [N].

  Args:
    discount: of the value.
    step_discounts: the environment's, [N].
    starts: first rows of the episodes, [E].
  """
  goes_on = np.ones(len(step_discounts), bool)
  goes_on[starts[1:] - 1] = goes_on[-1] = False
  if np.all(step_discounts[goes_on] == 1.0):  # all at once, as is usual
    lengths = np.diff(starts, append=len(step_discounts))
    return discount ** (
      np.arange(len(step_discounts)) - np.repeat(starts, lengths)
    )
  return np.concatenate(
    [weights(discount, each) for each in np.split(step_discounts, starts[1:])]
  )


def remaining_of_all(
  discount: float, step_discounts: np.ndarray, starts: np.ndarray
) -> types.FloatArray:
  """Returns what a reward after the last step of each episode counts, [E].

  It is 0 where an episode has terminated; elsewhere it was cut off.

  Args:
    discount: of the value.
    step_discounts: the environment's, [N].
    starts: first rows of the episodes, [E].
  """
  ends = np.append(starts[1:], len(step_discounts)) - 1
  return (
    weights_of_all(discount, step_discounts, starts)[ends]
    * discount
    * np.asarray(step_discounts, np.float64)[ends]
  )


def summarise(returns: list[float], lengths: list[int]) -> MonteCarlo:
  """Averages the returns of whole episodes."""
  if not returns:
    raise ValueError('At least one episode is needed.')
  spread = np.std(returns, ddof=1) if len(returns) > 1 else np.nan
  return MonteCarlo(
    mean=float(np.mean(returns)),
    standard_error=float(spread / np.sqrt(len(returns))),
    episodes=len(returns),
    mean_length=float(np.mean(lengths)),
  )
