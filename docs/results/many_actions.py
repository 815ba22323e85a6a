"""One-step logs of many actions: what LSTD-Q takes and finds.

    python docs/results/many_actions.py --rows 100000 --actions 1000
    python docs/results/many_actions.py --table held_out --logs 3

The reward of action a in state s is w_a's + b_a with noise; the behaviour
policy prefers actions at random, the target those of a larger reward. The true
value is that of the target in the logged states. The tables have other laws of
rewards, behaviour and target policies: 'development' those that the method was
chosen on, 'held_out' other shapes and seeds, 'imperfect' targets that are no
softmax of the true rewards.
"""

import argparse
import resource
import time

import numpy as np

import dfiv_ope

# What differs from 10,000 rows, 300 actions, 10 columns, linear rewards.
DEVELOPMENT = {
  'linear': {},
  '10 rows per action': {'actions': 1_000, 'columns': 20},
  '10 rows per action, target unrelated': {
    'actions': 1_000,
    'columns': 20,
    'target': 'unrelated',
  },
  '10 rows per action, target nearly greedy': {
    'actions': 1_000,
    'columns': 20,
    'target': 'greedy',
  },
  'nearly greedy': {'target': 'greedy'},
  'target close to behaviour': {'target': 'close'},
  'shared nonlinear': {'reward': 'shared'},
  'no state': {'reward': 'level', 'target': 'greedy'},
  'neither state nor action': {'reward': 'none', 'target': 'unrelated'},
  'skewed, many never shown': {'skew': 1.5},
  'skewed, target close': {'skew': 1.5, 'target': 'close'},
  'categories': {'categories': 3},
  '0/1, 4 % are 1': {'reward': 'binary'},
  '30 actions, 5 columns': {'rows': 90_000, 'actions': 30, 'columns': 5},
  '30 actions, nonlinear in each': {
    'rows': 90_000,
    'actions': 30,
    'columns': 5,
    'reward': 'curved',
  },
  '30 actions, nonlinear, nearly greedy': {
    'rows': 90_000,
    'actions': 30,
    'columns': 5,
    'reward': 'curved',
    'target': 'greedy',
  },
}
HELD_OUT = {
  '500 actions, 12 columns': {'rows': 20_000, 'actions': 500, 'columns': 12},
  '150 actions, sharp target': {
    'rows': 6_000,
    'actions': 150,
    'columns': 6,
    'sharpness': 2.0,
  },
  '2,000 actions, 6 rows each': {
    'rows': 12_000,
    'actions': 2_000,
    'columns': 8,
  },
  '2,000 actions, nearly greedy': {
    'rows': 12_000,
    'actions': 2_000,
    'columns': 8,
    'target': 'greedy',
  },
  '60 actions, shared nonlinear': {
    'rows': 12_000,
    'actions': 60,
    'columns': 4,
    'reward': 'shared',
    'target': 'greedy',
  },
  '60 actions, curved': {
    'rows': 30_000,
    'actions': 60,
    'columns': 4,
    'reward': 'curved',
  },
  '400 actions, skewed, categories': {
    'actions': 400,
    'columns': 9,
    'skew': 1.2,
    'categories': 4,
  },
  '100 actions, 0/1': {
    'rows': 20_000,
    'actions': 100,
    'columns': 6,
    'reward': 'binary',
  },
  '12 actions, no state': {
    'rows': 3_000,
    'actions': 12,
    'columns': 15,
    'reward': 'level',
  },
  '800 actions, target close': {
    'rows': 16_000,
    'actions': 800,
    'columns': 15,
    'target': 'close',
  },
}
# Targets whose log probabilities are not linear in the true rewards.
IMPERFECT = {
  'guess': {'target': 'guess'},
  'guess, 10 rows per action': {
    'actions': 1_000,
    'columns': 20,
    'target': 'guess',
  },
  'guess, 100 rows per action': {'rows': 30_000, 'target': 'guess'},
  'warped': {'target': 'warped'},
  'warped, 10 rows per action': {
    'actions': 1_000,
    'columns': 20,
    'target': 'warped',
  },
  'warped, 100 rows per action': {'rows': 30_000, 'target': 'warped'},
}
_DEFAULT = {
  'rows': 10_000,
  'actions': 300,
  'columns': 10,
  'reward': 'linear',
  'target': 'softmax',
  'sharpness': 1.0,
  'skew': 0.0,
  'categories': 0,
}
# Tables and the seed of their first log.
_TABLES = {
  'development': (DEVELOPMENT, 0),
  'held_out': (HELD_OUT, 3_000),
  'imperfect': (IMPERFECT, 4_000),
}


def softmax(scores):
  """Returns probabilities, [B, A]."""
  scores = np.exp(scores - scores.max(axis=1, keepdims=True))
  return scores / scores.sum(axis=1, keepdims=True)


class Problem:
  """A log of one-step episodes and a target policy of known value."""

  def __init__(
    self,
    seed,
    *,
    rows,
    actions,
    columns,
    reward,
    target,
    sharpness,
    skew,
    categories,
  ):
    generator = np.random.default_rng(seed)
    shape = (columns, actions)
    self._slopes = generator.normal(size=shape) / np.sqrt(columns)
    self._levels = generator.normal(size=actions)
    self._tastes = generator.normal(size=shape) / np.sqrt(columns)
    self.states = generator.normal(size=(rows, columns))
    self._reward, self._target, self._sharpness = reward, target, sharpness
    self._common = self._other = self._popularity = None
    if (reward, target, skew, categories) != ('linear', 'softmax', 0.0, 0):
      self._common = generator.normal(size=(columns, 2)) / np.sqrt(columns)
      self._other = generator.normal(size=shape) / np.sqrt(columns)
      self._popularity = -skew * np.log(1.0 + generator.permutation(actions))
      self.states[:, :categories] = (
        generator.integers(3, size=(rows, categories)) - 1.0
      )
    self.categorical = list(range(categories))
    self.actions, values = [], []
    for part in np.array_split(self.states, max(1, rows // 4_096)):
      edges = np.cumsum(softmax(self._behaviour(part)), axis=1)
      self.actions.append(
        np.minimum(
          np.sum(edges < generator.random((len(part), 1)), axis=1), actions - 1
        )
      )
      values.append(np.sum(self.target(part) * self._mean(part), axis=1))
    self.truth = np.mean(np.concatenate(values))
    means = np.concatenate(
      [
        self._mean(part)[np.arange(len(part)), taken]
        for part, taken in zip(
          np.array_split(self.states, len(self.actions)),
          self.actions,
          strict=True,
        )
      ]
    )
    self.actions = np.concatenate(self.actions)
    self.rewards = (
      (generator.random(rows) < means).astype(float)
      if reward == 'binary'
      else means + generator.normal(size=rows)
    )

  def _behaviour(self, states):
    scores = states @ self._tastes
    return scores if self._popularity is None else scores + self._popularity

  def _mean(self, states):
    linear = states @ self._slopes + self._levels
    if self._reward == 'linear':
      return linear
    first, second = (states @ self._common).T[..., None]
    return {
      'shared': lambda: 2.0 * np.sin(2.0 * first) + second**2 + self._levels,
      'level': lambda: np.tile(self._levels, (len(states), 1)),
      'none': lambda: np.tile(first, (1, len(self._levels))),
      'binary': lambda: 1.0 / (1.0 + np.exp(4.0 - linear)),
      'curved': lambda: (
        1.5 * np.sin(1.5 * (states @ self._slopes)) + self._levels + first**2
      ),
    }[self._reward]()

  def target(self, states):
    """Returns the probabilities of the target policy, [B, A]."""
    linear = states @ self._slopes + self._levels
    if self._target == 'softmax':
      return softmax(self._sharpness * linear).astype(np.float32)
    if self._target == 'unrelated':
      return softmax(states @ self._other).astype(np.float32)
    if self._target == 'close':
      return softmax(self._behaviour(states) + 0.3 * linear).astype(np.float32)
    if self._target == 'guess':
      return softmax(0.7 * linear + states @ self._other).astype(np.float32)
    if self._target == 'warped':
      return softmax(3.0 * np.tanh(linear)).astype(np.float32)
    # Greedy for a rough guess of the rewards in nine of ten decisions.
    guess = self._mean(states) + 0.5 * (states @ self._other)
    found = np.full(guess.shape, 0.1 / guess.shape[1], np.float32)
    found[np.arange(len(guess)), np.argmax(guess, axis=1)] += 0.9
    return found


def evaluate(problem, methods):
  """Returns what `dfiv_ope.evaluate` finds, and its CPU seconds."""
  started = time.process_time()
  log = dfiv_ope.Log.bandit(
    problem.states,
    problem.actions,
    problem.rewards,
    num_actions=problem.target(problem.states[:1]).shape[1],
    categorical=problem.categorical,
  )
  found = dfiv_ope.evaluate(log, problem.target, methods=methods, seeds=1)
  return found, time.process_time() - started


def table(variants, logs, first):
  """Prints a line for each variant."""
  print(
    '| log | truth | average of the log | mean error | RMSE '
    '| 95 % interval holds | half width | CPU s |'
  )
  print('|---|---|---|---|---|---|---|---|')
  for name, changes in variants.items():
    lines = []
    for seed in range(first, first + logs):
      problem = Problem(seed, **{**_DEFAULT, **changes})
      found, seconds = evaluate(problem, ['lstd'])
      low, high = found.interval(0.95)
      lines.append(
        (
          problem.truth,
          np.mean(problem.rewards),
          found.value - problem.truth,
          low <= problem.truth <= high,
          (high - low) / 2.0,
          seconds,
        )
      )
    truth, average, error, held, half, seconds = np.mean(lines, axis=0)
    print(
      f'| {name} | {truth:.3f} | {average:.3f} | {error:+.3f} '
      f'| {np.sqrt(np.mean(np.square([each[2] for each in lines]))):.3f} '
      f'| {round(held * logs)} of {logs} | {half:.3f} | {seconds:.1f} |',
      flush=True,
    )


def main():
  """Prints one line, or a table."""
  parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
  parser.add_argument('--rows', type=int, default=100_000)
  parser.add_argument('--actions', type=int, default=1_000)
  parser.add_argument('--columns', type=int, default=20)
  parser.add_argument('--seed', type=int, default=0)
  parser.add_argument('--methods', default='lstd')
  parser.add_argument('--table', choices=[*_TABLES])
  parser.add_argument('--logs', type=int, default=3)
  parser.add_argument('--first', type=int, help='seed of the first log')
  options = parser.parse_args()
  if options.table:
    variants, first = _TABLES[options.table]
    table(
      variants, options.logs, first if options.first is None else options.first
    )
    return
  problem = Problem(
    options.seed,
    **{
      **_DEFAULT,
      'rows': options.rows,
      'actions': options.actions,
      'columns': options.columns,
    },
  )
  before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
  found, seconds = evaluate(problem, options.methods.split(','))
  low, high = found.interval(0.95)
  memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
  print(
    f'truth {problem.truth:.4f}, average of the log '
    f'{np.mean(problem.rewards):.4f}, {options.methods} '
    f'{found.value:.4f} [{low:.4f}, {high:.4f}], '
    f'{seconds:.1f} CPU s, {memory:.2f} GB ({before:.2f} before)'
  )
  for words in found.warnings:
    print(words)


if __name__ == '__main__':
  main()
