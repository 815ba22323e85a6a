"""How long `compare` takes for many policies on a large log.

    python docs/results/big_log.py 1000000 big.npz
    python docs/results/hundred_policies.py big.npz --policies 100 --seeds 3

The policies push back a mass on a line: each has its own lean on the speed, its
own dead zone, and its own share of uniform actions. With `--smooth` they are
softmax policies, whose probabilities are different in every state, so that they
share less.
"""

import argparse
import pathlib
import resource
import time

import numpy as np

import dfiv_ope


def policy(number: int, smooth: bool):
  """Returns a policy: states [B, 3] to probabilities [B, 3]."""
  generator = np.random.default_rng(number)
  lean, zone = generator.uniform(0.0, 1.5), generator.uniform(0.05, 0.6)
  share = generator.uniform(0.05, 0.4)

  def probabilities(states: np.ndarray) -> np.ndarray:
    place = states[:, 0] + lean * states[:, 1]
    if smooth:
      scores = np.stack([place, 0.0 * place + zone, -place], axis=1) / share
      scores = np.exp(scores - scores.max(axis=1, keepdims=True))
      return scores / scores.sum(axis=1, keepdims=True)
    chosen = np.where(place > zone, 0, np.where(place < -zone, 2, 1))
    return share / 3.0 + (1.0 - share) * np.eye(3)[chosen]

  return probabilities


def main() -> None:
  """Prints what it took, and the ends of the ranking."""
  parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
  parser.add_argument('log', type=pathlib.Path)
  parser.add_argument('--policies', type=int, default=100)
  parser.add_argument('--seeds', type=int, default=3)
  parser.add_argument('--smooth', action='store_true')
  options = parser.parse_args()
  arrays = np.load(options.log)
  log = dfiv_ope.Log.from_arrays(
    arrays['observation'],
    arrays['action'],
    arrays['reward'],
    arrays['terminated'],
    arrays['truncated'],
    discount=0.95,
  )
  read, started = time.process_time(), time.monotonic()
  found = dfiv_ope.compare(
    log,
    {
      f'policy {number}': policy(number, options.smooth)
      for number in range(options.policies)
    },
    seeds=options.seeds,
    verbose=True,
  )
  ranked = found.to_frame()
  first = found.ranking[:3]
  ends = [found.difference(first[0], each).interval() for each in first[1:]]
  grades = [found[name].trust().grade for name in found.ranking]
  seconds = time.process_time() - read
  peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
  print(
    f'{len(log):,} rows, {options.policies} '
    f'{"softmax " if options.smooth else ""}policies, {options.seeds} seeds: '
    f'{seconds:.0f} CPU s after {read:.0f} of import and reading, '
    f'{time.monotonic() - started:.0f} s wall, {peak:.2f} GB'
  )
  print(ranked[['estimate', 'low', 'high', 'overlap']].head(12))
  for name, (low, high) in zip(first[1:], ends, strict=True):
    print(f'{first[0]} less {name}: [{low:.4g}, {high:.4g}]')
  print({grade: grades.count(grade) for grade in sorted(set(grades))})


if __name__ == '__main__':
  main()
