"""What unrelated estimators say of the same value.

An interval of episodes and seeds shows chance, not bias: features that are too
smooth, visits where the log is silent, and observations that are not the whole
state move an estimate without making its interval wider. So each task has a few
further values, which differ in what they assume:

- `lstd`: LSTD-Q as it is;
- `narrow`: with half the bandwidth, so that less is smoothed away; `draw`: with
  other random features; of a table, `prior`: with a tenth of the prior;
- `nearest`: rollouts in the log's nearest steps, without features;
- `horizon`: the same where all episodes end at a horizon that states do not
  show, of as many steps;
- `step`: LSTD-Q, corrected for what its errors say of the number of the step
  (`ope.history`);
- `trait`: LSTD-Q, corrected for levels that the rewards of episodes keep
  (`ope.traits`), where these are beyond chance;
- `weighed` or `curve`: of one-step logs, LSTD-Q corrected for what its errors
  say where the policy goes (`one_step_check`), where that is beyond chance;
- `doubly_robust`: where behaviour probabilities are recorded; right whatever
  the state is.

What each may differ by chance is taken off its difference to LSTD-Q first.
Intervals reach to those values (`inference.interval`), and the verdict is made
of them (`evaluation.verdict`).
"""

from collections.abc import Callable
import dataclasses
from typing import NamedTuple

import numpy as np

from dfiv_ope import agents, types
from dfiv_ope.agents import (
  base,
  direct,
  memory,
  nearest,
  outer_sums,
  table_lstd,
)
from dfiv_ope.agents import lstd as lstd_lib
from dfiv_ope.agents.entries import dr as dr_entry
from dfiv_ope.agents.entries import lstd as lstd_entry
from dfiv_ope.agents.entries import random_features
from dfiv_ope.evaluation import (
  inference,
  one_step_check,
  state_check,
  trait_check,
)
from dfiv_ope.iv import ridge
from dfiv_ope.ope import history, nearest_model, rollouts, traits
from dfiv_ope.ope import task as task_lib

# A longer log is cut to its first episodes of about as many rows; regressions
# of one-step logs take less time for each.
_ROWS, _ONE_STEP_ROWS = 50_000, 200_000
# Of the bandwidth, and of a table's prior. A wider one only adds bias: it was
# five times off where LSTD-Q was right.
_BANDWIDTHS = {'narrow': 0.5, 'draw': 1.0}
_PRIOR = 0.1
_ROLLOUTS = 300
# Share of the steps at a horizon that have to be near others, and that have to
# be no nearer to each other.
_ELSEWHERE, _NO_NEARER = 0.9, 0.5


class _Fit(NamedTuple):
  """LSTD-Q on some rows.

  Attributes:
    learner: that is done.
    parts: gives these rows.
  """

  learner: base.OPELearner
  parts: base.Parts

  @property
  def value(self) -> float:
    """The policy's value."""
    return float(np.mean(self.learner.initial_values))

  def errors(self) -> types.FloatArray:
    """Returns the Bellman errors of the rows, on the raw scale."""
    return self.learner.problem.value_scale * np.concatenate(
      [self.learner.agent.errors(part) for part in self.parts()]
    )


def measure(
  task: task_lib.EvaluationTask,
  *,
  weigh: Callable[[], types.FloatArray] | None = None,
  learner: base.OPELearner | None = None,
) -> dict[str, float]:
  """Returns what the checks say, as metrics by name.

  Args:
    task: the log and the target policy.
    weigh: returns what the value of LSTD-Q rises by with the reward of each
      row of the log, [N]; None to leave out what needs it.
    learner: LSTD-Q of the default config and seed 0 on the whole log, which is
      done; None if it has not been run.
  """
  rows = np.arange(looked_at(task))
  config = lstd_entry.Config()
  plain = (
    _fit(task, config, rows, seed=0)
    if learner is None
    else _Fit(learner, memory.Parts(task.rows))
    if len(rows) == len(task.log)
    else _fit_again(task, config, len(rows), learner)
  )
  # Each with a draw of its own.
  known = {
    'lstd': plain.value,
    **{
      name: _fit(task, other, rows, seed=seed).value
      for seed, (name, other) in enumerate(
        _others(task, config).items(), start=1
      )
    },
  }
  log, extra = task.log, {}
  if len(rows) < len(log):
    extra[inference.CHECKED] = len(rows) / len(log)
  episodes = log.episodes[rows]
  found = None if task.problem.one_step else _roll(task)
  if not task.problem.one_step and found is None:
    extra['unrolled'] = 1.0
  if found is not None:
    extra |= {
      'beyond_share': float(np.nanmax(found.beyond)),
      'far_share': float(np.sum(found.far) / np.sum(found.visits)),
      'left_share': found.left,
    }
  visits = _visits(task, found, weigh)
  if visits is not None:
    errors = plain.errors()
    until = None if found is None else _roll_to_horizon(task)
    chosen = (
      None
      if log.continuous is not None
      else np.asarray(task.target_probabilities.taken, np.float64)[rows]
    )
    missing = history.by_step(
      errors,
      episodes,
      visits if until is None else until.visits,
      None if until is None else _ended(task)[rows],
      chosen,
    )
    for name, rolled in (('nearest', found), ('horizon', until)):
      if rolled is not None:
        known[name] = _apart(
          plain.value,
          float(np.mean(rolled.returns)),
          nearest.error(rolled.returns, len(task.initial_observations)),
        )
    if not log.transitions_only:
      known['step'] = _apart(
        plain.value, plain.value + missing.value, missing.standard_error
      )
    if table_lstd.fits(task.problem, config.settings):
      # Elsewhere errors of smooth values go with each other anyway.
      taken = np.asarray(log.transitions.action)[rows]
      reach = float(np.std(errors) * np.sum(visits))
      lagged = history.lagged(errors, episodes, taken, chosen)
      acted = history.acted(errors, episodes, taken, chosen)
      extra |= {
        'lagged_correlation': lagged.correlation,
        'lagged_z': lagged.z,
        'lagged_value': lagged.size * reach,
        'acted_correlation': acted.correlation,
        'acted_value': acted.size * reach,
      }
    elif not log.transitions_only:
      extra |= state_check.measure(task, rows)
      lasting = (
        {}
        if weigh is None
        else trait_check.measure(
          task, weigh(), rows, config.settings_of(task.problem)
        )
      )
      extra |= lasting
      value, error = (
        lasting.get(f'trait_{name}', 0.0) for name in ('value', 'error')
      )
      if abs(value) > traits.CERTAIN * error:
        known['trait'] = _apart(plain.value, plain.value + value, error)
  elif task.problem.one_step:
    if task.problem.observations.cells is None:
      extra |= state_check.measure(task, rows)
    if not table_lstd.fits(task.problem, config.settings):
      errors = one_step_check.errors(plain.learner, plain.parts)
      left_out = one_step_check.measure(task, rows, plain.value, errors)
      if left_out is not None:
        known[left_out.name] = plain.value + left_out.beyond_chance
  robust = _doubly_robust(task)
  if robust is not None:
    known['doubly_robust'] = _apart(
      plain.value, robust.value, float(np.sqrt(np.sum(np.square(robust.added))))
    )
  return {
    **{
      inference.CHECK + name: value
      for name, value in known.items()
      if np.isfinite(value)
    },
    **extra,
  }


def _visits(
  task: task_lib.EvaluationTask,
  found: rollouts.Rollouts | None,
  weigh: Callable[[], types.FloatArray] | None,
) -> types.FloatArray | None:
  """Returns the target policy's discounted visits at each step, [T].

  Where it cannot be rolled out, those by the weights of the log's rows; None if
  these are not known either, or episodes have one step.
  """
  if found is not None:
    return found.visits
  if task.problem.one_step or weigh is None:
    return None
  steps = history.steps(task.log.episodes)
  return np.maximum(np.bincount(steps, weights=weigh()), 0.0)


def _roll(
  task: task_lib.EvaluationTask,
  model: nearest_model.Model | None = None,
  steps: int | None = None,
) -> rollouts.Rollouts | None:
  """Returns rollouts in nearest steps; None if the policy cannot go there.

  Args:
    task: the log and the target policy.
    model: that is rolled out in; None for one of all steps.
    steps: of a rollout at most; None until little is left of the discount.
  """
  log = task.log
  model = model or nearest_model.Model(log, dropped=task.dropped)
  try:
    return model.roll(
      task.policy,
      nearest.starts(task.initial_observations, _ROLLOUTS),
      steps=steps or nearest.steps(log.discount, log.longest),
    )
  except ValueError:
    return None  # The policy is known in the states of the log alone.


def _roll_to_horizon(task: task_lib.EvaluationTask) -> rollouts.Rollouts | None:
  """Returns rollouts that end at the log's horizon; None if it has none.

  Steps that end there are not taken before: elsewhere such states go on. Where
  they are found at the last step alone, the state tells the horizon itself.
  """
  log = task.log
  last = history.at_horizon(log.episodes, _ended(task))
  if log.transitions_only or not np.any(last):
    return None
  model = nearest_model.Model(log, dropped=task.dropped, without=last)
  final = np.flatnonzero(last)
  if model.near_share(final) < _ELSEWHERE or (
    model.nearer_share(final) < _NO_NEARER
  ):
    return None
  return _roll(task, model, log.longest)


def _ended(task: task_lib.EvaluationTask) -> np.ndarray:
  """Returns which steps of the log terminated their episodes, [N]."""
  return np.asarray(task.log.transitions.discount) == 0.0


def _apart(plain: float, other: float, error: float) -> float:
  """Returns another value, nearer to LSTD-Q's by its standard error."""
  gap = other - plain
  return plain + float(np.sign(gap)) * max(0.0, abs(gap) - error)


def looked_at(task: task_lib.EvaluationTask) -> int:
  """Returns how many of the first rows are looked at, whole episodes."""
  episodes = task.log.episodes
  most = _ONE_STEP_ROWS if _kind(task) == random_features.ONE_STEP else _ROWS
  last = episodes[min(most, len(episodes)) - 1]
  return int(np.sum(episodes <= last))


def _kind(task: task_lib.EvaluationTask) -> str:
  """Returns the kind of LSTD-Q's features."""
  settings = lstd_entry.Config().settings_of(task.problem)
  return settings.kind(
    num_actions=task.problem.num_actions,
    tabular=task.problem.observations.cells is not None,
    one_step=task.problem.one_step,
  )


def _others(
  task: task_lib.EvaluationTask, config: lstd_entry.Config
) -> dict[str, lstd_entry.Config]:
  """Returns LSTD-Q's configs with other smoothing."""
  if table_lstd.fits(task.problem, config.settings):
    return {
      'prior': dataclasses.replace(
        config, prior_rows=_PRIOR * config.prior_rows
      )
    }
  if (
    _kind(task) == random_features.ONE_STEP
    and task.problem.num_actions > random_features.FEW_ACTIONS
  ):
    return {}  # A second regression takes as long as the first.
  scale = config.settings_of(task.problem).bandwidth_scale
  return {
    name: dataclasses.replace(config, bandwidth_scale=factor * scale)
    for name, factor in _BANDWIDTHS.items()
  }


def _fit(
  task: task_lib.EvaluationTask,
  config: lstd_entry.Config,
  rows: np.ndarray,
  *,
  seed: int,
) -> _Fit:
  """Returns LSTD-Q, fitted on some rows."""
  problem = task.problem
  agent = lstd_lib.make(config, problem, seed=seed)
  data = memory.InMemory(memory.of_task(task, rows), batch_size=1, seed=0)
  learner = base.OPELearner(
    agent, problem, data, initial_observations=task.initial_observations
  )
  learner.run()
  return _Fit(learner, data.parts)


def _fit_again(
  task: task_lib.EvaluationTask,
  config: lstd_entry.Config,
  rows: int,
  learner: base.OPELearner,
) -> _Fit:
  """Returns `_fit` of the first rows, from sums that LSTD-Q kept of them."""
  whole = learner.agent
  kept = whole.kept if isinstance(whole, lstd_lib.LSTD) else None
  if kept is None:
    return _fit(task, config, np.arange(rows), seed=0)
  agent = lstd_lib.make(config, task.problem, seed=0)
  assert isinstance(agent, lstd_lib.LSTD)
  total = kept.of(lambda label: label.checked)
  # A part in which these rows end was not kept as one of them.
  end = max(mark for mark in memory.marks(len(task.log)) if mark <= rows)
  if end < rows:
    rest = outer_sums.OuterSums(kept.function)
    rest.add(memory.of_task(task, np.arange(end, rows)))
    total = ridge.merge(total, rest.total())
  agent.solve_sums(total)
  data = memory.InMemory(
    memory.of_task(task, np.arange(rows)), batch_size=1, seed=0
  )
  return _Fit(
    base.OPELearner(
      agent, task.problem, data, initial_observations=task.initial_observations
    ),
    data.parts,
  )


def _doubly_robust(task: task_lib.EvaluationTask) -> direct.Direct | None:
  """Returns the doubly robust value; None where weights tell too little."""
  log = task.log
  if (
    log.behaviour_probabilities is None
    or task.problem.one_step
    or (log.transitions_only or log.starts is not None)
  ):
    return None
  try:
    found: direct.Direct = agents.load('dr').estimate(
      dr_entry.Config(), task, seed=0
    )
  except direct.UnanswerableError:
    return None
  effective = found.metrics.get('effective_episodes', 0.0)
  return found if effective >= inference.FEW_EFFECTIVE else None
