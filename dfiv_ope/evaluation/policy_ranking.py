"""How well estimates rank policies whose values are known."""

from collections.abc import Sequence
import math

import numpy as np


def rank_correlation(
  estimates: Sequence[float], truths: Sequence[float]
) -> float:
  """Returns Spearman's correlation, nan where one side is constant."""
  from scipy import stats

  if len(estimates) < 2 or not (np.ptp(estimates) and np.ptp(truths)):
    return float('nan')
  # stats.spearmanr adds a p-value, which takes thirty times as long.
  ranks = stats.rankdata([estimates, truths], axis=1)
  return float(np.corrcoef(ranks)[0, 1])


def regret(
  estimates: Sequence[float], truths: Sequence[float], k: int = 1
) -> float:
  """Returns regret@k: what the best of the k highest estimates falls short of.

  Of policies with equal estimates each is as likely among the k.

  Args:
    estimates: of each policy.
    truths: values of the same policies.
    k: how many policies could be tried, at most as many as there are.

  Raises:
    ValueError: there are not so many.
  """
  if not 1 <= k <= len(estimates):
    raise ValueError(
      f'regret@k needs k from 1 to {len(estimates)}, the number of policies, '
      f'got {k}.'
    )
  guesses, values = np.asarray(estimates), np.asarray(truths)
  last = np.sort(guesses)[-k]
  sure = values[guesses > last]
  tied = np.sort(values[guesses == last])[::-1]
  places = k - len(sure)
  # How likely the i-th best of the tied ones is the best of those drawn.
  chance = [
    math.comb(len(tied) - 1 - place, places - 1) / math.comb(len(tied), places)
    for place in range(len(tied))
  ]
  best = np.maximum(tied, np.max(sure, initial=-np.inf))
  return float(np.max(values) - np.dot(chance, best))
