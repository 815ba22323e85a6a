"""How often intervals of weighted episodes hold, by what the weights say.

    python docs/results/weights_coverage.py --first 800 --logs 40

Development cases whose episodes end, with the behaviour policy's probabilities:
each target policy of a case, on whole logs (odd seeds) and on logs of a quarter
of the episodes (even seeds). Intervals are those of the episodes alone, by
Student's t with the degrees of freedom of `inference.degrees`, without any
check. Lines are ranges of effective episodes, columns of mean weights.
"""

import argparse
import collections

import numpy as np
from scipy import special

from dfiv_ope.cases import case as case_lib
from dfiv_ope.cases import process, suite
from dfiv_ope.evaluation import inference
from dfiv_ope.ope import weighing
from dfiv_ope.policies import episode_returns

_CASES = (
  'graph-long-deterministic',
  'graph-long-few',
  'graph-long-sparse',
  'graph-short-sparse',
  'graph_hidden-noisy',
  'graph_hidden-poor',
  'gridworld-plain',
  'gridworld-slips',
  'gridworld-slips-far',
  'toy_mountain_car-left',
  'toy_mountain_car-right',
  'toy_mountain_car-slips',
  'dosing-one-visit',
  'fishery-licence',
  'bidding-tight',
  'icu-clinicians-500',
  'icu-half-500',
)
_LEFT = 0.01
_EFFECTIVE = (0.0, 5.0, 10.0, 15.0, 20.0, 30.0, 50.0, 100.0, np.inf)
_MEANS = {
  'off': (0.0, np.inf),
  '0.8 to 1.25': (0.8, 1.25),
  '0.9 to 1.1': (0.9, 1.1),
}


def weighed(logs, gains, where):
  """Returns what the four forms say, by name."""
  last, returns = logs[where.ends], where.total(gains)
  return {
    'wis': weighing.of_episodes(last, returns, normalised=True),
    'tis': weighing.of_episodes(last, returns, normalised=False),
    'wpdis': weighing.of_steps(logs, gains, where, normalised=True),
    'pdis': weighing.of_steps(logs, gains, where, normalised=False),
  }


def answers(name, made, seed):
  """Yields form, effective episodes, mean weight and whether it holds."""
  facts = suite.CASES[name].facts
  episodes = facts.episodes if seed % 2 else max(30, facts.episodes // 4)
  log = process.draw(
    made.problem,
    made.behaviour,
    episodes=episodes,
    seed=(1_018, seed, *name.encode()),
    time_feature=facts.time_feature,
  )
  rows = log.transitions
  where = weighing.layout(log.episodes)
  ends = np.asarray(rows.discount)
  if np.any(
    episode_returns.remaining_of_all(log.discount, ends, where.starts) >= _LEFT
  ):
    return
  gains = episode_returns.weights_of_all(
    log.discount, ends, where.starts
  ) * np.asarray(rows.reward, np.float64)
  seen = np.asarray(rows.observation)[:, : -1 if facts.time_feature else None]
  for target in (made.target, *made.others.values()):
    with np.errstate(divide='ignore'):
      ratios = np.log(
        process.likelihood(
          made.problem, target.policy(seen), np.asarray(rows.action)
        )
      ) - np.log(log.behaviour_probabilities)
    logs = weighing.cumulative(ratios, where)
    if np.all(np.isneginf(logs[where.ends])):
      continue
    truth, error = target.found
    for form, found in weighed(logs, gains, where).items():
      half = np.sqrt(
        np.sum(np.square(found.added)) * episodes / (episodes - 1)
      ) * special.stdtrit(inference.degrees(found.added), 0.975)
      yield (
        form,
        found.effective_episodes,
        found.mean_weight,
        abs(found.value - truth) <= half + 2.0 * error,
      )


def main():
  """Prints a table for each form."""
  parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
  parser.add_argument('--first', type=int, default=800, help='first log seed')
  parser.add_argument('--logs', type=int, default=40)
  options = parser.parse_args()
  held = collections.defaultdict(list)
  for name in _CASES:
    assert suite.CASES[name].half in (
      case_lib.DEVELOPMENT,
      case_lib.DEVELOPMENT_2,
    )
    made = suite.CASES[name].setting()
    for seed in range(options.first, options.first + options.logs):
      for form, effective, mean, holds in answers(name, made, seed):
        place = int(np.searchsorted(_EFFECTIVE, effective)) - 1
        inside = [
          label
          for label, (low, high) in _MEANS.items()
          if label != 'off' and low <= mean <= high
        ]
        for label in inside or ['off']:
          held[form, place, label].append(holds)
  for form in ('wis', 'tis', 'wpdis', 'pdis'):
    print(f'| {form} | {" | ".join(_MEANS)} |\n|---' + '|---' * 3 + '|')
    for place, low in enumerate(_EFFECTIVE[:-1]):
      cells = [held[form, place, label] for label in _MEANS]
      print(
        f'| {low:g} to {_EFFECTIVE[place + 1]:g} | '
        + ' | '.join(
          f'{100.0 * np.mean(each):.0f} % of {len(each)}' if each else ''
          for each in cells
        )
        + ' |'
      )


if __name__ == '__main__':
  main()
