"""How well LSTD-Q ranks 20 policies on one log of ICU-Sepsis.

    pip install --no-deps icu-sepsis==2.0.1
    python docs/results/ranking.py --patients 500 --logs 3

The clinicians' policy writes the log. The policies: optimal with probability
0, 0.1, ..., 1 and the clinicians' otherwise (11); optimal with probability 0,
0.2, ..., 0.8 and uniform over admissible actions otherwise (5); uniform with
probability 0.2, ..., 0.8 and the clinicians' otherwise (4). Values are exact.
Regret@1 is what the policy of the greatest estimate falls short of the best
one, as a share of the range of values.
"""

import argparse
import time

import numpy as np

from dfiv_ope.agents import lstd
from dfiv_ope.cases import icu, process
from dfiv_ope.evaluation import policy_ranking, runs
from dfiv_ope.ope import task as task_lib


def main():
  """Prints a line for each log."""
  parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
  parser.add_argument('--patients', type=int, default=500)
  parser.add_argument('--logs', type=int, default=3)
  parser.add_argument('--first', type=int, default=6_000, help='first seed')
  options = parser.parse_args()
  made = icu.hospital()
  problem = made.problem
  mixed = [
    (made.best, made.clinicians, share) for share in np.linspace(0.0, 1.0, 11)
  ]
  mixed += [
    (made.best, made.uniform, share) for share in (0.0, 0.2, 0.4, 0.6, 0.8)
  ]
  mixed += [
    (made.uniform, made.clinicians, share) for share in (0.2, 0.4, 0.6, 0.8)
  ]
  tables = [share * one + (1.0 - share) * other for one, other, share in mixed]
  truths = [problem.value(table) for table in tables]
  print(
    '| patients | log | rank correlation | regret@1 in % of the range | '
    'CPU s |\n' + '|---' * 5 + '|',
    flush=True,
  )
  for seed in range(options.first, options.first + options.logs):
    log = process.draw(
      problem,
      problem.policy(made.clinicians),
      recorded=True,
      episodes=options.patients,
      seed=seed,
    )
    started, found, like = time.process_time(), [], None
    for table in tables:
      like = task_lib.EvaluationTask(
        log, task_lib.find_policy(problem.policy(table), log).policy, like=like
      )
      learner = runs.Evaluator(like, checked=False).learner(
        'lstd', lstd.Config(), seed=0
      )
      learner.run()
      found.append(learner.evaluate())
    share = policy_ranking.regret(found, truths, 1) / np.ptp(truths)
    print(
      f'| {options.patients:,} | {seed} | '
      f'{policy_ranking.rank_correlation(found, truths):.3f} | '
      f'{100.0 * share:.2f} | {time.process_time() - started:.0f} |',
      flush=True,
    )


if __name__ == '__main__':
  main()
