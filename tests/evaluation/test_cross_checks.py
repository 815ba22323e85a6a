"""What unrelated estimators say: agreement where all is well, and where not."""

import numpy as np
import pytest
import tensorflow as tf

import dfiv_ope
from dfiv_ope.evaluation import cross_checks
from dfiv_ope.ope import task as task_lib


class Always:
  """Takes one action."""

  def __init__(self, action):
    self._action = action

  def action_probabilities(self, observation):
    return tf.one_hot(tf.fill([tf.shape(observation)[0]], self._action), 2)


def _countdown(episodes=200, length=6, *, seen):
  """Action 1 earns 1 in the first half of an episode, nothing later.

  Actions get rarer: the log has them early. Without the number of the step,
  `seen`, an observation is no state.
  """
  generator = np.random.default_rng(0)
  step = np.tile(np.arange(length), episodes)
  action = (generator.random(len(step)) < 0.8 - 0.1 * step).astype(int)
  reward = action * (step < length // 2) * 1.0
  ends = step == length - 1
  observation = np.stack([step if seen else 0 * step], axis=1)
  return dfiv_ope.Log.from_arrays(
    observation,
    action,
    reward,
    ends,
    discount=0.9,
    categorical=[0],
    next_observations=np.roll(observation, -1, axis=0),
  )


_TRUTH = 1.0 + 0.9 + 0.81


def test_checks_agree_where_the_observation_is_the_state():
  task = task_lib.EvaluationTask(_countdown(seen=True), Always(1))
  found = cross_checks.measure(task)
  assert {'check_lstd', 'check_prior', 'check_nearest', 'check_step'} <= set(
    found
  )
  for name in ('lstd', 'prior', 'nearest', 'step'):
    assert found[f'check_{name}'] == pytest.approx(_TRUTH, abs=0.01)
  assert found['beyond_share'] == 0.0


def test_errors_by_step_are_seen_where_the_step_is_not():
  task = task_lib.EvaluationTask(_countdown(seen=False), Always(1))
  found = cross_checks.measure(task)
  # Others agree, and are wrong.
  assert found['check_nearest'] == pytest.approx(found['check_lstd'], abs=0.2)
  assert found['check_lstd'] > _TRUTH + 0.3
  # It says on which side the truth is, not how far away.
  assert found['check_step'] < _TRUTH


def test_a_policy_that_cannot_be_rolled_out_is_checked_by_step(monkeypatch):
  monkeypatch.setattr(cross_checks, '_roll', lambda *unused: None)
  log = _countdown(seen=False)
  action, step = np.asarray(log.transitions.action), np.tile(np.arange(6), 200)
  # Discounted visits of the target policy, spread over the rows of its action.
  taken = np.bincount(step, weights=action)
  weights = action * 0.9**step / taken[step]
  found = cross_checks.measure(
    task_lib.EvaluationTask(log, Always(1)), weigh=lambda: weights
  )
  assert found['unrolled'] == 1.0
  assert 'check_nearest' not in found
  assert 'lagged_z' in found
  assert found['check_step'] < _TRUTH < found['check_lstd'] - 0.3


def _wandering(episodes=150, length=8):
  """A place that drifts, a reward of 1 a step, and a horizon nobody sees."""
  generator = np.random.default_rng(3)
  place = np.cumsum(generator.normal(size=(episodes, length + 1)), axis=1)
  ends = np.tile(np.arange(length) == length - 1, episodes)
  return dfiv_ope.Log.from_arrays(
    place[:, :-1].reshape(-1, 1),
    generator.integers(2, size=len(ends)),
    np.ones(len(ends)),
    ends,
    discount=0.9,
    next_observations=place[:, 1:].reshape(-1, 1),
  )


def test_rollouts_that_know_of_the_horizon_find_what_it_hides():
  found = cross_checks.measure(task_lib.EvaluationTask(_wandering(), Always(1)))
  truth = np.sum(0.9 ** np.arange(8))
  assert found['check_horizon'] == pytest.approx(truth, abs=1e-6)
  # Others take the end for chance.
  assert found['check_lstd'] < truth - 0.3
  assert found['check_nearest'] < truth - 0.3
  # Where the state shows it, nothing is left out.
  assert 'check_horizon' not in cross_checks.measure(
    task_lib.EvaluationTask(_countdown(seen=True), Always(1))
  )


def test_pixels_show_a_horizon_though_all_pictures_are_alike():
  # A lit pixel falls row by row into one of three places of the last row.
  generator = np.random.default_rng(0)
  episodes, length = 150, 5
  place = np.repeat(generator.integers(3, size=episodes), length)
  row = np.tile(np.arange(length), episodes)
  pixels = np.zeros((episodes * length, 3 * length))
  pixels[np.arange(len(row)), 3 * row + place] = 1.0
  action = generator.integers(2, size=len(row))
  ends = row == length - 1
  log = dfiv_ope.Log.from_arrays(
    pixels,
    action,
    ends * 1.0,
    ends,
    discount=0.9,
    next_observations=np.roll(pixels, -1, axis=0),
  )
  found = cross_checks.measure(task_lib.EvaluationTask(log, Always(1)))
  assert 'check_horizon' not in found
  assert found['check_nearest'] == pytest.approx(0.9**4, abs=0.01)


def test_an_interval_reaches_to_what_the_checks_say():
  result = dfiv_ope.evaluate(
    _countdown(seen=False), Always(1), methods='lstd', seeds=1
  )
  checks = [
    value
    for name, value in result.estimates['lstd'].metrics.items()
    if name.startswith('check_')
  ]
  low, high = result.interval()
  assert low <= min(checks) and max(checks) <= high
  assert low <= _TRUTH <= high
  assert result.trust().grade != 'trust'
  assert result.to_frame().trust['lstd'] == result.trust().grade


def test_a_policy_that_knows_the_log_alone_has_no_rollouts():
  place = np.linspace(0.0, 1.0, 240).reshape(-1, 1) ** 2
  log = dfiv_ope.Log.from_arrays(
    place,
    np.arange(240) % 2,
    np.ones(240),
    np.arange(240) % 6 == 5,
    discount=0.9,
    next_observations=np.roll(place, -1, axis=0),
  )
  known = {
    *log.transitions.observation.ravel().tolist(),
    *log.transitions.next_observation.ravel().tolist(),
  }

  class Narrow:
    def action_probabilities(self, observation):
      if not set(np.asarray(observation).ravel().tolist()) <= known:
        raise ValueError('unknown')
      return tf.one_hot(tf.zeros(tf.shape(observation)[0], tf.int32), 2)

  found = cross_checks.measure(task_lib.EvaluationTask(log, Narrow()))
  assert 'check_lstd' in found
  assert 'check_nearest' not in found
