"""Bandwidths of kernel regressions with instruments, chosen by held-out losses.

The median distance of each column is right for a few columns that matter. With
many, rows are far from each other in all of them together, and no kernel sees
two rows alike; with a trend, a narrow kernel of the treatment falls back to a
constant beyond the rows. So some multiples of it are tried, one member after
the other, and taken where the stage-2 loss at other rows is clearly less.
"""

from collections.abc import Callable, Mapping, Sequence
import math
from typing import Any, TypeVar

import numpy as np

from dfiv_ope import types
from dfiv_ope.iv import features

# Multiples of the median distance that a treatment, or a covariate, may have;
# those of covariates beyond 1 also by the root of their number.
_TREATMENT = (1.0, 3.0, 10.0)
_COVARIATE = (1.0, 0.4)
_WIDER = (1.0, 4.0)
# Columns from which on their relevance is looked at.
_MANY = 5
# No column is wider than so many of its medians by its relevance.
_WIDEST = 30.0
# By how many standard errors of a loss another choice has to be better.
_LEAST_GAIN = 0.25
_SWEEPS = 2
# Multiples by which columns of a member may then differ, where they fall into
# so few groups.
_FINER = (0.4, 3.0, 10.0)
_FEW = 4

# Bandwidths by member of a batch, [D] each; a covariate's where there is one.
Bandwidths = Mapping[str, types.FloatArray]


def medians(rows: types.IVBatch) -> Bandwidths:
  """Returns the median distance of each column of treatment, ...

  Args:
    rows: of numbers; instruments without covariates.
  """
  return {
    name: features.median_bandwidth(each)
    for name, each in members(rows).items()
  }


def members(rows: types.IVBatch) -> dict[str, types.FloatArray]:
  """Returns the members of a batch that kernels are of."""
  return {
    name: each
    for name, each in rows._asdict().items()
    if name != 'outcome' and each is not None
  }


def choose(
  rows: types.IVBatch, loss: Callable[[Bandwidths], float]
) -> Bandwidths:
  """Returns bandwidths by a search along one member after the other.

  Then along one group of columns after the other (`_groups`): an effect may
  be a straight line in one covariate and turn sharply in the next.

  Args:
    rows: of numbers; instruments without covariates.
    loss: stage-2 loss of bandwidths at held-out rows, a mean of squares.
  """
  enough = 1.0 - _LEAST_GAIN * math.sqrt(2.0 / len(rows.outcome))
  tried = _candidates(rows)
  chosen = _search(
    tried,
    lambda choice: loss(
      {name: tried[name][index] for name, index in choice.items()}
    ),
    enough,
  )
  found = {name: tried[name][index] for name, index in chosen.items()}
  groups = _groups(rows)
  factors = {each: (1.0, *_FINER) for each in groups}

  def scaled(choice: Mapping[_Group, int]) -> Bandwidths:
    result = {name: each.copy() for name, each in found.items()}
    for (name, columns), index in choice.items():
      result[name][list(columns)] *= factors[name, columns][index]
    return result

  return scaled(_search(factors, lambda choice: loss(scaled(choice)), enough))


# A member and some of its columns.
_Group = tuple[str, tuple[int, ...]]
_Key = TypeVar('_Key', str, _Group)


def _search(
  options: Mapping[_Key, Sequence[Any]],
  loss: Callable[[dict[_Key, int]], float],
  enough: float,
) -> dict[_Key, int]:
  """Returns which option of each key has the least loss, along one by one.

  Args:
    options: of each key; the first is where the search begins.
    loss: of a choice of all of them.
    enough: a move has to have less than this share of the loss before.
  """
  chosen = dict.fromkeys(options, 0)
  losses: dict[tuple[int, ...], float] = {}

  def measure(choice: dict[_Key, int]) -> float:
    key = tuple(choice.values())
    if key not in losses:
      losses[key] = loss(choice)
    return losses[key]

  for _ in range(_SWEEPS):
    before = dict(chosen)
    for name in reversed(list(options)):
      best = min(
        ({**chosen, name: index} for index in range(len(options[name]))),
        key=measure,
      )
      if measure(best) < enough * measure(chosen):
        chosen = best
    if chosen == before:
      break
  return chosen


def _groups(rows: types.IVBatch) -> list[_Group]:
  """Returns columns of treatments and of covariates that may differ.

  Each by itself, but columns of two values, such as indicators, together. A
  member of one group, or of many, has none: they go together.
  """
  groups: list[_Group] = []
  for name in ('treatment', 'covariate'):
    each = members(rows).get(name)
    if each is None:
      continue
    pairs = [
      index
      for index, column in enumerate(each.T)
      if len(np.unique(column)) <= 2
    ]
    own: list[tuple[int, ...]] = [
      (index,) for index in range(each.shape[1]) if index not in pairs
    ]
    own += [tuple(pairs)] if pairs else []
    if 2 <= len(own) <= _FEW:
      groups += [(name, columns) for columns in own]
  return groups


def _candidates(rows: types.IVBatch) -> dict[str, list[types.FloatArray]]:
  """Returns bandwidths to try of each member; the first is the median's."""
  found = {}
  relevance = _relevance(rows)
  for name, median in medians(rows).items():
    root = math.sqrt(len(median))
    factors = list(_TREATMENT if name == 'treatment' else (1.0,))
    if name == 'covariate':
      factors = [*_COVARIATE, *(each * root for each in _WIDER)]
    elif name == 'instrument' and len(median) > 1:
      factors.append(root)
    found[name] = [median * each for each in dict.fromkeys(factors)]
    if name != 'treatment' and len(median) >= _MANY:
      found[name].append(
        median * np.minimum(1.0 / np.sqrt(relevance[name]), _WIDEST)
      )
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
      powers = np.stack([column, column**2, column**3], axis=1)
      basis = np.linalg.qr(powers - powers.mean(axis=0))[0]
      explained.append(
        np.max(np.sum(np.square(basis.T @ targets), axis=0)) / len(targets)
      )
    shares[name] = np.maximum(
      np.asarray(explained) - 2.0 * powers.shape[1] / len(targets), 1e-9
    )
  most = max(np.max(each) for each in shares.values())
  return {name: each / most for name, each in shares.items()}
