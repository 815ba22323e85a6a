"""How often verdicts and intervals are right on the suite's logs.

    python docs/results/verdicts.py --half development --first 20 --logs 1
    python docs/results/verdicts.py --summary verdicts.csv

A line for each method on each log: estimate, interval, verdict and whether the
interval holds the truth, which may lie two of its own standard errors outside.
Errors are shares of the larger of |value| and the spread of returns; the
overlap is the tool's own grade of the log, before any method's features.
"""

import argparse
import csv
import pathlib
import time

import numpy as np

from dfiv_ope import agents
from dfiv_ope.cases import case as case_lib
from dfiv_ope.cases import suite
from dfiv_ope.evaluation import estimates, runs, trust, verdict

_FIELDS = (
  'case',
  'log',
  'method',
  'truth',
  'estimate',
  'low',
  'high',
  'holds',
  'error',
  'grade',
  'overlap',
  'steps',
  'cpu_s',
  'reasons',
  'checks',
)
# An answer is good if its error is below this share.
_GOOD = 0.03


def judged(
  made: case_lib.Made, evaluator: runs.Evaluator, method: str, seeds: int
) -> dict[str, object]:
  """Returns a line of the table.

  Args:
    made: the log and its answer.
    evaluator: of its task.
    method: name of the estimator.
    seeds: number of seeds of methods that learn; others have one.
  """
  started, entry = time.process_time(), agents.ENTRIES[method]
  found = estimates.estimate(
    evaluator,
    method,
    entry.configs['default'],
    seeds=1 if entry.direct else seeds,
  )
  seconds = time.process_time() - started
  interval = found.interval(0.95)
  support = verdict.support(evaluator.task.overlap)
  said = trust.judge(
    verdict.Answer(found.metrics, None, found.missing, interval), support
  )
  scale = max(abs(made.truth), float(np.std(made.log.returns)))
  slack = 2.0 * made.truth_error
  return {
    'method': method,
    'truth': f'{made.truth:.5g}',
    'estimate': f'{found.value:.5g}',
    'low': '' if interval is None else f'{interval.low:.5g}',
    'high': '' if interval is None else f'{interval.high:.5g}',
    'holds': ''
    if interval is None
    else int(interval.low - slack <= made.truth <= interval.high + slack),
    'error': f'{abs(found.value - made.truth) / scale:.4f}',
    'grade': said.grade,
    'overlap': support.grade,
    'steps': case_lib.overlap_label(made.overlap),
    'cpu_s': f'{seconds:.1f}',
    'reasons': ' '.join(said.reasons),
    'checks': ' '.join(
      f'{name}={value:.5g}'
      for name, value in found.metrics.items()
      if name.startswith('check_')
      or name
      in (
        'effective_share',
        'beyond_share',
        'far_share',
        'data_error',
        'correction',
        'lagged_z',
        'lagged_value',
        'trait_value',
        'trait_error',
      )
    ),
  }


def summary(rows: list[dict[str, str]]) -> str:
  """Returns the shares that matter, by method and over all."""
  lines = [
    '| method | answers | trust / care / do not | "trust" and misses | '
    'error < 3 % and overlap good: trusted | intervals hold | of those '
    'not "do not" |',
    '|---' * 7 + '|',
  ]
  for method in (*dict.fromkeys(row['method'] for row in rows), 'all'):
    mine = [row for row in rows if row['method'] == method or method == 'all']
    known = [row for row in mine if row['holds'] != '']
    count = [
      sum(row['grade'] == grade for row in mine) for grade in trust.GRADES
    ]
    wrong = sum(
      row['grade'] == trust.TRUST and row['holds'] == '0' for row in known
    )
    easy = [
      row
      for row in known
      if float(row['error']) < _GOOD and row['overlap'] == 'good'
    ]
    kept = [row for row in known if row['grade'] != trust.DO_NOT]
    lines.append(
      f'| {method} | {len(mine)} | {" / ".join(map(str, count))} | '
      f'{wrong} of {count[0]} | '
      f'{sum(row["grade"] == trust.TRUST for row in easy)} of {len(easy)} | '
      f'{sum(row["holds"] == "1" for row in known)} of {len(known)} | '
      f'{sum(row["holds"] == "1" for row in kept)} of {len(kept)} |'
    )
  return '\n'.join(lines)


def main() -> None:
  """Writes a table and prints its summary."""
  parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
  parser.add_argument('--half', default='development')
  parser.add_argument(
    '--cases', default='all', help='begins of names, with commas'
  )
  parser.add_argument('--methods', default='lstd')
  parser.add_argument('--seeds', type=int, default=3)
  parser.add_argument('--first', type=int, default=20, help='first log seed')
  parser.add_argument('--logs', type=int, default=1)
  parser.add_argument('--out', type=pathlib.Path, default='verdicts.csv')
  parser.add_argument('--summary', type=pathlib.Path, nargs='+')
  options = parser.parse_args()
  if options.summary:
    rows = []
    for path in options.summary:
      with path.open() as lines:
        rows += csv.DictReader(lines)
    print(summary(rows))
    return
  names = [
    name for text in options.cases.split(',') for name in suite.select(text)[0]
  ]
  with options.out.open('w') as lines:
    table = csv.DictWriter(lines, _FIELDS)
    table.writeheader()
    for log in range(options.first, options.first + options.logs):
      for name in names:
        if suite.CASES[name].half != options.half:
          continue
        made = suite.CASES[name].make(log)
        evaluator = runs.Evaluator(made.task)
        for method in options.methods.split(','):
          try:
            line = judged(made, evaluator, method, options.seeds)
          except ValueError as error:
            # Some policies are known in the states of the log alone.
            print(f'{name} {log} {method} left out: {str(error)[:80]}')
            continue
          table.writerow({'case': name, 'log': log, **line})
          lines.flush()
  with options.out.open() as lines:
    print(summary(list(csv.DictReader(lines))))


if __name__ == '__main__':
  main()
