"""Estimates of several policies on one log, with what they share made once."""

from collections.abc import Callable, Iterator, Mapping, Sequence
import math
from typing import cast

from dfiv_ope.agents import bandwidth_choice, configured, lstd
from dfiv_ope.agents.entries import base
from dfiv_ope.evaluation import estimates, many_policies, result_rows, runs
from dfiv_ope.ope import episodes, relevance
from dfiv_ope.ope import task as task_lib
from dfiv_ope.policies import acting, resolve
from dfiv_ope.results import rows as rows_lib

# Unrelated estimators take some seconds for each policy. Of more policies they
# are asked of as many with the greatest estimates.
_MOST_CHECKED = 10
# Called as progress(runs done, note).
Progress = Callable[[float, str], None]


def tasks(
  log: episodes.Episodes, policies: Mapping[str, acting.Policy]
) -> dict[str, task_lib.EvaluationTask]:
  """Returns what is asked of each policy; all take what they share of one.

  Args:
    log: of all.
    policies: by name.
  """
  # Features are shared, so all policies see the same columns.
  dropped = relevance.irrelevant(log, *policies.values())
  made: dict[str, task_lib.EvaluationTask] = {}
  for name, policy in policies.items():
    made[name] = task_lib.EvaluationTask(
      log, policy, like=next(iter(made.values()), None), dropped=dropped
    )
  return made


def estimate(
  asked: Mapping[str, task_lib.EvaluationTask],
  chosen: Mapping[str, base.MethodConfig],
  *,
  seeds: int,
  progress: Progress = lambda done, note: None,
) -> dict[str, dict[str, estimates.Estimate]]:
  """Returns the estimates of each policy by each method, as if run alone.

  Of many policies, unrelated estimators are asked of those in contention alone:
  the ten with the greatest estimates of the first method.

  Args:
    asked: tasks of one log, of `tasks`, by the names of the policies.
    chosen: configs of the methods, by name.
    seeds: number of seeds.
    progress: told how much of the work is done, in runs.
  """
  found = _estimates(asked, list(chosen.items()), seeds, progress)
  return {
    name: dict(zip(chosen, (each[name] for each in found), strict=True))
    for name in asked
  }


def _estimates(
  asked: Mapping[str, task_lib.EvaluationTask],
  wanted: Sequence[tuple[str, base.MethodConfig]],
  seeds: int,
  progress: Progress,
) -> list[dict[str, estimates.Estimate]]:
  """Returns the estimates of each method by the names of the policies."""
  many = len(asked) > _MOST_CHECKED
  evaluators = {
    name: runs.Evaluator(task, checked=not many) for name, task in asked.items()
  }
  # Policies share features, and so their bandwidth.
  bandwidth_choice.settle(list(asked.values()))
  each_method = seeds * len(asked)
  found = [
    _of_method(
      evaluators,
      method,
      config,
      seeds=seeds,
      progress=lambda more, note, method=method, place=place: progress(  # type: ignore[misc]
        place * each_method + more, f'{method} {note}'
      ),
    )
    for place, (method, config) in enumerate(wanted)
  ]
  for name in contenders(found[0]) if many else ():
    progress(len(wanted) * each_method, f'{name} checks')
    checks = evaluators[name].ask()
    for each in found:
      each[name] = each[name].checked(checks)
  return found


def contenders(found: Mapping[str, estimates.Estimate]) -> list[str]:
  """Returns the policies with the greatest estimates, the first one first."""
  known = [name for name, each in found.items() if not math.isnan(each.value)]
  known.sort(key=lambda name: -found[name].value)
  return known[:_MOST_CHECKED]


def _of_method(
  evaluators: Mapping[str, runs.Evaluator],
  method: str,
  config: base.MethodConfig,
  *,
  seeds: int,
  progress: Progress,
) -> dict[str, estimates.Estimate]:
  """Returns the estimates of a method by the names of the policies."""
  first = next(iter(evaluators.values()))
  if len(evaluators) > 1 and many_policies.fits(first.task, config):
    shared = many_policies.run(
      list(evaluators.values()),
      cast(lstd.Config, config),
      seeds=range(seeds),
      keep=_MOST_CHECKED,
      progress=lambda share, note: progress(
        share * seeds * len(evaluators), note
      ),
    )
    return {
      name: estimates.of_task(evaluator.task, method, own)
      for (name, evaluator), own in zip(evaluators.items(), shared, strict=True)
    }
  return {
    name: estimates.estimate(
      evaluator,
      method,
      config,
      seeds=seeds,
      progress=lambda more, note, name=name, start=seeds * place: progress(  # type: ignore[misc]
        start + more, f'{name} {note}'
      ),
    )
    for place, (name, evaluator) in enumerate(evaluators.items())
  }


def rows(
  log: episodes.Episodes,
  targets: Mapping[str, resolve.Target],
  wanted: Sequence[configured.Configured],
  *,
  seeds: int,
  command: Callable[[str, configured.Configured | None, int], str],
  progress: Progress = lambda done, note: None,
) -> Iterator[rows_lib.Row]:
  """Yields the result rows of several policies, as if each was run alone.

  Args:
    log: of all.
    targets: policies by name.
    wanted: methods.
    seeds: number of seeds.
    command: returns the command that makes the row of a policy, a method (None
      for the average of the log) and a seed.
    progress: told how much of the work is done, in runs.
  """
  asked = tasks(log, {name: target.policy for name, target in targets.items()})
  found = _estimates(
    asked, [(each.method, each.config) for each in wanted], seeds, progress
  )
  average = runs.Evaluator(next(iter(asked.values()))).log_average()
  for name, target in targets.items():
    problem = result_rows.user_log(
      asked[name], target=target.digest, policy=name
    )
    asked[name].forget()
    yield result_rows.of_run(
      problem,
      result_rows.LOG,
      result_rows.LOG_CONFIG,
      average,
      command=command(name, None, 0),
    )
    for each, policies in zip(wanted, found, strict=True):
      for run in policies[name].runs:
        yield result_rows.of_run(
          problem,
          each.method,
          each.encoded,
          run,
          preset=each.preset,
          custom=each.custom,
          command=command(name, each, run.seed),
        )
