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
from dfiv_ope.agents import (
  base,
  dfiv_networks,
  dfiv_step,
  fixed_features,
  network_agent,
)
from dfiv_ope.agents.entries import dfiv as entry
from dfiv_ope.iv import differentiable, just_identified, ridge
from dfiv_ope.iv.methods import dfiv_algorithm
from dfiv_ope.iv.methods.entries import update_rules
from dfiv_ope.nn import descent, optimizers
from dfiv_ope.ope import bellman, decision_networks, decisions

# Known before this module is loaded.
Config = entry.Config
CONFIGS = entry.CONFIGS
PLUG_IN, MOMENT, LSTD = SOLVES = entry.SOLVES


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

  loss_names = ('stage1_loss', 'stage2_loss')

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
    self._outer = all(
      isinstance(each, decision_networks.OuterNetwork)
      for each in (treatment_net, instrument_net)
    )
    self._weights = tf.Variable(
      tf.zeros([treatment_net.output_size, 1], tf.float64), trainable=False
    )
    # Of the evaluation point with the least held-out loss: the loss, and all
    # that values are made of; and evaluation points since.
    self._least = tf.Variable(np.inf, dtype=tf.float64, trainable=False)
    self._points = tf.Variable(0, trainable=False)
    self._since = tf.Variable(0, trainable=False)
    self._best_at = tf.Variable(0, trainable=False)
    self._best = [
      tf.Variable(each, trainable=False) for each in self._of_values
    ]

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

  def step_at_once(
    self, rule: update_rules.DFIV, stage1: types.IVBatch, stage2: types.IVBatch
  ) -> tuple[tf.Tensor, tf.Tensor]:
    found: list[tf.Tensor] = []

    def loss() -> tf.Tensor:
      found.extend(self._losses(rule, stage1, stage2))
      return found[0] + found[1]

    descent.step_together([self.instrument, self.treatment], loss)
    return found[0], found[1]

  def _losses(
    self, rule: update_rules.DFIV, stage1: types.IVBatch, stage2: types.IVBatch
  ) -> tuple[tf.Tensor, tf.Tensor]:
    """Returns what phi and what psi descend, see `dfiv_step`."""
    psi, phi = self.treatment.network, self.instrument.network
    if not self._outer:
      return dfiv_step.losses(
        rule, self._features(stage1), self._features(stage2), blocks=1
      )
    actions = psi.num_actions
    (first, sizes1), (second, sizes2) = (
      dfiv_step.by_action(each, actions) for each in (stage1, stage2)
    )
    now, later = (
      [getattr(each.treatment, name).observation for each in (first, second)]
      for name in ('now', 'later')
    )
    of_psi = dfiv_step.evaluated(psi.state, [*now, *later])
    of_phi = dfiv_step.evaluated(phi.state, now)
    return dfiv_step.losses(
      rule,
      self._outer_features(first, sizes1, of_phi[0], of_psi[0], of_psi[2]),
      self._outer_features(second, sizes2, of_phi[1], of_psi[1], of_psi[3]),
      blocks=actions,
    )

  def _features(self, rows: types.IVBatch) -> dfiv_step.Features:
    """Returns features of state and action together, one block."""
    known, change = self.psi(rows)
    included = self.config.included_instruments
    return dfiv_step.Features(
      phi=self.phi(rows),
      included=known[:, :-1] if included else None,
      sizes=None,
      known=None if included else known,
      target=known + change if included else change,
      outcome=rows.outcome,
    )

  def _outer_features(
    self,
    rows: types.IVBatch,
    sizes: tf.Tensor,
    phi: tf.Tensor,
    now: tf.Tensor,
    later: tf.Tensor,
  ) -> dfiv_step.Features:
    """Returns features for each action of rows in the order of actions.

    Args:
      rows: the rows.
      sizes: how many each action has, [A].
      phi: of the states, [B, d2].
      now: psi of the states, [B, D].
      later: psi of the next states, [B, D].
    """
    psi, step = self.treatment.network, rows.treatment
    known = psi.of_state(now, step.now)
    change = bellman.change(
      lambda decision: psi.of_state(later, decision), step
    )
    included = self.config.included_instruments
    return dfiv_step.Features(
      phi=phi,
      included=now if included else None,
      sizes=sizes,
      known=None if included else known,
      target=known + change if included else change,
      outcome=rows.outcome,
    )

  def anneal(self, share: float) -> None:
    self.treatment.anneal(share)
    self.instrument.anneal(share)

  def solve(self, parts: base.Parts) -> Mapping[str, float]:
    """Solves for u on the whole log; cross-fitted halves give a loss."""
    halves = self._half_sums(parts)
    held_out = [
      held_out_loss(self.config, fitted, judge)
      for fitted, judge in (halves, halves[::-1])
    ]
    self._weights.assign(stage2_weights(self.config, ridge.merge(*halves)))
    loss = sum(held_out) / 2.0
    if not self.config.patience:
      return {'held_out_stage2_loss': loss}
    return {'held_out_stage2_loss': loss, 'kept_updates': self._keep(loss)}

  @property
  def _of_values(self) -> list[tf.Variable]:
    """What values are made of."""
    return [*self.treatment.network.variables, self._weights]

  def _keep(self, loss: float) -> int:
    """Remembers features of the least loss; goes back to them at the end.

    Returns:
      How many updates the features had that are remembered.
    """
    marks, done = self.config.marks, int(self._points.assign_add(1))
    if loss < float(self._least):
      self._least.assign(loss)
      self._since.assign(0)
      self._best_at.assign(marks[done - 1])
      for best, present in zip(self._best, self._of_values, strict=True):
        best.assign(present)
    else:
      self._since.assign_add(1)
    if self.finished or done == len(marks):
      for best, present in zip(self._best, self._of_values, strict=True):
        present.assign(best)
    return int(self._best_at)

  @property
  def finished(self) -> bool:
    """Whether the held-out loss falls no more."""
    return 0 < self.config.patience <= int(self._since)

  def predict(self, decision: decisions.Decision) -> tf.Tensor:
    return differentiable.predict(
      self.treatment.network(decision), self._weights
    )

  def _half_sums(self, parts: base.Parts) -> tuple[ridge.Sums, ridge.Sums]:
    """Returns the sums of [phi, K] and [X, r] over two halves of the log."""
    if not self._outer:
      return base.half_sums(self._sums, parts)
    psi, phi = self.treatment.network, self.instrument.network
    actions = psi.num_actions
    sizes = [each.output_size // actions - 1 for each in (psi, phi)]

    def states(observation: types.Array, out: types.FloatArray) -> None:
      out[:, : sizes[0]] = psi.state(observation)
      out[:, sizes[0] :] = phi.state(observation)

    halves = fixed_features.half_sums(
      decisions.Outer(states, state_size=sum(sizes), num_actions=actions),
      parts,
      squares=True,
    )
    by_action = np.arange(sum(sizes) * actions).reshape(actions, -1)
    alone = sum(sizes) * actions + np.arange(actions)  # e_a and the constant
    known = np.append(by_action[:, : sizes[0]], alone)
    instruments = by_action[:, sizes[0] :].ravel()
    if not self.config.included_instruments:
      instruments = np.append(instruments, alone[:-1])
    first, second = (
      ridge.chosen(half, np.append(instruments, known), np.append(known, -1))
      for half in halves
    )
    return first, second

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
    dfiv_networks.make(layers, config, problem, seed=(seed, index))
    for index, layers in enumerate(
      (config.treatment_net, config.instrument_net)
    )
  ]
  return DFIV(config, treatment_net=nets[0], instrument_net=nets[1])
