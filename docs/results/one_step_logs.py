"""Verdicts on made-up one-step logs: do those that say "trust" hold?

    OMP_NUM_THREADS=1 python docs/results/one_step_logs.py
    OMP_NUM_THREADS=1 python docs/results/one_step_logs.py --held-out

A line for each log, then the sums: how often intervals hold, verdicts, and
errors as shares of the spread of the mean rewards. Actions are vectors, or
finitely many, each of which stands for a vector. True values are means of
400,000 draws. Rewards of the held-out logs have other shapes than those of
development.
"""

import argparse
import time
from typing import NamedTuple
import warnings

import numpy as np

import dfiv_ope

DEVELOPMENT = ('quadratic', 'waves', 'thresholds', 'sparse')
HELD_OUT = ('saturating', 'ripples', 'kinks', 'bumps', 'chances')
_SIZES = (*3 * (500, 1_000, 2_000), *2 * (4_000,), 10_000, 20_000)
_NUMBERS = (0, 0, 0, 3, 5, 20, 100)
_CANDIDATES, _NOISE, _DRAWS = 16, 0.5, 400_000


class Problem:
  """A one-step problem: rewards, who acted, and the policy that is asked of.

  Attributes:
    name: what it is.
    rows: of its log.
    actions: how many there are; 0 if they are vectors.
  """

  def __init__(self, shape: str, seed: int):
    rng = self._rng = np.random.default_rng(
      [seed, (*DEVELOPMENT, *HELD_OUT).index(shape)]
    )
    self._shape = shape
    self.rows = int(rng.choice(_SIZES))
    self.actions = int(rng.choice(_NUMBERS))
    self.columns = int(rng.integers(1, 7))
    self.size = int(rng.integers(1, 4))
    habits = (
      ('uniform', 'habit') if self.actions else ('uniform', 'near', 'habit')
    )
    self._habit_kind = str(rng.choice(habits))
    self._spread = float(rng.choice([0.0, 0.4]))
    # A clone of densities would take most of the time.
    vectors = not self.actions and self._spread > 0.0
    self.recorded = bool(rng.integers(2)) or vectors
    self.frequency = float(rng.uniform(1.5, 3.0))
    self._slope = rng.normal(size=(self.columns, self.size)) / np.sqrt(
      self.columns
    )
    self._state, self._other = (
      _unit(rng.normal(size=self.columns)) for _ in range(2)
    )
    self._action = _unit(rng.normal(size=self.size))
    self._habit = rng.normal(size=(self.columns, self.size)) / np.sqrt(
      self.columns
    )
    self._points = rng.normal(size=(self.actions or _CANDIDATES, self.size))
    kind = f'{self.actions} actions' if self.actions else f'{self.size} numbers'
    self.name = (
      f'{shape}, {self.columns} columns, {kind}, {self._habit_kind}, '
      f'{"spread" if self._spread else "one action"}'
      f'{", recorded" if self.recorded else ""}, {self.rows:,} rows'
    )

  def mean(self, s: np.ndarray, u: np.ndarray) -> np.ndarray:
    """Returns mean rewards of states [N, D] and actions [N, d], [N]."""
    state, other = s @ self._state, s @ self._other
    act = u @ self._action
    match self._shape:
      case 'quadratic':
        return -np.mean(np.square(u - s @ self._slope), axis=1) + 0.3 * other
      case 'waves':
        return np.sin(self.frequency * (state + act))
      case 'thresholds':
        return 1.0 * (state + act > 0.0) + 0.7 * (u[:, 0] > s[:, 0])
      case 'sparse':
        return np.tanh(2.0 * s[:, 0]) * u[:, 0] - 0.4 * np.square(u[:, 0])
      case 'saturating':
        effect = 1.0 / (1.0 + np.exp(-self.frequency * (act + state)))
        return 2.0 * effect - 0.2 * np.sum(np.square(u), axis=1)
      case 'ripples':
        return np.cos(self.frequency * (u[:, 0] - state)) * np.cos(
          1.5 * other + act
        )
      case 'kinks':
        return -np.abs(act - state) - 0.5 * np.abs(u[:, 0] + other)
      case 'bumps':
        far = np.square(u[:, 0] - s[:, 0]) + np.square(act - other)
        return 2.0 * np.exp(-self.frequency * far)
      case 'chances':
        return 1.0 / (
          1.0 + np.exp(-2.0 * np.sin(self.frequency * (act - state)) - other)
        )
    raise ValueError(self._shape)

  def _of_points(self, s: np.ndarray) -> np.ndarray:
    """Returns mean rewards of the points, [N, P]."""
    return np.stack(
      [
        self.mean(s, np.broadcast_to(point, (len(s), self.size)))
        for point in self._points
      ],
      axis=1,
    )

  def target(self, s: np.ndarray):
    """Returns what the policy does, as `dfiv_ope.evaluate` asks for it."""
    s = np.asarray(s, np.float64)
    likely = _softmax((4.0 if self._spread else 50.0) * self._of_points(s))
    if self.actions:
      return likely
    vectors = self._chase(s)
    return (vectors, self._spread) if self._spread else vectors

  def _chase(self, s: np.ndarray) -> np.ndarray:
    """Returns vectors that go where rewards are large, [N, d]."""
    return _softmax(4.0 * self._of_points(s)) @ self._points

  def _likely(self, s: np.ndarray) -> np.ndarray:
    """Returns the probabilities of who acted, [N, A]."""
    if self._habit_kind == 'uniform':
      return np.full((len(s), self.actions), 1.0 / self.actions)
    return _softmax(s @ self._habit @ self._points.T)

  def log(self) -> dfiv_ope.Log:
    """Returns the log."""
    rng, count = self._rng, self.rows
    s = rng.normal(size=(count, self.columns))
    if self.actions:
      likely = self._likely(s)
      taken = _draw(likely, rng)
      u, density = self._points[taken], likely[np.arange(count), taken]
    elif self._habit_kind == 'uniform':
      u = taken = rng.uniform(-2.0, 2.0, (count, self.size))
      density = np.full(count, 4.0**-self.size)
    else:
      near = self._habit_kind == 'near'
      middle = self._chase(s) if near else s @ self._habit
      width = 0.6 if near else 1.0
      noise = rng.normal(size=(count, self.size))
      u = taken = middle + width * noise
      density = (
        np.exp(-np.sum(np.square(noise), axis=1) / 2.0)
        / (np.sqrt(2.0 * np.pi) * width) ** self.size
      )
    mean = self.mean(s, u)
    reward = (
      (rng.random(count) < mean).astype(float)
      if self._shape == 'chances'
      else mean + _NOISE * rng.normal(size=count)
    )
    known = (
      {'num_actions': self.actions} if self.actions else {'continuous': True}
    )
    if self.recorded:
      known['behaviour_probabilities'] = density
    return dfiv_ope.Log.bandit(s, taken, reward, **known)

  def truth(self) -> tuple[float, float]:
    """Returns the value, and the spread of mean rewards."""
    rng = np.random.default_rng(1)
    s = rng.normal(size=(_DRAWS, self.columns))
    found = []
    for part in np.array_split(s, 20):
      if self.actions:
        found.append(np.sum(self.target(part) * self._of_points(part), axis=1))
      else:
        u = self._chase(part)
        u = u + self._spread * rng.normal(size=u.shape)
        found.append(self.mean(part, u))
    some = s[:20_000]
    if self.actions:
      u = self._points[_draw(self._likely(some), rng)]
    else:
      u = rng.uniform(-2.0, 2.0, (len(some), self.size))
    return float(np.mean(np.concatenate(found))), float(
      np.std(self.mean(some, u))
    )


def _unit(vector: np.ndarray) -> np.ndarray:
  return vector / np.linalg.norm(vector)


def _softmax(scores: np.ndarray) -> np.ndarray:
  powers = np.exp(scores - scores.max(axis=1, keepdims=True))
  return powers / powers.sum(axis=1, keepdims=True)


def _draw(likely: np.ndarray, rng: np.random.Generator) -> np.ndarray:
  edges = np.cumsum(likely, axis=1)
  return np.minimum(
    np.sum(edges < rng.random((len(likely), 1)), axis=1), likely.shape[1] - 1
  )


class Found(NamedTuple):
  """What `evaluate` says of a log."""

  error: float
  half: float
  held: bool
  grade: str
  seconds: float


def main() -> None:
  """Prints a line for each log, and the sums."""
  parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
  parser.add_argument('--held-out', action='store_true')
  parser.add_argument('--logs', type=int, default=10)
  parser.add_argument('--first', type=int, default=0)
  options = parser.parse_args()
  warnings.simplefilter('ignore')
  lines = []
  for shape in HELD_OUT if options.held_out else DEVELOPMENT:
    for seed in range(options.first, options.first + options.logs):
      problem = Problem(shape, seed)
      log, (truth, spread) = problem.log(), problem.truth()
      started = time.process_time()
      found = dfiv_ope.evaluate(log, problem.target, methods='lstd', seeds=1)
      low, high = found.interval()
      judged = found.trust()
      line = Found(
        (found.value - truth) / spread,
        (high - low) / 2.0 / spread,
        bool(low <= truth <= high),
        judged.grade,
        time.process_time() - started,
      )
      lines.append(line)
      print(
        f'{problem.name}: truth {truth:.3f}, {found.value:.3f} [{low:.3f}, '
        f'{high:.3f}], {"holds" if line.held else "misses"}, {judged.grade}, '
        f'{line.seconds:.1f} CPU s',
        flush=True,
      )
  error, half, held, grade, seconds = map(np.array, zip(*lines, strict=True))
  trusted = grade == 'trust'
  print(
    f'{np.sum(held)} of {len(held)} intervals hold; "trust" '
    f'{np.sum(trusted)}, wrong {np.sum(trusted & ~held)}; "with care" '
    f'{np.sum(grade == "with care")}, wrong '
    f'{np.sum((grade == "with care") & ~held)}; median error '
    f'{100 * np.median(np.abs(error)):.1f} %, median half width '
    f'{100 * np.median(half):.1f} %, {np.sum(seconds):.0f} CPU s'
  )


if __name__ == '__main__':
  main()
