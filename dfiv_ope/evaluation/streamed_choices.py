"""What is chosen from a log before any pass of sums, as from a log in memory.

Columns that nobody needs and the bandwidth of features are chosen from a few
thousand rows. Where these can be read by their numbers, they are those that a
log in memory is asked for, and so is the choice; elsewhere the sample is asked.
"""

import dataclasses
import functools
from typing import TYPE_CHECKING, Any

import numpy as np

from dfiv_ope import types
from dfiv_ope.ope import streamed
from dfiv_ope.policies import acting

if TYPE_CHECKING:
  from dfiv_ope.ope import task as task_lib


class _Some:
  """An array of which some rows are known; only these can be asked for."""

  def __init__(self, numbers: np.ndarray, rows: types.Array, count: int):
    self._numbers, self._rows, self._count = numbers, rows, count

  def __len__(self) -> int:
    return self._count

  def __getitem__(self, wanted: np.ndarray) -> types.Array:
    return self._rows[np.searchsorted(self._numbers, wanted)]


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False)
class _Spots:
  """Some rows of a log; what `relevance` asks of a log."""

  transitions: types.Transition
  episodes: Any
  num_episodes: int
  num_observations: int
  num_actions: int
  categorical: tuple[int, ...]
  time_feature: bool
  continuous: None = None

  def __len__(self) -> int:
    return len(self.episodes)


def dropped(
  survey: streamed.Survey, policy: acting.Policy, *, all_columns: bool
) -> tuple[int, ...] | None:
  """Returns the columns that no method sees; None to ask the sample.

  Args:
    survey: of the log.
    policy: the target policy.
    all_columns: whether all are kept.
  """
  if all_columns or survey.at is None:
    return () if all_columns else None
  from dfiv_ope.ope import relevance

  sample, count = survey.sample, survey.transitions
  numbers = relevance.places(count)
  found = survey.at(numbers.tolist())

  def some(rows: types.Array) -> Any:
    return _Some(numbers, np.asarray(rows), count)

  log: Any = _Spots(
    transitions=types.Transition(*map(some, found)),
    episodes=some(
      np.searchsorted(np.cumsum(survey.lengths), numbers, side='right')
    ),
    num_episodes=survey.episodes,
    num_observations=sample.num_observations,
    num_actions=sample.num_actions,
    categorical=sample.categorical,
    time_feature=sample.time_feature,
  )
  return relevance.irrelevant(log, policy)


def settle(survey: streamed.Survey, task: 'task_lib.EvaluationTask') -> None:
  """Chooses the bandwidth of a task whose problem is that of the whole log.

  Args:
    survey: of the log.
    task: its sample, and the policy.
  """
  from dfiv_ope.agents import bandwidth_choice

  problem = task.problem
  if survey.at is not None and bandwidth_choice.has_choice(
    problem, survey.episodes
  ):
    rows = bandwidth_choice.looked_at(survey.lengths)
    # A log of very long episodes would be held as a whole.
    if len(rows) < survey.transitions:
      firsts = bandwidth_choice.starts_looked_at(survey.lengths)
      draw = functools.partial(
        bandwidth_choice.measure,
        problem,
        problem.log_rows(survey.at(rows.tolist())),
        np.searchsorted(np.cumsum(survey.lengths), rows, side='right'),
        survey.at(firsts.tolist()).observation,
      )
      place = bandwidth_choice.decide(
        draw, whole=False, ample=bandwidth_choice.ample(problem)
      )
      task.problem = dataclasses.replace(
        problem, bandwidth_scale=bandwidth_choice.CANDIDATES[place]
      )
  bandwidth_choice.settle([task])
