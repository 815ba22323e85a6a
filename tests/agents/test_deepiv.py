"""DeepIV for OPE: its model of a step, its loss, and what trains when."""

import dataclasses

import numpy as np
import pytest
import tensorflow as tf

from dfiv_ope import types
from dfiv_ope.agents import deepiv
from dfiv_ope.iv.methods import deepiv_mixture
from dfiv_ope.nn import encoding, layers, scaling
from dfiv_ope.ope import bellman, decisions
from dfiv_ope.policies import finite

LINEAR = deepiv.Config(
  updates=10,
  checks=1,
  density_net=(),
  value_net=(),
  samples=1,
  predict_change=False,
  rows_per_noise=1,
)


class Threshold(tf.Module):
  """Takes action 1 where the raw observation exceeds 10, else action 0."""

  def action_probabilities(self, observation):
    return tf.one_hot(tf.cast(observation[:, 0] > 10.0, tf.int32), 2)


def make_problem(policy=None, **changes):
  problem = bellman.Problem(
    policy=policy or Threshold(),
    discount=0.9,
    num_actions=2,
    num_rows=1_000,
    observations=encoding.Encoding(
      numbers=(0,),
      standardiser=scaling.Standardiser(np.array([10.0]), np.array([2.0])),
    ),
    distance=1.0,
    typical_distance=1.0,
    value_scale=1.0,
    value_mean=0.5,
    lowest=-99.0,
    highest=99.0,
    horizon=10.0,
  )
  return dataclasses.replace(problem, **changes)


def make_agent(config=LINEAR, problem=None, seed=0):
  return deepiv.make(config, problem or make_problem(), seed=seed)


def assign(network, weights, biases):
  """Sets a network of one layer."""
  for variable in network.trainable_variables:
    variable.assign(weights if variable.shape.rank == 2 else biases)


def make_rows(problem, count=64, seed=0):
  generator = np.random.default_rng(seed)
  return problem.rows(
    types.Transition(
      observation=tf.constant(
        generator.normal(10.0, 2.0, (count, 1)), tf.float32
      ),
      action=tf.constant(generator.integers(2, size=count), tf.int32),
      reward=tf.constant(generator.standard_normal(count), tf.float32),
      discount=tf.constant(generator.random(count) > 0.2, tf.float32),
      next_observation=tf.constant(
        generator.normal(10.0, 2.0, (count, 1)), tf.float32
      ),
    )
  )


def test_the_loss_is_the_product_of_two_residuals():
  problem = make_problem()
  agent = make_agent()
  # q(s, .) = 0.5 + (s + 1, 2 s - 1).
  assign(agent._values.network, [[1.0, 2.0]], [1.0, -1.0])
  now = decisions.taken(tf.constant([[0.0], [2.0]]), tf.constant([0, 1]))
  later = np.array([[1.0, -1.0], [-2.0, 3.0]])  # two draws for each of two rows
  step = problem.imagine(
    now, tf.constant(later[..., None], tf.float32), tf.constant([[1.0], [0.5]])
  )
  values = np.where(later > 0.0, 0.5 + 2.0 * later - 1.0, 0.5 + later + 1.0)
  difference = np.array([1.5, 3.5]) - 0.9 * np.array([1.0, 0.5]) * values
  residual = np.array([2.0, -1.0]) - difference
  np.testing.assert_allclose(
    agent.value_loss(step, tf.constant([[2.0], [-1.0]])),
    np.mean(residual[0] * residual[1]),
    rtol=1e-6,
  )


def test_the_policy_is_asked_at_raw_states():
  later = tf.constant([[[-0.5]], [[0.5]]])  # 9 and 11
  step = make_problem().imagine(
    decisions.taken(tf.zeros([1, 1]), tf.zeros([1], tf.int32)),
    later,
    tf.ones([1, 1]),
    support=1,
  )
  np.testing.assert_array_equal(step.later.actions, [[0], [1]])
  np.testing.assert_array_equal(step.later.observation, [[-0.5], [0.5]])


def test_the_likeliest_actions_stand_for_a_policy_with_more():
  problem = make_problem(finite.Explore(Threshold(), epsilon=0.5))
  step = problem.imagine(
    decisions.taken(tf.zeros([1, 1]), tf.zeros([1], tf.int32)),
    tf.ones([1, 1, 1]),
    tf.ones([1, 1]),
    support=1,
  )
  np.testing.assert_allclose(step.later.probabilities, [[1.0]])


def test_the_probability_of_the_end_is_used_and_not_drawn():
  agent = make_agent()
  outputs = 1 + deepiv_mixture.output_size(3, 1)
  biases = np.zeros(outputs)
  biases[-1] = np.log(3.0)  # The end has probability 3/4.
  assign(agent._density.network, np.zeros((3, outputs)), biases)
  now = decisions.taken(tf.zeros([50, 1]), tf.zeros([50], tf.int32))
  step = agent.imagine(now, 4)
  np.testing.assert_allclose(
    step.continuation, np.full((50, 1), 0.9 / 4.0), rtol=1e-6
  )
  assert step.later.observation.shape == (200, 1)
  np.testing.assert_allclose(
    bellman.drawn_difference(agent.predict, step)[3],
    agent.predict(now) - 0.9 / 4.0 * agent.predict(step.later)[150:],
    rtol=1e-5,
  )


@pytest.mark.parametrize('predict_change', [False, True])
def test_the_density_learns_a_known_step(predict_change):
  # From s = -1 or 1, action 0 leads to s + 1 +- 0.5 and action 1 to
  # -s +- 0.1; the episode ends with probability 0.1 and 0.4.
  generator = np.random.default_rng(0)
  count = 4000
  state = generator.choice([-1.0, 1.0], count)
  action = generator.integers(2, size=count)
  later = np.where(
    action == 0,
    state + 1.0 + 0.5 * generator.standard_normal(count),
    -state + 0.1 * generator.standard_normal(count),
  )
  end = generator.random(count) < np.where(action == 0, 0.1, 0.4)
  later[end] = 1e3  # Where an episode ends does not matter.
  problem = make_problem(
    observations=encoding.Encoding(
      numbers=(0,), standardiser=scaling.Standardiser(np.zeros(1), np.ones(1))
    )
  )
  rows = problem.rows(
    types.Transition(
      *(
        tf.constant(member, dtype)
        for member, dtype in (
          (state[:, None], tf.float32),
          (action, tf.int32),
          (np.zeros(count), tf.float32),
          (1.0 - end, tf.float32),
          (later[:, None], tf.float32),
        )
      )
    )
  )
  agent = make_agent(
    dataclasses.replace(
      LINEAR,
      density_net=(layers.Dense(16),),
      density_rate=2e-2,
      predict_change=predict_change,
      min_scale=0.01,
      components=1,
    ),  # Each step is one Gaussian; spare ones stray.
    problem,
  )
  train = tf.function(lambda: agent.density_step(rows.treatment))
  for done in range(400):
    agent._done.assign(done + 1)
    agent.anneal(done / 400 * LINEAR.density_share)
    train()
  now = decisions.taken(
    tf.constant([[-1.0], [1.0], [-1.0], [1.0]]), tf.constant([0, 0, 1, 1])
  )
  step = agent.imagine(now, 4000)
  draws = tf.reshape(step.later.observation, [4000, 4]).numpy()
  np.testing.assert_allclose(
    draws.mean(axis=0), [0.0, 2.0, 1.0, -1.0], atol=0.06
  )
  np.testing.assert_allclose(draws.std(axis=0), [0.5, 0.5, 0.1, 0.1], rtol=0.15)
  np.testing.assert_allclose(
    1.0 - step.continuation[:, 0] / 0.9, [0.1, 0.1, 0.4, 0.4], atol=0.04
  )


def test_rows_that_share_noise_keep_independent_draws():
  mixture = deepiv_mixture.Mixture(
    tf.zeros([5, 1]), tf.zeros([5, 1, 2]), tf.ones([5, 1, 2])
  )
  draws = deepiv_mixture.draw(
    mixture, 2000, tf.random.Generator.from_seed(0), rows_per_noise=2
  )
  assert draws.shape == (2000, 5, 2)
  np.testing.assert_array_equal(draws[:, 0], draws[:, 3])
  np.testing.assert_array_equal(draws[:, 1], draws[:, 4])
  first, second = np.split(draws[:, 0, 0].numpy(), 2)
  assert abs(np.corrcoef(first, second)[0, 1]) < 5.0 / np.sqrt(1000)
  assert abs(np.corrcoef(draws[:, 0, 0], draws[:, 1, 0])[0, 1]) < 5.0 / np.sqrt(
    2000
  )


def test_the_density_is_trained_first_and_then_rests():
  agent = make_agent(dataclasses.replace(LINEAR, density_share=0.3))
  rows = make_rows(make_problem())
  seen = []
  for _ in range(10):
    before = [
      each.numpy()
      for each in (
        *agent._density.network.trainable_variables,
        *agent._values.network.trainable_variables,
      )
    ]
    losses = agent.update(rows, rows)
    after = (
      *agent._density.network.trainable_variables,
      *agent._values.network.trainable_variables,
    )
    moved = [
      bool(np.any(a != b.numpy())) for a, b in zip(before, after, strict=True)
    ]
    half = len(moved) // 2
    seen.append((any(moved[:half]), any(moved[half:])))
    assert (float(losses['value_loss']) == 0.0) == (len(seen) <= 3)
    assert (float(losses['density_loss']) == 0.0) == (len(seen) > 3)
  assert seen == 3 * [(True, False)] + 7 * [(False, True)]


def test_a_discount_of_a_step_counts_as_the_chance_to_go_on():
  problem = make_problem()
  step = make_rows(problem).treatment
  agent = make_agent()

  def loss(discount):
    return float(
      agent.density_loss(
        step._replace(
          continuation=tf.fill([64, 1], problem.discount * discount)
        )
      )
    )

  assert loss(0.25) == pytest.approx(
    0.25 * loss(1.0) + 0.75 * loss(0.0), rel=1e-5
  )


@pytest.mark.parametrize('name', ['default', 'paper'])
def test_the_seed_decides_the_numbers(name):
  problem = make_problem()
  rows = make_rows(problem)
  config = dataclasses.replace(deepiv.CONFIGS[name], updates=4, checks=4)
  values = []
  for seed in (1, 1, 2):
    agent = make_agent(config, seed=seed)
    before = agent.predict(rows.instrument).numpy()
    for done in range(4):
      agent.anneal(done / 4)
      agent.update(rows, rows)
    values.append(agent.predict(rows.instrument).numpy())
    assert np.any(values[-1] != before)
  np.testing.assert_array_equal(values[0], values[1])
  assert np.all(values[0] != values[2])


def test_the_paper_has_two_layers_of_fifty_and_three_gaussians():
  config = deepiv.CONFIGS['paper']
  agent = make_agent(config, make_problem(num_actions=2))
  shapes = [
    sorted(
      tuple(variable.shape)
      for variable in network.trainable_variables
      if variable.shape.rank == 2
    )
    for network in (agent._density.network, agent._values.network)
  ]
  # (s, one-hot a) is [3]; 3 (1 + 2) outputs of the mixture, one Bernoulli.
  assert shapes == [[(3, 50), (50, 10), (50, 50)], [(3, 50), (50, 1), (50, 50)]]
  assert 2 * config.samples == 10


@pytest.mark.parametrize(
  'bad, message',
  [
    ({'density_share': 0.0}, 'density_share must lie between 0 and 1, got 0.0'),
    ({'density_share': 1.0}, 'density_share must lie between 0 and 1, got 1.0'),
    ({'samples': 0}, 'samples must be at least 1, got 0'),
    ({'components': 0}, 'components must be at least 1, got 0'),
    ({'rows_per_noise': 0}, 'rows_per_noise must be at least 1, got 0'),
    ({'min_scale': 0.0}, 'min_scale must be positive'),
    ({'checks': 0}, 'checks must be at least 1, got 0'),
  ],
)
def test_bad_configs_are_refused(bad, message):
  with pytest.raises(ValueError, match=message):
    deepiv.Config(**bad)
