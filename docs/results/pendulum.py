"""Pendulum with any torque: errors over several logs of 50,000 steps.

    python docs/results/pendulum.py --logs 5
    python docs/results/pendulum.py --logs 5 --values

With --values there are no intervals and checks, which take most of the time.

The pendulum of Gymnasium, 250 episodes that are cut after 200 steps, discount
0.99. The target pumps energy and holds the pendulum upright, with Gaussian
noise of 0.2 times half the range of torques; the behaviour policy has as much
again, and so has the environment. 10,000 simulated episodes that nothing cuts
tell the true value. Start states differ much in what they are worth, and a log
has 250 of them: beside the error stands the one that is left when the
simulated value of the log's own starts is taken for the truth.
"""

import argparse
import time

import numpy as np

import dfiv_ope
from dfiv_ope import agents
from dfiv_ope.cases import pendulum, process
from dfiv_ope.evaluation import runs
from dfiv_ope.ope import task as task_lib

_TORQUE = 0.4  # 0.2 times half the range
_EPISODES, _COPIES = 250, 10


def of_starts(problem, policy, log, seed):
  """Returns the value of a policy from the starts of a log, by simulation."""
  generator = np.random.default_rng(seed)
  cosine, sine, velocity = np.tile(log.initial_observations, (_COPIES, 1)).T
  state = np.column_stack([np.arctan2(sine, cosine), velocity])
  total = np.zeros(len(state))
  for step in range(690):
    action = process.act(
      problem, policy(problem.observe(state, step)), generator
    )
    after = problem.step(state, action, generator)
    total += problem.discount**step * after.reward
    state = after.state
  return np.mean(total)


def value(log, policy, method):
  """Returns the estimate of a method alone."""
  target = task_lib.find_policy(policy, log)
  learner = runs.Evaluator(task_lib.EvaluationTask(log, target.policy)).learner(
    method, agents.ENTRIES[method].configs['default'], seed=0
  )
  learner.run()
  return learner.evaluate(), ''


def with_interval(log, policy, method):
  """Returns the estimate of a method, and its interval as words."""
  found = dfiv_ope.evaluate(log, policy, methods=method, seeds=1)
  low, high = found.interval(0.95)
  return found.value, f' [{low:.1f}, {high:.1f}]'


def main():
  """Prints a line for each log, and their mean."""
  parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
  parser.add_argument('--logs', type=int, default=5)
  parser.add_argument('--first', type=int, default=0, help='first seed')
  parser.add_argument('--methods', default='lstd')
  parser.add_argument('--values', action='store_true')
  options = parser.parse_args()
  # Noise of a torque, as noise of the velocity.
  setting = pendulum.setting(
    np.hypot(_TORQUE, _TORQUE),
    _TORQUE,
    noise=0.15 * _TORQUE,
    horizon=200,
    vectors=True,
    discount=0.99,
  )
  problem, target = setting.problem, pendulum.noisy(_TORQUE)
  truth = process.simulate(problem, target, episodes=10_000, seed=99)
  print(f'True value {truth.mean:.2f} ± {truth.standard_error:.2f}.\n')
  print(
    '| log | method | estimate | error % | value of its starts | error to '
    'it % | average of the log | CPU s |\n' + '|---' * 8 + '|'
  )
  errors = {}
  for seed in range(options.first, options.first + options.logs):
    log = process.draw(
      problem, setting.behaviour, episodes=_EPISODES, seed=seed, recorded=False
    )
    starts = of_starts(problem, target, log, seed)
    for method in options.methods.split(','):
      started = time.process_time()
      found, ends = (value if options.values else with_interval)(
        log, target, method
      )
      seconds = time.process_time() - started
      each = [100.0 * (found / wanted - 1.0) for wanted in (truth.mean, starts)]
      errors.setdefault(method, []).append(each)
      print(
        f'| {seed} | {method} | {found:.1f}{ends} | {each[0]:+.1f} '
        f'| {starts:.1f} | {each[1]:+.1f} '
        f'| {log.average_return.mean:.1f} | {seconds:.0f} |',
        flush=True,
      )
  for method, each in errors.items():
    mean = np.mean(np.abs(each), axis=0)
    root = np.sqrt(np.mean(np.square(each), axis=0))
    print(
      f'\n{method}: mean absolute error {mean[0]:.1f} %, root mean square '
      f'{root[0]:.1f} %; to the value of the starts {mean[1]:.1f} and '
      f'{root[1]:.1f} %.'
    )


if __name__ == '__main__':
  main()
