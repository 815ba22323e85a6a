"""What a state is to the methods: exact at far offsets, tables exact."""

import numpy as np
import pytest
import tensorflow as tf

from dfiv_ope import testing, types
from dfiv_ope.agents import base, fixed_features, lstd, memory
from dfiv_ope.nn import encoding, running_moments, scaling
from dfiv_ope.ope import bellman
from dfiv_ope.policies import cloning

_MIXED = np.array([[3.0, 0.5, 7.0], [1.0, -0.5, 9.0], [3.0, 1.5, 9.0]])


@pytest.mark.parametrize('power', [-66, 66])
def test_powers_of_two_change_no_bit_of_what_is_encoded(power):
  x = np.random.default_rng(0).normal(3.0, 2.0, (50, 2))
  scaled = x * 2.0**power
  np.testing.assert_array_equal(
    encoding.fit(x).apply(x), encoding.fit(scaled).apply(scaled)
  )


def test_an_offset_of_1e12_changes_nothing():
  # Multiples of 1/64 and their sums with 1e12 are exact in float64.
  x = np.round(64.0 * np.random.default_rng(1).normal(size=(500, 2))) / 64.0
  far = x + 1e12
  before, after = (encoding.fit(each).apply(each) for each in (x, far))
  np.testing.assert_allclose(before, after, atol=1e-6)
  np.testing.assert_array_equal(
    encoding.fit(far).invert(encoding.fit(far).apply(far)).round(3),
    far.round(3),
  )


@pytest.mark.parametrize('value', [0.0, 0.1, -1e20, 1e-20, 1.7e12])
def test_a_constant_column_is_zero_at_any_size(value):
  x = np.full((1_000, 1), value)
  np.testing.assert_array_equal(scaling.fit_standardiser(x).apply(x), 0.0)


def test_a_change_of_one_last_digit_is_no_change():
  x = np.where(np.arange(100) % 2, 1e12, np.nextafter(1e12, 2e12))[:, None]
  assert np.abs(scaling.fit_standardiser(x).apply(x)).max() < 1e-12


def test_the_largest_floats_have_a_scale():
  x = np.array([[1.7e308], [-1.7e308]])
  np.testing.assert_allclose(
    scaling.fit_standardiser(x).apply(x)[:, 0], [1.0, -1.0]
  )


def test_numbers_come_first_and_categories_are_indicators():
  states = encoding.fit(_MIXED, categorical=[0, 2])
  encoded = states.apply(_MIXED)
  assert states.size == 5 and states.cells is None
  np.testing.assert_allclose(
    encoded[:, 0], (_MIXED[:, 1] - 0.5) / np.sqrt(2.0 / 3.0), atol=1e-6
  )
  np.testing.assert_array_equal(
    encoded[:, 1:], [[0, 1, 1, 0], [1, 0, 0, 1], [0, 1, 0, 1]]
  )
  compact = states.compact(_MIXED)
  np.testing.assert_array_equal(compact[:, 1:], [[1, 0], [0, 1], [1, 1]])
  np.testing.assert_allclose(states.invert(compact), _MIXED)


def test_a_category_that_was_never_seen_has_no_indicator():
  states = encoding.fit(_MIXED[:, :1], categorical=[0])
  np.testing.assert_array_equal(states.apply([[2.0], [3.0]]), [[0, 0], [0, 1]])
  np.testing.assert_array_equal(states.compact([[2.0], [3.0]]), [[-1], [1]])
  np.testing.assert_array_equal(
    states.cell(states.compact([[2.0], [3.0]])), [2, 1]
  )


def test_drawn_states_take_the_category_of_the_largest_entry():
  states = encoding.fit(_MIXED, categorical=[0, 2])
  drawn = tf.constant([[0.3, -1.0, 0.2, 0.9, 0.8]])
  np.testing.assert_allclose(
    states.expand(states.collapse(drawn)), [[0.3, 0.0, 1.0, 1.0, 0.0]]
  )
  raw = np.asarray(states.invert(states.collapse(drawn)))
  np.testing.assert_array_equal(raw[:, [0, 2]], [[3.0, 7.0]])


def test_cells_are_the_joint_states():
  raw = _MIXED[:, [0, 2]]
  states = encoding.fit(raw, categorical=[0, 1])
  cells = encoding.Cells(states)
  np.testing.assert_array_equal(
    cells(states.compact([[3.0, 9.0], [1.0, 9.0], [1.0, 7.0], [2.0, 9.0]])),
    [[0, 0, 1], [1, 0, 0], [0, 0, 0], [0, 0, 0]],
  )
  np.testing.assert_allclose(
    states.invert(states.cell_states()), [[1.0, 9.0], [3.0, 7.0], [3.0, 9.0]]
  )


def test_a_log_of_many_categories_stays_small():
  raw = np.arange(20_000.0)[:, None]
  states = encoding.fit(raw, categorical=[0])
  assert states.compact(raw).shape == (20_000, 1)
  assert states.size == len(states.cells) == 20_000


def test_a_categorical_column_that_is_not_there_is_refused():
  with pytest.raises(ValueError, match='no observation column 3'):
    encoding.fit(_MIXED, categorical=[3])


def _numbered(rows):
  """Returns transitions whose one-hot states are numbers, out of order."""
  names = np.array([[40.0], [7.0], [100.0], [8.0], [9.0]])
  return rows._replace(
    observation=tf.constant(names[np.argmax(rows.observation, axis=1)]),
    next_observation=tf.constant(
      names[np.argmax(rows.next_observation, axis=1)]
    ),
  ), names


def test_lstd_on_a_categorical_number_is_the_tabular_answer():
  process = testing.TabularMDP(seed=3)
  rows, names = _numbered(process.transitions(4_000))
  policy = np.array([0.3, 0.7])
  problem = bellman.pose(
    rows, testing.Mixed(policy), discount=0.9, num_actions=2, categorical=[0]
  )
  learner = base.OPELearner(
    lstd.make(lstd.Config(prior_rows=1e-9), problem, seed=0),
    problem,
    memory.InMemory(problem.rows(rows), batch_size=1, seed=0),
    initial_observations=tf.constant(names),
  )
  learner.run()
  state = np.searchsorted(np.sort(names[:, 0]), rows.observation[:, 0])
  later = np.searchsorted(np.sort(names[:, 0]), rows.next_observation[:, 0])
  psi, following = np.zeros((2, 4_000, 10))
  index = np.arange(4_000)
  psi[index, 2 * state + rows.action.numpy()] = 1.0
  for action in (0, 1):
    following[index, 2 * later + action] = (
      0.9 * policy[action] * rows.discount.numpy()
    )
  table = np.linalg.solve(
    psi.T @ (psi - following), psi.T @ rows.reward.numpy()
  )
  np.testing.assert_allclose(
    learner.q_function.values(tf.constant(np.sort(names, axis=0))),
    table.reshape(5, 2),
    rtol=1e-4,
  )
  wrong = tf.constant([[names[0, 0]], [names.max() + 1.0]])
  asked = learner.q_function
  for ask in (
    asked.values,
    asked.expected,
    lambda states: asked.value(states, tf.constant([0, 1])),
  ):
    with pytest.raises(ValueError, match='Row 1 .* 5 categories in the log'):
      ask(wrong)


def test_features_of_a_table_have_one_column_a_cell_and_action():
  rows, _ = _numbered(testing.TabularMDP(seed=3).transitions(500))
  problem = bellman.pose(
    rows,
    testing.Mixed([0.3, 0.7]),
    discount=0.9,
    num_actions=2,
    categorical=[0],
  )
  psi = fixed_features.make(problem, lstd.Config().settings, seed=0)
  assert psi.output_size == (5 + 1) * 2


def test_a_clone_sees_categories():
  # The action depends on whether the number is odd.
  generator = np.random.default_rng(0)
  state = generator.integers(40, size=(2_000, 1)).astype(float)
  zeros = np.zeros(2_000, np.float32)
  log = types.Transition(
    state, (state[:, 0] % 2).astype(np.int32), zeros, zeros, state
  )
  found = cloning.clone(
    log,
    np.arange(2_000),
    num_actions=2,
    seed=0,
    categorical=[0],
    config=cloning.Config(updates=300, checks=3),
  )
  assert found.held_out_loss < 0.1


@pytest.mark.parametrize('scale', [1e-20, 1e20])
def test_the_scale_of_values_is_that_of_rewards(scale):
  rows = testing.TabularMDP(seed=0).transitions(500)
  problems = [
    bellman.pose(
      rows._replace(reward=tf.cast(rows.reward, tf.float64) * each),
      testing.Mixed([0.5, 0.5]),
      discount=0.9,
      num_actions=2,
    )
    for each in (1.0, scale)
  ]
  assert problems[1].value_scale == pytest.approx(
    scale * problems[0].value_scale
  )
  assert problems[1].value_mean == pytest.approx(problems[0].value_mean)


def test_long_tails_are_drawn_in_and_come_back():
  generator = np.random.default_rng(4)
  x = np.stack(
    [
      np.exp(1.5 * generator.normal(size=2_000)),  # amounts
      generator.normal(size=2_000),
      generator.exponential(size=2_000).clip(0.0, 4.0),
      generator.uniform(size=2_000) < 0.01,  # a rare flag has two values
    ],
    axis=1,
  )
  states = encoding.fit(x)
  assert states.standardiser.long.tolist() == [True, False, False, False]
  plain = scaling.fit_standardiser(x).apply(x)
  np.testing.assert_allclose(
    states.compact(x),
    np.column_stack([np.arcsinh(4.0 * plain[:, 0]), plain[:, 1:]]),
    atol=1e-5,
  )
  np.testing.assert_allclose(
    states.invert(states.compact(x)), x, rtol=3e-6, atol=3e-6
  )
  # Graphs see the same.
  np.testing.assert_allclose(
    states.compact(tf.constant(x)), states.compact(x), atol=1e-6
  )


@pytest.mark.parametrize('size', [1, 7, 400])
def test_tails_of_rows_in_blocks_are_those_of_all(size):
  x = np.random.default_rng(5).standard_t(3.0, size=(1_000, 3)) + 1e6
  x[:, 1] = np.arange(1_000)
  running = running_moments.Moments()
  for start in range(0, len(x), size):
    running.add(x[start : start + size])
  found, whole = running.standardiser(), scaling.fit_standardiser(x, tails=True)
  assert whole.long.tolist() == [True, False, True]
  for one, other in zip(found, whole, strict=True):
    np.testing.assert_allclose(one, other, rtol=1e-12, atol=1e-9)
