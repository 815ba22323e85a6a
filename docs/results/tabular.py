"""Finite problems with exact values: FrozenLake, Taxi and ICU-Sepsis.

    python docs/results/tabular.py --logs 20 FrozenLake Taxi
    pip install icu-sepsis==2.0.1
    python docs/results/tabular.py --logs 10 ICU-5000 ICU-500 ICU-centres

Logs are drawn from the tables of the environments. On FrozenLake and Taxi a
policy that is optimal with probability 1/2 and uniform otherwise writes the
log, and the target is optimal with probability 0.9; on ICU-Sepsis the
clinicians' policy writes it, and the target is optimal with probability 0.9 and
uniform over admissible actions otherwise. Each method is asked through
`dfiv_ope.evaluate`; beside it stand the average return of the log and the plain
table: LSTD-Q on indicators, with the target renormalised over the actions that
the log has in a state (0 where it has none of them).
"""

import argparse
import importlib.resources
import resource
import time
from typing import NamedTuple

import numpy as np

import dfiv_ope


class Problem(NamedTuple):
  """A finite problem: P [S, A, S] of steps, rewards [S, A, S], ends [S]."""
  steps: np.ndarray
  rewards: np.ndarray
  ends: np.ndarray
  first: np.ndarray
  behaviour: np.ndarray
  target: np.ndarray
  discount: float
  episodes: int
  states: np.ndarray
  categorical: bool


def gym_problem(name, options, episodes):
  """Returns a problem of gymnasium; each end is a state of its own."""
  import gymnasium
  environment = gymnasium.make(name, **options).unwrapped
  size, actions = len(environment.P), len(environment.P[0])
  steps, rewards = np.zeros((2, size + 1, actions, size + 1))
  for state, by_action in environment.P.items():
    for action, outcomes in by_action.items():
      for probability, following, reward, ended in outcomes:
        place = size if ended else following
        steps[state, action, place] += probability
        rewards[state, action, place] += probability * reward
  rewards /= np.where(steps > 0., steps, 1.)
  steps[size, :, size] = 1.
  ends = np.arange(size + 1) == size
  best = optimal(steps, rewards, 0.95, np.ones((size + 1, actions), bool))
  uniform = np.full_like(best, 1. / actions)
  return Problem(
      steps, rewards, ends, np.append(environment.initial_state_distrib, 0.),
      0.5 * (best + uniform), 0.9 * best + 0.1 * uniform, 0.95, episodes,
      np.arange(size + 1.)[:, None], True)


def icu_problem(episodes, centres=False):
  """Returns ICU-Sepsis; the state is its number, or its cluster centre."""
  files = importlib.resources.files('icu_sepsis') / 'envs' / 'assets'
  with (files / 'dynamics.npz').open('rb') as file:
    data = dict(np.load(file))
  steps, clinicians = data['tx_mat'], data['expert_policy']
  admissible = np.zeros(clinicians.shape, bool)
  lines = (files / 'admissible_actions.txt').read_text().splitlines()[1:]
  for state, line in enumerate(filter(str.strip, lines)):
    admissible[state, [int(each) for each in line.split()]] = True
  ends = np.array([np.min(steps[s, :, s]) == 1. for s in range(len(steps))])
  best = optimal(steps, data['r_mat'], 0.99, admissible)
  uniform = admissible / admissible.sum(axis=1, keepdims=True)
  return Problem(
      steps, data['r_mat'], ends, data['d_0'], clinicians,
      0.9 * best + 0.1 * uniform, 0.99, episodes,
      data['state_cluster_centers'] if centres
      else np.arange(float(len(steps)))[:, None], not centres)


PROBLEMS = {
    'FrozenLake': lambda: gym_problem(
        'FrozenLake-v1', {'map_name': '8x8'}, 1_000),
    'Taxi': lambda: gym_problem('Taxi-v4', {}, 500),
    'ICU-5000': lambda: icu_problem(5_000),
    'ICU-500': lambda: icu_problem(500),
    'ICU-centres': lambda: icu_problem(5_000, centres=True)}


def optimal(steps, rewards, discount, allowed):
  """Returns the probabilities of the optimal policy, [S, A]."""
  values, gains = np.zeros(len(steps)), np.sum(steps * rewards, axis=2)
  before = values + 1.
  while np.abs(values - before).max() > 1e-10:
    q = np.where(allowed, gains + discount * steps @ values, -np.inf)
    before, values = values, q.max(axis=1)
  return np.eye(q.shape[1])[q.argmax(axis=1)]


def exact(problem, policy):
  """Returns the exact value of a policy [S, A]."""
  going_on = np.einsum('sa,sat->st', policy, problem.steps) * ~problem.ends
  gains = np.sum(policy[..., None] * problem.steps * problem.rewards, (1, 2))
  return problem.first @ np.linalg.solve(
      np.eye(len(gains)) - problem.discount * going_on, gains)


def draw(problem, seed):
  """Returns episode, state, action, reward, next state and end of each row."""
  generator = np.random.default_rng(seed)

  def choose(probabilities):
    edges = np.cumsum(probabilities, axis=1)
    uniforms = generator.random((len(edges), 1)) * edges[:, -1:]
    # The two states before the end have no clinicians' actions.
    return np.minimum(np.sum(edges <= uniforms, axis=1), edges.shape[1] - 1)

  state = choose(np.tile(problem.first, (problem.episodes, 1)))
  episode, parts = np.arange(problem.episodes), []
  for step in range(200):
    action = choose(problem.behaviour[state])
    following = choose(problem.steps[state, action])
    ended = problem.ends[following]
    parts.append(np.stack([
        episode, np.full(len(state), step), state, action,
        problem.rewards[state, action, following], following, ended], axis=1))
    state, episode = following[~ended], episode[~ended]
    if not len(state):
      break
  rows = np.concatenate(parts)
  return rows[np.lexsort((rows[:, 1], rows[:, 0]))].T


def plain_table(problem, rows):
  """Returns the value by LSTD-Q on indicators, of seen actions alone."""
  episode, step, state, action, reward, following, ended = rows
  state, action, following = (
      each.astype(int) for each in (state, action, following))
  counts = np.zeros(problem.behaviour.shape)
  np.add.at(counts, (state, action), 1.)
  policy = problem.target * (counts > 0.)
  total = policy.sum(axis=1, keepdims=True)
  policy = policy / np.where(total > 0., total, 1.)
  weight = policy[state, action] / counts[state, action]
  size = len(counts)
  matrix, gains = np.eye(size), np.zeros(size)
  np.add.at(matrix, (state, following),
            -problem.discount * weight * (1. - ended))
  np.add.at(gains, state, weight * reward)
  return np.mean(np.linalg.solve(matrix, gains)[state[step == 0]])


def main():
  """Prints a line for each problem and method."""
  parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
  parser.add_argument('problems', nargs='*', default=list(PROBLEMS))
  parser.add_argument('--logs', type=int, default=10)
  parser.add_argument('--first', type=int, default=0, help='first seed')
  parser.add_argument('--methods', default='lstd')
  options = parser.parse_args()
  print('| problem | truth | rows | method | RMSE % | bias % | plain table '
        'RMSE % | log RMSE % | interval holds | half width % | CPU s | GB |\n'
        + '|---' * 12 + '|')
  for name in options.problems:
    problem = PROBLEMS[name]()
    truth = exact(problem, problem.target)
    for method in options.methods.split(','):
      errors, held, widths, seconds, size = [], [], [], [], 0
      for seed in range(options.first, options.first + options.logs):
        rows = draw(problem, seed)
        episode, step, state, action, reward, following, ended = rows
        cut = (np.diff(episode, append=-1) != 0) & (ended == 0)
        started = time.process_time()
        log = dfiv_ope.Log.from_arrays(
            problem.states[state.astype(int)], action.astype(int), reward,
            ended.astype(bool), cut, discount=problem.discount,
            next_observations=problem.states[following.astype(int)],
            episode_ids=episode.astype(int),
            num_actions=problem.behaviour.shape[1],
            categorical=[0] if problem.categorical else [])
        by_state = {each.tobytes(): place for place, each
                    in enumerate(problem.states)}

        def target(states, by_state=by_state, problem=problem):
          return problem.target[[by_state[each.tobytes()] for each in states]]

        found = dfiv_ope.evaluate(log, target, methods=method, seeds=1)
        seconds.append(time.process_time() - started)
        low, high = found.interval(0.95)
        errors.append([
            found.value - truth, plain_table(problem, rows) - truth,
            log.average_return.mean - truth])
        held.append(low <= truth <= high)
        widths.append((high - low) / 2.)
        size = len(log)
      error = np.array(errors) / abs(truth) * 100.
      rmse = np.sqrt(np.mean(np.square(error), axis=0))
      memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
      print(f'| {name} | {truth:.4f} | {size:,} | {method} | {rmse[0]:.1f} | '
            f'{error[:, 0].mean():.1f} | {rmse[1]:.1f} | {rmse[2]:.1f} | '
            f'{sum(held)} of {len(held)} | '
            f'{100. * np.mean(widths) / abs(truth):.1f} | '
            f'{np.mean(seconds):.1f} | {memory:.2f} |', flush=True)


if __name__ == '__main__':
  main()
