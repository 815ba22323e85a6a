"""What bandwidths by one and by three draws of the features are worth.

    python docs/results/bandwidth_draws.py --half development --first 900

A line for each log of a case with numbers as states: which bandwidth one draw
and which three take (`agents.bandwidth_choice`), and the mean error of LSTD-Q
with 0.5 and with both over `--seeds` draws of the features, as a share of the
larger of |value| and the spread of returns; in brackets the standard deviation
of these seeds.
"""

import argparse
import dataclasses
import functools
from unittest import mock

import numpy as np

from dfiv_ope.agents import bandwidth_choice
from dfiv_ope.agents.entries import lstd, random_features
from dfiv_ope.cases import case as case_lib
from dfiv_ope.cases import suite
from dfiv_ope.evaluation import runs

_DRAWS = (1, 3)
# Errors below count as this in geometric means, in %.
_LEAST = 0.1


def choice(made: case_lib.Made, draws: int) -> float:
  """Returns the bandwidth that so many draws take."""
  with mock.patch.object(bandwidth_choice, '_DRAWS', draws):
    return bandwidth_choice.choose(made.task)


def errors(
  made: case_lib.Made, scale: float, seeds: int
) -> tuple[float, float]:
  """Returns the mean error of LSTD-Q over seeds and their spread, in %.

  Args:
    made: the log and its answer.
    scale: the bandwidth.
    seeds: number of draws of the features.
  """
  made.task.problem = dataclasses.replace(
    made.task.problem, bandwidth_scale=scale
  )
  evaluator, found = runs.Evaluator(made.task, checked=False), []
  for seed in range(seeds):
    learner = evaluator.learner('lstd', lstd.Config(), seed=seed)
    learner.run()
    found.append(learner.history['estimate'][-1])
  size = max(abs(made.truth), float(np.std(made.log.returns)))
  off = 100.0 * (np.array(found) - made.truth) / size
  return float(np.mean(np.abs(off))), float(np.std(off, ddof=1))


def summary(taken: np.ndarray, found: np.ndarray) -> str:
  """Returns what all logs have together.

  Args:
    taken: bandwidths by one and by three draws, [N, 2].
    found: errors and spreads with 0.5 and with these, [N, 3, 2].
  """
  off, spread = found[:, :, 0], found[:, :, 1]
  moved = taken[:, 0] != taken[:, 1]
  lines = [
    f'{label}: mean {np.mean(off[:, place]):.2f} %, median '
    f'{np.median(off[:, place]):.2f}, root mean square '
    f'{np.sqrt(np.mean(np.square(off[:, place]))):.2f}, geometric mean '
    f'{np.exp(np.mean(np.log(np.maximum(off[:, place], _LEAST)))):.2f}, '
    f'spread {np.mean(spread[:, place]):.2f}'
    for place, label in enumerate(('0.5', 'one draw', 'three draws'))
  ]
  for label, each in zip(('one draw', 'three draws'), taken.T, strict=True):
    counts = [int(np.sum(each == c)) for c in bandwidth_choice.CANDIDATES]
    lines.append(f'{label}: {counts} of {bandwidth_choice.CANDIDATES}')
  lines.append(
    f'{len(taken)} logs, another bandwidth on {np.sum(moved)}: nearer on '
    f'{np.sum(moved & (off[:, 2] < off[:, 1]))}, mean error '
    f'{np.mean(off[moved], axis=0).round(1)}, spread '
    f'{np.mean(spread[moved], axis=0).round(1)}'
  )
  return '\n'.join(lines)


def main() -> None:
  """Prints a line for each log, and what all have in the mean."""
  parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
  parser.add_argument('--half', default='development', help='with commas')
  parser.add_argument('--without', default='', help='cases, with commas')
  parser.add_argument('--first', type=int, default=900, help='first log seed')
  parser.add_argument('--logs', type=int, default=1)
  parser.add_argument('--seeds', type=int, default=3)
  options = parser.parse_args()
  taken, found = [], []
  for name, case in suite.CASES.items():
    if (
      case.half not in options.half.split(',')
      or case.facts.table
      or name in options.without.split(',')
    ):
      continue
    for log in range(options.first, options.first + options.logs):
      made = case.make(log)
      if not bandwidth_choice.has_choice(
        made.task.problem, made.log.num_episodes
      ):
        continue
      one, three = (choice(made, draws) for draws in _DRAWS)
      off = functools.cache(
        functools.partial(errors, made, seeds=options.seeds)
      )
      line = [
        off(each) for each in (random_features.BANDWIDTH_SCALE, one, three)
      ]
      taken.append((one, three))
      found.append(line)
      print(
        f'| {name} | {log} | {one:g} | {three:g} | '
        + ' | '.join(f'{mean:.1f} (± {spread:.1f})' for mean, spread in line)
        + ' |',
        flush=True,
      )
  print(summary(np.array(taken), np.array(found)))


if __name__ == '__main__':
  main()
