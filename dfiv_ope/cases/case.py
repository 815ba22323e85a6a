"""What a case of the suite is: a log that can be drawn, and its answer."""

from collections.abc import Callable, Mapping, Sequence
import dataclasses
import functools
from typing import TYPE_CHECKING

import numpy as np

from dfiv_ope import types
from dfiv_ope.cases import finite, process
from dfiv_ope.ope import episodes as episodes_lib

if TYPE_CHECKING:
  from dfiv_ope.ope import task as task_lib

# Of the first set of cases, its halves; of the others, a third and two thirds.
DEVELOPMENT, HELD_OUT = 'development', 'held_out'
DEVELOPMENT_2, HELD_OUT_2 = 'development_2', 'held_out_2'
DEVELOPMENT_3, HELD_OUT_3 = 'development_3', 'held_out_3'
PARTS = (
  DEVELOPMENT,
  HELD_OUT,
  DEVELOPMENT_2,
  HELD_OUT_2,
  DEVELOPMENT_3,
  HELD_OUT_3,
)
GOOD, MEDIUM, POOR = 'good', 'medium', 'poor'
# Effective sample size of the ratios of single steps, as a share of the rows.
_GOOD, _MEDIUM = 0.77, 0.28
# Simulated values: their seed is no log's.
_TRUTH_EPISODES, _RANKED_EPISODES = 20_000, 4_000
_TRUTH_SEED = (18, 4)
# Logs of different cases differ in their seeds, too.
_LOG_SEED = 1_018


@dataclasses.dataclass(frozen=True, kw_only=True)
class Facts:
  """What is known of a case before its log is drawn.

  Attributes:
    episodes: of the log.
    horizon: longest episode.
    overlap: of a step: 'good', 'medium' or 'poor', as `Made.overlap` says.
    stochastic: whether the next state is random.
    truncated: whether episodes may be cut off.
    recorded: whether the log has the behaviour policy's probabilities.
    table: whether the state is the name of one of finitely many.
    vectors: whether actions are vectors.
    time_feature: whether the number of the step is an observation.
  """

  episodes: int
  horizon: int
  overlap: str
  stochastic: bool
  truncated: bool
  recorded: bool
  table: bool
  vectors: bool = False
  time_feature: bool = False


class Value:
  """The value of a policy, found when it is first asked for.

  Attributes:
    policy: a function of arrays, see `process`.
  """

  def __init__(
    self, policy: process.Policy, find: Callable[[], tuple[float, float]]
  ):
    """Remembers how to find it.

    Args:
      policy: the policy.
      find: returns the value and its standard error.
    """
    self.policy = policy
    self._find = find

  @functools.cached_property
  def found(self) -> tuple[float, float]:
    """The value, and its standard error: 0 if it is exact."""
    return self._find()


def tabulated(problem: finite.Finite, table: types.FloatArray) -> Value:
  """Returns the exact value of a policy of a finite problem, [S, A]."""
  return Value(problem.policy(table), lambda: (problem.value(table), 0.0))


def simulated(
  problem: process.Process, policy: process.Policy, *, ranked: bool = False
) -> Value:
  """Returns the value of a policy by simulation.

  Args:
    problem: that is acted in.
    policy: the policy.
    ranked: whether it is one of many, for which fewer episodes will do.
  """

  def find() -> tuple[float, float]:
    found = process.simulate(
      problem,
      policy,
      seed=_TRUTH_SEED,
      episodes=_RANKED_EPISODES if ranked else _TRUTH_EPISODES,
    )
    return found.mean, found.standard_error

  return Value(policy, find)


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False)
class Setting:
  """A problem and the policies of a case.

  Attributes:
    problem: that is acted in.
    behaviour: the policy that writes the log.
    target: the policy that is evaluated.
    others: further policies to rank, by name.
  """

  problem: process.Process
  behaviour: process.Policy
  target: Value
  others: Mapping[str, Value] = dataclasses.field(default_factory=dict)


def simulated_setting(
  problem: process.Process,
  policy: Callable[..., process.Policy],
  *,
  behaviour: tuple[float, ...],
  target: tuple[float, ...],
  ranked: Sequence[float],
) -> Setting:
  """Returns the policies of one kind as a case, their values by simulation.

  Args:
    problem: that is acted in.
    policy: returns the policy of some numbers.
    behaviour: those of the behaviour policy.
    target: those of the target policy.
    ranked: first numbers of further policies, which have the target's others.
  """
  return Setting(
    problem=problem,
    behaviour=policy(*behaviour),
    target=simulated(problem, policy(*target)),
    others={
      f'{each:g}': simulated(problem, policy(each, *target[1:]), ranked=True)
      for each in ranked
    },
  )


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False)
class Made:
  """A log, a target policy and its value.

  Attributes:
    log: whole episodes.
    target: the target policy as a function of arrays, and its value.
    others: further policies to rank, by name.
    overlap: effective sample size of the ratios of single steps, as a share
      of the rows.
  """

  log: episodes_lib.Episodes
  target: Value
  others: Mapping[str, Value]
  overlap: float

  @property
  def truth(self) -> float:
    """The value of the target policy."""
    return self.target.found[0]

  @property
  def truth_error(self) -> float:
    """Its standard error; 0 if it is exact."""
    return self.target.found[1]

  @functools.cached_property
  def policy(self) -> types.Policy | types.ContinuousPolicy:
    """The target policy as `EvaluationTask` takes it."""
    return self.task.policy

  @functools.cached_property
  def task(self) -> 'task_lib.EvaluationTask':
    """The question; it loads TensorFlow."""
    return self.ask(self.target)

  def ask(
    self, value: Value, like: 'task_lib.EvaluationTask | None' = None
  ) -> 'task_lib.EvaluationTask':
    """Returns the question for the value of a policy.

    Args:
      value: of `target` or `others`.
      like: another question of this log, see `EvaluationTask`.
    """
    from dfiv_ope.ope import task as task_lib

    return task_lib.EvaluationTask(
      self.log, task_lib.find_policy(value.policy, self.log).policy, like=like
    )


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False)
class Case:
  """A case of the suite.

  Attributes:
    name: unique; begins with the family.
    family: of problems.
    half: one of PARTS: 'development' for choosing rules, 'held_out' for
      looking once, and the same of the other sets.
    facts: what is known of it.
    setting: returns the problem and the policies.
    package: that it cannot be drawn without; empty if there is none.
  """

  name: str
  family: str
  half: str
  facts: Facts
  setting: Callable[[], Setting]
  package: str = ''

  @functools.cached_property
  def _setting(self) -> Setting:
    return self.setting()

  def make(self, seed: int) -> Made:
    """Draws a log.

    Args:
      seed: of the log.

    Raises:
      ModuleNotFoundError: an optional package is missing.
    """
    made, facts = self._setting, self.facts
    log = process.draw(
      made.problem,
      made.behaviour,
      episodes=facts.episodes,
      seed=(_LOG_SEED, seed, *self.name.encode()),
      recorded=True,
      time_feature=facts.time_feature,
      name=f'{self.name}-{seed}',
    )
    seen = log.transitions.observation
    answer = made.target.policy(seen[:, :-1] if facts.time_feature else seen)
    ratios = (
      process.likelihood(
        made.problem, answer, np.asarray(log.transitions.action)
      )
      / log.behaviour_probabilities
    )
    return Made(
      log=log
      if facts.recorded
      else dataclasses.replace(log, behaviour_probabilities=None),
      target=made.target,
      others=made.others,
      overlap=float(
        np.sum(ratios) ** 2 / (len(ratios) * np.sum(np.square(ratios)))
      ),
    )


def overlap_label(share: float) -> str:
  """Returns what to call the overlap of single steps."""
  return GOOD if share >= _GOOD else MEDIUM if share >= _MEDIUM else POOR
