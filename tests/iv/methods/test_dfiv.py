"""DFIV: its closed forms, one iteration, and training on small problems."""

import dataclasses

import numpy as np
import pytest
import sonnet as snt
import tensorflow as tf

from dfiv_ope import types
from dfiv_ope.iv.methods import (
  dfiv,
  dfiv_algorithm,
  dfiv_graphs,
  dfiv_losses,
  dfiv_model,
)
from dfiv_ope.iv.methods.entries import dfiv as entry
from dfiv_ope.nn import layers

SMALL = dfiv.Config(
  treatment_net=(layers.Dense(4, 'silu'), layers.Dense(1, None)),
  instrument_net=(layers.Dense(8, 'silu'), layers.Dense(4, None)),
  covariate_net=(layers.Dense(8, 'silu'), layers.Dense(3, None)),
  instrument_steps=1,
  covariate_steps=2,
  learning_rate=1e-2,
  iterations=6,
  checks=2,
  batch_size=32,
  patience=0,
  equal_steps=False,
  fixed_landmarks=0,
)


def batch(rows, seed, *, covariate=True, confounding=1.0):
  """Y = 2 T + X + noise, with the noise of T in that of Y."""
  generator = np.random.default_rng(seed)
  z, x, shock, noise = generator.normal(size=(4, rows, 1)).astype(np.float32)
  x = x if covariate else np.zeros_like(x)
  treatment = z + 0.5 * x + shock
  return types.IVBatch(
    treatment=treatment,
    instrument=np.concatenate([z, x], axis=1) if covariate else z,
    outcome=2.0 * treatment + x + confounding * shock + 0.1 * noise,
    covariate=x if covariate else None,
  )


def tensors(data):
  return types.IVBatch(
    *(None if each is None else tf.constant(each) for each in data)
  )


class Linear(snt.Module):
  """A linear map whose weights are given."""

  def __init__(self, weights):
    super().__init__()
    self.weights = tf.Variable(np.asarray(weights, np.float32))

  def __call__(self, x):
    return tf.matmul(x, self.weights)


def linear_model(*, covariate=False, **changes):
  return dfiv_model.DFIV(
    dataclasses.replace(dfiv.Config(), **changes),
    treatment_net=Linear([[1.0]]),
    instrument_net=Linear(np.eye(2 if covariate else 1)),
    covariate_net=Linear([[1.0]]) if covariate else None,
  )


def held_out_losses(model, first, second):
  return dfiv_losses.held_out_losses(
    model.config.rule, *model.features_of(first, second)
  )


def ridge_weights(design, target, penalty):
  """Returns ridge weights; the last column of the design is free."""
  scale = penalty * len(design) * np.eye(design.shape[1])
  scale[-1, -1] = 0.0
  return np.linalg.solve(design.T @ design + scale, design.T @ target)


def append_one(x):
  return np.concatenate([x, np.ones_like(x[:, :1])], axis=1)


def both_stages(first, second, penalty1, penalty2):
  """Returns predicted and actual designs of `second` and u, by numpy."""
  weights = ridge_weights(
    append_one(first.instrument), first.treatment, penalty1
  )
  predicted = append_one(append_one(second.instrument) @ weights)
  actual = append_one(second.treatment)
  if second.covariate is not None:
    factor = append_one(second.covariate)
    predicted, actual = (
      np.einsum('bi,bj->bij', each, factor).reshape(len(each), -1)
      for each in (predicted, actual)
    )
  return predicted, actual, ridge_weights(predicted, second.outcome, penalty2)


@pytest.mark.parametrize('covariate', [False, True])
def test_solve_without_refinements_is_equations_7_and_9(covariate):
  first = batch(50, 0, covariate=covariate)
  second = batch(60, 1, covariate=covariate)
  model = linear_model(
    stage1_penalty=0.1,
    stage2_penalty=0.2,
    refinements=0,
    swap_solve=False,
    covariate=covariate,
  )
  model.solve(tensors(first), tensors(second))
  _, _, expected = both_stages(first, second, 0.1, 0.2)
  np.testing.assert_allclose(
    model.stage2_weights.numpy(), expected, rtol=1e-4, atol=1e-5
  )
  points = batch(5, 2, covariate=covariate)
  _, actual, _ = both_stages(first, points, 0.1, 0.2)
  np.testing.assert_allclose(
    model.predict(points.treatment, points.covariate),
    actual @ expected,
    rtol=1e-4,
    atol=1e-4,
  )


def test_refinements_approach_the_moment_form():
  first, second = batch(200, 0), batch(200, 1)
  predicted, actual, _ = both_stages(first, second, 1e-6, 1e-6)
  expected = np.linalg.solve(predicted.T @ actual, predicted.T @ second.outcome)
  given = dfiv_algorithm.Designs(
    *(
      tf.constant(each, tf.float64)
      for each in (predicted, actual, second.outcome)
    )
  )
  errors = [
    np.abs(dfiv_algorithm.stage2(given, 1e-6, count)[0] - expected).max()
    for count in (0, 2, 20)
  ]
  assert errors[1] < 0.2 * errors[0]
  assert errors[2] < 1e-4


def test_refinements_leave_only_the_noise_of_the_outcome():
  # The answer is 2; the treatment's own noise is as large as its effect.
  errors = {0: [], 2: []}
  for seed in range(10):
    first = batch(100, (seed, 0), covariate=False, confounding=0.0)
    second = batch(100, (seed, 1), covariate=False, confounding=0.0)
    for count, found in errors.items():
      model = linear_model(
        stage1_penalty=1e-4,
        stage2_penalty=1e-4,
        refinements=count,
        swap_solve=False,
      )
      model.solve(tensors(first), tensors(second))
      found.append(float(model.stage2_weights[0, 0]) - 2.0)
  assert np.std(errors[2]) < 0.3 * np.std(errors[0])


def test_the_losses_of_given_features_are_those_of_the_training():
  first, second = batch(80, 0), batch(90, 1)
  model = linear_model(
    covariate=True, stage1_penalty=0.1, stage2_penalty=0.2, refinements=2
  )
  in_training = dfiv_algorithm.stage2(
    dfiv_algorithm.designs(
      model,
      tensors(second),
      dfiv_algorithm.stage1_weights(model, model.config, tensors(first)),
    ),
    0.2,
    2,
  )[0]
  found = dfiv_losses.solve(model.config, first, second, swap=False)
  np.testing.assert_allclose(found, in_training, rtol=1e-4, atol=1e-6)


def test_confounding_does_not_bias_the_answer():
  # Least squares of y on t would have the slope 2.5.
  model = linear_model(stage1_penalty=1e-4, stage2_penalty=1e-4)
  model.solve(
    tensors(batch(4000, 0, covariate=False)),
    tensors(batch(4000, 1, covariate=False)),
  )
  np.testing.assert_allclose(model.stage2_weights[0, 0], 2.0, atol=0.05)


def test_a_swapped_solve_uses_both_batches_in_both_stages():
  first = batch(50, 0, covariate=False)
  second = batch(60, 1, covariate=False)
  model = linear_model(stage1_penalty=0.1, stage2_penalty=0.2, refinements=0)
  model.solve(tensors(first), tensors(second))
  parts = (
    both_stages(first, second, 0.1, 0.2)[0],
    both_stages(second, first, 0.1, 0.2)[0],
  )
  expected = ridge_weights(
    np.concatenate(parts), np.concatenate([second.outcome, first.outcome]), 0.2
  )
  np.testing.assert_allclose(model.stage2_weights.numpy(), expected, rtol=1e-4)


def test_held_out_losses_are_those_of_appendix_a():
  first = batch(50, 0, covariate=False)
  second = batch(60, 1, covariate=False)
  model = linear_model(stage1_penalty=0.1, stage2_penalty=0.2, refinements=0)
  losses = held_out_losses(model, tensors(first), tensors(second))
  predicted, _, weights = both_stages(first, second, 0.1, 0.2)
  stage1 = np.mean((second.treatment - predicted[:, :1]) ** 2) / np.var(
    second.treatment
  )
  fitted = both_stages(first, first, 0.1, 0.2)[0] @ weights
  np.testing.assert_allclose(losses.stage1, stage1, rtol=1e-4)
  np.testing.assert_allclose(
    losses.stage2, np.mean((first.outcome - fitted) ** 2), rtol=1e-4
  )


def built(config=SMALL, *, covariate=True, seed=0):
  return dfiv.build(
    config, types.Sizes(1, 2 if covariate else 1, int(covariate)), seed=seed
  )


def trained(model, first, second, updates=20):
  """Returns the losses of the first and of the last update."""
  # Outside a graph first: optimisers make variables, which a graph retraces.
  start = model.update(first, second)
  update = tf.function(model.update)
  for _ in range(updates - 1):
    losses = update(first, second)
  return start, losses


@pytest.mark.parametrize('covariate', [False, True])
def test_updates_lower_both_losses(covariate):
  model = built(covariate=covariate)
  first = tensors(batch(200, 0, covariate=covariate))
  second = tensors(batch(200, 1, covariate=covariate))
  before = held_out_losses(model, first, second)
  start, end = trained(model, first, second)
  after = held_out_losses(model, first, second)
  assert set(end) == {'stage1_loss', 'stage2_loss'}
  assert float(end['stage2_loss']) < float(start['stage2_loss'])
  assert float(after.stage1) < float(before.stage1)
  assert float(after.stage2) < float(before.stage2)


def test_steps_at_once_are_those_in_turn_but_for_what_psi_has_seen():
  first, second = tensors(batch(200, 0)), tensors(batch(200, 1))
  turns, once = (
    built(dataclasses.replace(SMALL, instrument_steps=2, at_once=at_once))
    for at_once in (False, True)
  )
  losses = [model.update(first, second) for model in (turns, once)]
  # The last step of phi is the same, that of psi saw phi before it.
  for one, other in zip(
    turns.instrument.values(), once.instrument.values(), strict=True
  ):
    np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-6)
  np.testing.assert_allclose(
    losses[0]['stage1_loss'], losses[1]['stage1_loss'], rtol=1e-5
  )
  assert float(losses[0]['stage2_loss']) != float(losses[1]['stage2_loss'])
  start, end = trained(once, first, second)
  assert float(end['stage2_loss']) < float(start['stage2_loss'])


def test_an_update_handles_a_batch_of_one():
  model = built()
  losses = model.update(tensors(batch(1, 0)), tensors(batch(1, 1)))
  assert all(np.isfinite(loss) for loss in losses.values())
  model.solve(tensors(batch(1, 0)), tensors(batch(1, 1)))
  assert np.isfinite(model.predict([[0.0]], [[0.0]])).all()


def test_joint_minimisation_gives_stage_1_up():
  first, second = tensors(batch(200, 0)), tensors(batch(200, 1))
  held_out = {}
  for joint in (False, True):
    model = built(dataclasses.replace(SMALL, joint=joint, instrument_steps=3))
    start, end = trained(model, first, second)
    held_out[joint] = float(held_out_losses(model, first, second).stage1)
    assert float(end['stage2_loss']) < float(start['stage2_loss'])
  assert held_out[True] > held_out[False]


def test_fit_keeps_the_features_of_least_held_out_loss(monkeypatch):
  losses = iter([3.0, 1.0, 2.0])
  states = []
  features_of = dfiv_model.DFIV.features_of

  def remembered(self, *halves):
    states.append(self.treatment.values())
    return features_of(self, *halves)

  monkeypatch.setattr(dfiv_model.DFIV, 'features_of', remembered)
  monkeypatch.setattr(
    dfiv_losses,
    'held_out_losses',
    lambda *_: dfiv_losses.HeldOut(0.5, next(losses)),
  )
  config = dataclasses.replace(SMALL, checks=3, candidate_penalties=())
  model = dfiv.fit(config, batch(40, 0), batch(40, 1), seed=0)
  assert model.history['held_out_stage2_loss'] == [3.0, 1.0, 2.0]
  for kept, seen in zip(model.treatment.values(), states[1], strict=True):
    np.testing.assert_array_equal(kept, seen)


def test_fit_finds_the_slope_in_spite_of_confounding():
  config = dataclasses.replace(
    SMALL, iterations=100, batch_size=None, candidate_penalties=(1e-3, 1e3)
  )
  model = dfiv.fit(config, batch(1000, 0), batch(1000, 1), seed=0)
  slope = model.predict([[0.5]], [[0.0]]) - model.predict([[-0.5]], [[0.0]])
  # Least squares would give 2.5.
  np.testing.assert_allclose(slope, 2.0, atol=0.2)
  assert model.config == dataclasses.replace(
    config, stage1_penalty=1e-3, stage2_penalty=1e-3
  )


def test_a_graph_is_traced_once_for_all_fits_of_one_config(monkeypatch):
  monkeypatch.setattr(dfiv_graphs, '_IDLE', [])
  halves = batch(60, 0), batch(60, 1)
  alone = dfiv.fit(SMALL, *halves, seed=0)
  (graph,) = dfiv_graphs._IDLE
  # Other rows, more of them and another seed leave nothing behind.
  dfiv.fit(SMALL, batch(90, 2), batch(80, 3), seed=1)
  again = dfiv.fit(SMALL, *halves, seed=0)
  assert list(dfiv_graphs._IDLE) == [graph]
  assert graph._iterations.experimental_get_tracing_count() == 1
  assert alone.history == again.history
  np.testing.assert_array_equal(alone.stage2_weights, again.stage2_weights)
  # The first model is its own: the next trainings did not move it.
  points = halves[0].treatment, halves[0].covariate
  np.testing.assert_array_equal(alone.predict(*points), again.predict(*points))
  # All rows of a stage, or another config, are another graph.
  dfiv.fit(SMALL, batch(30, 2), batch(30, 3), seed=1)
  assert len(dfiv_graphs._IDLE) == 2


def test_dropout_masks_of_a_borrowed_graph_are_those_of_the_seed(monkeypatch):
  monkeypatch.setattr(dfiv_graphs, '_IDLE', [])
  config = dataclasses.replace(
    SMALL,
    instrument_net=(
      layers.Dense(8, 'silu'),
      layers.Dropout(0.5),
      layers.Dense(4, None),
    ),
  )
  halves = batch(60, 0), batch(60, 1)
  first, other, again = (
    dfiv.fit(config, *halves, seed=seed).history for seed in (0, 1, 0)
  )
  assert first == again != other


def test_seeds_decide_the_networks():
  first, again, other = (
    built(seed=seed).features(tensors(batch(3, 0))) for seed in (0, 0, 1)
  )
  for member in ('treatment', 'instrument', 'covariate'):
    values = getattr(first, member).numpy()
    np.testing.assert_array_equal(values, getattr(again, member))
    assert not np.any(values == getattr(other, member).numpy())


def test_the_paper_config_has_the_papers_stage_2_and_batch_norm():
  assert dfiv.PAPER.refinements == 0
  assert dfiv.PAPER.covariate_net[-1] == layers.BatchNorm('relu')
  model = built(
    dataclasses.replace(dfiv.PAPER, instrument_steps=1, covariate_steps=1)
  )
  data = tensors(batch(30, 0))
  variables = model.covariate.network.variables
  before = [each.numpy() for each in variables]
  model.update(data, data)
  changed = [
    not np.array_equal(each.numpy(), old)
    for each, old in zip(variables, before, strict=True)
  ]
  assert sum(changed) > len(model.covariate.network.trainable_variables)


@pytest.mark.parametrize(
  'change, message',
  [
    ({'stage1_penalty': 0.0}, 'stage1_penalty must be positive, got 0.0.'),
    ({'learning_rate': -1.0}, 'learning_rate must be positive, got -1.0.'),
    ({'instrument_steps': 0}, 'instrument_steps must be at least 1, got 0.'),
    ({'refinements': -1}, 'refinements must be at least 0, got -1.'),
    ({'checks': 9}, 'iterations must be at least 9, got 6.'),
    ({'batch_size': 0}, 'batch_size must be at least 1, got 0.'),
    ({'candidate_penalties': (0.0,)}, 'candidate_penalties must be positive'),
  ],
)
def test_bad_configs_are_refused(change, message):
  with pytest.raises(ValueError, match=message):
    dataclasses.replace(SMALL, **change)


def test_the_number_of_features_is_the_one_of_least_cross_fitted_loss(
  monkeypatch,
):
  config = dataclasses.replace(
    SMALL, treatment_net=entry.TREATMENT_NET, feature_counts=(1, 3)
  )
  halves = batch(60, 0), batch(60, 1)
  # Told apart by the width of psi; the loss of a check counts for nothing.
  monkeypatch.setattr(
    dfiv_losses,
    'cross_fitted_loss',
    lambda rule, first, second: -float(first.treatment.shape[1]),
  )
  calls = []
  model = dfiv.fit(
    config, *halves, seed=0, progress=lambda *each: calls.append(each)
  )
  assert model.features(tensors(halves[0])).treatment.shape[1] == 3
  assert model.config.treatment_net[-1].size == 3
  assert model.config.feature_counts == ()
  assert [each[:2] for each in calls] == [(3, 12), (6, 12), (9, 12), (12, 12)]
  # Without covariates, or with a network of one's own, nothing is chosen.
  assert config.counts(covariates=True) == (1, 3)
  assert config.counts(covariates=False) == ()
  assert (
    dataclasses.replace(SMALL, feature_counts=(1, 3)).counts(covariates=True)
    == ()
  )


def test_a_training_ends_where_the_held_out_loss_falls_no_more(monkeypatch):
  losses = iter([3.0, 1.0, 2.0, 2.0, 0.0])
  monkeypatch.setattr(
    dfiv_losses,
    'held_out_losses',
    lambda *_: dfiv_losses.HeldOut(0.0, next(losses)),
  )
  model = dfiv.fit(
    dataclasses.replace(
      SMALL, iterations=8, checks=5, patience=2, candidate_penalties=()
    ),
    batch(60, 0),
    batch(60, 1),
    seed=0,
  )
  assert model.history['held_out_stage2_loss'] == [3.0, 1.0, 2.0, 2.0]


def test_covariates_leave_fewer_iterations_for_as_many_steps():
  config = dfiv.Config()
  assert config.most_iterations(covariates=False) == config.iterations == 1000
  # 3 + 1 steps of an iteration are 14 with those of the covariates.
  assert config.most_iterations(covariates=True) == 4000 // 14
  demand = entry.DEMAND
  assert demand.most_iterations(covariates=True) == demand.iterations == 200


@pytest.mark.parametrize(
  'settings, message',
  [
    ({'feature_counts': (0,)}, 'feature_counts must be positive'),
    ({'patience': -1}, 'patience must be at least 0'),
    ({'fixed_landmarks': -1}, 'fixed_landmarks must be at least 0'),
  ],
)
def test_settings_of_the_training_that_cannot_be_are_refused(settings, message):
  with pytest.raises(ValueError, match=message):
    dfiv.Config(**settings)
