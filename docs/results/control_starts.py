"""The value of a trained policy from given start states.

    python docs/results/control_starts.py control:humanoid-run \
        --action-noise 0.4 --policy policy --out starts.npz
    dfiv-ope evaluate data --policy policy --initial starts.npz --truth V

    python docs/results/control_starts.py control:humanoid-run \
        --action-noise 0.4 --policy policy --out starts.npz --data data \
        --method lstd --method fqe:updates=4000

The second form prints estimates at once, without intervals and checks, which
take most of the time.

Where returns differ much from start to start (humanoid-run: by 60 %), a log of
50 or 100 episodes says little of the mean over all starts, whatever the method,
and so does a simulation of as many. Both are asked for the mean over the same
start states instead: --initial gives them to the estimators, and this simulates
the policy from them. After --near steps most episodes are left; what follows is
the mean over the others.
"""

import argparse
import pathlib
import time

import numpy as np

import dfiv_ope
from dfiv_ope.agents import configured
from dfiv_ope.envs import tasks
from dfiv_ope.evaluation import runs
from dfiv_ope.ope import task as task_lib
from dfiv_ope.policies import acting, rollout, simulation, trained


def estimate(options, truth):
  """Prints what methods say of the mean over the start states."""
  log = dfiv_ope.Log.open(options.data, initial=options.out)
  task = task_lib.EvaluationTask(
    log, task_lib.find_policy(str(options.policy), log).policy
  )
  for text in options.method:
    method, _, settings = text.partition(':')
    config = configured.configure(
      method, settings=settings.split(',') if settings else ()
    ).config
    started = time.process_time()
    learner = runs.Evaluator(task).learner(method, config, seed=0)
    learner.run()
    found = learner.evaluate()
    print(
      f'{text}: {found:.4f}, {100.0 * (found / truth - 1.0):+.1f} %, '
      f'{time.process_time() - started:.0f} CPU s',
      flush=True,
    )


def main():
  """Writes the start states and prints the value."""
  parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
  parser.add_argument('task')
  parser.add_argument('--action-noise', type=float, default=0.0)
  parser.add_argument('--policy', type=pathlib.Path, required=True)
  parser.add_argument('--discount', type=float, default=0.99)
  parser.add_argument('--starts', type=int, default=400)
  parser.add_argument('--near', type=int, default=80)
  parser.add_argument('--whole', type=int, default=10, help='episodes')
  parser.add_argument('--seed', type=int, default=77)
  parser.add_argument('--out', type=pathlib.Path, required=True)
  parser.add_argument('--data', type=pathlib.Path)
  parser.add_argument('--method', action='append', default=[])
  options = parser.parse_args()
  discount = options.discount
  maker = tasks.Maker(
    task=options.task, action_noise=options.action_noise, limited=False
  )
  sizes = rollout.sizes(maker)
  policy = trained.load(
    options.policy,
    num_observations=sizes.num_observations,
    num_actions=sizes.num_actions,
    actions=sizes.continuous,
  )

  def episodes(count, horizon):
    return list(
      rollout.episodes(
        maker,
        acting.actor(
          policy, copies=rollout.DEFAULT_COPIES, actions=sizes.continuous
        ),
        seed=options.seed,
        num_episodes=count,
        horizon=horizon,
      )
    )

  def returns(parts, first, last):
    weights = discount ** np.arange(first, last)
    return np.array([weights @ each.rewards[first:last] for each in parts])

  near = episodes(options.starts, options.near)
  last = simulation.horizon(discount)
  far = returns(episodes(options.whole, last), options.near, last)
  soon = returns(near, 0, options.near)
  np.savez(options.out, observations=[each.observations[0] for each in near])
  error = np.hypot(
    *(np.std(each, ddof=1) / np.sqrt(len(each)) for each in (soon, far))
  )
  print(
    f'{np.mean(soon) + np.mean(far):.4f} ± {error:.4f} over all starts '
    f'({np.mean(far):.4f} of it after {options.near} steps); returns of '
    f'the first steps differ by {np.std(soon, ddof=1):.4f}.',
    flush=True,
  )
  if options.method:
    estimate(options, np.mean(soon) + np.mean(far))


if __name__ == '__main__':
  main()
