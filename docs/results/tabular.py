"""Finite problems with exact values: FrozenLake, Taxi and ICU-Sepsis.

    python docs/results/tabular.py --logs 20 FrozenLake Taxi
    pip install --no-deps icu-sepsis==2.0.1
    python docs/results/tabular.py --logs 10 ICU-5000 ICU-500 ICU-centres

Logs are drawn from the tables of the environments. On FrozenLake and Taxi a
policy that is optimal with probability 1/2 and uniform otherwise writes the
log, and the target is optimal with probability 0.9; on ICU-Sepsis the
clinicians' policy writes it, and the target is optimal with probability 0.9 and
uniform over admissible actions otherwise. Each method is asked through
`dfiv_ope.evaluate`; beside it stand the average return of the log and the plain
table: LSTD-Q on indicators, with the target renormalised over the actions that
the log has in a state (0 where it has none of them).
"""

import argparse
import resource
import time
from typing import NamedTuple

import numpy as np

import dfiv_ope
from dfiv_ope.cases import gym_tables, icu, mixtures, process


class Problem(NamedTuple):
  """A finite problem, the tables of both policies, and the log's size."""

  finite: object
  behaviour: np.ndarray
  target: np.ndarray
  episodes: int


def gym_problem(name, options, episodes):
  """Returns a problem of gymnasium; each end is a state of its own."""
  problem = gym_tables.gym_table(name, **options)
  best = problem.optimal()
  return Problem(
    problem,
    mixtures.of_best(problem, 0.5, best),
    mixtures.of_best(problem, 0.9, best),
    episodes,
  )


def icu_problem(episodes, centres=False):
  """Returns ICU-Sepsis; the state is its number, or its cluster centre."""
  made = icu.hospital(centres=centres)
  return Problem(
    made.problem,
    made.clinicians,
    0.9 * made.best + 0.1 * made.uniform,
    episodes,
  )


PROBLEMS = {
  'FrozenLake': lambda: gym_problem(
    'FrozenLake-v1', {'map_name': '8x8'}, 1_000
  ),
  'Taxi': lambda: gym_problem('Taxi-v4', {}, 500),
  'ICU-5000': lambda: icu_problem(5_000),
  'ICU-500': lambda: icu_problem(500),
  'ICU-centres': lambda: icu_problem(5_000, centres=True),
}


def plain_table(problem, log):
  """Returns the value by LSTD-Q on indicators, of seen actions alone."""
  seen = problem.finite.observations
  by_state = {each.tobytes(): place for place, each in enumerate(seen)}
  rows = log.transitions
  state, following = (
    np.array([by_state[each.tobytes()] for each in observations])
    for observations in (rows.observation, rows.next_observation)
  )
  action, reward, discount = rows.action, rows.reward, rows.discount
  counts = np.zeros(problem.behaviour.shape)
  np.add.at(counts, (state, action), 1.0)
  policy = problem.target * (counts > 0.0)
  total = policy.sum(axis=1, keepdims=True)
  policy = policy / np.where(total > 0.0, total, 1.0)
  weight = policy[state, action] / counts[state, action]
  size = len(counts)
  matrix, gains = np.eye(size), np.zeros(size)
  np.add.at(matrix, (state, following), -log.discount * weight * discount)
  np.add.at(gains, state, weight * reward)
  first = np.diff(log.episodes, prepend=-1) != 0
  return np.mean(np.linalg.solve(matrix, gains)[state[first]])


def main():
  """Prints a line for each problem and method."""
  parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
  parser.add_argument('problems', nargs='*', default=list(PROBLEMS))
  parser.add_argument('--logs', type=int, default=10)
  parser.add_argument('--first', type=int, default=0, help='first seed')
  parser.add_argument('--methods', default='lstd')
  options = parser.parse_args()
  print(
    '| problem | truth | rows | method | RMSE % | bias % | plain table '
    'RMSE % | log RMSE % | interval holds | half width % | CPU s | GB |\n'
    + '|---' * 12
    + '|'
  )
  for name in options.problems:
    problem = PROBLEMS[name]()
    finite = problem.finite
    truth = finite.value(problem.target)
    target = finite.policy(problem.target)
    for method in options.methods.split(','):
      errors, held, widths, seconds, size = [], [], [], [], 0
      for seed in range(options.first, options.first + options.logs):
        log = process.draw(
          finite,
          finite.policy(problem.behaviour),
          recorded=False,
          episodes=problem.episodes,
          seed=seed,
        )
        started = time.process_time()
        found = dfiv_ope.evaluate(log, target, methods=method, seeds=1)
        seconds.append(time.process_time() - started)
        low, high = found.interval(0.95)
        errors.append(
          [
            found.value - truth,
            plain_table(problem, log) - truth,
            log.average_return.mean - truth,
          ]
        )
        held.append(low <= truth <= high)
        widths.append((high - low) / 2.0)
        size = len(log)
      error = np.array(errors) / abs(truth) * 100.0
      rmse = np.sqrt(np.mean(np.square(error), axis=0))
      memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
      print(
        f'| {name} | {truth:.4f} | {size:,} | {method} | {rmse[0]:.1f} | '
        f'{error[:, 0].mean():.1f} | {rmse[1]:.1f} | {rmse[2]:.1f} | '
        f'{sum(held)} of {len(held)} | '
        f'{100.0 * np.mean(widths) / abs(truth):.1f} | '
        f'{np.mean(seconds):.1f} | {memory:.2f} |',
        flush=True,
      )


if __name__ == '__main__':
  main()
