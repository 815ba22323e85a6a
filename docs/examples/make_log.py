"""Writes log.csv, the weekly offers of a simulated shop.

    python make_log.py            # writes log.csv
    python make_log.py --truth    # simulates what offers:generous is worth

Each week a customer gets a coupon, a gift or nothing, orders or does not, and
may leave for good. The shop tried everything in all states, and did not write
down with which probability. Some customers were still there when it ended.
"""

import csv
import pathlib
import sys

import numpy as np
import offers

COLUMNS = ('away', 'visits', 'basket', 'loyalty')
OFFERS = np.array(['coupon', 'gift', 'none'])
CUSTOMERS = 700
DISCOUNT = 0.9


def habit(observations):
  """What the shop did: the probability of each offer, [N, 3]."""
  return np.tile([0.3, 0.3, 0.4], (len(observations), 1))


def arrive(count, generator):
  """Returns observations of new customers, [N, 4]."""
  return np.stack(
    [
      generator.integers(0, 4, count),
      generator.integers(0, 4, count),
      generator.choice([20.0, 40.0], count),
      generator.integers(1, 4, count),
    ],
    axis=1,
  ).astype(float)


def choose(probabilities, generator):
  """Returns an offer for each row of probabilities."""
  drawn = generator.random((len(probabilities), 1))
  return OFFERS[np.sum(drawn > np.cumsum(probabilities, axis=1), axis=1)]


def week(observations, sent, generator):
  """Returns rewards, whether customers left, and their next observations."""
  away, visits, basket, loyalty = observations.T
  coupon, gift = sent == 'coupon', sent == 'gift'
  wish = -1.5 + 0.5 * loyalty + 0.3 * visits + 1.5 * coupon - 0.2 * away
  ordered = generator.random(len(wish)) < 1.0 / (1.0 + np.exp(-wish))
  rewards = ordered * (0.25 * basket - 3.0 * coupon) - 0.5 * gift
  away = np.where(ordered, 0.0, np.minimum(away + 1.0, 3.0))
  luck = generator.random(len(wish))
  loyalty = np.clip(
    loyalty + (luck < 0.1 + 0.5 * gift) - (luck > 0.75), 0.0, 3.0
  )
  left = generator.random(len(wish)) < 0.15 - 0.05 * loyalty + 0.05 * away
  visits = np.minimum(generator.poisson(0.5 + 0.5 * loyalty), 3.0)
  return rewards, left, np.stack([away, visits, basket, loyalty], axis=1)


def write(path, generator):
  """Writes the log; a customer who is still there has a last, empty row."""
  with path.open('w', newline='', encoding='utf-8') as file:
    writer = csv.writer(file, lineterminator='\n')
    writer.writerow(['customer', 'week', *COLUMNS, 'offer', 'margin', 'left'])
    for customer in range(CUSTOMERS):
      observations, left = arrive(1, generator), False
      weeks = generator.integers(20, 40)
      for number in range(weeks):
        sent = choose(habit(observations), generator)
        rewards, (left,), following = week(observations, sent, generator)
        writer.writerow(
          [customer, number, *observations[0], *sent, *rewards, int(left)]
        )
        observations = following
        if left:
          break
      if not left:
        writer.writerow([customer, weeks, *observations[0], '', '', ''])


def value(policy, generator, *, customers=40_000, weeks=200):
  """Returns the mean return of a policy and its standard error."""
  observations = arrive(customers, generator)
  returns, here = np.zeros(customers), np.ones(customers, bool)
  for number in range(weeks):
    sent = choose(policy(observations), generator)
    rewards, left, observations = week(observations, sent, generator)
    returns += here * DISCOUNT**number * rewards
    here &= ~left
  return returns.mean(), returns.std() / np.sqrt(customers)


if __name__ == '__main__':
  if '--truth' in sys.argv:
    mean, error = value(offers.generous, np.random.default_rng(1))
    print(f'offers:generous is worth {mean:.2f}, give or take {error:.2f}.')
  else:
    write(pathlib.Path('log.csv'), np.random.default_rng(0))
