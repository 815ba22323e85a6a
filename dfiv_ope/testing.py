"""Small problems with known answers, for tests here and elsewhere."""

import json
import pathlib
from typing import Any

import dm_env
from dm_env import specs
import numpy as np
import tensorflow as tf

from dfiv_ope import types


class Corridor(dm_env.Environment):
  """A walk of fixed length that pays the action taken.

  The observation is (step, length); the reward of a step is its action; the
  length is drawn from the seed unless given.
  """

  def __init__(
    self,
    *,
    seed: int = 0,
    length: int | None = None,
    max_length: int = 9,
    terminates: bool = True,
    num_actions: int = 3,
  ):
    self._length = length or int(
      np.random.default_rng(seed).integers(1, max_length + 1)
    )
    self._terminates = terminates
    self._num_actions = num_actions
    self._step = 0

  def reset(self) -> dm_env.TimeStep:
    self._step = 0
    return dm_env.restart(self._observation())

  def step(self, action: int) -> dm_env.TimeStep:
    self._step += 1
    reward = np.float32(action)
    if self._step < self._length:
      return dm_env.transition(
        reward, self._observation(), discount=np.float32(1.0)
      )
    if self._terminates:
      return dm_env.TimeStep(
        dm_env.StepType.LAST, reward, np.float32(0.0), self._observation()
      )
    return dm_env.truncation(
      reward, self._observation(), discount=np.float32(1.0)
    )

  def observation_spec(self) -> specs.Array:
    return specs.Array((2,), np.float32, 'observation')

  def action_spec(self) -> specs.DiscreteArray:
    return specs.DiscreteArray(self._num_actions, np.int32, 'action')

  def _observation(self) -> np.ndarray:
    return np.array([self._step, self._length], np.float32)


def linear_problem(
  rows: int, *, covariates: bool, seed: int = 0
) -> list[types.IVBatch]:
  """Returns two halves of a confounded linear problem.

  The effect of the treatment is 1; least squares finds about 1/4.
  """
  generator = np.random.default_rng(seed)
  instrument, hidden, noise, covariate = generator.standard_normal((4, rows, 1))
  treatment = instrument + hidden + covariates * covariate
  outcome = (
    treatment - 1.5 * hidden + 0.1 * noise + covariates * 0.5 * covariate
  )
  if covariates:
    instrument = np.concatenate([instrument, covariate], axis=1)
  whole = types.IVBatch(
    treatment, instrument, outcome, covariate if covariates else None
  )
  return [
    types.IVBatch(
      *(
        None if member is None else member[half].astype(np.float32)
        for member in whole
      )
    )
    for half in (slice(rows // 2), slice(rows // 2, None))
  ]


def slope(model: Any, covariates: bool) -> float:
  """Returns the effect that a fitted method finds in `linear_problem`."""
  points = np.array([[-1.0], [1.0]], np.float32)
  covariate = np.zeros((2, 1), np.float32) if covariates else None
  low, high = model.predict(points, covariate).numpy().ravel()
  return float(high - low) / 2.0


def least_squares_slope(rows: types.IVBatch) -> float:
  """Returns what least squares takes for the effect in `linear_problem`."""
  columns = [
    rows.treatment,
    *(() if rows.covariate is None else (rows.covariate,)),
  ]
  weights, *_ = np.linalg.lstsq(
    np.concatenate(columns, axis=1), rows.outcome, rcond=None
  )
  return float(weights[0, 0])


def comparable_rows(out: pathlib.Path) -> list[dict[str, Any]]:
  """Returns the rows of a run directory without their time and place."""
  rows = [
    json.loads(line) for line in (out / 'rows.jsonl').read_text().splitlines()
  ]
  for row in rows:
    del row['cpu_seconds'], row['command']
  return sorted(rows, key=json.dumps)


class TabularMDP:
  """A random decision process whose Q-function is known exactly.

  States are observed as one-hot vectors. Where an action leads is uncertain,
  rewards are noisy, and every step may end the episode.
  """

  def __init__(
    self, *, num_states: int = 5, num_actions: int = 2, seed: int = 0
  ):
    """Draws transition probabilities, mean rewards and chances to end."""
    generator = np.random.default_rng(seed)
    shape = (num_states, num_actions)
    self.num_states, self.num_actions = shape
    # Few likely successors a state, so that states differ in value.
    self.probabilities = generator.dirichlet(
      np.full(num_states, 0.5), size=shape
    )  # [S, A, S]
    self.rewards = generator.normal(size=shape)  # [S, A]
    self.ends = generator.uniform(0.0, 0.2, size=shape)  # [S, A]

  def q_values(
    self, policy: types.FloatArray, discount: float
  ) -> types.FloatArray:
    """Returns Q of a policy [S, A], by solving the Bellman equation: [S, A]."""
    size = self.num_states * self.num_actions
    later = np.einsum('sat,tb->satb', self.probabilities, policy)
    later *= discount * (1.0 - self.ends)[..., None, None]
    return np.linalg.solve(
      np.eye(size) - later.reshape(size, size), self.rewards.ravel()
    ).reshape(self.num_states, self.num_actions)

  def transitions(
    self, count: int, *, noise: float = 0.1, seed: int = 0
  ) -> types.Transition:
    """Returns transitions from all states and actions alike.

    Args:
      count: how many.
      noise: standard deviation of rewards.
      seed: seeds the draws.
    """
    generator = np.random.default_rng(seed)
    state = generator.integers(self.num_states, size=count)
    action = generator.integers(self.num_actions, size=count)
    reach = np.cumsum(self.probabilities[state, action], axis=1)
    following = np.minimum(
      np.sum(generator.random((count, 1)) > reach, axis=1), self.num_states - 1
    )
    ended = generator.random(count) < self.ends[state, action]
    reward = self.rewards[state, action] + noise * generator.normal(size=count)
    one_hot = np.eye(self.num_states, dtype=np.float32)
    return types.Transition(
      *map(
        tf.constant,
        (
          one_hot[state],
          action.astype(np.int32),
          reward.astype(np.float32),
          (~ended).astype(np.float32),
          one_hot[following],
        ),
      )
    )


class Mixed(tf.Module):
  """A policy that takes each action with a fixed probability, anywhere."""

  def __init__(self, probabilities: types.FloatArray):
    """Initialises the policy with probabilities [A]."""
    super().__init__('mixed')
    self._probabilities = tf.constant(probabilities, tf.float32)

  def action_probabilities(self, observation: tf.Tensor) -> tf.Tensor:
    """Returns the probabilities for each of observations [B, D], [B, A]."""
    return tf.tile(self._probabilities[None], [tf.shape(observation)[0], 1])


def regression_rows(
  seed: int, rows: int = 30, columns: int = 4, targets: int = 2
) -> tuple[np.ndarray, np.ndarray]:
  """Returns features [rows, columns] and targets that are linear in them."""
  generator = np.random.default_rng(seed)
  features = generator.normal(1.0, 2.0, (rows, columns))
  weights = generator.normal(size=(columns, targets))
  noise = generator.normal(size=(rows, targets))
  return features, features @ weights + 3.0 + noise


def two_stage_rows(seed: int, rows: int = 40) -> types.IVBatch:
  """Returns rows of a linear regression with three instruments."""
  generator = np.random.default_rng(seed)
  instrument = generator.normal(size=(rows, 3))
  noise = generator.normal(size=(rows, 1))
  treatment = instrument @ generator.normal(size=(3, 2)) + noise
  return types.IVBatch(
    treatment=treatment,
    instrument=instrument,
    outcome=treatment @ [[1.0], [-2.0]] + 0.5 + noise,
    covariate=generator.normal(size=(rows, 2)),
  )
