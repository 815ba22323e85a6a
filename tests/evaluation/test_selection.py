"""Choosing between Q-functions: the right one wins, with noise and without."""

import numpy as np
import pytest

from dfiv_ope.evaluation import selection, selection_fits


def _log(noise=1.0):
  """One step to the end: the right q is 2 x, errors are y - q."""
  generator = np.random.default_rng(0)
  x = generator.standard_normal(20_000)
  reward = 2.0 * x + noise * generator.standard_normal(len(x))
  return x, reward


def test_the_right_values_win():
  x, reward = _log()
  values = np.stack([1.5 * x, 2.0 * x, 2.0 * x + 0.3], axis=1)
  errors = reward[:, None] - values
  found = selection.judge(values, errors, np.stack([x, np.ones_like(x)], 1))
  assert found.best == 1
  # E[e|x] is 0.5 x, 0 and -0.3; the test functions have unit variance.
  np.testing.assert_allclose(found.tournament, [0.5, 0.0, 0.3], atol=0.03)
  np.testing.assert_allclose(found.projected, [0.25, 0.0, 0.09], atol=0.03)


def test_noise_adds_nothing_to_the_projected_error():
  x, reward = _log(noise=5.0)
  found = selection.judge(
    2.0 * x[:, None],
    (reward - 2.0 * x)[:, None],
    np.stack([x, np.ones_like(x)], 1),
  )
  assert abs(found.projected[0]) < 0.05


def test_candidates_that_broke_down_neither_win_nor_judge():
  x, reward = _log()
  values = np.stack([np.full_like(x, np.nan), 1.5 * x, 2.0 * x], axis=1)
  errors = reward[:, None] - values
  errors[0, 1] = np.inf
  instruments = np.stack([x, np.ones_like(x)], axis=1)
  found = selection.judge(values, errors, instruments)
  alone = selection.judge(values[:, 2:], errors[:, 2:], instruments)
  assert found.best == 2
  assert np.isinf(found.tournament[:2]).all()
  assert np.isinf(found.projected[:2]).all()
  assert found.tournament[2] == alone.tournament[0]
  assert found.projected[2] == alone.projected[0]
  with pytest.raises(ValueError, match='No candidate has finite values'):
    selection.judge(values[:, :2], errors[:, :2], instruments)


def test_a_single_row_cannot_judge():
  with pytest.raises(ValueError, match='at least two rows'):
    selection.judge(np.ones([1, 2]), np.ones([1, 2]), np.ones([1, 1]))


def test_a_fit_comes_back_from_its_file(tmp_path):
  fit = selection_fits.Fit(np.arange(3.0), np.ones(3), 'too large', 1.5)
  fit.save(tmp_path / 'new' / 'fit.npz')
  found = selection_fits.Fit.load(tmp_path / 'new' / 'fit.npz')
  np.testing.assert_array_equal(found.values, fit.values)
  np.testing.assert_array_equal(found.errors, fit.errors)
  assert found[2:] == ('too large', 1.5)
  assert [each.name for each in (tmp_path / 'new').iterdir()] == ['fit.npz']


def test_candidates_that_diverged_have_no_scores():
  good, bad = (
    selection_fits.Fit(np.zeros(2), np.zeros(2), why, 1.0)
    for why in ('', 'too large')
  )
  scores = selection.Scores(np.array([2.0, np.inf]), np.array([1.0, np.inf]))
  first, second = selection_fits.outcomes([[good, good], [good, bad]], scores)
  assert first['metrics'] == {
    'tournament': 2.0,
    'projected_bellman_error': 1.0,
    'chosen': 1.0,
  }
  assert first['outcome'] == 'finished' and first['cpu_seconds'] == 2.0
  assert second['metrics'] == {} and second['outcome'] == 'diverged'
  assert second['reason'] == 'too large'
