"""The loss by hand, the running scale against numpy, the learner's duties."""

import numpy as np
import pytest
import tensorflow as tf

from dfiv_ope import types
from dfiv_ope.agents import dqn, rounds
from dfiv_ope.policies import rollout


def test_double_q_chooses_with_one_network_and_values_with_the_other():
  transition = types.Transition(
    observation=None,
    action=tf.constant([1, 0]),
    reward=tf.constant([1.0, 2.0]),
    discount=tf.constant([0.5, 0.0]),
    next_observation=None,
  )
  error = dqn.double_q_error(
    values=tf.constant([[0.0, 3.0], [4.0, 0.0]]),
    next_values=tf.constant([[1.0, 2.0], [2.0, 1.0]]),
    next_target_values=tf.constant([[10.0, 20.0], [30.0, 40.0]]),
    transition=transition,
  )
  np.testing.assert_array_equal(error, [1.0 + 0.5 * 20.0 - 3.0, 2.0 - 4.0])


def test_the_target_is_not_differentiated():
  values = tf.Variable([[1.0, 2.0]])
  transition = types.Transition(
    None, tf.constant([0]), tf.constant([0.0]), tf.constant([1.0]), None
  )
  with tf.GradientTape() as tape:
    error = dqn.double_q_error(values, values, values, transition)
  np.testing.assert_array_equal(tape.gradient(error, values), [[-1.0, 0.0]])


def test_the_running_scale_has_the_moments_of_all_rows():
  generator = np.random.default_rng(0)
  rows = generator.normal([5.0, -1.0, 3.0], [2.0, 0.01, 0.0], (100, 3))
  scale = rounds.RunningScale(3)
  for part in (rows[:7], rows[7:60], rows[60:]):
    scale.update(part)
  expected = rows - rows.mean(axis=0)
  expected[:, :2] /= rows[:, :2].std(axis=0)  # the constant is only centred
  np.testing.assert_allclose(
    scale(tf.constant(rows, tf.float32)), expected, atol=1e-4
  )


@pytest.mark.parametrize(
  'categories, expected',
  [
    ({0: 3}, [[-1.0, 0.0, 0.0, 1.0], [1.0, 1.0, 0.0, 0.0]]),
    (
      {0: 3, 1: 6},
      [
        [0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0],
        [1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0],
      ],
    ),
  ],
)
def test_states_that_are_names_become_indicators(categories, expected):
  scale = rounds.RunningScale(2, categories)
  rows = np.array([[2.0, 3.0], [0.0, 5.0]])
  scale.update(rows)
  found = tf.function(scale)(tf.constant(rows)).numpy()
  assert scale.size == found.shape[1]
  np.testing.assert_allclose(found, expected, atol=1e-6)


class _Source:
  """Hands out the same block for ever: action 1 pays 1, action 0 nothing."""

  def sample(self, count):
    action = np.tile(np.array([0, 1], np.int32), 2 * count)
    observation = np.zeros((len(action), 2), np.float32)
    return types.Transition(
      observation,
      action,
      action.astype(np.float32),
      np.zeros(len(action), np.float32),
      observation,
    )


def _learner(**kwargs):
  config = dqn.Config(
    hidden=(8,),
    block=4,
    blocks_per_batch=1,
    uses=1,
    transitions=4_000,
    learning_rate=1e-2,
    **kwargs,
  )
  return dqn.DQNLearner(config, _Source(), sizes=rollout.Sizes(2, 2), seed=0)


def test_the_learner_finds_the_values_of_a_bandit():
  learner = _learner()
  learner.run(600)
  np.testing.assert_allclose(
    learner.network(tf.zeros([1, 2])), [[0.0, 1.0]], atol=0.02
  )
  assert learner.loss < 0.1


def test_one_run_equals_many_steps():
  one, many = _learner(), _learner()
  one.run(20)
  for _ in range(20):
    many.step()
  for x, y in zip(
    *(learner.get_variables(['network'])[0] for learner in (one, many)),
    strict=True,
  ):
    np.testing.assert_array_equal(x, y)


@pytest.mark.parametrize(
  'value, kept',
  [(0.5, 'first'), (0.7, 'first'), (0.9, 'second'), (1.5, 'second')],
)
def test_the_last_network_that_none_clearly_beats_is_kept(value, kept):
  probe = tf.ones([1, 2])
  learner = _learner()
  learner.keep_if_good(1.0, standard_error=0.1)
  networks = {'first': learner.best_network(probe).numpy()}
  learner.run(50)
  learner.keep_if_good(value, standard_error=0.1)
  networks['second'] = learner.network(probe).numpy()
  assert not np.array_equal(networks['first'], networks['second'])
  np.testing.assert_array_equal(learner.best_network(probe), networks[kept])


def test_the_learner_serves_only_its_network():
  with pytest.raises(ValueError, match="DQN serves .'network'"):
    _learner().get_variables(['policy'])


def test_learning_without_end_is_refused():
  with pytest.raises(ValueError, match='number of updates'):
    _learner().run()


@pytest.mark.parametrize(
  'field, value, message',
  [
    ('n_step', 0, 'n_step must be at least 1'),
    ('transitions', 0, 'transitions must be at least 1'),
    ('epsilon', 1.5, r'epsilon must lie in \[0, 1\]'),
    ('discount', -0.1, r'discount must lie in \[0, 1\]'),
  ],
)
def test_impossible_settings_are_refused(field, value, message):
  with pytest.raises(ValueError, match=message):
    dqn.Config(**{field: value})
