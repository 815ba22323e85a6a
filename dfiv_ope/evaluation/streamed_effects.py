"""The influence of rows and episodes of a log that is read in parts.

What `evaluation.influence` and `inference` need of the weights w and errors e
of rows are sums, those of episodes, and the largest few.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from dfiv_ope import types
from dfiv_ope.agents.entries import random_features
from dfiv_ope.evaluation import streamed_passes

if TYPE_CHECKING:
  from dfiv_ope.agents import fixed_features
  from dfiv_ope.ope import bellman


class Effects(NamedTuple):
  """What rows and episodes do to the estimates of S seeds.

  Attributes:
    weights: sum of the weights of rows.
    squares: sum of their squares.
    counted: number of rows whose weight times reward is not zero.
    size: sum of |w r|.
    largest: the greatest |w r|, falling.
    most: how many of these are kept.
    episode: number of the first episode.
    errors: sum of w e of each episode from that one on, [S, E'].
    initial: value of what the policy does first in each episode, [S, E''].
  """

  weights: float
  squares: float
  counted: int
  size: float
  largest: types.FloatArray
  most: int
  episode: int
  errors: types.FloatArray
  initial: types.FloatArray


def effects(
  context: streamed_passes.Context,
  group: streamed_passes.Group,
  config: random_features.Config,
  fitted: Mapping[int, types.FloatArray],
  dual: types.FloatArray,
  most: int,
) -> Effects:
  """Returns the influence of rows and episodes.

  Args:
    context: log and problem.
    group: parts.
    config: of the method.
    fitted: u of each seed, [D, 1].
    dual: coefficients of the weights of rows, [D, 1], in features of seed 0.
    most: how many of the greatest |w r| are kept.
  """
  from dfiv_ope.agents import fixed_features

  problem = context.problem
  made = {
    seed: fixed_features.make(problem, config.settings_of(problem), seed=seed)
    for seed in fitted
  }
  found: Effects | None = None
  for part, rows in streamed_passes.rows_of(context, group):
    if not len(part.episodes):
      continue
    weights = np.zeros(0)
    sums, first = [], int(part.episodes[0])
    for seed, psi in made.items():
      fit, weighed = _differences(psi, fitted[seed], rows, dual, not seed)
      weights = weights if weighed is None else weighed
      # Seed 0 comes first, and the weights are those of its features.
      error = np.asarray(rows.outcome)[:, 0] - fit
      sums.append(np.bincount(part.episodes - first, weights=weights * error))
    rewarded = np.abs(weights * np.asarray(rows.outcome)[:, 0])
    here = Effects(
      float(np.sum(weights)),
      float(np.sum(np.square(weights))),
      int(np.count_nonzero(rewarded)),
      float(np.sum(rewarded)),
      _greatest(rewarded, most),
      most,
      first,
      np.stack(sums),
      _initial(problem, made, fitted, part.starts),
    )
    found = here if found is None else merge_effects(found, here)
  if found is None:
    raise ValueError('A group of parts has no rows.')
  return found


def merge_effects(first: Effects, second: Effects) -> Effects:
  """Returns those of both; an episode may go on from one to the other."""
  gap = second.episode - first.episode
  errors = np.zeros((len(first.errors), gap + second.errors.shape[1]))
  errors[:, : first.errors.shape[1]] = first.errors
  errors[:, gap:] += second.errors
  return Effects(
    first.weights + second.weights,
    first.squares + second.squares,
    first.counted + second.counted,
    first.size + second.size,
    _greatest(np.concatenate([first.largest, second.largest]), first.most),
    first.most,
    first.episode,
    errors,
    np.concatenate([first.initial, second.initial], axis=1),
  )


def _differences(
  psi: 'fixed_features.Features',
  weights: types.FloatArray,
  rows: types.IVBatch,
  dual: types.FloatArray,
  weigh: bool,
) -> tuple[types.FloatArray, types.FloatArray | None]:
  """Returns u'(psi - gamma d psi') and, if asked, dual'psi, both [B]."""
  from dfiv_ope.agents import fixed_features, outer_sums
  from dfiv_ope.ope import bellman, decisions

  if isinstance(psi, decisions.Outer):
    fit, weighed = outer_sums.difference(
      psi, weights, rows.treatment, also=dual if weigh else None
    )
    return fit, weighed if weigh else None
  fit = np.asarray(
    bellman.difference(lambda each: psi.dot(each, weights), rows.treatment)
  )[:, 0]
  if not weigh:
    return fit, None
  return fit, fixed_features.Rows(psi, rows.instrument).dot(dual)


def _initial(
  problem: 'bellman.Problem',
  made: Mapping[int, 'fixed_features.Features'],
  fitted: Mapping[int, types.FloatArray],
  starts: types.FloatArray,
) -> types.FloatArray:
  """Returns Q of what the policy does first, on the raw scale, [S, B]."""
  parts = [
    np.stack(
      [
        np.asarray(psi.dot(decision, fitted[seed]), np.float64)[:, 0]
        for seed, psi in made.items()
      ]
    )
    for decision in streamed_passes.first_decisions(problem, starts)
  ]
  return problem.value_scale * np.concatenate(
    [np.zeros((len(made), 0)), *parts], axis=1
  )


def _greatest(values: types.FloatArray, count: int) -> types.FloatArray:
  """Returns the greatest of some values, falling."""
  if len(values) > count:
    values = np.partition(values, len(values) - count)[-count:]
  return np.sort(values)[::-1]
