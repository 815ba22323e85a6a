"""What it costs to let the program choose an estimator, or to blend.

    python docs/results/choices.py --half development --first 40
    python docs/results/choices.py --summary choices.csv

One log of each case of a part: LSTD-Q, rollouts in nearest steps, weighted
importance sampling and WDR, with one seed; `auto` is the one of them that has
the least estimated error (`evaluation.error_selection`), `blend` is the method.
Errors are shares of the larger of |value| and the spread of returns, at least
0.1 %, so that nothing is won where all are right; they are compared with that
of the best of the four, and with that of LSTD-Q.
"""

import argparse
import csv
import pathlib
import sys
import time

import numpy as np

import dfiv_ope
from dfiv_ope import agents, configs
from dfiv_ope.cases import suite
from dfiv_ope.evaluation import error_selection, runs
from dfiv_ope.results import problems
from dfiv_ope.results import rows as rows_lib

_CANDIDATES = ('lstd', 'nearest', 'wis', 'wdr')
_BLEND, _AUTO = 'blend', 'auto'
_FIELDS = ('case', 'log', 'chosen', 'cpu_s', *_CANDIDATES, _BLEND)
# Smaller errors are alike.
_LEAST = 0.001


def _run(
  evaluator: runs.Evaluator, case: str, log: int, method: str
) -> rows_lib.Row:
  """Returns the row of a method."""
  entry = agents.ENTRIES[method]
  config = entry.configs['default']
  found = evaluator.run(method, config, seed=0)
  return rows_lib.Row(
    problem=problems.SuiteCase(
      case=case, log=log, cases=1, seeds=1, level=0.95, ranked=False
    ),
    method=method,
    config=configs.encode(config),
    seed=0,
    version=entry.version,
    versions={'dfiv_ope': dfiv_ope.__version__},
    metrics=found.metrics,
    resamples=tuple(found.resamples),
    outcome=rows_lib.DIVERGED if found.failure else rows_lib.FINISHED,
  )


def measured(case: str, log: int) -> dict[str, object]:
  """Returns a line: errors of all, and which one was chosen.

  Args:
    case: its name.
    log: seed of the log.
  """
  made = suite.CASES[case].make(log)
  started = time.process_time()
  evaluator = runs.Evaluator(made.task, checked=False)
  rows = [
    _run(evaluator, case, log, method) for method in (*_CANDIDATES, _BLEND)
  ]
  scale = max(abs(made.truth), float(np.std(made.log.returns)))
  (chosen,) = [
    row.method
    for row in error_selection.judge(rows[:-1])
    if row.metrics.get('chosen')
  ]
  return {
    'case': case,
    'log': log,
    'chosen': chosen,
    'cpu_s': f'{time.process_time() - started:.1f}',
    **{
      row.method: ''
      if row.failed
      else f'{abs(row.metrics["estimate"] - made.truth) / scale:.5f}'
      for row in rows
    },
  }


def summary(lines: list[dict[str, str]]) -> str:
  """Returns errors of each way to choose, beside the best and LSTD-Q."""
  found: dict[str, list[tuple[float, float, float]]] = {}
  for line in lines:
    errors = {
      method: max(float(line[method]), _LEAST)
      for method in (*_CANDIDATES, _BLEND)
      if line[method]
    }
    errors[_AUTO] = errors[line['chosen']]
    best = min(errors[method] for method in _CANDIDATES if method in errors)
    for method, error in errors.items():
      found.setdefault(method, []).append(
        (error, error / best, error / errors['lstd'])
      )
  head = (
    '',
    'answers',
    'median error',
    'RMSE',
    'over the best: geometric mean',
    'worst',
    'within 1.2 times',
    'over LSTD-Q: geometric mean',
    'worst',
  )
  table = [f'| {" | ".join(head)} |', '|---' * len(head) + '|']
  for method in (*_CANDIDATES, _AUTO, _BLEND):
    error, best, plain = np.transpose(found[method])
    table.append(
      f'| {method} | {len(error)} | {100.0 * np.median(error):.1f} % | '
      f'{100.0 * np.sqrt(np.mean(np.square(error))):.0f} % | '
      f'{np.exp(np.mean(np.log(best))):.2f} | {max(best):.0f} | '
      f'{sum(best <= 1.2)} | '
      f'{np.exp(np.mean(np.log(plain))):.2f} | {max(plain):.1f} |'
    )
  return '\n'.join(table)


def main() -> None:
  """Writes a table and prints its summary."""
  parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
  parser.add_argument('--half', default='development', help='parts, by commas')
  parser.add_argument('--without', default='', help='cases, by commas')
  parser.add_argument('--first', type=int, default=40, help='first log seed')
  parser.add_argument('--logs', type=int, default=1)
  parser.add_argument('--out', type=pathlib.Path, default='choices.csv')
  parser.add_argument('--summary', type=pathlib.Path, nargs='+')
  options = parser.parse_args()
  if options.summary:
    lines = []
    for path in options.summary:
      with path.open() as opened:
        lines += csv.DictReader(opened)
    print(summary(lines))
    return
  left = options.without.split(',')
  names = [
    name
    for half in options.half.split(',')
    for name in suite.select(half)[0]
    if name not in left
  ]
  with options.out.open('w') as opened:
    table = csv.DictWriter(opened, _FIELDS)
    table.writeheader()
    for log in range(options.first, options.first + options.logs):
      for name in names:
        try:
          table.writerow(measured(name, log))
        except ValueError as error:
          print(f'{name} {log} left out: {str(error)[:80]}', file=sys.stderr)
        opened.flush()
  with options.out.open() as opened:
    print(summary(list(csv.DictReader(opened))))


if __name__ == '__main__':
  main()
