"""First-stage diagnostics on instruments of known strength."""

import numpy as np
import pytest
import tensorflow as tf

from dfiv_ope import diagnostics, types


def halves(strength, rows=2000, seed=0, covariate=True):
  generator = np.random.default_rng(seed)
  z, x, noise = generator.normal(size=(3, rows, 1))
  treatment = strength * z + x + noise
  instrument = np.concatenate([z, x], axis=1) if covariate else z
  data = types.IVBatch(
      treatment, instrument, treatment, x if covariate else None)
  return [types.IVBatch(*(
      None if each is None else each[part] for each in data))
      for part in (slice(None, rows // 2), slice(rows // 2, None))]


def test_a_strong_instrument_has_the_population_shares():
  result = diagnostics.first_stage(*halves(1.), tf.identity, seed=0)
  # Var(T) = 3, of which z and x explain 2; of Var(T | x) = 2, z explains 1.
  assert result.r2[0] == pytest.approx(2 / 3, abs=0.03)
  assert result.partial_r2[0] == pytest.approx(1 / 2, abs=0.03)
  assert not result.weak


def test_effective_f_of_a_linear_first_stage_is_about_its_partial_f():
  first, second = halves(0.2, seed=1)
  result = diagnostics.first_stage(first, second, tf.identity, seed=0)
  z, x, t = (np.concatenate([a, b]) for a, b in (
      (first.instrument[:, :1], second.instrument[:, :1]),
      (first.covariate, second.covariate),
      (first.treatment, second.treatment)))
  controls = np.concatenate([x, np.ones_like(x)], axis=1)
  z, t = (v - controls @ np.linalg.lstsq(controls, v, rcond=None)[0]
          for v in (z, t))
  slope = float((z * t).sum() / (z * z).sum())
  partial_f = slope ** 2 * float((z * z).sum()) / float(
      np.var(t - slope * z))
  assert result.effective_f[0] == pytest.approx(partial_f, rel=0.15)


@pytest.mark.parametrize('covariate', [True, False])
def test_an_irrelevant_instrument_is_weak(covariate):
  values = [
      diagnostics.first_stage(
          *halves(0., seed=seed, covariate=covariate), tf.identity,
          seed=0).effective_f[0] for seed in range(10)]
  assert np.median(values) < 4.
  assert diagnostics.first_stage(
      *halves(0., covariate=covariate), tf.identity, seed=0).weak


def test_a_treatment_that_the_instrument_decides_has_r2_one():
  first, second = halves(1.)
  exact = [half._replace(treatment=half.instrument[:, :1])
           for half in (first, second)]
  result = diagnostics.first_stage(*exact, tf.identity, seed=0)
  assert result.r2[0] == pytest.approx(1., abs=1e-6)
  assert not result.weak
