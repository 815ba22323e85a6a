"""LSTD-Q's sums, solutions and weights of rows for policies of one log.

What does not depend on the policy is made once: two passes over the log serve
all policies (`many_policies`).
"""

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple, Self

import numpy as np

from dfiv_ope import types
from dfiv_ope.agents import cross_sums, lstd, shared_sums
from dfiv_ope.evaluation import shared_log, shared_pass
from dfiv_ope.iv import just_identified, ridge
from dfiv_ope.ope import bellman, decisions
from dfiv_ope.ope import choices as choices_lib

# Values of rows, policies and actions that are in memory at once.
_VALUES = 4_000_000
# Bytes of the features of rows that are summed at once, and the fewest rows:
# products of many rows are shared by more policies.
_FEATURES, _FEWEST = 500_000_000, 8_192
# Called as progress(share of the work that is done, note).
Progress = Callable[[float, str], None]


class Solved(NamedTuple):
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


class Weighed(NamedTuple):
  """What a pass over the log says of the values of S seeds.

  Attributes:
    weights: of rows, [K, N].
    weighted: w e of episodes, S of [E, K].
    later: gamma d Q(s', pi) of the rows of the first stage, S of [M, K].
  """

  weights: types.FloatArray
  weighted: list[types.FloatArray]
  later: list[types.FloatArray]


class Asked(NamedTuple):
  """What a policy does.

  Attributes:
    problem: of the policy.
    following: in the next states of the log.
    first: in the start states.
  """

  problem: bellman.Problem
  following: choices_lib.Choices
  first: choices_lib.Choices

  @classmethod
  def of(cls, problem: bellman.Problem, log: shared_log.SharedLog) -> Self:
    """Asks the policy of a problem; it is seen a block at a time."""
    return cls(
      problem,
      _ask(problem, log.transitions.next_observation, log),
      choices_lib.Choices.of(_probabilities(problem, log.initial_observations)),
    )


class Policies:
  """Target policies of one log, as many as fit memory.

  Attributes:
    following: what each does next in the rows of the log.
    progress: told how far it is.
  """

  def __init__(
    self,
    log: shared_log.SharedLog,
    asked: Sequence[Asked],
    config: lstd.Config,
    progress: Progress,
  ):
    """Takes what the policies do.

    Args:
      log: their log.
      asked: of each.
      config: of LSTD-Q.
      progress: told how far it is.
    """
    self._log = log
    self._problems = [each.problem for each in asked]
    self.following = [each.following for each in asked]
    self._first = [each.first for each in asked]
    self._config = config
    self._settings = config.settings_of(self._problems[0])
    self.progress = progress

  def _outcome(self, rows: np.ndarray) -> types.FloatArray:
    """Returns the rewards of rows on the scale of each policy, [B, K]."""
    rewards = self._log.transitions.reward[rows]
    return np.concatenate(
      [problem.outcome(rewards) for problem in self._problems], axis=1
    ).astype(np.float64)

  def solve(self, seed: int, done: float, share: float) -> Solved:
    """Returns all that one pass over the log says of the features of a seed.

    Args:
      seed: of the features; those of seed 0 weigh the rows.
      done: share of all work that is done before.
      share: that this is.
    """
    log, config = self._log, self._config
    solved = Solved(
      [_agent(config, problem, seed) for problem in self._problems], []
    )
    function = solved.function
    parts = range(len(log.marks) - 1)
    stages: list[Sequence[int]] = [parts]
    if seed == 0:
      used, looked_at = shared_pass.thinned(np.diff(log.marks).tolist())
      stages = [
        looked_at[0::2],
        looked_at[1::2],
        sorted(set(used) - set(looked_at)),
        sorted(set(parts) - set(used)),
      ]
    size = self._settings.random_features + 1
    most = max(_FEWEST, _FEATURES // (8 * size))
    cross = cross_sums.CrossSums(
      self.following, rows=min(most, len(log.actions)), size=size
    )
    memory = shared_log.Memory(size)
    own: list[shared_sums.OwnSums] = []
    for number, stage in enumerate(stages):
      own.append(
        shared_sums.OwnSums(
          actions=log.num_actions, size=size, policies=len(self._problems)
        )
      )
      for rows in log.chunks(stage, most):
        self.progress(
          done + share * rows[0] / len(log.actions), f'seed {seed} sums'
        )
        found, later = log.states(function, rows, memory)
        own[-1].add(found[: len(rows)], log.actions[rows], self._outcome(rows))
        on = np.flatnonzero(log.continuation[rows])
        if len(on):
          cross.add(
            cross_sums.Steps(
              found,
              on,
              later[on],
              log.continuation[rows[on]],
              log.actions[rows[on]],
              rows[on],
            )
          )
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
      (len(self._problems), log.num_actions, self._settings.random_features + 1)
    )
    memory = shared_log.Memory(value.shape[2])
    for rows in shared_log.slices(log.num_starts, shared_sums.PIECE):
      start = memory.rows(len(rows))
      shared_log.fill(function, log.initial[rows], start)
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
          * just_identified.dual(total, column, self._settings.penalty).weights,
          log.num_actions,
        )
      )
    return np.stack(found)

  def weigh(
    self, solved: Sequence[Solved], looked_at: Sequence[int]
  ) -> Weighed:
    """Returns what a pass over the log says of the values that were found.

    Args:
      solved: of each seed, 0 first.
      looked_at: parts that the first stage is measured on, rising.
    """
    log, policies = self._log, len(self._problems)
    weights = np.zeros((policies, len(log.actions)))
    weighted = [np.zeros((log.num_episodes, policies)) for _ in solved]
    coefficients = [each.blocks(log.num_actions) for each in solved]
    chosen = np.zeros(len(log.actions), bool)
    chosen[np.concatenate([log.part(each) for each in looked_at])] = True
    kept: list[list[types.FloatArray]] = [[] for _ in solved]
    most = max(1, _VALUES // (policies * log.num_actions))
    memory = shared_log.Memory(self._settings.random_features + 1)
    for rows in shared_log.slices(len(log.actions), most):
      self.progress(0.6 + 0.2 * rows[0] / len(log.actions), 'weights')
      outcome, actions = self._outcome(rows), log.actions[rows]
      following = np.stack(
        [each.at(rows) for each in self.following], axis=1
      )  # [B, K, A]
      owners = log.episodes[rows]
      starts = np.flatnonzero(np.diff(owners, prepend=-1))
      for place, (each, matrix) in enumerate(
        zip(solved, coefficients, strict=True)
      ):
        found, later = log.states(each.function, rows, memory)
        if not place:
          assert each.dual is not None
          weight = shared_log.taken(found[: len(rows)], each.dual, actions)
          weights[:, rows] = weight.T
        values = shared_log.values(found, matrix)  # [S, K, A]
        after = log.continuation[rows, None] * np.einsum(
          'bka,bka->bk', values[later], following
        )
        errors = outcome - values[np.arange(len(rows)), :, actions] + after
        kept[place].append(after[chosen[rows]])
        weighted[place][owners[starts]] += np.add.reduceat(
          weight * errors, starts, axis=0
        )
    return Weighed(weights, weighted, [np.concatenate(each) for each in kept])

  def initial_values(self, solved: Solved) -> types.FloatArray:
    """Returns E_pi Q(s0, .) of each start state and policy, [M, K].

    Args:
      solved: of `solve`.
    """
    log = self._log
    matrix, found = solved.blocks(log.num_actions), []
    most = max(1, _VALUES // (len(self._problems) * log.num_actions))
    memory = shared_log.Memory(matrix.shape[2])
    for rows in shared_log.slices(log.num_starts, most):
      first = np.stack([each.at(rows) for each in self._first], axis=1)
      start = memory.rows(len(rows))
      shared_log.fill(solved.function, log.initial[rows], start)
      found.append(
        np.einsum('bka,bka->bk', shared_log.values(start, matrix), first)
      )
    return np.concatenate(found) * [
      problem.value_scale for problem in self._problems
    ]


def _agent(
  config: lstd.Config, problem: bellman.Problem, seed: int
) -> lstd.LSTD:
  agent = lstd.make(config, problem, seed=seed)
  assert isinstance(agent, lstd.LSTD)
  return agent


def _probabilities(
  problem: bellman.Problem, observations: types.FloatArray
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
  problem: bellman.Problem,
  observations: types.FloatArray,
  log: shared_log.SharedLog,
) -> choices_lib.Choices:
  """Returns what a policy does next; it does not matter where nothing does."""
  if not np.any(log.continuation):
    return choices_lib.Choices(
      _probabilities(problem, observations[:1]),
      np.zeros(len(observations), np.uint8),
    )
  return choices_lib.Choices.of(_probabilities(problem, observations))


def _sums(
  own: Sequence[shared_sums.OwnSums], cross: cross_sums.CrossSums
) -> Iterator[ridge.Sums]:
  """Yields the sums of each policy."""
  total = shared_sums.merge(own)
  gram = total.gram_of_features
  for place in range(total.outcome.shape[2]):
    yield total.with_cross(gram, cross.of(place), place)


def _gram(own: shared_sums.OwnSums) -> ridge.Sums:
  """Returns the sums of features without any target."""
  return ridge.Sums(
    own.gram_of_features, np.zeros((0, 0)), np.zeros(0), np.float64(own.count)
  )
