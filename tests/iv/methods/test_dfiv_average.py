"""Averages of several trainings of DFIV."""

import dataclasses

import numpy as np

from dfiv_ope import types
from dfiv_ope.iv import estimators, splits
from dfiv_ope.iv.methods import dfiv
from dfiv_ope.nn import layers

THREE = dfiv.Config(
  treatment_net=(layers.Dense(4, 'silu'), layers.Dense(2, None)),
  instrument_net=(layers.Dense(4, 'silu'), layers.Dense(3, None)),
  iterations=4,
  checks=2,
  patience=0,
  fixed_landmarks=0,
  members=3,
)


def batch(rows=40, seed=0):
  generator = np.random.default_rng(seed)
  instrument, noise = generator.normal(size=(2, rows, 1)).astype(np.float32)
  treatment = instrument + noise
  return types.IVBatch(treatment, instrument, 2.0 * treatment + noise, None)


def test_members_are_trainings_of_which_every_second_swaps_the_halves():
  first, second = batch(seed=0), batch(seed=1)
  average = dfiv.fit(THREE, first, second, seed=5)
  single = dataclasses.replace(THREE, members=1)
  members = [
    dfiv.fit(single, *halves, seed=splits.derived(5, index))
    for index, halves in enumerate(
      [(first, second), (second, first), (first, second)]
    )
  ]
  points = batch(7, seed=2).treatment
  apart = [each.predict(points) for each in members]
  np.testing.assert_array_equal(average.predict(points), np.mean(apart, axis=0))
  assert np.std(apart, axis=0).min() > 0.0
  assert average.history == members[0].history
  np.testing.assert_array_equal(
    average.structural_columns(points),
    np.hstack([each.structural_columns(points) for each in members]),
  )
  np.testing.assert_array_equal(
    average.instrument_columns(points),
    np.hstack([each.instrument_columns(points) for each in members]),
  )


def test_an_average_tells_of_all_its_trainings_and_shows_the_first():
  calls, seen = [], []
  dfiv.fit(
    THREE,
    batch(seed=0),
    batch(seed=1),
    seed=0,
    progress=lambda done, total, losses: calls.append((done, total)),
    watch=seen.append,
  )
  assert calls == [(2 * each, 12) for each in range(1, 7)]
  assert len(seen) == 2


def test_the_first_member_finds_the_number_of_features_for_all(tmp_path):
  generator = np.random.default_rng(0)
  instrument, covariate, noise = generator.normal(size=(3, 80, 1))
  treatment = instrument + 0.5 * noise
  model = estimators.DFIV(
    feature_counts=(2, 3),
    members=2,
    iterations=4,
    checks=2,
    patience=0,
    n_splits=1,
  ).fit(
    np.sin(treatment) * covariate + noise, treatment, Z=instrument, X=covariate
  )
  sizes = [each.config.treatment_net[-1].size for each in model.model_.members]
  assert sizes in ([2, 2], [3, 3])
  model.save(tmp_path / 'saved')
  again = estimators.load(tmp_path / 'saved')
  np.testing.assert_array_equal(
    again.predict(treatment, covariate), model.predict(treatment, covariate)
  )


def test_an_average_survives_saving(tmp_path):
  rows = batch(80)
  fields = {
    field.name: getattr(THREE, field.name)
    for field in dataclasses.fields(THREE)
  }
  model = estimators.DFIV(**fields).fit(
    rows.outcome, rows.treatment, Z=rows.instrument
  )
  model.save(tmp_path / 'saved')
  again = estimators.load(tmp_path / 'saved')
  np.testing.assert_array_equal(
    again.predict(rows.treatment), model.predict(rows.treatment)
  )
