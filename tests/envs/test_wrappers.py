"""Action noise happens as often as it says, and is not logged."""

import dm_env
from dm_env import specs
import numpy as np
import pytest

from dfiv_ope import envs


class _Recorder(dm_env.Environment):
  """Remembers the actions that reach it."""

  def __init__(self):
    self.actions = []

  def reset(self):
    return dm_env.restart(np.zeros(1, np.float32))

  def step(self, action):
    self.actions.append(int(action))
    return dm_env.transition(0.0, np.zeros(1, np.float32))

  def observation_spec(self):
    return specs.Array((1,), np.float32)

  def action_spec(self):
    return specs.DiscreteArray(3)


def _executed(action_noise, seed, wanted):
  recorder = _Recorder()
  environment = envs.RandomAction(
    recorder, action_noise=action_noise, seed=seed
  )
  environment.reset()
  for action in wanted:
    environment.step(action)
  return np.array(recorder.actions)


def test_no_noise_passes_every_action():
  wanted = np.arange(100) % 3
  np.testing.assert_array_equal(_executed(0.0, 0, wanted), wanted)


def test_full_noise_is_uniform_whatever_is_asked():
  counts = np.bincount(_executed(1.0, 0, [2] * 9_000), minlength=3)
  # Standard deviation of a count is sqrt(9000 * 2/9) = 45.
  np.testing.assert_allclose(counts, 3_000, atol=4 * 45)


def test_noise_changes_two_thirds_of_the_actions_it_draws():
  changed = np.sum(_executed(0.3, 0, [0] * 10_000) != 0)
  # A uniform draw equals the wanted action in a third of the cases.
  np.testing.assert_allclose(changed, 2_000, atol=4 * 40)


def test_the_noise_of_a_seed_does_not_depend_on_the_actions():
  one = _executed(0.5, 5, [0] * 200)
  two = _executed(0.5, 5, [1] * 200)
  replaced = one != 0
  np.testing.assert_array_equal(
    one[replaced & (two != 1)], two[replaced & (two != 1)]
  )


@pytest.mark.parametrize('noise', [-0.1, 1.1, float('nan')])
def test_noise_outside_the_unit_interval_is_refused(noise):
  with pytest.raises(ValueError, match=r'action_noise must lie in \[0, 1\]'):
    envs.RandomAction(_Recorder(), action_noise=noise, seed=0)


class _Vectors(_Recorder):
  """The same with actions in [-1, 1] and [0, 10]."""

  def step(self, action):
    self.actions.append(action)
    return dm_env.transition(0.0, np.zeros(1, np.float32))

  def action_spec(self):
    return specs.BoundedArray((2,), np.float64, [-1.0, 0.0], [1.0, 10.0])


def _moved(action_noise, wanted):
  recorder = _Vectors()
  environment = envs.GaussianAction(recorder, action_noise=action_noise, seed=3)
  environment.reset()
  for action in wanted:
    environment.step(action)
  return np.array(recorder.actions)


def test_without_noise_vectors_pass():
  wanted = np.random.default_rng(0).uniform([-1.0, 0.0], [1.0, 10.0], (50, 2))
  np.testing.assert_array_equal(_moved(0.0, wanted), wanted)


def test_noise_of_vectors_is_normal_in_half_ranges():
  noise = _moved(0.1, [[0.0, 5.0]] * 10_000) - [0.0, 5.0]
  # The standard error of a standard deviation is sd / sqrt(2 n).
  np.testing.assert_allclose(noise.std(axis=0), [0.1, 0.5], rtol=4 / 141)
  np.testing.assert_allclose(noise.mean(axis=0) / [0.1, 0.5], 0.0, atol=4 / 100)
  assert abs(np.corrcoef(noise.T)[0, 1]) < 4 / 100


def test_noisy_vectors_are_clipped_at_the_bounds():
  """Half of the noise at a bound points outside."""
  moved = _moved(1.0, [[1.0, 0.0]] * 4_000)
  assert moved[:, 0].max() == 1.0 and moved[:, 1].min() == 0.0
  np.testing.assert_allclose(
    [np.mean(moved[:, 0] == 1.0), np.mean(moved[:, 1] == 0.0)],
    0.5,
    atol=4 * 0.5 / 63,
  )


@pytest.mark.parametrize('noise', [-0.1, 1.1, float('nan')])
def test_noise_of_vectors_outside_the_unit_interval_is_refused(noise):
  with pytest.raises(ValueError, match=r'action_noise must lie in \[0, 1\]'):
    envs.GaussianAction(_Vectors(), action_noise=noise, seed=0)
