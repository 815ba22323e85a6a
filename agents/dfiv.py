"""Deep feature instrumental variable regression for OPE.

With Q(s, a) = u'psi(s, a) the treatment feature of Eq. (10) is X = K + C: what
the instrument (s, a) determines, K = psi(s, a), and what it does not,
C = -gamma d psi(s', pi). `dfiv_algorithm.iterate` learns psi and phi from these
differences. At every evaluation point, and at the end, u is solved for on the
whole log, in one of three ways (`SOLVES`).

Stage 1 predicts X from features of (s, a): W = [phi, K] B, with a matrix B

- of the paper, W = K + V phi, where V predicts C from phi alone;
- of classical two-stage least squares. Deviation: the exogenous regressor K is
  an included instrument, and B predicts X from phi and K.

The last columns of K and X are a constant and its difference, 1 - gamma d.
"""

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
import sonnet as snt
import tensorflow as tf

from dfiv_ope import types
from dfiv_ope.agents import base, network_agent
from dfiv_ope.agents.entries import dfiv as entry
from dfiv_ope.iv import differentiable, just_identified, ridge
from dfiv_ope.iv.methods import dfiv_algorithm
from dfiv_ope.nn import descent, optimizers
from dfiv_ope.nn import layers as layers_lib
from dfiv_ope.ope import bellman, decision_networks, decisions

# Known before this module is loaded.
Config = entry.Config
CONFIGS = entry.CONFIGS
PLUG_IN, MOMENT, LSTD = SOLVES = entry.SOLVES
# Features of all actions that are still solved for in every update; where there
# would be more, and for vectors, features are of state and action together.
_MOST_COLUMNS = 400


class Psi(NamedTuple):
  """What psi makes of rows.

  Attributes:
    known: K = psi(s, a), [B, d1].
    change: C = -gamma d psi(s', pi), [B, d1].
  """

  known: tf.Tensor
  change: tf.Tensor


class DFIV(network_agent.NetworkAgent):
  """Value features psi and instrument features phi in alternation.

  It is a `dfiv_algorithm.Learned`.
  """

  def __init__(
    self,
    config: Config,
    *,
    treatment_net: snt.Module,
    instrument_net: snt.Module,
  ):
    """Initialises the agent; the last columns of both nets are constants."""
    super().__init__('dfiv')
    self.config: Config = config
    self.treatment = descent.Descent(
      treatment_net, optimizers.Adam, rate=config.treatment_learning_rate
    )
    self.instrument = descent.Descent(
      instrument_net, optimizers.Adam, rate=config.learning_rate
    )
    self.covariate = None
    self._weights = tf.Variable(
      tf.zeros([treatment_net.output_size, 1], tf.float64), trainable=False
    )

  # AutoGraph has nothing to convert here, and would take seconds to see that.
  @tf.autograph.experimental.do_not_convert
  def update(
    self, first: types.IVBatch, second: types.IVBatch
  ) -> Mapping[str, tf.Tensor]:
    """Makes one iteration of Algorithm 1."""
    return dfiv_algorithm.iterate(self, self.config, first, second)

  def psi(self, rows: types.IVBatch) -> Psi:
    psi, step = self.treatment.network, rows.treatment
    return Psi(known=psi(step.now), change=bellman.change(psi, step))

  def phi(self, rows: types.IVBatch) -> tf.Tensor:
    # Stage 1 appends a constant of its own.
    return self.instrument.network(rows.instrument)[:, :-1]

  def xi(self, rows: types.IVBatch) -> None:
    del rows  # There are no covariates.

  def regression(self, of: types.IVBatch) -> tuple[tf.Tensor, tf.Tensor]:
    known, change = of.treatment
    if not self.config.included_instruments:
      return of.instrument, change
    return (tf.concat([of.instrument, known[:, :-1]], axis=1), known + change)

  def design(self, treatment: tf.Tensor, of: types.IVBatch) -> tf.Tensor:
    if self.config.included_instruments:
      return treatment
    return of.treatment.known + treatment

  def anneal(self, share: float) -> None:
    self.treatment.anneal(share)
    self.instrument.anneal(share)

  def solve(self, parts: base.Parts) -> Mapping[str, float]:
    """Solves for u on the whole log; cross-fitted halves give a loss."""
    halves = base.half_sums(self._sums, parts)
    held_out = [
      held_out_loss(self.config, fitted, judge)
      for fitted, judge in (halves, halves[::-1])
    ]
    self._weights.assign(stage2_weights(self.config, ridge.merge(*halves)))
    return {'held_out_stage2_loss': sum(held_out) / 2.0}

  def predict(self, decision: decisions.Decision) -> tf.Tensor:
    return differentiable.predict(
      self.treatment.network(decision), self._weights
    )

  @tf.function(autograph=False, reduce_retracing=True)
  def _sums(self, rows: types.IVBatch) -> ridge.Sums:
    known, change = self.psi(rows)
    return differentiable.sums(
      tf.concat([self.phi(rows), known], axis=1),
      tf.concat([known + change, rows.outcome], axis=1),
    )


def stage1_weights(config: Config, total: ridge.Sums) -> types.FloatArray:
  """Returns B of Eq. (7) on the whole log, [d2 + d1, d1].

  Args:
    config: penalty and kind of stage 1.
    total: sums of [phi, K] and [X, r].
  """
  treatment = ridge.targets(total, slice(None, -1))
  if config.included_instruments:
    return np.asarray(
      ridge.solve_sums(treatment, config.solve_penalty, intercept=True)
    )
  gram, moment = np.asarray(total.gram), np.asarray(treatment.moment)
  size = len(moment) - moment.shape[1]  # d2
  columns = np.r_[:size, len(moment) - 1]  # phi and the constant
  change = ridge.Sums(
    gram=gram[np.ix_(columns, columns)],
    moment=moment[columns] - gram[columns, size:],
    square=treatment.square,  # not used
    count=total.count,
  )
  weights = np.eye(len(moment))[:, size:]
  weights[columns] += np.asarray(
    ridge.solve_sums(change, config.solve_penalty, intercept=True)
  )
  return weights


def stage2_weights(config: Config, total: ridge.Sums) -> types.FloatArray:
  """Returns u on the whole log, [d1, 1], float64.

  'plug-in' is the paper's: r is regressed on W, Eq. (9). An error of stage 1
  biases it.

  'moment'. Deviation: W is only the instrument of X, u = (W'X)^-1 W'r. An error
  of stage 1 costs precision, but does not bias u. With included instruments it
  is the plug-in but for the penalty: W is then the projection of X on [phi, K]
  in the same rows, so W'X = W'W.

  'lstd'. Deviation: LSTD-Q on DFIV's features. K is the only instrument,
  u = (K'X)^-1 K'r, so stage 1 has no part in it. Where no u fits the Bellman
  equation everywhere, it holds along the features that make up Q, while more
  instruments pull u towards a small residual wherever the log has rows.

  Args:
    config: penalty and kind of solve.
    total: sums of [phi, K] and [X, r].
  """
  size = total.moment.shape[0] - total.moment.shape[1] + 1  # d2
  known = total._replace(
    gram=total.gram[size:, size:], moment=total.moment[size:]
  )
  if config.solve == LSTD:
    return just_identified.solve(known, config.solve_penalty).weights
  predicted = ridge.project(total, stage1_weights(config, total))
  if config.solve == MOMENT:
    # K'K tells the size of the values K u.
    return just_identified.solve(
      predicted._replace(gram=known.gram), config.solve_penalty
    ).weights
  return np.asarray(
    ridge.solve_sums(
      ridge.targets(predicted, slice(-1, None)),
      config.solve_penalty,
      intercept=True,
    )
  )


def held_out_loss(
  config: Config, fitted: ridge.Sums, held_out: ridge.Sums
) -> float:
  """Returns the stage-2 loss, Eq. (8) without penalty, on other rows.

  Args:
    config: kind of solve.
    fitted: sums of rows that both stages are solved on.
    held_out: sums of the other rows.
  """
  predicted = ridge.project(held_out, stage1_weights(config, fitted))
  return float(
    ridge.mean_squared_error(
      ridge.targets(predicted, slice(-1, None)), stage2_weights(config, fitted)
    )
  )


def make(config: Config, problem: bellman.Problem, *, seed: int) -> DFIV:
  """Returns the agent of a problem."""
  nets = [
    _network(layers, config.per_action, problem, (seed, index))
    for index, layers in enumerate(
      (config.treatment_net, config.instrument_net)
    )
  ]
  return DFIV(config, treatment_net=nets[0], instrument_net=nets[1])


def _network(
  layers: tuple[layers_lib.Layer, ...],
  per_action: bool,
  problem: bellman.Problem,
  seed: types.Seed,
) -> snt.Module:
  spaces = problem.spaces
  state = decision_networks.StateNetwork(
    layers, states=spaces.states, seed=seed
  )
  columns = (state.output_size + 1) * spaces.num_actions
  if per_action and 0 < columns <= _MOST_COLUMNS:
    return decision_networks.OuterNetwork(
      state, state_size=state.output_size, num_actions=spaces.num_actions
    )
  return decision_networks.Joint(
    layers, spaces=spaces, seed=seed, constant=True
  )
