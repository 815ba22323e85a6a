"""A one-step log of 1,000 actions: what LSTD-Q takes and finds.

    python docs/results/many_actions.py --rows 100000 --actions 1000

The reward of action a in state s is w_a's + b_a with noise; the behaviour
policy prefers actions at random, the target those of a larger reward. The true
value is that of the target in the logged states.
"""

import argparse
import resource
import time

import numpy as np

import dfiv_ope


def main():
  """Prints one line."""
  parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
  parser.add_argument('--rows', type=int, default=100_000)
  parser.add_argument('--actions', type=int, default=1_000)
  parser.add_argument('--columns', type=int, default=20)
  parser.add_argument('--seed', type=int, default=0)
  parser.add_argument('--methods', default='lstd')
  options = parser.parse_args()
  generator = np.random.default_rng(options.seed)
  shape = (options.columns, options.actions)
  slopes = generator.normal(size=shape) / np.sqrt(options.columns)
  levels = generator.normal(size=options.actions)
  tastes = generator.normal(size=shape) / np.sqrt(options.columns)
  states = generator.normal(size=(options.rows, options.columns))

  def softmax(scores):
    scores = np.exp(scores - scores.max(axis=1, keepdims=True))
    return scores / scores.sum(axis=1, keepdims=True)

  def target(observations):
    return softmax(observations @ slopes + levels).astype(np.float32)

  actions, values = [], []
  for part in np.array_split(states, max(1, options.rows // 4_096)):
    edges = np.cumsum(softmax(part @ tastes), axis=1)
    actions.append(np.minimum(
        np.sum(edges < generator.random((len(part), 1)), axis=1),
        options.actions - 1))
    values.append(np.sum(target(part) * (part @ slopes + levels), axis=1))
  actions, truth = np.concatenate(actions), np.mean(np.concatenate(values))
  rewards = np.sum(states * slopes.T[actions], axis=1) + levels[
      actions] + generator.normal(size=options.rows)
  before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
  started = time.process_time()
  log = dfiv_ope.Log.bandit(
      states, actions, rewards, num_actions=options.actions)
  found = dfiv_ope.evaluate(
      log, target, methods=options.methods.split(','), seeds=1)
  seconds = time.process_time() - started
  low, high = found.interval(0.95)
  memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
  print(f'truth {truth:.4f}, average of the log {np.mean(rewards):.4f}, '
        f'{options.methods} {found.value:.4f} [{low:.4f}, {high:.4f}], '
        f'{seconds:.1f} CPU s, {memory:.2f} GB ({before:.2f} before)')
  for words in found.warnings:
    print(words)


if __name__ == '__main__':
  main()
