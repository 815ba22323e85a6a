"""What the agents on fixed features, LSTD-Q and KIV, share."""

from collections.abc import Callable

import numpy as np
import tensorflow as tf

from dfiv_ope import types
from dfiv_ope.agents import base, wave_features
from dfiv_ope.agents.entries import random_features
from dfiv_ope.iv import differentiable, features, ridge
from dfiv_ope.iv.diagnostics import spectrum
from dfiv_ope.nn import encoding
from dfiv_ope.ope import bellman, decisions

# Features of decisions whose last column is a constant.
Features = decisions.Outer | wave_features.Together


class Linear(base.Agent):
  """An agent whose values are linear in fixed features; `solve` is its own."""

  def __init__(self, name: str, config: base.Config, features_: Features):
    """Initialises the agent with weights of zero."""
    super().__init__(name)
    self.config = config
    self._features = features_
    self._weights = tf.Variable(
      tf.zeros([features_.output_size, 1], tf.float64), trainable=False
    )

  @property
  def features(self) -> Features:
    """Those that values are linear in, psi."""
    return self._features

  @property
  def weights(self) -> types.FloatArray:
    """Of the features, u, [D, 1]."""
    return self._weights.numpy()

  def predict(self, decision: decisions.Decision) -> tf.Tensor:
    """Returns u'psi, [B, 1]."""
    return self._features.dot(decision, self._weights)


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
  function: Features, parts: base.Parts
) -> tuple[ridge.Sums, ridge.Sums]:
  """Returns the sums of psi(s, a) and [psi - gamma d psi', r] in two halves.

  Args:
    function: psi.
    parts: gives the log.
  """
  return base.half_sums(summing(function), parts)


def summing(function: Features) -> Callable[[types.IVBatch], ridge.Sums]:
  """Returns the function that gives the sums of `half_sums` of a part."""

  # Not a graph: making one takes longer than the sums of a short log, and their
  # few large products gain nothing by it.
  def sums(rows: types.IVBatch) -> ridge.Sums:
    if isinstance(function, decisions.Outer):
      return _sums(function, rows)
    now = function(rows.instrument)
    return differentiable.sums(
      now,
      tf.concat(
        [
          now + bellman.change(function, rows.treatment),
          tf.cast(rows.outcome, now.dtype),
        ],
        axis=1,
      ),
    )

  return sums


def moment(
  function: Features, decision: decisions.Decision, target: tf.Tensor
) -> tf.Tensor:
  """Returns the sum of psi times a target [B, 1], [D, 1], without making psi.

  Args:
    function: psi.
    decision: where psi is taken.
    target: float64.
  """
  if not isinstance(function, decisions.Outer):
    return tf.matmul(function(decision), target, transpose_a=True)
  state = function.state(decision.observation)
  weight = tf.cast(
    decisions.weights(decision, function.num_actions), state.dtype
  )
  weighted = weight * tf.cast(target, state.dtype)
  product = tf.matmul(weighted, state, transpose_a=True)  # [A, G]
  total = tf.reduce_sum(weighted, axis=0)
  return tf.concat(
    [tf.reshape(product, [-1]), total[1:], tf.reduce_sum(total, keepdims=True)],
    axis=0,
  )[:, None]


def _sums(function: decisions.Outer, rows: types.IVBatch) -> ridge.Sums:
  """Returns the sums of a part, several times faster than from psi.

  Of psi(s, a) = [g(s) (x) e_a, e_a, 1] only the block of a is not zero, so rows
  are put in the order of their actions and each block is multiplied on its
  own. With h = [g, 1], blocks are of h (x) e_a first and of psi at the end.
  """
  step, actions = rows.treatment, function.num_actions
  order = tf.argsort(step.now.actions[:, 0])

  def sort(x: tf.Tensor) -> tf.Tensor:
    return tf.gather(x, order)

  now = differentiable.append_intercept(
    function.state(sort(step.now.observation))
  )
  later = differentiable.append_intercept(
    function.state(sort(step.later.observation))
  )
  weight = sort(
    tf.cast(decisions.weights(step.later, actions), now.dtype)
    * tf.cast(step.continuation, now.dtype)
  )  # gamma d p, [B, A]
  targets = tf.concat(
    [
      tf.reshape(
        weight[:, :, None] * later[:, None, :], [-1, actions * later.shape[1]]
      ),
      sort(tf.cast(rows.outcome, now.dtype)),
    ],
    axis=1,
  )
  ends = tf.searchsorted(
    sort(step.now.actions[:, 0]), tf.range(actions), side='right'
  )
  starts = tf.concat([[0], ends[:-1]], axis=0)
  blocks = [
    differentiable.sums(
      now[starts[each] : ends[each]], targets[starts[each] : ends[each]]
    )
    for each in range(actions)
  ]
  zeros = [tf.zeros_like(block.gram) for block in blocks]
  gram = tf.concat(
    [
      tf.concat([*zeros[:place], block.gram, *zeros[place + 1 :]], axis=1)
      for place, block in enumerate(blocks)
    ],
    axis=0,
  )
  moment = tf.concat([block.moment for block in blocks], axis=0)

  def reorder(columns: tf.Tensor) -> tf.Tensor:
    return _reorder(columns, actions)

  gram = reorder(tf.transpose(reorder(gram)))
  change = tf.transpose(reorder(tf.transpose(reorder(moment[:, :-1]))))
  total = ridge.merge(*blocks)
  # Squares of the indicators' and the constant's columns are not sums of h's.
  later_squares = tf.concat(
    [
      _reorder(total.square[:-1, None], actions)[:-1, 0],
      [tf.reduce_sum(tf.square(tf.reduce_sum(weight, axis=1)))],
    ],
    axis=0,
  )
  squares = (
    tf.linalg.diag_part(gram)
    - 2.0 * tf.linalg.diag_part(change)
    + later_squares
  )
  return ridge.Sums(
    gram=gram,
    moment=tf.concat([gram - change, reorder(moment[:, -1:])], axis=1),
    square=tf.concat([squares, total.square[-1:]], axis=0),
    count=total.count,
  )


def _reorder(rows: tf.Tensor, actions: int) -> tf.Tensor:
  """Takes rows from h (x) e_a to [g (x) e_a, e_a without the first, 1]."""
  blocks = tf.reshape(rows, [actions, -1, rows.shape[1]])
  return tf.concat(
    [
      tf.reshape(blocks[:, :-1], [-1, rows.shape[1]]),
      blocks[1:, -1],
      tf.reduce_sum(blocks[:, -1], axis=0, keepdims=True),
    ],
    axis=0,
  )


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
  later = [_later(half) for half in (first, second)]
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


def _later(total: ridge.Sums) -> ridge.Sums:
  """Returns the sums of psi(s, a) and -gamma d psi(s', .)."""
  whole = ridge.targets(total, slice(None, -1))
  return whole._replace(
    moment=whole.moment - total.gram,
    square=(whole.square - 2.0 * np.diag(whole.moment) + np.diag(total.gram)),
  )
