"""DeepIV: its density, its gradient, and a linear effect with a known size."""

import dataclasses

import numpy as np
import pytest
from scipy import stats
import tensorflow as tf

from dfiv_ope import testing, types
from dfiv_ope.iv.methods import deepiv, deepiv_mixture, deepiv_update
from dfiv_ope.iv.methods.entries import deepiv as entry
from dfiv_ope.nn import layers

SMALL = deepiv.Config(
  instrument_net=(layers.Dense(16, 'tanh'),),
  treatment_net=(layers.Dense(1, None),),
  components=2,
  density_rate=2e-2,
  response_rate=2e-2,
  density_steps=300,
  response_steps=300,
  checks=10,
  members=1,
)


def random_mixture(rows, components, size, seed=0):
  generator = np.random.default_rng(seed)
  outputs = generator.standard_normal(
    (rows, deepiv_mixture.output_size(components, size))
  )
  return deepiv_mixture.from_outputs(
    tf.constant(outputs, tf.float32), components, min_scale=0.01
  )


def test_log_density_is_that_of_scipy():
  mixture = random_mixture(5, 3, 2)
  treatment = np.random.default_rng(1).standard_normal((5, 2))
  expected = []
  for row in range(5):
    density = 0.0
    for component in range(3):
      density += np.exp(mixture.log_weight[row, component]) * np.prod(
        stats.norm.pdf(
          treatment[row],
          mixture.mean[row, component],
          mixture.scale[row, component],
        )
      )
    expected.append(np.log(density))
  actual = deepiv_mixture.log_density(
    mixture, tf.constant(treatment, tf.float32)
  )
  np.testing.assert_allclose(actual, expected, rtol=1e-4)


def test_outputs_are_logits_means_and_scales_in_this_order():
  mixture = deepiv_mixture.from_outputs(
    tf.constant([[0.0, np.log(3.0), 1.0, 2.0, 3.0, 4.0, 0.0, 0.0, 0.0, -99.0]]),
    2,
    min_scale=0.5,
  )
  np.testing.assert_allclose(
    np.exp(mixture.log_weight), [[0.25, 0.75]], rtol=1e-6
  )
  np.testing.assert_allclose(mixture.mean, [[[1.0, 2.0], [3.0, 4.0]]])
  np.testing.assert_allclose(
    mixture.scale,
    [[[0.5 + np.log(2.0)] * 2, [0.5 + np.log(2.0), 0.5]]],
    rtol=1e-6,
  )


def test_draws_have_the_moments_of_the_mixture_and_are_independent():
  mixture = random_mixture(3, 4, 2)
  draws = deepiv_mixture.draw(
    mixture, 40000, tf.random.Generator.from_seed(0)
  ).numpy()
  assert draws.shape == (40000, 3, 2)
  share = np.exp(mixture.log_weight)[..., None]
  mean = np.sum(share * mixture.mean, axis=1)
  square = np.sum(
    share * (np.square(mixture.mean) + np.square(mixture.scale)), axis=1
  )
  deviation = np.sqrt(square - np.square(mean))
  # Five standard errors of the mean.
  assert np.all(np.abs(draws.mean(axis=0) - mean) < 0.025 * deviation)
  np.testing.assert_allclose(draws.std(axis=0), deviation, rtol=0.03)
  for row in range(3):
    first, second = np.split(draws[:, row, 0], 2)
    assert abs(np.corrcoef(first, second)[0, 1]) < 5.0 / np.sqrt(20000)


def test_the_two_sample_gradient_is_unbiased_where_one_sample_is_not():
  # h(t) = w t^2 and t is 1 or 3, equally likely: E h = 5 w.
  weight, outcome = tf.Variable(2.0), tf.constant([[4.0]])
  squares = [tf.constant([[[1.0]]]), tf.constant([[[9.0]]])]

  def gradient(first, second):
    with tf.GradientTape() as tape:
      loss = deepiv_update.two_sample_loss(
        outcome, weight * first, weight * second
      )
    return float(tape.gradient(loss, weight))

  exact = 2.0 * (5.0 * 2.0 - 4.0) * 5.0
  independent = [gradient(a, b) for a in squares for b in squares]
  np.testing.assert_allclose(np.mean(independent), exact)
  same = [gradient(a, a) for a in squares]
  # The bias is the gradient of Var(h) = 16 w^2.
  np.testing.assert_allclose(np.mean(same), exact + 32.0 * 2.0)


def test_response_loss_joins_each_draw_with_the_covariate_of_its_row():
  model = deepiv.build(SMALL, types.Sizes(1, 2, 1))
  weights, bias = model.responses[0].network.trainable_variables[::-1]
  if weights.shape.rank == 1:
    weights, bias = bias, weights
  weights.assign([[1.0], [10.0]])
  bias.assign([0.0])
  batch = types.IVBatch(
    None, None, tf.constant([[1.0], [2.0]]), tf.constant([[1.0], [2.0]])
  )
  draws = np.array([[1.0, 2.0], [3.0, 4.0]], np.float32)[..., None]
  # Row 0: (1 - 11) (1 - 13), row 1: (2 - 22) (2 - 24).
  np.testing.assert_allclose(
    model.response_loss(0, batch, draws), (120.0 + 440.0) / 2.0
  )


@pytest.mark.parametrize('covariates', [False, True])
def test_a_linear_effect_is_found_where_least_squares_fails(covariates):
  halves = testing.linear_problem(4000, covariates=covariates)
  model = deepiv.fit(SMALL, *halves, seed=0)
  assert abs(testing.slope(model, covariates) - 1.0) < 0.15
  assert abs(testing.least_squares_slope(halves[0]) - 1.0) > 0.6
  assert len(model.history['held_out_response_loss']) == SMALL.checks


def test_the_seed_decides_the_numbers_and_a_checkpoint_keeps_them(tmp_path):
  config = dataclasses.replace(
    SMALL,
    density_steps=20,
    response_steps=20,
    checks=2,
    treatment_net=(layers.Dense(4), layers.Dropout(0.5), layers.Dense(1, None)),
  )
  halves = testing.linear_problem(60, covariates=True)
  steps = []
  models = [
    deepiv.fit(
      config, *halves, seed=seed, progress=lambda *args: steps.append(args[:2])
    )
    for seed in (1, 1)
  ]
  points = halves[0].treatment, halves[0].covariate
  first, again = (model.predict(*points).numpy() for model in models)
  np.testing.assert_array_equal(first, again)
  assert steps[:4] == [(10, 40), (20, 40), (30, 40), (40, 40)]

  path = tf.train.Checkpoint(model=models[0]).write(str(tmp_path / 'model'))
  empty = deepiv.build(config, types.Sizes(1, 2, 1), seed=2)
  assert np.abs(empty.predict(*points) - first).max() > 1e-2
  status = tf.train.Checkpoint(model=empty).read(path)
  status.assert_existing_objects_matched()
  np.testing.assert_array_equal(empty.predict(*points), first)


def test_members_hold_out_other_rows_and_are_averaged():
  config = dataclasses.replace(
    SMALL, density_steps=2, response_steps=2, checks=1, members=2
  )
  halves = testing.linear_problem(40, covariates=False)
  model = deepiv.fit(config, *halves, seed=0)
  each = [response.network(halves[0].treatment) for response in model.responses]
  assert np.abs(each[0] - each[1]).max() > 1e-3
  np.testing.assert_allclose(
    model.predict(halves[0].treatment), (each[0] + each[1]) / 2.0, rtol=1e-5
  )


def test_update_learns_the_same_effect_inside_a_graph():
  stage1, stage2 = (
    types.IVBatch(
      *(None if member is None else tf.constant(member) for member in half)
    )
    for half in testing.linear_problem(1000, covariates=False)
  )
  model = deepiv.build(SMALL, types.Sizes(1, 1))

  @tf.function
  def run():
    losses = model.update(stage1, stage2)
    for _ in tf.range(400):
      losses = model.update(stage1, stage2)
    return losses

  losses = run()
  assert abs(testing.slope(model, False) - 1.0) < 0.2
  # Of the outcome's variance, Var(y | z) = 0.26 cannot be explained.
  np.testing.assert_allclose(losses['response_loss'], 0.26, atol=0.1)


def test_the_paper_config_has_the_networks_and_the_dropout_of_the_paper():
  assert entry.dropout_rate(500) == 0.5
  np.testing.assert_allclose(entry.dropout_rate(5000), 1.0 / 6.0)
  config = deepiv.Config.paper(5000)
  dropout = layers.Dropout(1000.0 / 6000.0)
  body = (
    layers.Dense(128),
    dropout,
    layers.Dense(64),
    dropout,
    layers.Dense(32),
    dropout,
  )
  assert config.instrument_net == body
  assert config.treatment_net == (*body, layers.Dense(1, None))
  assert config.components == 10
  assert config.response_steps == 15000


@pytest.mark.parametrize(
  'bad, message',
  [
    ({'components': 0}, 'components must be at least 1, got 0'),
    ({'response_decay': -1.0}, 'response_decay must be at least 0'),
    ({'min_scale': 0.0}, 'min_scale must be positive'),
    ({'density_steps': 3}, 'density_steps must be at least 20, got 3'),
    ({'held_out_share': 0.4}, '1 / members, got 0.4 with 3 members'),
    ({'treatment_net': (layers.Dense(3),)}, 'treatment_net must end in'),
  ],
)
def test_bad_configs_are_refused(bad, message):
  with pytest.raises(ValueError, match=message):
    deepiv.Config(**bad)
