"""Clipped Gaussian and uniform policies against scipy, and on disk."""

import numpy as np
import pytest
from scipy import stats
import tensorflow as tf

from dfiv_ope import actions, types
from dfiv_ope.policies import (
  censored,
  continuous,
  quasi_random,
  uniform_vectors,
)

_BOX = actions.Continuous(low=(-1.0, None), high=(1.0, None))
_STATE = np.random.default_rng(0).normal(size=(200, 3))
_WEIGHTS = np.array([[1.0, 0.5], [0.0, -2.0], [0.3, 0.0]])
_DEVIATION = np.array([0.5, 2.0])


def _mean(observation):
  return tf.matmul(tf.cast(observation, tf.float64), _WEIGHTS)


def _gaussian(**changes):
  return continuous.Gaussian(
    _mean, **{'standard_deviation': _DEVIATION, 'actions': _BOX, **changes}
  )


def _expected_log_prob(action):
  """The density of each entry, or the mass that is clipped to its bound."""
  mean = _STATE @ _WEIGHTS
  first = stats.norm(mean[:, 0], _DEVIATION[0])
  return np.where(
    action[:, 0] <= -1.0,
    first.logcdf(-1.0),
    np.where(action[:, 0] >= 1.0, first.logsf(1.0), first.logpdf(action[:, 0])),
  ) + stats.norm(mean[:, 1], _DEVIATION[1]).logpdf(action[:, 1])


def test_a_gaussian_policy_has_the_density_of_scipy_and_mass_at_bounds():
  policy = _gaussian()
  assert isinstance(policy, types.ContinuousPolicy)
  assert not policy.deterministic
  action = np.random.default_rng(1).normal(size=(200, 2))
  action[:, 0] = np.clip(action[:, 0], -1.0, 1.0)
  assert (np.abs(action[:, 0]) == 1.0).mean() > 0.2
  np.testing.assert_allclose(
    policy.log_prob(tf.constant(_STATE), action),
    _expected_log_prob(action),
    rtol=1e-6,
  )


def test_density_and_masses_sum_to_one():
  space = actions.Continuous(low=(-1.0,), high=(1.5,))
  policy = continuous.Gaussian(
    lambda s: tf.zeros([len(s), 1]), standard_deviation=0.8, actions=space
  )
  grid = np.linspace(-1.0, 1.5, 2_001)[:, None]
  density = np.exp(policy.log_prob(tf.zeros([2_001, 1]), grid))
  inside = np.sum(density[1:-1]) * (grid[1, 0] - grid[0, 0])
  assert inside + density[0] + density[-1] == pytest.approx(1.0, abs=2e-3)


def test_draws_are_clipped_and_have_the_moments():
  drawn = (
    _gaussian()
    .draw(tf.constant(_STATE), quasi_random.uniforms(200, 256, 2, seed=0))
    .numpy()
  )
  assert drawn.shape == (200, 256, 2)
  assert drawn[..., 0].min() == -1.0 and drawn[..., 0].max() == 1.0
  mean = _STATE @ _WEIGHTS
  # Mirrored draws have the mean exactly where nothing is clipped.
  np.testing.assert_allclose(drawn[..., 1].mean(axis=1), mean[:, 1], atol=1e-4)
  assert drawn[..., 1].std(axis=1).mean() == pytest.approx(2.0, rel=0.005)
  at_bound = (drawn[..., 0] >= 1.0).mean(axis=1)
  np.testing.assert_allclose(
    at_bound, stats.norm.sf(1.0, mean[:, 0], 0.5), atol=0.01
  )


def test_gradients_are_finite_without_bounds_and_far_from_the_mean():
  mean = tf.Variable([[0.0, 0.0, 1e3]])
  with tf.GradientTape() as tape:
    total = tf.reduce_sum(
      censored.log_prob(
        mean,
        tf.ones([1, 3]),
        tf.constant([[0.5, 1.0, 0.0]]),
        tf.constant([-np.inf, -np.inf, 0.0], tf.float32),
        tf.constant([np.inf, 1.0, np.inf], tf.float32),
      )
    )
  gradient = tape.gradient(total, mean).numpy()[0]
  assert gradient[0] == pytest.approx(0.5)
  # d/dm log sf(1 - m) = pdf / sf.
  assert gradient[1] == pytest.approx(
    stats.norm.pdf(1.0) / stats.norm.sf(1.0), rel=1e-4
  )
  assert gradient[2] == pytest.approx(-1e3, rel=1e-2)


def test_a_deterministic_policy_takes_its_mean_and_has_no_density():
  policy = _gaussian(standard_deviation=0.0)
  assert policy.deterministic
  drawn = policy.draw(
    tf.constant(_STATE), quasi_random.uniforms(200, 2, 2, seed=0)
  ).numpy()
  mean = _STATE @ _WEIGHTS
  for draw in range(2):
    np.testing.assert_allclose(
      drawn[:, draw],
      np.stack([np.clip(mean[:, 0], -1.0, 1.0), mean[:, 1]], 1),
      rtol=1e-5,
      atol=1e-6,
    )
  with pytest.raises(ValueError, match='deterministic policy has no density'):
    policy.log_prob(tf.constant(_STATE), mean)


@pytest.mark.parametrize(
  'changes, message',
  [
    ({'standard_deviation': -0.1}, 'must be finite and positive'),
    ({'standard_deviation': [0.0, 1.0]}, 'or 0 for all entries'),
    ({'standard_deviation': np.nan}, 'must be finite'),
    (
      {
        'actions': actions.Continuous(
          low=(None, None), high=(None, None), categories={1: ('a', 'b')}
        )
      },
      'entry 1 of the action is a name',
    ),
  ],
)
def test_noise_that_cannot_be_is_refused(changes, message):
  with pytest.raises(ValueError, match=message):
    _gaussian(**changes)


def test_uniform_actions_have_the_density_of_the_box():
  space = actions.Continuous(
    low=(-2.0, None), high=(2.0, None), categories={1: ('a', 'b', 'c')}
  )
  policy = uniform_vectors.Uniform(space)
  assert isinstance(policy, types.ContinuousPolicy)
  uniforms = np.array([[[0.25, 0.1], [0.75, 0.5], [0.5, 0.999999]]], np.float32)
  np.testing.assert_allclose(
    policy.draw(tf.zeros([1, 1]), uniforms)[0],
    [[-1.0, 0.0], [1.0, 1.0], [0.0, 2.0]],
    atol=1e-6,
  )
  np.testing.assert_allclose(
    policy.log_prob(tf.zeros([2, 1]), [[0.0, 1.0], [3.0, 1.0]]),
    [-np.log(12.0), -np.inf],
  )
  with pytest.raises(ValueError, match='has no bounds'):
    uniform_vectors.Uniform(_BOX)


def _load(path, **changes):
  return continuous.load(
    path, **{'num_observations': 3, 'actions': _BOX, **changes}
  )


def _save(policy, path):
  continuous.save(policy, path, num_observations=3, actions=_BOX)


@pytest.mark.parametrize('deviation', [0.0, _DEVIATION])
def test_a_policy_survives_its_saved_model(tmp_path, deviation):
  policy = _gaussian(standard_deviation=deviation)
  _save(policy, tmp_path / 'policy')
  loaded = _load(tmp_path / 'policy')
  assert loaded.deterministic == policy.deterministic
  uniforms = quasi_random.uniforms(200, 2, 2, seed=0)
  np.testing.assert_allclose(
    loaded.draw(tf.constant(_STATE), uniforms),
    policy.draw(tf.constant(_STATE), uniforms),
    rtol=1e-6,
  )
  if not policy.deterministic:
    action = np.clip(_STATE[:, :2], -1.0, 1.0)
    np.testing.assert_allclose(
      loaded.log_prob(tf.constant(_STATE), action),
      _expected_log_prob(action),
      rtol=1e-6,
    )


def test_a_policy_of_another_kind_is_stored_by_draw_and_log_prob(tmp_path):
  space = actions.Continuous(low=(0.0, 0.0), high=(1.0, 4.0))
  policy = uniform_vectors.Uniform(space)
  continuous.save(
    policy, tmp_path / 'policy', num_observations=3, actions=space
  )
  loaded = _load(tmp_path / 'policy', actions=space)
  assert not loaded.deterministic
  np.testing.assert_allclose(
    loaded.draw(tf.constant(_STATE), np.full((200, 1, 2), 0.25, np.float32)),
    np.tile([[[0.25, 1.0]]], (200, 1, 1)),
  )
  np.testing.assert_allclose(
    loaded.log_prob(tf.constant(_STATE), np.full((200, 2), 0.5)),
    -np.log(4.0),
    rtol=1e-6,
  )


class _Foreign(tf.Module):
  @tf.function(input_signature=[tf.TensorSpec([None, 3], tf.float32)])
  def mean(self, observation):
    tf.io.write_file('/nowhere/at/all', 'text')
    return observation[:, :2]


def test_what_is_no_policy_over_these_vectors_is_refused(tmp_path):
  _save(_gaussian(), tmp_path / 'good')
  with pytest.raises(FileNotFoundError, match='holds no policy'):
    _load(tmp_path / 'none')
  with pytest.raises(ValueError, match='does not accept 4 observation entries'):
    _load(tmp_path / 'good', num_observations=4)
  with pytest.raises(ValueError, match=r'not \[1, 1\]: actions have 1 entries'):
    _load(
      tmp_path / 'good', actions=actions.Continuous(low=(None,), high=(None,))
    )
  tf.saved_model.save(tf.Module(), str(tmp_path / 'empty'))
  with pytest.raises(ValueError, match='without the function mean, or draw'):
    _load(tmp_path / 'empty')
  tf.saved_model.save(_Foreign(), str(tmp_path / 'foreign'))
  with pytest.raises(ValueError, match='WriteFile, which may do more than'):
    _load(tmp_path / 'foreign')
