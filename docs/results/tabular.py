"""Logs of FrozenLake and Taxi, whose states are numbers that are names.

    python tabular.py 5            # five logs each: estimates and the truth

A policy that is optimal with probability 1/2 and uniform otherwise writes the
log; the one to evaluate is optimal with probability 0.9. Its exact value comes
from the transition table of the environment.
"""

import csv
import json
import pathlib
import subprocess
import sys
import tempfile

import gymnasium
import numpy as np

DISCOUNT = 0.95
ENVIRONMENTS = {
    'FrozenLake': ('FrozenLake-v1', {'map_name': '8x8'}, 1_000),
    'Taxi': ('Taxi-v4', {}, 1_000)}
POLICY = '''import json, pathlib
import numpy as np
_TABLE = np.array(json.loads(pathlib.Path(__file__).with_name(
    'table.json').read_text()))
def policy(observations):
  return _TABLE[observations[:, 0].astype(int)]
'''


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


def write(path, environment, policy, *, episodes, seed):
  """Writes a log of whole episodes; returns how many rows."""
  generator, rows = np.random.default_rng(seed), 0
  with path.open('w', newline='', encoding='utf-8') as file:
    writer = csv.writer(file)
    writer.writerow(['episode', 'step', 'state', 'action', 'reward',
                     'terminated'])
    for episode in range(episodes):
      state, _ = environment.reset(seed=int(generator.integers(2**31)))
      for step in range(200):
        action = generator.choice(policy.shape[1], p=policy[state])
        following, reward, ended, cut, _ = environment.step(int(action))
        writer.writerow([episode, step, state, action, reward, int(ended)])
        state, rows = following, rows + 1
        if ended or cut:
          break
      writer.writerow([episode, step + 1, state, '', '', ''])
  return rows


def estimates(folder, log, methods, categorical):
  """Imports and evaluates a log; returns estimate, low and high by method."""
  name = 'categorical' if categorical else 'number'
  data, runs = folder / f'data-{name}', folder / f'runs-{name}'
  option = ['--categorical', 'state'] if categorical else []
  run = ['dfiv-ope', 'dataset', 'import', str(log), '--map',
         'observations=state', '--discount', str(DISCOUNT), '--out', str(data)]
  subprocess.run([*run, *option], check=True, stdout=subprocess.DEVNULL,
                 cwd=folder)
  subprocess.run(
      ['dfiv-ope', 'evaluate', str(data), '--policy', 'target:policy',
       '--out', str(runs), '--seeds', '1',
       *(part for each in methods for part in ('--method', each))],
      check=True, stdout=subprocess.DEVNULL, cwd=folder)
  from dfiv_ope import results
  from dfiv_ope.launch import intervals
  found = {}
  for row in results.read(runs):
    interval = intervals.of([row]) if row.method != 'log' else None
    if interval:
      found[row.method] = (interval.estimate, interval.low, interval.high)
  return found


def main(logs, names, methods, choices):
  """Prints a table of estimates on several logs."""
  print('| log | rows | state is | method | estimate | 95 % interval | truth |')
  print('|---' * 7 + '|')
  for name in names:
    made, options, episodes = ENVIRONMENTS[name]
    environment = gymnasium.make(made, **options)
    goes_on, rewards = tables(environment)
    best = optimal(goes_on, rewards)
    uniform = np.full_like(best, 1. / best.shape[1])
    target = 0.9 * best + 0.1 * uniform
    first = environment.unwrapped.initial_state_distrib
    truth = value(goes_on, rewards, target, first)
    for seed in range(logs):
      with tempfile.TemporaryDirectory() as place:
        folder = pathlib.Path(place)
        (folder / 'table.json').write_text(json.dumps(target.tolist()))
        (folder / 'target.py').write_text(POLICY)
        count = write(folder / 'log.csv', environment, 0.5 * (best + uniform),
                      episodes=episodes, seed=seed)
        for choice in choices:
          found = estimates(folder, folder / 'log.csv', methods,
                            choice == 'categorical')
          for method, (estimate, low, high) in found.items():
            print(f'| {name} {seed} | {count:,} | {choice} | {method} | '
                  f'{estimate:.3f} | {low:.3f} to {high:.3f} | {truth:.3f} |',
                  flush=True)


if __name__ == '__main__':
  main(int(sys.argv[1]) if sys.argv[1:] else 5,
       sys.argv[2].split(',') if sys.argv[2:] else list(ENVIRONMENTS),
       sys.argv[3].split(',') if sys.argv[3:] else ['lstd', 'kiv', 'fqe'],
       sys.argv[4].split(',') if sys.argv[4:] else ['number', 'categorical'])
