"""What narrow features say of made-up logs with several columns.

    python docs/results/several_columns.py
    python docs/results/several_columns.py --held-out

A line for each log: columns, episodes, seed, the true value of the target
policy by 4,000 episodes, LSTD-Q's value with the bandwidth that is chosen, and
with each that is given. States move by a rotation that shrinks them and by what
the action adds. Rewards are bounded, in episodes of ten steps; held out they
are quadratic, in episodes of 3 to 19.
"""

import argparse
import warnings

import numpy as np
import pandas as pd

import dfiv_ope

_DISCOUNT, _ACTIONS = 0.9, 3
_BANDWIDTHS = (0.25, 0.5, 1.0, 2.0)
_GRID = {False: ((5, 8), (100, 500), 3), True: ((4, 6, 10), (150, 800), 2)}


def episodes(rng, number, policy, turn, push, taste, *, quadratic):
  """Returns rows of episodes and the mean of their returns."""
  rows, returns = [], []
  for episode in range(number):
    state, total, worth = rng.normal(size=len(turn)), 0.0, 1.0
    for step in range(int(rng.integers(3, 20)) if quadratic else 10):
      action = policy(state, rng)
      if quadratic:
        far = np.sum((state[:3] - push[action][:3]) ** 2) / 4
        reward = float(1 - min(far, 3) + 0.3 * rng.normal())
      else:
        reward = float(np.tanh(taste[action] @ state) + 0.2 * rng.normal())
      rows.append((episode, step, *state, action, reward))
      total += worth * reward
      worth *= _DISCOUNT
      noise = 0.3 * rng.normal(size=len(turn))
      state = 0.8 * (turn @ state) + 0.5 * push[action] + noise
    returns.append(total)
  return rows, np.mean(returns)


def values(columns, number, seed, *, held_out):
  """Returns the true value, and LSTD-Q's by bandwidth; None: the chosen."""
  first = 77_000 + 100 * columns if held_out else 1_000 * columns
  rng = np.random.default_rng(first + number + seed)
  turn = np.linalg.qr(rng.normal(size=(columns, columns)))[0]
  push = rng.normal(size=(_ACTIONS, columns))
  taste = rng.normal(size=(_ACTIONS, columns)) / np.sqrt(columns)

  def target(state, rng):
    del rng
    return int(np.argmax(taste @ state))

  def behaviour(state, rng):
    if rng.random() < 0.4:
      return target(state, rng)
    return int(rng.integers(_ACTIONS))

  law = (turn, push, taste)
  rows, _ = episodes(rng, number, behaviour, *law, quadratic=held_out)
  _, truth = episodes(rng, 4_000, target, *law, quadratic=held_out)
  names = [f'x{place}' for place in range(columns)]
  log = dfiv_ope.Log.from_frame(
    pd.DataFrame(rows, columns=['episode', 'step', *names, 'action', 'reward']),
    discount=_DISCOUNT,
    ends='terminated',
    observations=names,
  )
  return truth, {
    scale: dfiv_ope.evaluate(
      log,
      lambda states: np.argmax(states @ taste.T, axis=1),
      methods='lstd',
      seeds=1,
      configs={'lstd': {'bandwidth_scale': scale}} if scale else None,
    ).value
    for scale in (None, *_BANDWIDTHS)
  }


def main() -> None:
  """Prints a line for each log."""
  parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
  parser.add_argument('--held-out', action='store_true')
  held_out = parser.parse_args().held_out
  warnings.simplefilter('ignore')
  every, sizes, seeds = _GRID[held_out]
  for columns in every:
    for number in sizes:
      for seed in range(seeds):
        truth, found = values(columns, number, seed, held_out=held_out)
        told = ' '.join(
          f'{scale or "chosen"}: {value:.2f}' for scale, value in found.items()
        )
        print(columns, number, seed, f'truth {truth:.2f}', told, flush=True)


if __name__ == '__main__':
  main()
