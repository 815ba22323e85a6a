"""Spectral features of DFIV: what the instrument tells of the treatment."""

import dataclasses

import numpy as np
import pytest

from dfiv_ope import types
from dfiv_ope.iv.methods import dfiv, dfiv_spectral
from dfiv_ope.nn import layers

LINE = dfiv.Config(
  treatment_net=(layers.Dense(1, None),),
  instrument_net=(layers.Dense(2, None),),
  stage1_penalty=1e-3,
  treatment_learning_rate=5e-2,
  learning_rate=5e-2,
  spectral_steps=60,
  iterations=0,
  checks=2,
  batch_size=100,
  patience=0,
  equal_steps=False,
  fixed_landmarks=0,
)


def batch(rows=400, seed=0):
  """The instrument moves the first of two treatments, and only that."""
  generator = np.random.default_rng(seed)
  instrument, noise, other = generator.normal(size=(3, rows, 1))
  return types.IVBatch(
    treatment=np.hstack([instrument + 0.5 * noise, other]).astype(np.float32),
    instrument=instrument.astype(np.float32),
    outcome=(other + noise).astype(np.float32),
    covariate=None,
  )


def test_the_trace_is_the_sum_of_the_squared_canonical_correlations():
  generator = np.random.default_rng(0)
  psi = generator.normal(size=(50, 3))
  phi = psi @ generator.normal(size=(3, 4)) + generator.normal(size=(50, 4))
  bases = [
    np.linalg.svd(each - each.mean(axis=0), full_matrices=False)[0]
    for each in (psi, phi)
  ]
  expected = np.sum(np.linalg.svd(bases[0].T @ bases[1], compute_uv=False) ** 2)
  assert float(dfiv_spectral.correlations(psi, phi, 1e-12)) == pytest.approx(
    expected, rel=1e-6
  )
  assert float(dfiv_spectral.correlations(psi, phi, 1.0)) < 0.9 * expected


def test_features_follow_what_the_instrument_moves():
  model = dfiv.fit(LINE, batch(seed=0), batch(seed=1), seed=0)
  _, weights = model.treatment.network.trainable_variables
  told, other = np.abs(weights.numpy()[:, 0])
  assert other < 0.15 * told
  found = model.history['correlations']
  assert len(found) == 2
  # The squared correlation of z + 0.5 noise with z is 0.8.
  assert found[-1] == pytest.approx(0.8, abs=0.08)
  assert len(model.history['held_out_stage2_loss']) == 1
  assert 'stage2_loss' not in model.history


def test_the_steps_that_go_together_most_in_other_rows_are_kept():
  first, second = batch(seed=0), batch(seed=1)
  config = dataclasses.replace(LINE, spectral_steps=6, checks=3)
  # The treatment of stage 2 goes with the instrument as its second column does
  # in stage 1: what is learned makes it worse.
  turned = second._replace(treatment=second.treatment[:, ::-1])
  short = dfiv.fit(
    dataclasses.replace(config, spectral_steps=2, checks=1),
    first,
    turned,
    seed=0,
  )
  longer = dfiv.fit(config, first, turned, seed=0)
  judged = longer.history['held_out_correlations']
  assert judged[0] == max(judged)
  assert judged[0] == short.history['held_out_correlations'][0]
  np.testing.assert_array_equal(
    longer.structural_columns(first.treatment),
    short.structural_columns(first.treatment),
  )


def test_rows_of_stage_2_judge_spectral_features_and_move_none():
  first, second = batch(seed=0), batch(seed=1)
  config = dataclasses.replace(LINE, checks=1)
  model = dfiv.fit(config, first, second, seed=0)
  other = dfiv.fit(
    config, first, second._replace(treatment=-2.0 * second.treatment), seed=0
  )
  np.testing.assert_array_equal(
    model.structural_columns(first.treatment),
    other.structural_columns(first.treatment),
  )
  psi, phi = model.features(second).treatment, model.features(second).instrument
  assert model.history['held_out_correlations'] == [
    float(dfiv_spectral.correlations(psi, phi, config.stage1_penalty))
  ]


def test_spectral_features_see_no_outcome():
  first, second = batch(seed=0), batch(seed=1)
  model = dfiv.fit(LINE, first, second, seed=0)
  turned = dfiv.fit(
    LINE,
    first._replace(outcome=-first.outcome),
    second._replace(outcome=second.outcome**2),
    seed=0,
  )
  np.testing.assert_array_equal(
    model.structural_columns(first.treatment),
    turned.structural_columns(first.treatment),
  )


def test_algorithm_1_goes_on_from_spectral_features():
  calls = []
  config = dataclasses.replace(LINE, iterations=4, spectral_steps=6)
  model = dfiv.fit(
    config,
    batch(seed=0),
    batch(seed=1),
    seed=0,
    progress=lambda done, total, losses: calls.append((done, total)),
  )
  assert calls == [(3, 10), (6, 10), (8, 10), (10, 10)]
  assert len(model.history['stage2_loss']) == 2


@pytest.mark.parametrize(
  'settings, message',
  [
    ({'spectral_steps': 1, 'checks': 2}, 'spectral_steps must be at least 2'),
    ({'spectral_steps': -1}, 'spectral_steps must be at least'),
    ({'iterations': 0}, 'iterations must be at least'),
    ({'members': 0}, 'members must be at least 1'),
  ],
)
def test_settings_that_leave_nothing_to_train_are_refused(settings, message):
  with pytest.raises(ValueError, match=message):
    dfiv.Config(**settings)
