"""What the agents on fixed features, LSTD-Q and KIV, share."""

from collections.abc import Mapping
import functools
from typing import ClassVar

import numpy as np

from dfiv_ope import types
from dfiv_ope.agents import base, outer_sums, shared_sums, wave_features
from dfiv_ope.agents.entries import random_features
from dfiv_ope.iv import features, ridge
from dfiv_ope.iv.diagnostics import spectrum
from dfiv_ope.nn import encoding, tensors
from dfiv_ope.ope import bellman, decisions

# Features of decisions whose last column is a constant.
Features = decisions.Outer | wave_features.Together


class Linear(base.ClosedForm):
  """An agent whose values are linear in fixed features.

  It is solved from sums over the log (`solve_sums`), which merge, so the log
  may come in parts.

  Attributes:
    folds: that the parts of a log go to in turns; those of two have squares of
      the targets.
  """

  folds: ClassVar[int] = 2
  solution: ClassVar[tuple[str, ...]] = ('weights',)

  def __init__(self, config: base.Config, features_: Features):
    """Initialises the agent with weights of zero."""
    self.config = config
    self._features = features_
    # Of the features, u, [D, 1].
    self.weights: types.FloatArray = np.zeros((features_.output_size, 1))

  @property
  def features(self) -> Features:
    """Those that values are linear in, psi."""
    return self._features

  def solve(self, parts: base.Parts) -> Mapping[str, float]:
    """Solves for the weights on the whole log."""
    return self.solve_sums(*half_sums(self._features, parts, squares=True))

  def solve_sums(self, *folds: ridge.Sums) -> Mapping[str, float]:
    """Solves for the weights from the sums of the folds of a log.

    Args:
      *folds: sums of psi(s, a) and [psi - gamma d psi', r] over each.

    Returns:
      What is worth knowing of it, as `solve` does.
    """
    raise NotImplementedError(f'{type(self).__name__} is not made of sums.')

  def predict(self, decision: decisions.Decision) -> types.Array:
    """Returns u'psi, [B, 1]."""
    return self._features.dot(decision, self.weights)

  def errors(self, rows: types.IVBatch) -> types.FloatArray:
    """Returns Bellman errors as `base.Agent` does, [B]."""
    if not isinstance(self._features, decisions.Outer):
      return super().errors(rows)
    fitted, _ = difference(self._features, self.weights, rows.treatment)
    return tensors.array(rows.outcome)[:, 0] - fitted


def difference(
  function: Features,
  weights: types.FloatArray,
  step: bellman.Step,
  also: types.FloatArray | None = None,
) -> tuple[types.FloatArray, types.FloatArray]:
  """Returns `bellman.difference` of u'psi and w'psi(s, a), both [B].

  Args:
    function: psi.
    weights: u, [D, 1].
    step: the rows.
    also: w, [D, 1]; u if None.
  """
  if isinstance(function, decisions.Outer):
    return outer_sums.difference(function, weights, step, also)
  now = tensors.array(function(step.now))
  later = tensors.array(bellman.change(function, step))
  return (
    ((now + later) @ weights)[:, 0],
    (now @ (weights if also is None else also))[:, 0],
  )


def make(
  problem: bellman.Problem,
  settings: random_features.Settings,
  *,
  seed: types.Seed,
) -> Features:
  """Returns features whose columns are all solved for at once.

  A state of a small table has its indicator: a few hundred random features
  cannot tell hundreds of cells apart.

  Args:
    problem: says what states and actions are, and their scales.
    settings: kind, size and bandwidth.
    seed: seeds the frequencies.
  """
  states = problem.observations
  kind = settings.dense(
    num_actions=problem.num_actions,
    cells=None if states.cells is None else len(states.cells),
  )
  if kind == random_features.TOGETHER:
    return wave_features.Together(
      problem,
      size=settings.joint_features,
      bandwidth_scale=settings.bandwidth_scale,
      seed=seed,
    )
  if kind == random_features.TABLE:
    assert states.cells is not None
    return decisions.Outer(
      encoding.Cells(states),
      state_size=len(states.cells),
      num_actions=problem.num_actions,
    )
  size = settings.random_features
  bandwidth = np.full(
    problem.num_observations, problem.distance * settings.bandwidth_scale
  )
  return decisions.Outer(
    wave_features.Waves(
      features.FourierFeatures(bandwidth, size=size, seed=seed), states
    ),
    state_size=size,
    num_actions=problem.num_actions,
  )


def half_sums(
  function: Features, parts: base.Parts, *, squares: bool = False
) -> tuple[ridge.Sums, ridge.Sums]:
  """Returns the sums of psi(s, a) and [psi - gamma d psi', r] in two halves.

  Args:
    function: psi.
    parts: gives the log.
    squares: whether sums of squares of the targets are wanted.

  Raises:
    ValueError: there is only one part.
  """
  if not isinstance(function, decisions.Outer):
    return base.half_sums(functools.partial(joint_sums, function), parts)
  halves = [outer_sums.OuterSums(function, squares=squares) for _ in range(2)]
  count = 0
  for rows in parts():
    halves[count % 2].add(rows)
    count += 1
  if count < 2:
    raise base.too_few_parts()
  return halves[0].total(), halves[1].total()


# Not a graph: making one takes longer than the sums of a short log, and their
# few large products gain nothing by it.
def joint_sums(
  function: wave_features.Together, rows: types.IVBatch
) -> ridge.Sums:
  """Returns the sums of a part."""
  now = tensors.array(function(rows.instrument))
  return ridge.sums(
    now,
    np.concatenate(
      [
        now + bellman.change(function, rows.treatment),
        tensors.array(rows.outcome).astype(now.dtype),
      ],
      axis=1,
    ),
  )


class Rows:
  """psi of some rows, without its many columns of zeros."""

  def __init__(self, function: Features, decision: decisions.Decision):
    """Makes the features of logged states and actions.

    Args:
      function: psi.
      decision: of one action a row.
    """
    self._actions = tensors.array(decision.actions)[:, 0]
    self._num_actions = 0
    if isinstance(function, decisions.Outer):
      self._num_actions = function.num_actions
      # h(s), [B, H].
      self._columns = np.ones(
        (len(self._actions), function.output_size // function.num_actions)
      )
      function.fill(decision.observation, self._columns[:, :-1])
    else:
      self._columns = tensors.array(function(decision))

  def __len__(self) -> int:
    return len(self._columns)

  def moment(self, target: types.FloatArray) -> types.FloatArray:
    """Returns the sum of psi times a target [B], [D, 1]."""
    if not self._num_actions:
      return self._columns.T @ target[:, None]
    weighted = np.zeros((len(target), self._num_actions))
    weighted[np.arange(len(target)), self._actions] = target
    return shared_sums.features(weighted.T @ self._columns)

  def dot(self, weights: types.FloatArray) -> types.FloatArray:
    """Returns psi times weights [D, 1], [B]."""
    if not self._num_actions:
      return (self._columns @ weights)[:, 0]
    values = self._columns @ shared_sums.blocks(weights, self._num_actions).T
    return values[np.arange(len(values)), self._actions]


def stage1_metrics(
  first: ridge.Sums, second: ridge.Sums, penalty: float
) -> dict[str, float]:
  """Returns how well states and actions predict the next features.

  The treatment is psi(s, a) less discounted next features; only the second
  part is uncertain, and its moments follow from those of the whole.

  Args:
    first: of `half_sums`.
    second: of `half_sums`.
    penalty: lambda1.
  """
  later = [
    ridge.targets(change_sums(half), slice(None, -1))
    for half in (first, second)
  ]
  error = (
    sum(
      ridge.mean_squared_error(
        judge, ridge.solve_sums(fitted, penalty, intercept=True)
      )
      for judge, fitted in (later, later[::-1])
    )
    / 2.0
  )
  total = ridge.merge(*later)
  mean = total.moment[-1] / total.count
  variance = float(np.sum(total.square / total.count - np.square(mean)))
  found = spectrum.from_moments(
    *(
      # Next features vary about as much as present ones, whose sums are there.
      spectrum.Moments(
        instrument=half.gram,
        cross=-change.moment,
        treatment=half.gram,
        outcome=half.moment[:, -1],
        square=float(half.square[-1]),
        rows=float(half.count),
      )
      for half, change in zip((first, second), later, strict=True)
    ),
    penalty=penalty,
  )
  middle = len(found.values) // 2
  return {
    'stage1_held_out_r2': 1.0 - error / variance if variance else 1.0,
    'stage1_singular_value_10': float(found.values[:10][-1]),
    'stage1_singular_value_middle': float(found.values[middle]),
    'stage1_rank': found.rank,
    'instrument_condition': spectrum.condition(total.gram),
  }


def change_sums(total: ridge.Sums) -> ridge.Sums:
  """Returns the sums of psi(s, a) and [-gamma d psi(s', .), r].

  Args:
    total: of `half_sums`, with squares.
  """
  total = ridge.arrays(total)
  moment, square = total.moment.copy(), total.square.copy()
  moment[:, :-1] -= total.gram
  square[:-1] += np.diag(total.gram) - 2.0 * np.diag(total.moment)
  return total._replace(moment=moment, square=square)
