"""LSTD-Q on short one-step logs of few actions, by kinds of features.

    OMP_NUM_THREADS=1 python docs/results/few_actions.py --logs 5 --first 40

A line for each shape of the rewards and number of rows: root mean squared
errors as shares of what the target policy gains on the behaviour policy.
"""

import argparse
import warnings

import numpy as np

import dfiv_ope

# Columns of a state, and actions.
SHAPES = {'waves': (2, 3), 'lines': (20, 2), 'squares': (4, 3), 'steps': (5, 4)}
_KINDS = {'one_step': {}, 'per_action': {'features': 'per_action'}}


class Bandit:
  """Rewards of a shape; who acted preferred some actions, and who is asked."""

  def __init__(self, shape: str, generator: np.random.Generator):
    columns, self.actions = SHAPES[shape]
    self._shape, self.columns = shape, columns
    self._slopes = generator.normal(size=(columns, self.actions))
    self._habit = 0.3 * generator.normal(size=(columns, self.actions))

  def rewards(self, states: np.ndarray) -> np.ndarray:
    """Returns the mean reward of each action, [N, A]."""
    scores = states @ self._slopes
    match self._shape:
      case 'waves':
        return np.sin(2.0 * scores)
      case 'lines':
        return scores / 4.0
      case 'squares':
        return -np.square(scores / 2.0 - 1.0)
    return np.tanh(scores)

  def target(self, states: np.ndarray) -> np.ndarray:
    """Returns the probabilities of the policy that is asked for, [N, A]."""
    return _softmax(2.0 * self.rewards(states))

  def log(self, rows: int, generator: np.random.Generator) -> dfiv_ope.Log:
    """Returns a log, without its probabilities."""
    states = generator.normal(size=(rows, self.columns))
    likely = _softmax(states @ self._habit)
    action = np.sum(
      np.cumsum(likely, axis=1) < generator.random((rows, 1)), axis=1
    ).clip(0, self.actions - 1)
    reward = self.rewards(states)[np.arange(rows), action]
    return dfiv_ope.Log.bandit(
      states,
      action,
      reward + 0.5 * generator.normal(size=rows),
      num_actions=self.actions,
    )

  def values(self, generator: np.random.Generator) -> tuple[float, float]:
    """Returns the values of the target and of the behaviour policy."""
    states = generator.normal(size=(200_000, self.columns))
    rewards = self.rewards(states)
    target, habit = self.target(states), _softmax(states @ self._habit)
    return tuple(
      float(np.mean(np.sum(each * rewards, axis=1))) for each in (target, habit)
    )


def _softmax(scores: np.ndarray) -> np.ndarray:
  powers = np.exp(scores - scores.max(axis=1, keepdims=True))
  return powers / powers.sum(axis=1, keepdims=True)


def main() -> None:
  """Prints a table."""
  parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
  parser.add_argument('--logs', type=int, default=5)
  parser.add_argument('--first', type=int, default=0)
  parser.add_argument('--rows', type=int, nargs='+', default=[300, 1000, 2000])
  options = parser.parse_args()
  warnings.simplefilter('ignore')
  print('| rewards | rows |' + ' error in % | hold | "trust", wrong |' * 2)
  print('|---' * 8 + '|')
  for shape in SHAPES:
    for rows in options.rows:
      cells = [shape, f'{rows:,}']
      lines: dict[str, list[tuple[float, bool, bool]]] = {}
      for seed in range(options.first, options.first + options.logs):
        generator = np.random.default_rng([seed, rows])
        bandit = Bandit(shape, generator)
        log = bandit.log(rows, generator)
        truth, plain = bandit.values(generator)
        for kind, config in _KINDS.items():
          found = dfiv_ope.evaluate(
            log,
            bandit.target,
            methods='lstd',
            seeds=1,
            configs={'lstd': config},
          )
          low, high = found.interval()
          lines.setdefault(kind, []).append(
            (
              (found.value - truth) / (truth - plain),
              low <= truth <= high,
              found.trust().grade == 'trust',
            )
          )
      for each in lines.values():
        errors, held, trusted = map(np.array, zip(*each, strict=True))
        cells += [
          f'{100.0 * np.sqrt(np.mean(np.square(errors))):.0f}',
          f'{held.sum()} of {len(held)}',
          f'{trusted.sum()}, {(trusted & ~held).sum()}',
        ]
      print('| ' + ' | '.join(cells) + ' |', flush=True)


if __name__ == '__main__':
  main()
