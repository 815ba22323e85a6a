"""How much each episode of a log moves the value of a policy.

The weights of `inference` solve the dual of LSTD-Q: with psi the features
and A = sum psi (psi - gamma d psi')', the value is v'A^-1 sum psi r, so a row's
reward counts w = v'A^-1 psi. They belong to the log, the policy and the
features. Those are the method's own where it has fixed ones, so that its
interval is that of its own regression; trained methods share the default ones.
"""

from collections.abc import Callable, Iterable
import copy
import dataclasses
import functools
from typing import NamedTuple

import numpy as np

from dfiv_ope import types
from dfiv_ope.agents import (
  base,
  fixed_features,
  one_step_columns,
  one_step_fit,
  one_step_lstd,
  table_lstd,
)
from dfiv_ope.agents.entries import random_features
from dfiv_ope.evaluation import first_stage, inference, shared_pass
from dfiv_ope.iv import just_identified, ridge
from dfiv_ope.nn import tensors
from dfiv_ope.ope import bellman, decisions, tables

# Features of state and action that the first stage of a table is measured
# with; a small table has its indicators.
_TABLE_JOINT = 300
# Probabilities of first actions that are kept between methods.
_KEPT_PROBABILITIES = 5_000_000
# Rows that the error of draws is measured on.
_DRAWN_ROWS = 20_000


class Effect(NamedTuple):
  """What the episodes do to the estimate of an agent.

  Attributes:
    added: contributions of the episodes, [E] (`inference.contributions`).
    correction: what the log's Bellman equation says is missing.
  """

  added: types.FloatArray
  correction: float


class Weighed(NamedTuple):
  """Weights that were solved for with those of other policies.

  Attributes:
    weights: w of every transition, [N].
    rewards: returns those of every transition, on the scale of the problem,
      [N].
    columns: how many unknowns were solved for.
    first_stage: as in `Influence`.
  """

  weights: types.FloatArray
  rewards: Callable[[], types.FloatArray]
  columns: int
  first_stage: first_stage.LogFirstStage


class Influence:
  """The episodes' influence on values of one policy.

  Attributes:
    features: what the weights are made of.
    kind: which of `random_features.KINDS` these are.
    columns: how many unknowns were solved for.
    cells: of a table of states; 0 if the features are random.
    weights: w of every transition, [N].
    first_stage: what states and actions tell of the values that follow; None
      of one-step logs with many actions, where nothing does.
    extrapolation: of a table, what actions that the log does not have in a
      state may change; of one-step logs with many actions, what actions may
      differ by that the log has seldom; 0 elsewhere, where it is not known.
  """

  def __init__(
    self,
    problem: bellman.Problem,
    parts: base.Parts,
    *,
    episodes: types.FloatArray,
    initial_observations: types.Array,
    features: random_features.Settings,
    agent: base.Agent | None = None,
    weighed: Weighed | None = None,
    fixed_starts: bool = False,
  ):
    """Solves for the weights.

    Args:
      problem: what is asked of the log.
      parts: gives the log in order.
      episodes: index of the episode of each transition, [N].
      initial_observations: raw, [E, D].
      features: of `settings`.
      agent: that has learned from the same log with these features, so that
        they need not be fitted again.
      weighed: weights of features for each action, if they are known.
      fixed_starts: whether start states were given, so that they are not those
        of the episodes.
    """
    self.features = features
    self.cells = (
      table_lstd.cells(problem) if table_lstd.fits(problem, features) else 0
    )
    self._parts = parts
    self._weighed = weighed
    self._fixed_starts = fixed_starts
    self._problem = problem
    self._episodes = episodes
    self._initial_observations = initial_observations
    self._kept: list[decisions.Decision] | None = None
    # Of an agent that learned with the same features, made with the weights.
    self._own_agent: base.Agent | None = None
    self._own_errors: types.FloatArray | None = None
    self.extrapolation = 0.0
    self._held_out: types.FloatArray | float = 1.0
    self.first_stage: first_stage.LogFirstStage | None = None
    if weighed is not None:
      self.kind = random_features.PER_ACTION
      self.weights, self.columns = weighed.weights, weighed.columns
      self.first_stage = weighed.first_stage
      return
    if one_step_lstd.fits(problem, features):
      fit = _one_step(problem, parts, initial_observations, features, agent)
      self.kind = random_features.ONE_STEP
      # As many as the fit has degrees of freedom.
      self.columns = int(np.sum(fit.leverage))
      self.weights = fit.weights
      self.extrapolation = problem.value_scale * fit.extrapolation
      self._held_out = 1.0 / (1.0 - fit.leverage)
      return
    sizes = shared_pass.sizes(parts)
    used, looked_at = shared_pass.thinned(sizes)
    if self.cells:
      features = dataclasses.replace(
        features, joint_features=min(features.joint_features, _TABLE_JOINT)
      )
    psi = fixed_features.make(problem, features, seed=0)
    kept = shared_pass.kept_sums(agent, problem, features)
    halves = (
      fixed_features.half_sums(psi, shared_pass.only(parts, looked_at))
      if kept is None
      else (
        shared_pass.of_stage(kept, shared_pass.FIRST),
        shared_pass.of_stage(kept, shared_pass.SECOND),
      )
    )
    self.first_stage = first_stage.LogFirstStage(
      problem,
      psi,
      shared_pass.only(parts, looked_at),
      halves,
      features=features,
      episodes=episodes[
        np.isin(np.repeat(np.arange(len(sizes)), sizes), looked_at)
      ],
    )
    if self.cells:
      self.kind, self.columns = random_features.TABLE, self.cells
      starts = table_lstd.starts_of(problem, initial_observations)
      found = tables.solve(
        table_lstd.rows_of(problem, parts),
        table_lstd.policy_of(problem),
        starts,
        prior_rows=features.prior_rows,
      )
      self.weights = found.weigh(starts)
      self.extrapolation = problem.value_scale * found.extrapolation(starts)
      return
    self.kind = (
      random_features.PER_ACTION
      if isinstance(psi, decisions.Outer)
      else random_features.TOGETHER
    )
    self.columns = psi.output_size
    value = np.sum(
      [np.sum(psi(each), axis=0) for each in self._initial()], axis=0
    )[:, None] / len(initial_observations)  # v, [D, 1]
    others = sorted(set(used) - set(looked_at))
    total = ridge.merge(
      *halves,
      *(
        ()
        if not others
        else fixed_features.half_sums(psi, shared_pass.only(parts, others))
        if kept is None
        else [shared_pass.of_stage(kept, shared_pass.WEIGHTS)]
      ),
    )
    # The sums of all rows would be larger by this.
    share = float(total.count) / len(episodes)
    dual = share * just_identified.dual(total, value, features.penalty).weights
    self.weights, self._own_errors = shared_pass.weigh(
      psi, dual, parts, None if kept is None else agent
    )
    self._own_agent = None if kept is None else agent

  def copy(self) -> 'Influence':
    """Returns the same whose weights are no part of a larger array."""
    found = copy.copy(self)
    found.weights = np.array(self.weights)
    if found._weighed is not None:
      found._weighed = found._weighed._replace(weights=found.weights)
    return found

  @property
  def together(self) -> bool:
    """Whether features are of state and action together."""
    return self.kind == random_features.TOGETHER

  @property
  def one_step(self) -> bool:
    """Whether each action has a regression of its own."""
    return self.kind == random_features.ONE_STEP

  @property
  def size(self) -> int:
    """Number of random features: in all, or for each action."""
    if self.one_step:
      return one_step_columns.shared_features(self.features)
    return (
      self.features.joint_features
      if self.together
      else self.features.random_features
    )

  @property
  def effective_share(self) -> float:
    """Effective sample size as a share of the rows: (sum w)^2 / (N sum w^2).

    Small where the policy goes to states that the log seldom shows.
    """
    return float(
      np.sum(self.weights) ** 2
      / (len(self.weights) * np.sum(np.square(self.weights)))
    )

  @functools.cached_property
  def heavy_share(self) -> float:
    """Share of all |w r| that the largest thousandth of rows has."""
    rewards = (
      self._weighed.rewards()
      if self._weighed
      else np.concatenate([rows.outcome[:, 0] for rows in self._parts()])
    )
    return inference.heavy_share(self.weights * rewards)

  def _initial(self) -> Iterable[decisions.Decision]:
    """Returns what the policy does first, in parts; few of them are kept."""
    if self._kept is not None:
      return self._kept
    parts = self._problem.target.in_parts(self._initial_observations)
    size = len(self._initial_observations) * max(1, self._problem.num_actions)
    if size > _KEPT_PROBABILITIES:
      return parts
    self._kept = list(parts)
    return self._kept

  def measure(
    self, agent: base.Agent, initial_values: types.FloatArray | None = None
  ) -> Effect:
    """Returns what the episodes do to an agent's estimate.

    Args:
      agent: a method that has learned.
      initial_values: what it expects of each episode, [E], on the raw scale;
        None to ask it.
    """

    def errors(rows: types.IVBatch) -> types.FloatArray:
      if not self._problem.one_step:
        return agent.errors(rows)
      # Nothing is to be asked of what follows.
      return base.left(rows, agent.predict(rows.treatment.now))

    scale = self._problem.value_scale
    weighted = (
      scale
      * self.weights
      * (
        self._own_errors
        if self._own_errors is not None and agent is self._own_agent
        else np.concatenate([errors(rows) for rows in self._parts()])
      )
    )
    if self._fixed_starts:
      initial_values = None
    elif initial_values is None:
      initial_values = scale * np.concatenate(
        [tensors.array(agent.predict(each))[:, 0] for each in self._initial()]
      )
    added = inference.contributions(
      initial_values, weighted * self._held_out, self._episodes
    )
    return Effect(added, float(np.sum(weighted)))

  def draw_error(self, agent: base.Agent) -> float:
    """Returns the standard error that draws of actions leave in an estimate.

    It is that of independent draws, which quasi-random ones stay below; 0
    where the expectation over the policy's actions is exact.

    Args:
      agent: a method that has learned.
    """
    start, total, seen = 0, 0.0, 0.0
    for rows in self._parts():
      later = rows.treatment.later
      weights = self.weights[start : start + len(rows.outcome)]
      start += len(rows.outcome)
      if not self._problem.target.is_drawn(later):
        return 0.0
      if start <= _DRAWN_ROWS:
        spread = _variance(agent, later) * np.square(
          weights * tensors.array(rows.treatment.continuation)[:, 0]
        )
        total += float(np.sum(spread))
        seen += len(spread)
    first, count = next(iter(self._initial())), len(self._initial_observations)
    initial = (
      float(np.mean(_variance(agent, first))) / count
      if self._problem.target.is_drawn(first)
      else 0.0
    )
    return self._problem.value_scale * float(
      np.sqrt(total * start / max(seen, 1.0) + initial)
    )


def _one_step(
  problem: bellman.Problem,
  parts: base.Parts,
  initial_observations: types.Array,
  features: random_features.Settings,
  agent: base.Agent | None,
) -> one_step_fit.Fit:
  """Returns the fit of a one-step log with many actions, of seed 0."""
  if (
    isinstance(agent, one_step_lstd.OneStepLSTD)
    and agent.seed == 0
    and (agent.fitted is not None)
  ):
    return agent.fitted
  return one_step_fit.fit(
    problem,
    one_step_columns.Columns(problem, features, seed=0),
    parts,
    initial_observations,
  )


def _variance(
  agent: base.Agent, decision: decisions.Decision
) -> types.FloatArray:
  """Returns the variance of the mean over the draws of a decision, [B]."""
  values = np.concatenate(
    [
      tensors.array(
        agent.predict(
          decisions.taken(decision.observation, decision.actions[:, choice])
        )
      )
      for choice in range(decision.actions.shape[1])
    ],
    axis=1,
  )  # [B, K]
  return np.var(values, axis=1, ddof=1) / values.shape[1]
