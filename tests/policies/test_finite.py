"""Probabilities are exact, and survive a SavedModel."""

import numpy as np
import pytest
import tensorflow as tf

from dfiv_ope.policies import finite, foreign, greedy


class _Linear(tf.Module):
  """Q(s, .) = W s with W as given."""

  def __init__(self, weights):
    super().__init__()
    self.weights = tf.Variable(weights, dtype=tf.float32)

  def __call__(self, observation):
    return tf.matmul(observation, self.weights, transpose_b=True)


def _greedy():
  weights = [[1.0, 0.0], [0.0, 1.0], [0.0, 0.0]]
  return greedy.Greedy(_Linear(weights), num_observations=2)


_OBSERVATIONS = tf.constant([[2.0, 1.0], [1.0, 2.0], [-1.0, -1.0], [1.0, 1.0]])


def test_greedy_takes_the_best_action_and_the_first_of_equals():
  np.testing.assert_array_equal(
    _greedy().action_probabilities(_OBSERVATIONS),
    [[1, 0, 0], [0, 1, 0], [0, 0, 1], [1, 0, 0]],
  )


def test_explore_mixes_in_the_uniform_distribution():
  policy = finite.Explore(_greedy(), epsilon=0.3)
  np.testing.assert_allclose(
    policy.action_probabilities(_OBSERVATIONS)[:2],
    [[0.8, 0.1, 0.1], [0.1, 0.8, 0.1]],
    rtol=1e-6,
  )


def test_uniform_gives_every_action_the_same():
  policy = finite.Uniform(num_actions=4)
  np.testing.assert_array_equal(
    policy.action_probabilities(tf.zeros([2, 7])), np.full([2, 4], 0.25)
  )


@pytest.mark.parametrize('epsilon', [-0.1, 1.5])
def test_epsilon_outside_the_unit_interval_is_refused(epsilon):
  with pytest.raises(ValueError, match=r'epsilon must lie in \[0, 1\]'):
    finite.Explore(_greedy(), epsilon=epsilon)


def test_sampling_inverts_the_distribution():
  probabilities = np.array([[0.2, 0.3, 0.5]] * 4, np.float32)
  uniforms = np.array([[0.0], [0.19], [0.21], [0.51]])
  np.testing.assert_array_equal(
    finite.sample(probabilities, uniforms), [0, 0, 1, 2]
  )


def test_an_action_of_probability_zero_is_never_drawn():
  probabilities = np.array([[0.0, 1.0, 0.0], [0.0, 1.0, 0.0]], np.float32)
  uniforms = np.array([[0.0], [1.0 - 1e-16]])
  np.testing.assert_array_equal(finite.sample(probabilities, uniforms), [1, 1])


@pytest.mark.parametrize('epsilon', [0.0, 0.2])
def test_a_saved_policy_gives_the_same_probabilities(tmp_path, epsilon):
  policy = finite.Explore(_greedy(), epsilon=epsilon)
  finite.save(policy, tmp_path / 'policy', num_observations=2)
  loaded = finite.load(tmp_path / 'policy', num_observations=2, num_actions=3)
  np.testing.assert_array_equal(
    loaded.action_probabilities(_OBSERVATIONS),
    policy.action_probabilities(_OBSERVATIONS),
  )


def test_loading_nothing_says_how_to_make_a_policy(tmp_path):
  with pytest.raises(FileNotFoundError, match='policy train'):
    finite.load(tmp_path, num_observations=2, num_actions=3)


def test_loading_rubbish_is_refused(tmp_path):
  (tmp_path / 'saved_model.pb').write_bytes(b'no model')
  with pytest.raises(ValueError, match='cannot be loaded as a SavedModel'):
    finite.load(tmp_path, num_observations=2, num_actions=3)


def test_loading_something_that_is_no_policy_is_refused(tmp_path):
  tf.saved_model.save(tf.Module(), str(tmp_path / 'module'))
  with pytest.raises(ValueError, match='is not a policy'):
    finite.load(tmp_path / 'module', num_observations=2, num_actions=3)


@pytest.mark.parametrize(
  'sizes, message',
  [
    ({'num_observations': 5, 'num_actions': 3}, 'does not accept 5'),
    ({'num_observations': 2, 'num_actions': 4}, 'the task has 4'),
  ],
)
def test_a_policy_for_another_task_is_refused(tmp_path, sizes, message):
  finite.save(_greedy(), tmp_path / 'policy', num_observations=2)
  with pytest.raises(ValueError, match=message):
    finite.load(tmp_path / 'policy', **sizes)


def test_recorded_probabilities_are_looked_up():
  states = np.array(
    [[0.0, 1.0], [2.0, 3.0], [0.0, 1.0], [9.0, 9.0], [8.0, 8.0]], np.float32
  )
  # Nothing is known of the last but one, and the last ended an episode.
  policy = foreign.Recorded(
    states,
    np.array(
      [[1.0, 0.0], [0.25, 0.75], [0.0, 1.0], [np.nan, np.nan], [0.0, 0.0]]
    ),
  )
  asked = np.array(
    [[2.0, 3.0], [0.0, 1.0], [-0.0, 1.0], [1.9, 3.1], [8.0, 8.0]], np.float32
  )
  # The second was recorded twice; the last two are nearest to the first.
  wanted = [[0.25, 0.75], [0.5, 0.5], [0.5, 0.5], [0.25, 0.75], [0.25, 0.75]]
  np.testing.assert_allclose(policy.action_probabilities(asked), wanted)
  inside = tf.function(policy.action_probabilities)
  np.testing.assert_allclose(inside(tf.constant(asked)), wanted)


def test_nothing_recorded_is_refused():
  with pytest.raises(ValueError, match='records no probabilities'):
    foreign.Recorded(np.zeros([2, 1], np.float32), np.full([2, 2], np.nan))
