"""Logs of FrozenLake and Taxi, whose states are numbers that are names.

    python tabular.py 5                       # five logs each, all of it
    python tabular.py 5 FrozenLake lstd,kiv   # some of it

A policy that is optimal with probability 1/2 and uniform otherwise writes the
log; the one to evaluate is optimal with probability 0.9. Its exact value comes
from the transition table of the environment.
"""

import sys

import gymnasium
import numpy as np
import tensorflow as tf

from dfiv_ope import agents, types
from dfiv_ope.agents import base, memory
from dfiv_ope.evaluation import inference, influence
from dfiv_ope.ope import bellman

DISCOUNT = 0.95
ENVIRONMENTS = {
    'FrozenLake': ('FrozenLake-v1', {'map_name': '8x8'}, 500),
    'Taxi': ('Taxi-v4', {}, 2_000)}


class Table:
  """A policy that is a table of probabilities, [S, A]."""

  def __init__(self, probabilities):
    self._probabilities = tf.constant(probabilities, tf.float32)

  def action_probabilities(self, observation):
    return tf.gather(
        self._probabilities, tf.cast(observation[:, 0], tf.int32))


def tables(environment):
  """Returns P [S, A, S] of steps that go on, and mean rewards [S, A]."""
  table = environment.unwrapped.P
  size, actions = len(table), len(table[0])
  goes_on, rewards = np.zeros((size, actions, size)), np.zeros((size, actions))
  for state, by_action in table.items():
    for action, outcomes in by_action.items():
      for probability, following, reward, ended in outcomes:
        rewards[state, action] += probability * reward
        goes_on[state, action, following] += probability * (not ended)
  return goes_on, rewards


def optimal(goes_on, rewards):
  """Returns the probabilities of the optimal policy, [S, A]."""
  values = np.zeros(len(rewards))
  for _ in range(2_000):
    q = rewards + DISCOUNT * goes_on @ values
    values = q.max(axis=1)
  return np.eye(rewards.shape[1])[q.argmax(axis=1)]


def value(goes_on, rewards, policy, first):
  """Returns the exact value of a policy [S, A] from first states [S]."""
  steps = np.einsum('sa,sat->st', policy, goes_on)
  gains = np.sum(policy * rewards, axis=1)
  return first @ np.linalg.solve(np.eye(len(gains)) - DISCOUNT * steps, gains)


def log(environment, policy, *, episodes, seed):
  """Returns transitions, their episodes, and first states [E, 1]."""
  generator = np.random.default_rng(seed)
  rows, first = [], []
  for episode in range(episodes):
    state, _ = environment.reset(seed=int(generator.integers(2**31)))
    first.append([state])
    for _ in range(200):
      action = int(generator.choice(policy.shape[1], p=policy[state]))
      following, reward, ended, cut, _ = environment.step(action)
      rows.append((episode, state, action, reward, not ended, following))
      state = following
      if ended or cut:
        break
  episode, state, action, reward, goes_on, following = map(
      np.array, zip(*rows, strict=True))
  return types.Transition(
      observation=tf.constant(state[:, None], tf.float64),
      action=tf.constant(action, tf.int32),
      reward=tf.constant(reward, tf.float64),
      discount=tf.constant(goes_on, tf.float32),
      next_observation=tf.constant(following[:, None], tf.float64),
  ), episode, tf.constant(first, tf.float64)


def estimates(made, policy, methods, *, num_actions, categorical):
  """Yields the interval of each method, as `dfiv-ope evaluate` does."""
  transitions, episodes, first = made
  problem = bellman.pose(
      transitions, policy, discount=DISCOUNT, num_actions=num_actions,
      categorical=[0] if categorical else [])
  rows = problem.rows(transitions)
  for method in methods:
    module = agents.load(method)
    config = agents.ENTRIES[method].configs['default']
    weights = influence.Influence(
        problem, memory.InMemory(rows, batch_size=1, seed=0).parts,
        episodes=episodes, initial_observations=first,
        features=influence.settings(
            config, num_actions, rows=len(rows.outcome)))
    learner = base.OPELearner(
        module.make(config, problem, seed=0), problem, memory.InMemory(
            rows, batch_size=config.batch_size, seed=0),
        initial_observations=first)
    learner.run()
    effect = weights.measure(learner.agent)
    yield method, inference.interval(
        [learner.evaluate()], inference.resample(effect.added)[None],
        [effect.correction], level=0.95,
        degrees=inference.degrees(effect.added))


def main(logs, names, methods, choices):
  """Prints a table of estimates on several logs."""
  print('| log | rows | state is | method | estimate | 95 % interval | truth |')
  print('|---' * 7 + '|')
  for name in names:
    kind, options, episodes = ENVIRONMENTS[name]
    environment = gymnasium.make(kind, **options)
    goes_on, rewards = tables(environment)
    best = optimal(goes_on, rewards)
    uniform = np.full_like(best, 1. / best.shape[1])
    target = 0.9 * best + 0.1 * uniform
    truth = value(goes_on, rewards, target,
                  environment.unwrapped.initial_state_distrib)
    for seed in range(logs):
      made = log(environment, 0.5 * (best + uniform), episodes=episodes,
                 seed=seed)
      for choice in choices:
        for method, found in estimates(
            made, Table(target), methods, num_actions=best.shape[1],
            categorical=choice == 'categorical'):
          print(f'| {name} {seed} | {len(made[1]):,} | {choice} | {method} | '
                f'{found.estimate:.3f} | {found.low:.3f} to {found.high:.3f} | '
                f'{truth:.3f} |', flush=True)


if __name__ == '__main__':
  main(int(sys.argv[1]) if sys.argv[1:] else 5,
       sys.argv[2].split(',') if sys.argv[2:] else list(ENVIRONMENTS),
       sys.argv[3].split(',') if sys.argv[3:] else ['lstd', 'kiv', 'fqe'],
       sys.argv[4].split(',') if sys.argv[4:] else ['a number', 'categorical'])
