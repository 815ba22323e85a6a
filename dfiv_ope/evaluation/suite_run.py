"""A method on a case of the suite: how near, how sure, how well it ranks."""

import functools
import math
import time
from typing import Any

import numpy as np
from scipy import stats

from dfiv_ope import agents
from dfiv_ope.agents.entries import base
from dfiv_ope.cases import case as case_lib
from dfiv_ope.cases import suite
from dfiv_ope.evaluation import estimates, runs
from dfiv_ope.results import problems, rows


def run(
  wanted: problems.SuiteCase, method: str, config: base.MethodConfig
) -> dict[str, Any]:
  """Returns what came of a method on a case, by the fields of a row.

  Args:
    wanted: the log of a case.
    method: name of the estimator.
    config: its hyper-parameters.
  """
  made, evaluator = _drawn(wanted.case, wanted.log)
  started = time.process_time()
  found = estimates.estimate(evaluator, method, config, seeds=wanted.seeds)
  seconds = time.process_time() - started
  if not found.sound:
    refused = all(each.refused for each in found.runs)
    return {
      'outcome': rows.REFUSED if refused else rows.DIVERGED,
      'reason': found.runs[0].failure,
      'cpu_seconds': seconds,
    }
  log, interval = made.log, found.interval(wanted.level)
  return {
    'cpu_seconds': seconds,
    'metrics': {
      'estimate': found.value,
      'truth': made.truth,
      'truth_error': made.truth_error,
      'log_return': log.average_return.mean,
      'rows': float(len(log)),
      'step_overlap': made.overlap,
      **(
        {} if interval is None else {'low': interval.low, 'high': interval.high}
      ),
      **{
        name: found.metrics[name]
        for name in ('correction', 'effective_share')
        if name in found.metrics
      },
      **(
        _ranking(made, _others(wanted.case, wanted.log), method, config)
        if wanted.ranked
        else {}
      ),
    },
  }


@functools.lru_cache(maxsize=1)
def _drawn(name: str, log: int) -> tuple[case_lib.Made, runs.Evaluator]:
  """Returns a log and what runs methods on it; the next method asks for it."""
  made = suite.CASES[name].make(log)
  return made, runs.Evaluator(made.task)


@functools.lru_cache(maxsize=1)
def _others(name: str, log: int) -> tuple[runs.Evaluator, ...]:
  """Returns what runs methods on a case's further policies, kept likewise."""
  made, _ = _drawn(name, log)
  return tuple(
    runs.Evaluator(made.ask(other, like=made.task))
    for other in made.others.values()
  )


def _ranking(
  made: case_lib.Made,
  others: tuple[runs.Evaluator, ...],
  method: str,
  config: base.MethodConfig,
) -> dict[str, float]:
  """Returns how well a method ranks the further policies of a case."""
  values = [_value(other, method, config) for other in others]
  return ranked(
    np.array(values),
    np.array([other.found[0] for other in made.others.values()]),
  )


def _value(
  evaluator: runs.Evaluator, method: str, config: base.MethodConfig
) -> float:
  """Returns an estimate without its interval; nan if there is none."""
  if not agents.ENTRIES[method].direct:
    assert isinstance(config, base.Config)
    learner = evaluator.learner(method, config, seed=0)
    learner.run()
    return math.nan if learner.divergence else learner.history['estimate'][-1]
  return evaluator.run(method, config, seed=0).metrics.get('estimate', math.nan)


def ranked(values: np.ndarray, truths: np.ndarray) -> dict[str, float]:
  """Returns rank correlation and regret of estimates of several policies.

  Args:
    values: estimates, [K]; nan where there is none.
    truths: [K].

  Returns:
    Spearman's correlation, and how much worse the policy of the largest
    estimate is than the best one, as a share of the range of the truths.
    Nothing if fewer than three policies have an estimate.
  """
  known = np.isfinite(values)
  if np.sum(known) < 3 or len(np.unique(values[known])) < 2:
    return {}
  chosen = truths[np.nanargmax(values)]
  return {
    'spearman': float(stats.spearmanr(values[known], truths[known]).statistic),
    'regret': float((truths.max() - chosen) / np.ptp(truths)),
  }
