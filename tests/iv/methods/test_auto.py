"""The choice between closed forms."""

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
  line = estimators.TwoSLS().fit(outcome, treatment, Z=z)
  np.testing.assert_allclose(
    model.predict(treatment), line.predict(treatment), rtol=1e-6
  )
  assert 'chosen method       2SLS, held-out loss' in model.summary()
  assert 'Sieve IV' in model.summary()


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


def test_the_first_candidate_stays_unless_another_is_clearly_better():
  first = np.array([1.0, 2.0, 1.0, 2.0])
  assert auto.choose({'a': first, 'b': first - 0.1}, 1.0) == 'b'
  noisy = first - np.array([1.0, -1.0, 1.0, -0.9])
  assert auto.choose({'a': first, 'b': noisy}, 1.0) == 'a'
  assert auto.choose({'a': first, 'b': noisy}, 0.0) == 'b'


def test_a_candidate_that_there_is_not_is_refused():
  with pytest.raises(ValueError, match="no candidate 'dfiv'"):
    auto.Config(candidates=('dfiv',))
  with pytest.raises(ValueError, match='at least one method'):
    auto.Config(candidates=())
