"""Bandwidths of kernel regressions with instruments, chosen by held-out losses.

The median distance of each column is right for a few columns that matter. With
many, rows are far from each other in all of them together, and no kernel sees
two rows alike; with a trend, a narrow kernel of the treatment falls back to a
constant beyond the rows. So some multiples of it are tried, one member after
the other, and taken where the stage-2 loss at other rows is clearly less.
"""

from collections.abc import Callable, Mapping
import math

import numpy as np

from dfiv_ope import types
from dfiv_ope.iv import features

# Multiples of the median distance that a treatment, or a covariate, may have;
# those of covariates beyond 1 also by the root of their number.
_TREATMENT = (1., 3., 10.)
_COVARIATE = (1., 0.4)
_WIDER = (1., 4.)
# Columns from which on their relevance is looked at.
_MANY = 5
# No column is wider than so many of its medians by its relevance.
_WIDEST = 30.
# By how many standard errors of a loss another choice has to be better.
_LEAST_GAIN = 0.25
_SWEEPS = 2

# Bandwidths by member of a batch, [D] each; a covariate's where there is one.
Bandwidths = Mapping[str, types.FloatArray]


def medians(rows: types.IVBatch) -> Bandwidths:
  """Returns the median distance of each column of treatment, ...

  Args:
    rows: of numbers; instruments without covariates.
  """
  return {name: features.median_bandwidth(each)
          for name, each in members(rows).items()}


def members(rows: types.IVBatch) -> dict[str, types.FloatArray]:
  """Returns the members of a batch that kernels are of."""
  return {name: each for name, each in rows._asdict().items()
          if name != 'outcome' and each is not None}


def choose(
    rows: types.IVBatch, loss: Callable[[Bandwidths], float],
) -> Bandwidths:
  """Returns bandwidths by a search along one member after the other.

  Args:
    rows: of numbers; instruments without covariates.
    loss: stage-2 loss of bandwidths at held-out rows, a mean of squares.
  """
  tried = _candidates(rows)
  chosen = dict.fromkeys(tried, 0)
  losses: dict[tuple[int, ...], float] = {}

  def measure(choice: dict[str, int]) -> float:
    key = tuple(choice.values())
    if key not in losses:
      losses[key] = loss({
          name: tried[name][index] for name, index in choice.items()})
    return losses[key]

  enough = 1. - _LEAST_GAIN * math.sqrt(2. / len(rows.outcome))
  for _ in range(_SWEEPS):
    before = dict(chosen)
    for name in reversed(tried):
      options = [{**chosen, name: index} for index in range(len(tried[name]))]
      best = min(options, key=measure)
      if measure(best) < enough * measure(chosen):
        chosen = best
    if chosen == before:
      break
  return {name: tried[name][index] for name, index in chosen.items()}


def _candidates(rows: types.IVBatch) -> dict[str, list[types.FloatArray]]:
  """Returns bandwidths to try of each member; the first is the median's."""
  found = {}
  relevance = _relevance(rows)
  for name, median in medians(rows).items():
    root = math.sqrt(len(median))
    factors = list(_TREATMENT if name == 'treatment' else (1.,))
    if name == 'covariate':
      factors = [*_COVARIATE, *(each * root for each in _WIDER)]
    elif name == 'instrument' and len(median) > 1:
      factors.append(root)
    found[name] = [median * each for each in dict.fromkeys(factors)]
    if name != 'treatment' and len(median) >= _MANY:
      found[name].append(median * np.minimum(
          1. / np.sqrt(relevance[name]), _WIDEST))
  return found


def _relevance(rows: types.IVBatch) -> dict[str, types.FloatArray]:
  """Returns what a cubic of each column alone explains of treatment and Y.

  As a share of what the best column explains, above what noise does.
  """
  targets = np.concatenate([rows.treatment, rows.outcome], axis=1)
  targets = (targets - targets.mean(axis=0)) / (targets.std(axis=0) + 1e-12)
  shares = {}
  for name in ('instrument', 'covariate'):
    if getattr(rows, name) is None:
      continue
    explained = []
    for column in np.asarray(getattr(rows, name), np.float64).T:
      powers = np.stack([column, column ** 2, column ** 3], axis=1)
      basis = np.linalg.qr(powers - powers.mean(axis=0))[0]
      explained.append(np.max(
          np.sum(np.square(basis.T @ targets), axis=0)) / len(targets))
    shares[name] = np.maximum(
        np.asarray(explained) - 2. * powers.shape[1] / len(targets), 1e-9)
  most = max(np.max(each) for each in shares.values())
  return {name: each / most for name, each in shares.items()}
