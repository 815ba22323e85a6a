"""What stands beside the learned features of DFIV, and its share."""

import dataclasses

import numpy as np
import pytest
import tensorflow as tf

from dfiv_ope import types
from dfiv_ope.iv.methods import dfiv, dfiv_fixed, two_sls
from dfiv_ope.nn import layers

_NET = (layers.Dense(4, 'silu'), layers.Dense(1, None))
# Hardly trained: what is right of the answer is not learned.
_SHORT = dfiv.Config(
  treatment_net=_NET,
  instrument_net=_NET,
  iterations=2,
  checks=1,
  patience=0,
  fixed_landmarks=20,
)


def curve(rows, seed):
  """Y = sin(2 T) + noise, with the noise of T in that of Y."""
  generator = np.random.default_rng(seed)
  z = generator.uniform(-2.0, 2.0, (rows, 1))
  shock = 0.5 * generator.normal(size=(rows, 1))
  treatment = z + shock
  return types.IVBatch(
    treatment.astype(np.float32),
    z.astype(np.float32),
    (np.sin(2.0 * treatment) + shock).astype(np.float32),
  )


@pytest.mark.parametrize('truth', [0.0, 0.3, 1.0])
def test_the_share_is_a_lower_bound_in_spite_of_confounding(truth):
  generator = np.random.default_rng(0)
  z, shock, noise = generator.normal(size=(3, 20_000, 1))
  treatment = z + shock
  one, other = treatment, np.sin(treatment)
  outcome = truth * one + (1.0 - truth) * other + 2.0 * shock + 0.1 * noise
  cut = 10_000
  found = dfiv_fixed.share(one, other, outcome[:cut], (z[:cut], z[cut:]))
  # By least squares it would be clipped at 1, whatever the truth is.
  difference = (one - other)[:cut]
  assert np.sum(difference * (outcome - other)[:cut]) > (
    np.sum(np.square(difference))
  )
  assert max(0.0, truth - 0.25) <= found <= truth


def test_functions_that_instruments_cannot_tell_apart_leave_the_fixed_one():
  same = np.ones((40, 1))
  z = np.linspace(-1.0, 1.0, 40)[:, None]
  assert dfiv_fixed.share(same, same, z[:20], (z[:20], z[20:])) == 0.0


@pytest.mark.parametrize('t', [1.4, 3.0, 60.0])
def test_the_fixed_part_is_a_line_unless_a_kernel_predicts_what_it_leaves(
  t, monkeypatch
):
  monkeypatch.setattr(dfiv_fixed.linearity, 't_statistic', lambda *_: t)
  halves = curve(400, 0), curve(400, 1)
  part = dfiv_fixed.FixedPart(types.Sizes(1, 1, 0))
  told = part.fit(*halves, most=20)
  assert told.curve == t
  points = np.linspace(-2.0, 2.0, 41)[:, None]
  found = part.predict(points, None)
  line = two_sls.fit(two_sls.Config(), *halves, seed=0).predict(points)
  if t > 1.5:
    # An eighth of it is a line at twice the least t, nothing at forty times.
    rest = line * (1.5 / t) ** 3
    curved = (found - rest) / (1.0 - (1.5 / t) ** 3)
    assert np.mean(np.square(curved - np.sin(2.0 * points))) < 0.05
    return
  for weights, rows in (
    (part.weights.numpy(), halves),
    (
      told.of_stage2,
      [
        types.IVBatch(
          *(None if each is None else each[some] for each in halves[1])
        )
        for some in (slice(200), slice(200, None))
      ],
    ),
  ):
    line = two_sls.fit(two_sls.Config(), *rows, seed=0).weights
    np.testing.assert_allclose(weights[[0, -1]], line, rtol=1e-6)
    assert not weights[1:-1].any()


def test_a_slope_that_depends_on_covariates_is_a_line_in_the_treatment():
  # Beyond the rows a narrow kernel falls back to a constant (12 at seed 0).
  treatment = np.full((31, 1), 6.0)
  covariate = np.linspace(-1.5, 1.5, 31)[:, None]
  truth = np.sin(covariate) * treatment
  errors, bends = [], []
  for seed in range(3):
    generator = np.random.default_rng(seed)
    z, x, shock = generator.uniform(-2.0, 2.0, (3, 600, 1))
    rows = types.IVBatch(
      z + shock, np.append(z, x, axis=1), np.sin(x) * (z + shock) + shock, x
    )
    part = dfiv_fixed.FixedPart(types.Sizes(1, 2, 1))
    told = part.fit(
      *(
        types.IVBatch(*(each[some] for each in rows))
        for some in (slice(300), slice(300, None))
      ),
      most=40,
    )
    found = part.predict(treatment, covariate)
    errors.append(np.mean(np.square(found - truth)))
    bends.append(told.bend)
    assert told.curve > 5.0
  assert np.median(bends) < 1.0
  assert np.median(errors) < 0.25 * np.mean(np.square(truth))


def test_what_training_misses_is_in_the_answer():
  halves = curve(400, 0), curve(400, 1)
  points = np.linspace(-2.0, 2.0, 41, dtype=np.float32)[:, None]
  errors = {}
  for most in (0, 20):
    model = dfiv.fit(
      dataclasses.replace(_SHORT, fixed_landmarks=most), *halves, seed=0
    )
    errors[most] = np.mean(
      np.square(model.predict(points) - np.sin(2.0 * points))
    )
  assert errors[20] < 0.05 < 0.3 < errors[0]
  share = float(model.fixed.share)
  assert model.history['learned_share'] == [share]
  assert model.history['curve_t'][0] > 5.0
  learned = np.asarray(model._design(points, None)) @ model.stage2_weights
  np.testing.assert_allclose(
    model.predict(points),
    share * learned + (1.0 - share) * model.fixed.predict(points, None),
    rtol=1e-5,
  )
  assert model.structural_columns(points).shape[1] > 1 + 1
  assert len(model.instrument_columns(points)) == len(points)


def test_a_saved_part_predicts_the_same(tmp_path):
  model = dfiv.fit(_SHORT, curve(100, 0), curve(100, 1), seed=0)
  path = tf.train.Checkpoint(model=model).write(str(tmp_path / 'weights'))
  other = dfiv.build(model.config, types.Sizes(1, 1, 0))
  assert not other.fixed.fitted
  tf.train.Checkpoint(model=other).read(path).expect_partial()
  points = curve(9, 2).treatment
  np.testing.assert_allclose(
    other.predict(points), model.predict(points), rtol=1e-6
  )


def test_few_rows_and_many_columns_leave_the_learned_features_alone():
  few = dfiv.fit(_SHORT, curve(15, 0), curve(15, 1), seed=0)
  assert float(few.fixed.share) == 1.0 and not few.fixed.fitted
  part = dfiv_fixed.FixedPart(types.Sizes(1, 60, 0))
  wide = [
    half._replace(instrument=np.repeat(half.instrument, 60, axis=1))
    for half in (curve(30, 0), curve(30, 1))
  ]
  assert part.fit(*wide, most=20) is None
