"""LSTD-Q of many policies on one log, with what they share made once.

The features of a log's states, their Gram matrix and most products of rows do
not depend on the policy (`agents.shared_sums`). Two passes over the log serve
all policies of a batch: one for the sums that weights of features are solved
from, one for Bellman errors and weights of rows. What comes out are the runs
that `runs.Evaluator.run` makes of each policy alone, but for rounding; where a
log has more probabilities than that holds and draws from, they are exact here.
"""

from collections.abc import Callable, Iterator, Sequence
import functools
import time
from typing import NamedTuple

import numpy as np
import tensorflow as tf

from dfiv_ope import types
from dfiv_ope.agents import base, lstd, shared_sums
from dfiv_ope.agents.entries import base as entry_base
from dfiv_ope.evaluation import (
  first_stage,
  inference,
  influence,
  runs,
  shared_log,
)
from dfiv_ope.iv import just_identified, ridge
from dfiv_ope.ope import bellman, decisions, targets
from dfiv_ope.ope import choices as choices_lib
from dfiv_ope.ope import task as task_lib

# Bytes that the policies of a batch may add to the memory.
_MEMORY = 1_000_000_000
# Values of rows, policies and actions that are in memory at once.
_VALUES = 4_000_000
# Called as progress(share of the work that is done, note).
Progress = Callable[[float, str], None]


def fits(
  task: task_lib.EvaluationTask, config: entry_base.MethodConfig
) -> bool:
  """Returns whether policies of a log share the work of a method.

  They do with LSTD-Q on features for each action.

  Args:
    task: one of the policies.
    config: of the method.
  """
  if not isinstance(config, lstd.Config) or not (
    0 < task.log.num_actions < targets.DRAWS
  ):
    return False
  agent = lstd.make(config, task.problem, seed=0)
  return isinstance(agent, lstd.LSTD) and isinstance(
    agent.features, decisions.Outer
  )


def run(
  evaluators: Sequence[runs.Evaluator],
  config: lstd.Config,
  *,
  seeds: Sequence[int],
  progress: Progress = lambda done, note: None,
) -> list[list[runs.Run]]:
  """Returns the runs of LSTD-Q of each policy, a run for each seed.

  Args:
    evaluators: of one log, a policy each; `fits` holds.
    config: of LSTD-Q.
    seeds: of the features.
    progress: told how far it is.
  """
  log = shared_log.SharedLog(evaluators[0].task)
  columns = (config.random_features + 1) * log.num_actions
  each = (
    8.0 * columns**2
    + len(log.actions) * (8.0 + 4.0 * log.num_actions)
    + 16.0 * len(seeds) * log.num_episodes
  )
  size = max(1, min(len(evaluators), int(_MEMORY // each)))
  starts = range(0, len(evaluators), size)
  found: list[list[runs.Run]] = []
  for start in starts:
    batch = _Batch(
      log,
      evaluators[start : start + size],
      config,
      seeds,
      lambda done, note, start=start: progress(  # type: ignore[misc]
        (start + done * size) / (len(starts) * size), note
      ),
    )
    found += batch.run()
  return found


class _Solved(NamedTuple):
  """What the features of one seed say.

  Attributes:
    agents: of each policy, solved.
    penalties: of each.
    dual: what weights of rows are made of, [K, A, H]; None but for seed 0.
    halves: sums of the rows that the first stage is measured on; likewise.
  """

  agents: list[lstd.LSTD]
  penalties: list[float]
  dual: types.FloatArray | None = None
  halves: tuple[ridge.Sums, ridge.Sums] | None = None

  @property
  def function(self) -> decisions.Outer:
    assert isinstance(self.agents[0].features, decisions.Outer)
    return self.agents[0].features

  def blocks(self, actions: int) -> types.FloatArray:
    """Returns weights of h for each policy and action, [K, A, H]."""
    return np.stack(
      [shared_sums.blocks(each.weights, actions) for each in self.agents]
    )


class _Batch:
  """As many policies as fit memory."""

  def __init__(
    self,
    log: shared_log.SharedLog,
    evaluators: Sequence[runs.Evaluator],
    config: lstd.Config,
    seeds: Sequence[int],
    progress: Progress,
  ):
    self._log = log
    self._evaluators = evaluators
    self._config = config
    self._seeds = seeds
    self._progress = progress
    self._problems = [each.task.problem for each in evaluators]
    self._next = [
      _ask(problem, log.transitions.next_observation, log)
      for problem in self._problems
    ]
    self._first = [
      choices_lib.Choices.of(_probabilities(problem, log.initial_observations))
      for problem in self._problems
    ]

  def run(self) -> list[list[runs.Run]]:
    """Returns the runs of each policy."""
    started = time.process_time()
    solved = [
      self._solve(place, seed) for place, seed in enumerate(self._seeds)
    ]
    weights, weighted = self._weigh(solved)
    initial = [self._initial_values(each) for each in solved]
    seconds = (time.process_time() - started) / (
      len(solved) * len(self._problems)
    )
    found = []
    for policy, evaluator in enumerate(self._evaluators):
      self._progress(0.8 + 0.2 * policy / len(self._evaluators), 'intervals')
      moved = self._influence(policy, solved[0], weights[policy])
      found.append(
        [
          self._summarise(
            policy,
            evaluator,
            moved,
            each,
            seed,
            initial=start[:, policy],
            weighted=errors[:, policy],
            cpu_seconds=seconds,
          )
          for each, seed, start, errors in zip(
            solved, self._seeds, initial, weighted, strict=True
          )
        ]
      )
    return found

  def _outcome(self, rows: np.ndarray) -> types.FloatArray:
    """Returns the rewards of rows on the scale of each policy, [B, K]."""
    rewards = self._log.transitions.reward.numpy()[rows]
    return np.concatenate(
      [problem.outcome(rewards) for problem in self._problems], axis=1
    ).astype(np.float64)

  def _solve(self, place: int, seed: int) -> _Solved:
    """Returns all that one pass over the log says of the features of a seed."""
    log, config = self._log, self._config
    solved = _Solved(
      [_agent(config, problem, seed) for problem in self._problems], []
    )
    function = solved.function
    parts = range(len(log.marks) - 1)
    stages: list[Sequence[int]] = [parts]
    if seed == 0:
      used, looked_at = influence.thinned(np.diff(log.marks).tolist())
      stages = [
        looked_at[0::2],
        looked_at[1::2],
        sorted(set(used) - set(looked_at)),
        sorted(set(parts) - set(used)),
      ]
    size = config.random_features + 1
    cross = shared_sums.CrossSums(self._next, rows=len(log.actions), size=size)
    here, there = _buffers(min(len(log.actions), shared_sums.CHUNK), config)
    own: list[shared_sums.OwnSums] = []
    for number, stage in enumerate(stages):
      own.append(
        shared_sums.OwnSums(
          actions=log.num_actions, size=size, policies=len(self._problems)
        )
      )
      for rows in log.chunks(stage):
        self._progress(
          0.6 * (place + rows[0] / len(log.actions)) / len(self._seeds),
          f'seed {seed} sums',
        )
        now = shared_log.features(function, log.now, rows, out=here)
        own[-1].add(now, log.actions[rows], self._outcome(rows))
        going_on = np.flatnonzero(log.continuation[rows])
        if len(going_on):
          later = shared_log.features(function, log.later, rows, out=there)
          later *= log.continuation[rows, None]
          cross.add(now, later, log.actions[rows], rows, going_on)
      if seed == 0 and number == 2:
        solved = solved._replace(
          dual=self._dual(function, _sums(own, cross)),
          halves=(_gram(own[0]), _gram(own[1])),
        )
    for agent, total in zip(solved.agents, _sums(own, cross), strict=True):
      solved.penalties.append(agent.solve_sums(total)['penalty'])
    return solved

  def _dual(
    self, function: decisions.Outer, totals: Iterator[ridge.Sums]
  ) -> types.FloatArray:
    """Returns the weights of features that make those of rows, [K, A, H]."""
    log = self._log
    value = np.zeros(
      (len(self._problems), log.num_actions, self._config.random_features + 1)
    )
    for rows in shared_log.slices(log.num_starts, shared_sums.CHUNK):
      start = shared_log.features(function, log.initial, rows)
      for place, policy in enumerate(self._first):
        value[place] += policy.at(rows).astype(np.float64).T @ start
    found = []
    for mean, total in zip(value / log.num_starts, totals, strict=True):
      # The sums of all rows would be larger by this.
      share = float(total.count) / len(log.actions)
      column = shared_sums.features(mean)
      column[-1] = 1.0  # Probabilities of 32 bits add up to a little else.
      found.append(
        shared_sums.blocks(
          share
          * just_identified.dual(
            total, column, self._config.settings.penalty
          ).weights,
          log.num_actions,
        )
      )
    return np.stack(found)

  def _weigh(
    self, solved: Sequence[_Solved]
  ) -> tuple[types.FloatArray, list[types.FloatArray]]:
    """Returns weights of rows [K, N], and w e of episodes, S of [E, K]."""
    log, policies = self._log, len(self._problems)
    weights = np.zeros((policies, len(log.actions)))
    weighted = [np.zeros((log.num_episodes, policies)) for _ in solved]
    coefficients = [each.blocks(log.num_actions) for each in solved]
    most = max(1, _VALUES // (policies * log.num_actions))
    here, there = _buffers(min(most, len(log.actions)), self._config)
    for rows in shared_log.slices(len(log.actions), most):
      self._progress(0.6 + 0.2 * rows[0] / len(log.actions), 'weights')
      outcome = self._outcome(rows)
      following = np.stack(
        [each.at(rows) for each in self._next], axis=1
      )  # [B, K, A]
      owners = log.episodes[rows]
      starts = np.flatnonzero(np.diff(owners, prepend=-1))
      for place, (each, matrix) in enumerate(
        zip(solved, coefficients, strict=True)
      ):
        now = shared_log.features(each.function, log.now, rows, out=here)
        if not place:
          assert each.dual is not None
          weight = shared_log.taken(now, each.dual, log.actions[rows])
          weights[:, rows] = weight.T
        value = shared_log.taken(now, matrix, log.actions[rows])
        later = shared_log.features(each.function, log.later, rows, out=there)
        errors = (
          outcome
          - value
          + log.continuation[rows, None]
          * (shared_log.expected(later, matrix, following))
        )
        weighted[place][owners[starts]] += np.add.reduceat(
          weight * errors, starts, axis=0
        )
    return weights, weighted

  def _initial_values(self, solved: _Solved) -> types.FloatArray:
    """Returns E_pi Q(s0, .) of each start state and policy, [M, K]."""
    log = self._log
    matrix, found = solved.blocks(log.num_actions), []
    most = max(1, _VALUES // (len(self._problems) * log.num_actions))
    for rows in shared_log.slices(log.num_starts, most):
      first = np.stack([each.at(rows) for each in self._first], axis=1)
      found.append(
        shared_log.expected(
          shared_log.features(solved.function, log.initial, rows), matrix, first
        )
      )
    return np.concatenate(found) * [
      problem.value_scale for problem in self._problems
    ]

  def _influence(
    self, policy: int, solved: _Solved, weights: types.FloatArray
  ) -> influence.Influence:
    """Returns the influence of the episodes on the value of one policy."""
    log, settings = self._log, self._config.settings
    problem, sizes = self._problems[policy], np.diff(log.marks).tolist()
    _, looked_at = influence.thinned(sizes)
    parts = functools.partial(self._parts, policy)
    assert solved.halves is not None
    return influence.Influence(
      problem,
      lambda: parts(range(len(sizes))),
      episodes=log.episodes,
      initial_observations=log.initial_observations,
      features=settings,
      fixed_starts=log.fixed_starts,
      weighed=influence.Weighed(
        weights,
        problem.outcome(log.transitions.reward).numpy()[:, 0],
        solved.function.output_size,
        first_stage.LogFirstStage(
          problem,
          solved.function,
          lambda: parts(looked_at),
          solved.halves,
          features=settings,
          episodes=log.episodes[
            np.concatenate([log.part(index) for index in looked_at])
          ],
        ),
      ),
    )

  def _parts(
    self, policy: int, parts: Sequence[int]
  ) -> Iterator[types.IVBatch]:
    """Yields some parts of the log as rows of a policy's regression."""
    log, problem = self._log, self._problems[policy]
    for index in parts:
      rows = slice(log.marks[index], log.marks[index + 1])
      chosen = tf.constant(self._next[policy].at(rows))
      yield problem.rows(
        types.Transition(*(each[rows] for each in log.transitions)),
        later=decisions.Decision(
          log.later[rows],
          tf.repeat(tf.range(log.num_actions)[None], len(chosen), axis=0),
          chosen,
        ),
      )

  def _summarise(
    self,
    policy: int,
    evaluator: runs.Evaluator,
    moved: influence.Influence,
    solved: _Solved,
    seed: int,
    *,
    initial: types.FloatArray,
    weighted: types.FloatArray,
    cpu_seconds: float,
  ) -> runs.Run:
    """Returns the run of one policy and seed."""
    problem = self._problems[policy]
    metrics = {
      'updates': 0,
      'estimate': float(np.mean(initial)),
      'penalty': solved.penalties[policy],
    }
    curves = {name: [value] for name, value in metrics.items()}
    failure = base.divergence(problem, metrics)
    if failure:
      return runs.Run(
        seed=seed,
        metrics={},
        curves=curves,
        resamples=np.zeros(0),
        failure=failure,
        cpu_seconds=cpu_seconds,
      )
    weighted = problem.value_scale * weighted
    return runs.summarise(
      evaluator.task,
      solved.agents[policy],
      moved,
      influence.Effect(
        inference.contributions(
          None if self._log.fixed_starts else initial,
          weighted,
          np.arange(len(weighted)),
        ),
        float(np.sum(weighted)),
      ),
      curves=curves,
      seed=seed,
      cpu_seconds=cpu_seconds,
      checks=evaluator.checks(),
    )


def _agent(
  config: lstd.Config, problem: bellman.Problem, seed: int
) -> lstd.LSTD:
  agent = lstd.make(config, problem, seed=seed)
  assert isinstance(agent, lstd.LSTD)
  return agent


def _buffers(
  rows: int, config: lstd.Config
) -> tuple[types.FloatArray, types.FloatArray]:
  """Returns memory for h(s) and h(s') of some rows."""
  shape = rows, config.random_features + 1
  return np.empty(shape), np.empty(shape)


def _probabilities(
  problem: bellman.Problem, observations: tf.Tensor
) -> types.FloatArray:
  """Returns what a policy does at raw observations, [B, A]."""
  rows = problem.target.rows_at_once
  return np.concatenate(
    [
      problem.target.probabilities(observations[start : start + rows])
      for start in range(0, len(observations), rows)
    ]
  )


def _ask(
  problem: bellman.Problem, observations: tf.Tensor, log: shared_log.SharedLog
) -> choices_lib.Choices:
  """Returns what a policy does next; it does not matter where nothing does."""
  if not np.any(log.continuation):
    return choices_lib.Choices(
      _probabilities(problem, observations[:1]),
      np.zeros(len(observations), np.uint8),
    )
  return choices_lib.Choices.of(_probabilities(problem, observations))


def _sums(
  own: Sequence[shared_sums.OwnSums], cross: shared_sums.CrossSums
) -> Iterator[ridge.Sums]:
  """Yields the sums of each policy."""
  total = shared_sums.merge(own)
  gram = total.gram_of_features
  for place, each in enumerate(cross.total):
    yield total.with_cross(gram, each, place)


def _gram(own: shared_sums.OwnSums) -> ridge.Sums:
  """Returns the sums of features without any target."""
  return ridge.Sums(
    own.gram_of_features, np.zeros((0, 0)), np.zeros(0), np.float64(own.count)
  )
