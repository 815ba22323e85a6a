"""A log of a noisy mass on a line, of any size, and a policy for it.

    python docs/results/big_log.py 1005000 big.npz
    dfiv-ope dataset import big.npz --discount 0.95 --out data/big
    PYTHONPATH=docs/results dfiv-ope evaluate data/big \
        --policy big_log:policy --method lstd --seeds 1 --out runs/big
"""

import pathlib
import sys

import numpy as np

_STEPS = 200


def best(states: np.ndarray) -> np.ndarray:
  """Returns which of three pushes brings the mass back, [B]."""
  lean = states[:, 0] + 0.5 * states[:, 1]
  return np.where(lean > 0.2, 0, np.where(lean < -0.2, 2, 1))


def policy(observations: np.ndarray) -> np.ndarray:
  """Returns probabilities of the target policy, [B, 3]."""
  return 0.05 + 0.85 * np.eye(3)[best(observations)]


def behaviour(states: np.ndarray, actions: np.ndarray) -> np.ndarray:
  """Returns how likely the behaviour of `draw` took some actions, [B]."""
  return np.where(actions == best(states), 0.5, 0.0) + 0.5 / 3.0


def draw(rows: int, *, seed: int, steps: int = _STEPS) -> dict[str, np.ndarray]:
  """Returns a log whose behaviour pushes at random in half of the steps."""
  count = rows // steps
  generator = np.random.default_rng(seed)
  states = np.zeros((count, steps + 1, 3))
  states[:, 0] = generator.normal(size=(count, 3)) * [1.0, 0.5, 1.0]
  actions = np.zeros((count, steps), int)
  rewards = np.zeros((count, steps))
  for step in range(steps):
    place, speed, noise = states[:, step].T
    actions[:, step] = np.where(
      generator.random(count) < 0.5,
      best(states[:, step]),
      generator.integers(3, size=count),
    )
    push = (actions[:, step] - 1.0) * 0.3
    speed = 0.9 * speed - 0.1 * np.sin(place) + push
    speed = speed + 0.1 * generator.normal(size=count)
    later = 0.95 * noise + 0.3 * generator.normal(size=count) + 0.05 * push
    states[:, step + 1] = np.stack([place + 0.3 * speed, speed, later], axis=1)
    rewards[:, step] = (
      -np.square(place) - 0.1 * np.abs(push) + 0.1 * np.tanh(noise)
    )
  last = np.zeros((count, steps), bool)
  last[:, -1] = True
  return {
    'episode': np.repeat(np.arange(count), steps),
    'observation': states[:, :-1].reshape(-1, 3),
    'action': actions.ravel(),
    'reward': rewards.ravel(),
    'terminated': np.zeros(count * steps, bool),
    'truncated': last.ravel(),
  }


if __name__ == '__main__':
  np.savez(pathlib.Path(sys.argv[2]), **draw(int(sys.argv[1]), seed=0))
