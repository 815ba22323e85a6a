"""The bandwidth of random features, chosen from the log (Lepski's method).

Narrow features smooth little away, wide ones have little variance. What matters
is the error of the value, so candidates are compared by their values V_h and by
what episodes say of these: LSTD-Q with bandwidth h and its dual w_h are fitted
to one half of the episodes, and an episode of the other half adds

    sum_i w_h(s_i, a_i) (r_i + gamma d_i q_h(s_i', pi) - q_h(s_i, a_i))

to the value (`ope.marginal` has more of such weights). Episodes that were not
fitted to show features that are unstable, as their own errors do not.

- The narrower candidate is taken where the default's value differs from its by
  more than chance and its Bellman errors on held-out episodes are less, by more
  than chance, too: that is bias. One that differs and does not predict better
  is wrong itself. It is not asked where there are few features for the rows or
  for the columns: in several columns they say nothing between the rows.
- A wider one is taken where its standard error is half of the default's or
  less, and no narrower value differs from its by more than chance; not on a
  log of more rows than are looked at: the chance of a few thousand rows, or of
  few features, says nothing of that of all, and the bias would stay.

Chance is of the episodes and of the draw of the features: narrow features of a
thin log may say something else with every draw. So a draw that speaks against
the default is not believed alone; further ones are asked, and what they differ
by counts as chance.

docs/trust.md has what other criteria did.
"""

from collections.abc import Callable, Iterable, Sequence
import dataclasses
import functools
import math
from typing import NamedTuple

import numpy as np

from dfiv_ope import types
from dfiv_ope.agents import fixed_features, memory
from dfiv_ope.agents.entries import random_features
from dfiv_ope.iv import just_identified, ridge
from dfiv_ope.nn import tensors
from dfiv_ope.ope import bellman, decisions
from dfiv_ope.ope import task as task_lib

# Multiples of the median distance, from narrow to wide.
CANDIDATES = (0.25, 0.5, 1.0, 2.0)
_DEFAULT = CANDIDATES.index(random_features.BANDWIDTH_SCALE)
# A longer log is thinned to episodes of about as many rows, and features are
# fewer, so that the choice costs a share of the fit.
_ROWS = 20_000
_FEATURES, _JOINT_FEATURES = 100, 300
# Fewer say too little of how much they differ.
_FEWEST_EPISODES = 20
# Start states that values are taken at.
_STARTS = 2_000
# Standard errors that are more than chance, and the share of the default's
# standard error that makes a wider one worth its bias.
_CHANCE, _MUCH_LESS = 2.0, 0.5
# Draws of the features that are asked before the default is left.
_DRAWS = 3
# Policies of a log that are asked where all share one bandwidth.
_ASKED = 3


class Values(NamedTuple):
  """What the log says with each candidate, by one draw of the features.

  Attributes:
    values: V, [H].
    episodes: what each held-out episode adds to it, [E, H].
    squares: sums of the squared Bellman errors of each, [E, H].
  """

  values: types.FloatArray
  episodes: types.FloatArray
  squares: types.FloatArray


class Draws:
  """What the log says by several draws of the features."""

  def __init__(self, draws: Sequence[Values]):
    # [K, H] and [K, E, H].
    self._values = np.stack([each.values for each in draws])
    self._episodes = np.stack([each.episodes for each in draws])
    # [E, H].
    self._squares = np.mean([each.squares for each in draws], axis=0)

  @property
  def finite(self) -> bool:
    """Whether all values are numbers."""
    return bool(np.all(np.isfinite(self._values)))

  def error(self, place: int) -> float:
    """Returns the standard error of a value, as one draw has it."""
    return _chance(self._values[:, place], self._episodes[:, :, place])

  def fits_better(self, place: int, other: int) -> bool:
    """Returns whether held-out errors are less, by more than chance."""
    less = self._squares[:, other] - self._squares[:, place]
    error = np.sqrt(np.sum(np.square(less - np.mean(less))))
    return bool(np.sum(less) > _CHANCE * error)

  def differ(self, place: int, other: int) -> bool:
    """Returns whether two values differ by more than chance."""
    difference = self._values[:, place] - self._values[:, other]
    error = _chance(
      difference, self._episodes[:, :, place] - self._episodes[:, :, other]
    )
    return bool(abs(np.mean(difference)) > _CHANCE * error)


def settle(tasks: Sequence[task_lib.EvaluationTask]) -> None:
  """Chooses the bandwidth of tasks of one log, for all the same.

  Of several policies some are asked, and the middle of their answers is taken.

  Args:
    tasks: whose problem gets the bandwidth; nothing is done where all have one.
  """
  if all(task.problem.bandwidth_scale is not None for task in tasks):
    return
  stride = -(-len(tasks) // _ASKED)
  answers = sorted(choose(task) for task in tasks[::stride])
  scale = answers[(len(answers) - 1) // 2]
  for task in tasks:
    task.problem = dataclasses.replace(task.problem, bandwidth_scale=scale)


def choose(task: task_lib.EvaluationTask) -> float:
  """Returns the bandwidth for a policy, as a multiple of the median distance.

  It is the default where features are no waves, or episodes too few.

  Args:
    task: the log and the target policy.
  """
  problem, log = task.problem, task.log
  if not has_choice(problem, log.num_episodes):
    return random_features.BANDWIDTH_SCALE
  rows = looked_at(np.bincount(log.episodes))
  # All rows of few long episodes are looked at, with few features all the same.
  whole = problem.num_rows <= _ROWS
  draw = functools.partial(
    measure,
    problem,
    memory.of_task(task, rows),
    np.asarray(log.episodes)[rows],
    task.initial_observations,
  )
  return CANDIDATES[decide(draw, whole=whole, ample=ample(problem))]


def decide(draw: Callable[..., Values], **known: bool) -> int:
  """Returns the place of the candidate that is taken.

  One draw of the features is enough to stay with the default.

  Args:
    draw: takes a `seed` of the features to what the log says with them.
    **known: of `pick`.
  """
  draws = [draw(seed=0)]
  if pick(Draws(draws), **known) == _DEFAULT:
    return _DEFAULT
  draws += [draw(seed=seed) for seed in range(1, _DRAWS)]
  return pick(Draws(draws), **known)


def ample(problem: bellman.Problem) -> bool:
  """Returns whether there are enough features for narrow ones.

  Rows must allow as many as are wanted, and these must tell as many places
  apart as the columns have at that width.
  """
  settings = random_features.Config().settings_of(problem)
  columns = problem.num_observations
  if problem.vectors is not None:
    columns += problem.vectors.size
  features = (
    settings.random_features
    if 0 < problem.num_actions <= random_features.FEW_ACTIONS
    else settings.joint_features
  )
  places = CANDIDATES[0] ** -columns
  return not settings.reduced and places <= features


def has_choice(problem: bellman.Problem, episodes: int) -> bool:
  """Returns whether features are waves, and episodes enough to choose by."""
  settings = random_features.Config().settings_of(problem)
  kind = settings.kind(
    num_actions=problem.num_actions,
    tabular=problem.observations.cells is not None,
    one_step=problem.one_step,
  )
  waves = kind in (random_features.PER_ACTION, random_features.TOGETHER)
  return waves and episodes >= _FEWEST_EPISODES


def looked_at(lengths: np.ndarray) -> np.ndarray:
  """Returns the rows that are looked at: of whole episodes, or all.

  Args:
    lengths: rows of each episode, [E].
  """
  ends = np.cumsum(lengths)
  chosen = np.arange(0, len(lengths), -(-int(ends[-1]) // _ROWS))
  if len(chosen) < _FEWEST_EPISODES:
    return np.arange(ends[-1])
  return np.concatenate(
    [
      np.arange(end - length, end)
      for end, length in zip(
        ends[chosen].tolist(), lengths[chosen].tolist(), strict=True
      )
    ]
  )


def starts_looked_at(lengths: np.ndarray) -> np.ndarray:
  """Returns the first rows of the episodes whose start states are asked for.

  Args:
    lengths: rows of each episode, [E].
  """
  first = np.cumsum(lengths) - lengths
  return first[:: -(-len(first) // _STARTS)]


def pick(found: Draws, *, whole: bool = True, ample: bool = True) -> int:
  """Returns the place of the candidate that draws of the features speak for.

  Args:
    found: the values of candidates.
    whole: whether they are of the whole log.
    ample: whether there are enough features for narrow ones.
  """
  if not found.finite:
    return _DEFAULT
  narrower = _DEFAULT - 1
  differs = found.differ(narrower, _DEFAULT)
  if ample and differs and found.fits_better(narrower, _DEFAULT):
    return narrower
  # What differs and is not believed says nothing of wider ones.
  least = _DEFAULT if differs else narrower
  taken = _DEFAULT
  for wider in range(_DEFAULT + 1, len(CANDIDATES) if whole else 0):
    if found.error(wider) <= _MUCH_LESS * found.error(taken) and not any(
      found.differ(wider, each) for each in range(least, wider)
    ):
      taken = wider
  return taken


def measure(
  problem: bellman.Problem,
  rows: types.IVBatch,
  episodes: np.ndarray,
  initial_observations: types.Array,
  candidates: Sequence[float] = CANDIDATES,
  *,
  seed: int = 0,
) -> Values:
  """Returns the values of candidates, and what held-out episodes add to them.

  Args:
    problem: what is asked of the log.
    rows: of whole episodes.
    episodes: number of the episode of each row, [N].
    initial_observations: raw, [M, D].
    candidates: multiples of the median distance, [H].
    seed: of the draw of the features.
  """
  numbers = np.unique(episodes, return_inverse=True)[1]
  places = [np.flatnonzero(numbers % 2 == half) for half in (0, 1)]
  halves = [memory.take(rows, each) for each in places]
  stride = -(-len(initial_observations) // _STARTS)
  starts = list(problem.target.in_parts(initial_observations[::stride]))
  values = np.zeros(len(candidates))
  added, squares = np.zeros((2, numbers.max() + 1, len(candidates)))
  for column, scale in enumerate(candidates):
    psi = fixed_features.make(
      problem, few_features(problem, len(numbers), scale), seed=seed
    )
    sums = fixed_features.half_sums(psi, lambda: iter(halves))
    start = _mean(psi, starts)
    whole = just_identified.solve(ridge.merge(*sums), random_features.PENALTY)
    values[column] = np.sum(start * whole.weights)
    for half, other in ((0, 1), (1, 0)):
      fitted = just_identified.solve(sums[half], random_features.PENALTY)
      dual = just_identified.dual(sums[half], start, random_features.PENALTY)
      difference, weight = fixed_features.difference(
        psi, fitted.weights, halves[other].treatment, dual.weights
      )
      errors = tensors.array(halves[other].outcome)[:, 0] - difference
      squares[:, column] += np.bincount(
        numbers[places[other]],
        weights=np.square(errors),
        minlength=len(squares),
      )
      # Weights are for as many rows as were fitted to, and each half is half of
      # the answer.
      share = len(places[half]) / len(places[other]) / 2.0
      added[:, column] += np.bincount(
        numbers[places[other]],
        weights=share * weight * errors,
        minlength=len(added),
      )
  unit = problem.value_scale
  return Values(unit * values, unit * added, unit**2 * squares)


def few_features(
  problem: bellman.Problem, rows: int, scale: float
) -> random_features.Settings:
  """Returns the features of a candidate: as many as half of the rows allow."""
  found = random_features.Config(bandwidth_scale=scale).settings_of(
    random_features.Size(problem.num_actions, rows // 2)
  )
  return dataclasses.replace(
    found,
    random_features=min(found.random_features, _FEATURES),
    joint_features=min(found.joint_features, _JOINT_FEATURES),
  )


def _mean(
  psi: fixed_features.Features, starts: Iterable[decisions.Decision]
) -> types.FloatArray:
  """Returns the mean of E psi(s0, pi) over start states, [D, 1]."""
  rows = np.concatenate([tensors.array(psi(each)) for each in starts])
  return np.mean(rows, axis=0, dtype=np.float64)[:, None]


def _chance(values: types.FloatArray, added: types.FloatArray) -> float:
  """Returns the standard error of a value, of episodes and of the draw.

  Args:
    values: of the draws, [K].
    added: what episodes add, [K, E].
  """
  errors = np.sqrt(
    np.sum(np.square(added - np.mean(added, axis=1, keepdims=True)), axis=1)
  )
  spread = np.std(values, ddof=1) if len(values) > 1 else 0.0
  return math.hypot(np.mean(errors), spread)
