"""First-stage diagnostics of fitted methods, on data of known strength."""

import warnings

import numpy as np
import pytest
import tensorflow as tf

from dfiv_ope import types
from dfiv_ope.iv import bases, estimators
from dfiv_ope.iv.diagnostics import fitted_model, strength
from dfiv_ope.nn import layers

# Every method, in a second.
_QUICK = {
  'two_sls': {},
  'sieve': {
    'treatment_bases': (bases.Hermite(2),),
    'covariate_bases': (bases.Hermite(1),),
  },
  'kiv': {'random_features': 50, 'search_bandwidths': False},
  'agmm': {'search_bandwidths': False},
  'auto': {
    'candidates': ('sieve',),
    'treatment_bases': (bases.Hermite(2),),
    'covariate_bases': (bases.Hermite(1),),
  },
  'deepiv': {
    'members': 1,
    'density_steps': 5,
    'response_steps': 5,
    'checks': 1,
  },
  'deepgmm': {'steps': 5, 'checks': 1},
  'dfiv': {'iterations': 5, 'checks': 1},
}


def _fit(name, y, t, **data):
  with warnings.catch_warnings():
    warnings.simplefilter('ignore')
    return (
      estimators.ESTIMATORS[name](**_QUICK[name]).fit(y, t, **data).first_stage_
    )


def _data(rows=2000, seed=0, shape=lambda x: x):
  generator = np.random.default_rng(seed)
  z, x, noise, other = generator.standard_normal((4, rows))
  treatment = 0.8 * z + 0.6 * noise + shape(x)
  return 2.0 * treatment + x + noise, treatment, z, x, other


def test_no_method_is_missing():
  assert set(_QUICK) == set(estimators.ESTIMATORS)


@pytest.mark.parametrize('name', _QUICK)
def test_every_method_has_the_known_correlation(name):
  outcome, treatment, z, x, _ = _data(4000)
  found = _fit(name, outcome, treatment, Z=z, X=x)
  # Given x, the treatment is 0.8 z + 0.6 noise.
  assert found.singular_values.max() == pytest.approx(0.8, abs=0.05)
  assert found.partial_r2[0] == pytest.approx(0.64, abs=0.05)
  assert np.sum(found.alignment) == pytest.approx(1.0)
  assert found.lost_share < 0.1
  assert (np.diff(found.singular_values) <= 0.0).all()
  # The linear first stage of all rows, by hand: 0.64 n / 0.36.
  assert found.effective_f[0] == pytest.approx(4000 * 0.64 / 0.36, rel=0.15)
  assert found.linear == (name == 'two_sls')
  assert found.condition >= 1.0
  assert found.warnings() == []


@pytest.mark.parametrize('name', _QUICK)
def test_an_unrelated_instrument_is_weak_for_every_method(name):
  outcome, treatment, _, x, other = _data(shape=lambda x: 2.0 * np.sin(2.0 * x))
  found = _fit(name, outcome, treatment, Z=other, X=x)
  assert found.singular_values.max() < 0.12
  assert found.held_out_index_f[0] < 10.0
  assert found.effective_f[0] < 10.0
  assert np.isnan(found.lost_share) or found.linear
  assert [type(each) for each in found.warnings()] == [
    strength.WeakInstrumentWarning
  ]


@pytest.mark.parametrize(
  'name, covariates',
  [
    ('two_sls', False),
    ('two_sls', True),
    ('kiv', False),
    ('kiv', True),
    ('deepgmm', False),
    ('deepgmm', True),
    ('dfiv', False),
  ],
)
def test_an_instrument_that_is_the_treatment_has_values_of_one(
  name, covariates
):
  outcome, treatment, _, x, _ = _data()
  found = _fit(
    name, outcome, treatment, Z=treatment, X=x if covariates else None
  )
  assert found.singular_values.max() == pytest.approx(1.0, abs=0.03)
  assert found.partial_r2[0] == pytest.approx(1.0, abs=0.01)


def _pictures(rows=1000, side=16, seed=0):
  """Pictures of one latent number that z moves, and their effect."""
  generator = np.random.default_rng(seed)
  z, noise = generator.standard_normal((2, rows))
  latent = 0.8 * z + 0.6 * noise
  pixels = np.outer(latent, generator.standard_normal(side * side))
  pixels += 0.1 * generator.standard_normal(pixels.shape)
  return latent + noise, pixels.reshape(rows, side, side), z, latent


@pytest.mark.parametrize('name', ['kiv', 'deepgmm', 'dfiv'])
def test_of_a_picture_the_effect_is_explained(name):
  outcome, pictures, z, latent = _pictures()
  parameters = {
    **_QUICK[name],
    **({'treatment_pixels': 256} if name == 'kiv' else {}),
  }
  model = estimators.ESTIMATORS[name](**parameters).fit(outcome, pictures, Z=z)
  found = model.first_stage_
  assert found.of_effect and found.r2.shape == (1,)
  effect = model.predict(pictures)
  # A regression of the effect on polynomials of z, in numpy.
  design = np.stack([np.ones_like(z), z, z**2, z**3], axis=1)
  left = effect - design @ np.linalg.lstsq(design, effect, rcond=None)[0]
  assert found.r2[0] == pytest.approx(1.0 - left.var() / effect.var(), abs=0.06)
  assert found.singular_values[0] == pytest.approx(0.8, abs=0.08)
  assert "first stage (held out), of the treatment's effect" in model.summary()


def _with_two(strength, rows, seed=2):
  """Outcome, treatments and instruments; the second z hardly moves its x."""
  generator = np.random.default_rng(seed)
  z, noise = generator.standard_normal((2, rows, 2))
  x = np.array([0.8, strength]) * z + np.array([0.6, 1.0]) * noise
  return x[:, 0] / 0.8 + z[:, 1], x, z


@pytest.mark.parametrize('name', ['two_sls', 'kiv'])
def test_a_small_correlation_that_is_well_told_is_not_ill_posed(name):
  # F is 10,000 x 0.081^2 = 66, and all of the outcome lies along one value.
  generator = np.random.default_rng(0)
  z, noise, other = generator.standard_normal((3, 10_000))
  noise -= z * (z @ noise) / (z @ z)
  treatment = 0.081 * z + noise
  found = _fit(
    name, 3.0 * treatment - 2.5 * noise + 0.1 * other, treatment, Z=z
  )
  assert found.effective_f[0] == pytest.approx(66.0, rel=0.05)
  assert found.singular_values[0] < 0.1
  assert found.alignment[0] > 0.7
  assert found.warnings() == []


def test_an_outcome_along_what_instruments_do_not_move_is_ill_posed():
  outcome, treatment, z = _with_two(0.005, 4000)
  found = _fit('kiv', outcome, treatment, Z=z)
  assert found.lost_share > 0.3
  assert strength.IllPosedWarning in map(type, found.warnings())


@pytest.mark.parametrize(
  'strength, kinds', [(0.005, [strength.WeakInstrumentWarning]), (0.2, [])]
)
def test_2sls_says_of_it_that_the_instrument_is_weak(strength, kinds):
  outcome, treatment, z = _with_two(strength, 4000)
  found = _fit('two_sls', outcome, treatment, Z=z)
  assert [type(each) for each in found.warnings()] == kinds
  if kinds:
    assert 'column 1 of the treatment' in str(found.warnings()[0])


class _Memory(tf.Module):
  """Has learned the treatment of stage 1 by heart, from irrelevant z."""

  def __init__(self, stage1):
    super().__init__()
    self._known = {
      row.tobytes(): value
      for row, value in zip(stage1.instrument, stage1.treatment, strict=True)
    }

  def features(self, batch):
    instrument = np.array(
      [
        self._known.get(row.tobytes(), row[:1])
        for row in np.asarray(batch.instrument)
      ]
    )
    return batch._replace(instrument=instrument)


def test_learned_features_are_judged_on_rows_they_have_not_seen():
  generator = np.random.default_rng(0)
  halves = [
    types.IVBatch(
      *(
        generator.standard_normal((500, columns)).astype(np.float32)
        for columns in (1, 30, 1)
      )
    )
    for _ in range(2)
  ]
  found = fitted_model.first_stage(_Memory(halves[0]), *halves, seed=0)
  assert found.weak
  assert found.singular_values.max() < 0.15
  # Judged on the rows that it knows it would be perfect.
  swapped = fitted_model.first_stage(_Memory(halves[1]), *halves, seed=0)
  assert swapped.singular_values[0] > 0.9


def test_learned_features_of_a_picture_are_used():
  _, pictures, z, latent = _pictures()
  model = estimators.DFIV(
    iterations=20, checks=1, instrument_net=(layers.Dense(8, None),)
  ).fit(latent + z, latent, Z=pictures)
  assert model.first_stage_.r2[0] > 0.95


def test_many_rows_and_columns_are_thinned(monkeypatch):
  generator = np.random.default_rng(0)
  z, noise = generator.standard_normal((2, 20_000))
  treatment = 0.6 * z + 0.8 * noise

  def values():
    return (
      estimators.TwoSLS()
      .fit(treatment + noise, treatment, Z=z)
      .first_stage_.singular_values
    )

  whole = values()
  assert whole == pytest.approx([0.6], abs=0.02)
  monkeypatch.setattr(fitted_model, '_SPECTRUM_ROWS', 4_000)
  assert values() == pytest.approx([0.6], abs=0.05)
  assert values() != pytest.approx(whole, abs=1e-6)
  latent = generator.standard_normal((800, 3))
  wide = latent @ generator.standard_normal((3, 400)) + (
    0.01 * generator.standard_normal((800, 400))
  )
  model = estimators.TwoSLS(stage2_penalty=1e-3).fit(
    latent[:, 0], wide, Z=latent
  )
  np.testing.assert_allclose(model.first_stage_.singular_values, 1.0, atol=0.01)
  assert len(model.first_stage_.singular_values) == 3
