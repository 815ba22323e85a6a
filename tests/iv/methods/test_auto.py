"""The average of closed forms."""

import numpy as np
import pytest

from dfiv_ope.iv import estimators
from dfiv_ope.iv.methods import auto


def data(function, n=600, seed=0):
  generator = np.random.default_rng(seed)
  z = generator.uniform(-3.0, 3.0, n)
  hidden, small = generator.standard_normal((2, n))
  treatment = z + hidden
  return function(treatment) + hidden + 0.1 * small, treatment, z


def test_a_line_is_left_to_two_stage_least_squares(tmp_path):
  outcome, treatment, z = data(lambda t: 2.0 * t)
  model = estimators.AutoIV(candidates=('two_sls', 'sieve'), n_splits=1).fit(
    outcome, treatment, Z=z
  )
  assert model.chosen_ == 'two_sls'
  # By Fuller's kappa: 600 rows, and one instrument and a constant.
  line = estimators.KClass(kappa=1.0 - 1.0 / 598).fit(outcome, treatment, Z=z)
  np.testing.assert_allclose(
    model.predict(treatment), line.predict(treatment), rtol=1e-6
  )
  assert 'chosen method       2SLS, held-out loss' in model.summary()
  assert 'Sieve IV' in model.summary()


def test_a_line_of_a_useless_instrument_is_near_ordinary_regression():
  errors = []
  for seed in range(12):
    generator = np.random.default_rng(seed)
    z, hidden, small = generator.standard_normal((3, 400))
    treatment = hidden + 0.5 * small
    outcome = treatment + hidden
    model = estimators.AutoIV(candidates=('two_sls',), n_splits=1)
    with pytest.warns(UserWarning):
      model.fit(outcome, treatment, Z=z)
    errors.append(model.ate(0.0, 1.0) - 1.0)
  # Ordinary regression has 0.8; 2SLS is between -1.2 and 4.1.
  assert min(errors) > 0.5 and max(errors) < 1.5
  assert np.median(errors) == pytest.approx(0.8, abs=0.2)


def test_a_curve_is_not_and_what_was_chosen_is_saved(tmp_path):
  outcome, treatment, z = data(np.abs)
  model = estimators.AutoIV(candidates=('two_sls', 'sieve'), n_splits=1).fit(
    outcome, treatment, Z=z
  )
  assert model.chosen_ == 'sieve'
  losses = {
    name: values
    for name, values in model.history_.items()
    if name.startswith('loss_of_')
  }
  assert losses['loss_of_two_sls'][0] > 1.1 * losses['loss_of_sieve'][0]
  model.save(tmp_path / 'saved')
  loaded = estimators.load(tmp_path / 'saved')
  assert loaded.chosen_ == 'sieve'
  assert loaded.summary() == model.summary()
  np.testing.assert_allclose(
    loaded.predict(treatment), model.predict(treatment), rtol=1e-12
  )


def test_candidates_that_are_about_as_good_are_averaged(tmp_path):
  outcome, treatment, z = data(np.abs)
  model = estimators.AutoIV(candidates=('kiv', 'agmm'), n_splits=1).fit(
    outcome, treatment, Z=z
  )
  assert set(model.shares_) == {'kiv', 'agmm'}
  assert sum(model.shares_.values()) == pytest.approx(1.0)
  assert model.chosen_ == max(model.shares_, key=model.shares_.get)
  each = {
    name: estimators.ESTIMATORS[name](n_splits=1).fit(outcome, treatment, Z=z)
    for name in model.shares_
  }
  np.testing.assert_allclose(
    model.predict(treatment),
    sum(
      share * each[name].predict(treatment)
      for name, share in model.shares_.items()
    ),
    rtol=1e-8,
  )
  assert 'average of          ' in model.summary()
  model.save(tmp_path / 'saved')
  loaded = estimators.load(tmp_path / 'saved')
  assert loaded.shares_ == model.shares_
  assert loaded.summary() == model.summary()
  np.testing.assert_allclose(
    loaded.predict(treatment), model.predict(treatment), rtol=1e-12
  )


def test_a_candidate_that_there_is_not_is_refused():
  with pytest.raises(ValueError, match="no candidate 'dfiv'"):
    auto.Config(candidates=('dfiv',))
  with pytest.raises(ValueError, match='at least one method'):
    auto.Config(candidates=())
