"""Estimates of several policies on one log, with what they share made once."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import cast

from dfiv_ope.agents import bandwidth_choice, configured, lstd
from dfiv_ope.agents.entries import base
from dfiv_ope.evaluation import estimates, many_policies, result_rows, runs
from dfiv_ope.ope import episodes, relevance
from dfiv_ope.ope import task as task_lib
from dfiv_ope.policies import acting, resolve
from dfiv_ope.results import rows as rows_lib

# Unrelated estimators take some seconds for each policy.
_MOST_CHECKED = 10


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
  progress: Callable[[float, str], None] = lambda done, note: None,
) -> dict[str, dict[str, estimates.Estimate]]:
  """Returns the estimates of each policy by each method, as if run alone.

  Args:
    asked: tasks of one log, of `tasks`, by the names of the policies.
    chosen: configs of the methods, by name.
    seeds: number of seeds.
    progress: told how much of the work is done, in runs.
  """
  evaluators = {
    name: runs.Evaluator(task, checked=len(asked) <= _MOST_CHECKED)
    for name, task in asked.items()
  }
  # Policies share features, and so their bandwidth.
  bandwidth_choice.settle(list(asked.values()))
  found: dict[str, dict[str, estimates.Estimate]] = {name: {} for name in asked}
  first = next(iter(asked.values()))
  done = 0
  for method, config in chosen.items():
    before = done

    def report(
      more: float, note: str, before: int = before, method: str = method
    ) -> None:
      progress(before + more, f'{method} {note}')

    if len(asked) > 1 and many_policies.fits(first, config):
      shared = many_policies.run(
        list(evaluators.values()),
        cast(lstd.Config, config),
        seeds=range(seeds),
        progress=lambda share, note: report(share * seeds * len(asked), note),
      )
      for (name, evaluator), own in zip(
        evaluators.items(), shared, strict=True
      ):
        found[name][method] = estimates.of_runs(evaluator, method, own)
    else:
      for place, (name, evaluator) in enumerate(evaluators.items()):
        found[name][method] = estimates.estimate(
          evaluator,
          method,
          config,
          seeds=seeds,
          progress=lambda more,
          note,
          name=name,  # type: ignore[misc]
          start=seeds * place: report(start + more, f'{name} {note}'),
        )
    done += seeds * len(asked)
  return found


def rows(
  log: episodes.Episodes,
  targets: Mapping[str, resolve.Target],
  wanted: Sequence[configured.Configured],
  *,
  seeds: int,
  command: Callable[[str, configured.Configured | None, int], str],
  progress: Callable[[float, str], None] = lambda done, note: None,
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
  each_method = len(asked) * seeds
  found = [
    estimate(
      asked,
      {each.method: each.config},
      seeds=seeds,
      progress=lambda more, note, place=place: progress(  # type: ignore[misc]
        place * each_method + more, note
      ),
    )
    for place, each in enumerate(wanted)
  ]
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
      for run in policies[name][each.method].runs:
        yield result_rows.of_run(
          problem,
          each.method,
          each.encoded,
          run,
          preset=each.preset,
          custom=each.custom,
          command=command(name, each, run.seed),
        )
