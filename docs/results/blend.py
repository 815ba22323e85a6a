"""The blend beside weighted importance sampling and LSTD-Q on ICU-Sepsis.

    pip install --no-deps icu-sepsis==2.0.1
    python docs/results/blend.py --patients 500 --logs 5
    python docs/results/blend.py --patients 5000 --logs 5
    python docs/results/blend.py --patients 5000 --logs 5 --alone

The clinicians' policy writes the log and its probabilities are recorded. The
targets: optimal with probability 0.9 and uniform over admissible actions
otherwise; half the clinicians' policy, half the optimal one; uniform over
admissible actions. Values are exact. With `--alone` the blend is left out,
whose members take most of the time. A line for each log goes to standard error,
so that a run that is ended has shown what it found.
"""

import argparse
import sys
import time

import numpy as np

from dfiv_ope.agents import blend, blend_members, lstd, wis
from dfiv_ope.cases import icu, process
from dfiv_ope.evaluation import runs
from dfiv_ope.ope import task as task_lib

METHODS = ('wis', 'lstd', 'blend')


def values(task, alone):
  """Returns the methods' estimates by default configs, and the shares."""
  if alone:
    learner = runs.Evaluator(task, checked=False).learner(
      'lstd', lstd.Config(), seed=0
    )
    learner.run()
    weighted = wis.estimate(wis.Config(), task, seed=0).value
    return (weighted, learner.evaluate(), np.nan), {}
  members = blend_members.find(blend.Config(), task, seed=0)
  blended = blend.combine(members)
  # LSTD-Q is a member as it is.
  return (
    (
      wis.estimate(wis.Config(), task, seed=0).value,
      members['lstd'].value,
      blended.value,
    ),
    {name: round(blended.metrics[f'{name}_share'], 2) for name in members},
  )


def main():
  """Prints a line for each target."""
  parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
  parser.add_argument('--patients', type=int, default=500)
  parser.add_argument('--logs', type=int, default=5)
  parser.add_argument('--first', type=int, default=2_000, help='first seed')
  parser.add_argument('--alone', action='store_true', help='no blend')
  options = parser.parse_args()
  made = icu.hospital()
  problem = made.problem
  targets = {
    'optimal': 0.9 * made.best + 0.1 * made.uniform,
    'half clinician': 0.5 * (made.clinicians + made.best),
    'uniform': made.uniform,
  }
  truths = {name: problem.value(table) for name, table in targets.items()}
  errors = {name: [] for name in targets}
  for seed in range(options.first, options.first + options.logs):
    log = process.draw(
      problem,
      problem.policy(made.clinicians),
      recorded=True,
      episodes=options.patients,
      seed=seed,
    )
    for name, table in targets.items():
      started = time.process_time()
      task = task_lib.EvaluationTask(
        log, task_lib.find_policy(problem.policy(table), log).policy
      )
      found, shares = values(task, options.alone)
      errors[name].append(100.0 * (np.array(found) / truths[name] - 1.0))
      print(
        seed,
        name,
        dict(zip(METHODS, np.round(found, 4), strict=True)),
        shares,
        f'{time.process_time() - started:.0f} CPU s',
        file=sys.stderr,
        flush=True,
      )
  print(
    '| patients | target | truth | logs | '
    + ' | '.join(f'{method} RMSE %' for method in METHODS)
    + ' | blend / better of the two |\n'
    + '|---' * 8
    + '|'
  )
  for name, every in errors.items():
    rmse = np.sqrt(np.mean(np.square(every), axis=0))
    print(
      f'| {options.patients:,} | {name} | {truths[name]:.4f} | '
      f'{len(every)} | '
      + ' | '.join(f'{each:.2f}' for each in rmse)
      + f' | {rmse[2] / min(rmse[:2]):.2f} |'
    )


if __name__ == '__main__':
  main()
