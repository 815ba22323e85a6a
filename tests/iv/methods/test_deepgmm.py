"""DeepGMM: its game, its choice, and a linear effect with a known size."""

import dataclasses

import numpy as np
import pytest
import tensorflow as tf

from dfiv_ope import testing, types
from dfiv_ope.iv.methods import deepgmm, deepgmm_update
from dfiv_ope.nn import layers as layers_lib

SMALL = deepgmm.Config(
  instrument_net=(layers_lib.Dense(16, 'tanh'), layers_lib.Dense(1, None)),
  treatment_net=(layers_lib.Dense(1, None),),
  treatment_rate=1e-2,
  instrument_rate=2e-2,
  critic_steps=2,
  steps=300,
  checks=10,
)


def test_the_game_value_is_the_formula_and_has_no_gradient_in_the_lagged_f():
  critic, residual, lagged = np.random.default_rng(0).standard_normal((3, 7, 1))
  tensors = [tf.constant(each) for each in (critic, residual, lagged)]
  with tf.GradientTape() as tape:
    tape.watch(tensors)
    value = deepgmm_update.game_value(*tensors)
  np.testing.assert_allclose(
    value, np.mean(critic * residual) - np.mean(critic**2 * lagged**2) / 4.0
  )
  gradients = tape.gradient(value, tensors)
  np.testing.assert_allclose(
    gradients[0], (residual - critic * lagged**2 / 2.0) / 7.0
  )
  np.testing.assert_allclose(gradients[1], critic / 7.0)
  assert gradients[2] is None
  even = deepgmm_update.game_value(*tensors, even_weights=1.0)
  np.testing.assert_allclose(
    even,
    np.mean(critic * residual) - np.mean(critic**2) * np.mean(lagged**2) / 4.0,
  )
  half = deepgmm_update.game_value(*tensors, even_weights=0.5)
  np.testing.assert_allclose(half, (value + even) / 2.0)


def test_the_worst_violation_is_the_best_game_value_over_scaled_critics():
  generator = np.random.default_rng(0)
  critics = generator.standard_normal((50, 3))
  residuals = generator.standard_normal((50, 4))
  lagged = generator.standard_normal((50, 1))
  expected = []
  for residual in residuals.T:
    # The best multiple c of a critic: 2 mean(g r) / mean(g^2 r~^2).
    values = []
    for critic in critics.T:
      scale = (
        2.0
        * np.mean(critic * residual)
        / np.mean(critic**2 * lagged[:, 0] ** 2)
      )
      values.append(
        float(
          deepgmm_update.game_value(
            scale * critic[:, None], residual[:, None], lagged
          )
        )
      )
    expected.append(max(values))
  np.testing.assert_allclose(
    deepgmm.worst_violation(critics, residuals, lagged), expected
  )


def test_a_critic_that_is_zero_says_nothing():
  violation = deepgmm.worst_violation(
    tf.zeros([5, 1]), tf.ones([5, 2]), tf.ones([5, 1])
  )
  np.testing.assert_array_equal(violation, [0.0, 0.0])


def test_diverged_snapshots_are_left_out_of_the_choice():
  generator = np.random.default_rng(0)
  critics = list(generator.standard_normal((4, 30, 1)))
  residuals = list(generator.standard_normal((4, 30, 1)))
  critics[1][3], residuals[3][5] = np.nan, np.inf
  expected = deepgmm.worst_violation(
    np.concatenate([critics[0], critics[2]], axis=1),
    np.concatenate([residuals[0], residuals[2]], axis=1),
    residuals[2],
  )
  np.testing.assert_allclose(
    deepgmm.held_out_losses(critics, residuals),
    [expected[0], np.inf, expected[1], np.inf],
  )
  with pytest.raises(FloatingPointError, match='DeepGMM diverged'):
    deepgmm.held_out_losses(critics[1:2], residuals[1:2])


@pytest.mark.parametrize('covariates', [False, True])
def test_a_linear_effect_is_found_where_least_squares_fails(covariates):
  halves = testing.linear_problem(4000, covariates=covariates)
  model = deepgmm.fit(SMALL, *halves, seed=0)
  assert abs(testing.slope(model, covariates) - 1.0) < 0.15
  assert abs(testing.least_squares_slope(halves[0]) - 1.0) > 0.6
  violations = model.history['held_out_loss']
  assert len(violations) == SMALL.checks
  assert min(violations) < 0.2 * violations[0]


@pytest.mark.parametrize('swap', [False, True])
def test_the_functions_of_all_games_are_averaged(swap):
  model = deepgmm.build(
    dataclasses.replace(SMALL, swap=swap), types.Sizes(1, 1)
  )
  assert len(model.structurals) == 1 + swap
  points = np.array([[-2.0], [0.5]], np.float32)
  np.testing.assert_allclose(
    model.predict(points),
    np.mean([each.network(points) for each in model.structurals], axis=0),
  )


def _untrained(**changes):
  return deepgmm.build(
    dataclasses.replace(SMALL, swap=False, **changes), types.Sizes(1, 1)
  )


def _tensors():
  return types.IVBatch(
    *(
      None if member is None else tf.constant(member)
      for member in testing.linear_problem(100, covariates=False)[0]
    )
  )


@pytest.mark.parametrize('unit_residuals', [False, True])
def test_a_joint_step_is_a_step_of_each_against_the_other_as_it_was(
  unit_residuals,
):
  rows = _tensors()
  together, structural, critic = (
    _untrained(unit_residuals=unit_residuals) for _ in range(3)
  )
  value = together.joint_step(0, rows)
  np.testing.assert_allclose(
    value, structural.structural_step(0, rows), rtol=1e-6
  )
  np.testing.assert_allclose(value, critic.critic_step(0, rows), rtol=1e-6)
  for mine, alone in (
    (together.structurals, structural.structurals),
    (together.critics, critic.critics),
  ):
    tf.nest.map_structure(
      lambda x, y: np.testing.assert_allclose(x, y, atol=1e-6),
      mine[0].values(),
      alone[0].values(),
    )


def test_unit_residuals_make_the_game_blind_to_the_scale_of_the_outcome():
  rows = _tensors()
  values = []
  for scale in (1.0, 100.0):
    model = _untrained(unit_residuals=True)
    for variable in model.structurals[0].network.trainable_variables:
      variable.assign(scale * variable)
    values.append(
      model.critic_step(0, rows._replace(outcome=scale * rows.outcome))
    )
  np.testing.assert_allclose(*values, rtol=1e-4)


def test_update_learns_the_same_effect_inside_a_graph():
  stage1, stage2 = (
    types.IVBatch(
      *(None if member is None else tf.constant(member) for member in half)
    )
    for half in testing.linear_problem(1000, covariates=False)
  )
  model = deepgmm.build(
    dataclasses.replace(SMALL, swap=False), types.Sizes(1, 1)
  )

  @tf.function
  def run():
    losses = model.update(stage1, stage2)
    for _ in tf.range(300):
      losses = model.update(stage1, stage2)
    return losses

  assert np.isfinite(run()['game_value'])
  assert abs(testing.slope(model, False) - 1.0) < 0.2


def test_the_paper_config_has_the_networks_of_the_paper():
  layers = (
    layers_lib.Dense(128),
    layers_lib.Dense(64),
    layers_lib.Dense(32),
    layers_lib.Dense(1, None),
  )
  assert deepgmm.PAPER.treatment_net == layers
  assert deepgmm.PAPER.instrument_net == layers


@pytest.mark.parametrize(
  'bad, message',
  [
    ({'critic_steps': 0}, 'critic_steps must be at least 1, got 0'),
    ({'steps': 3}, 'steps must be at least 40, got 3'),
    ({'treatment_rate': 0.0}, 'treatment_rate must be positive'),
    ({'beta2': 1.0}, 'beta2 must lie in'),
    ({'instrument_net': ()}, 'instrument_net must end in'),
  ],
)
def test_bad_configs_are_refused(bad, message):
  with pytest.raises(ValueError, match=message):
    deepgmm.Config(**bad)
