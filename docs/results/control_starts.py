"""The value of a trained policy from given start states.

    python docs/results/control_starts.py control:humanoid-run \
        --action-noise 0.4 --policy policy --out starts.npz
    dfiv-ope evaluate data --policy policy --initial starts.npz --truth V

Where returns differ much from start to start (humanoid-run: by 60 %), a log of
50 or 100 episodes says little of the mean over all starts, whatever the method,
and so does a simulation of as many. Both are asked for the mean over the same
start states instead: --initial gives them to the estimators, and this simulates
the policy from them. After --near steps most episodes are left; what follows is
the mean over the others.
"""

import argparse
import pathlib

import numpy as np

from dfiv_ope.envs import tasks
from dfiv_ope.policies import acting, rollout, simulation, trained


def main():
  """Writes the start states and prints the value."""
  parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
  parser.add_argument('task')
  parser.add_argument('--action-noise', type=float, default=0.)
  parser.add_argument('--policy', type=pathlib.Path, required=True)
  parser.add_argument('--discount', type=float, default=0.99)
  parser.add_argument('--starts', type=int, default=400)
  parser.add_argument('--near', type=int, default=80)
  parser.add_argument('--whole', type=int, default=10, help='episodes')
  parser.add_argument('--seed', type=int, default=77)
  parser.add_argument('--out', type=pathlib.Path, required=True)
  options = parser.parse_args()
  discount = options.discount
  maker = tasks.Maker(
      task=options.task, action_noise=options.action_noise, limited=False)
  sizes = rollout.sizes(maker)
  policy = trained.load(
      options.policy, num_observations=sizes.num_observations,
      num_actions=sizes.num_actions, actions=sizes.continuous)

  def episodes(count, horizon):
    return list(rollout.episodes(
        maker, acting.actor(
            policy, copies=rollout.DEFAULT_COPIES, actions=sizes.continuous),
        seed=options.seed, num_episodes=count, horizon=horizon))

  def returns(parts, first, last):
    weights = discount ** np.arange(first, last)
    return np.array([weights @ each.rewards[first:last] for each in parts])

  near = episodes(options.starts, options.near)
  last = simulation.horizon(discount)
  far = returns(episodes(options.whole, last), options.near, last)
  soon = returns(near, 0, options.near)
  np.savez(options.out, observations=[each.observations[0] for each in near])
  error = np.hypot(*(np.std(each, ddof=1) / np.sqrt(len(each))
                     for each in (soon, far)))
  print(f'{np.mean(soon) + np.mean(far):.4f} ± {error:.4f} over all starts '
        f'({np.mean(far):.4f} of it after {options.near} steps); returns of '
        f'the first steps differ by {np.std(soon, ddof=1):.4f}.', flush=True)


if __name__ == '__main__':
  main()
