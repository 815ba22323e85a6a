"""Columns counted from elsewhere have the same coefficients, errors, tests."""

import json
import warnings

import numpy as np
import pytest

from dfiv_ope.iv import estimators

# Multiples of this are exact at 1e12.
_GRID = 2.0**-10
_CLOSE = 1e-8
_FITS = [
  (estimators.TwoSLS, {}, ''),
  (estimators.TwoSLS, {'covariance': 'unadjusted'}, ''),
  (estimators.TwoSLS, {'covariance': 'HC3'}, 'weights'),
  (estimators.TwoSLS, {}, 'groups'),
  (estimators.TwoSLS, {'covariance': 'HAC', 'bandwidth': 4}, ''),
  (estimators.TwoSLS, {}, 'absorb'),
  (estimators.TwoSLS, {}, 'weights, absorb'),
  (estimators.LIML, {'fuller': 1.0}, ''),
  (estimators.KClass, {'kappa': 0.0}, ''),
  (estimators.GMM, {}, ''),
  (estimators.CrossFitTwoSLS, {}, ''),
]


def _rows(seed=0, rows=240):
  """Returns Y, T, Z, X, all multiples of the grid, and who is in a group."""
  generator = np.random.default_rng(seed)
  x, hidden, noise = generator.normal(size=(3, rows))
  instruments = generator.normal(size=(rows, 2))
  group = generator.integers(0, 12, rows)
  treatment = instruments @ [1.0, 0.5] + hidden + 0.3 * x + 0.1 * group
  outcome = 2.0 * treatment - x + 0.2 * group + hidden + 0.5 * noise
  return (
    *(
      np.round(each / _GRID) * _GRID
      for each in (outcome, treatment, instruments, x[:, None])
    ),
    group,
  )


def _fit(kind, parameters, extras, offset, scale=1.0):
  Y, T, Z, X, group = _rows()
  arguments = {
    name: {
      'weights': ('sample_weight', 0.5 + np.arange(len(Y)) % 3),
      'groups': ('groups', group),
      'absorb': ('absorb', group),
    }[name]
    for name in filter(None, extras.split(', '))
  }
  with warnings.catch_warnings():
    warnings.simplefilter('error')
    return kind(**parameters).fit(
      scale * Y + offset,
      T + offset,
      Z=Z - offset,
      X=X + 2.0 * offset,
      **dict(arguments.values()),
    )


@pytest.mark.parametrize('offset', [1e9, 1e12])
@pytest.mark.parametrize('kind, parameters, extras', _FITS)
def test_offsets_change_no_slope_error_or_test(
  kind, parameters, extras, offset
):
  near, far = (_fit(kind, parameters, extras, each) for each in (0.0, offset))
  slopes = near.coef_table().drop(index='intercept', errors='ignore')
  np.testing.assert_allclose(
    far.coef_table().loc[slopes.index], slopes, rtol=_CLOSE
  )
  for name in ('first_stage_table', 'tests'):
    # The likelihood ratio is n log(1 + r), so an r near zero has few digits.
    np.testing.assert_allclose(
      getattr(far, name)()._get_numeric_data().astype(float),
      getattr(near, name)()._get_numeric_data().astype(float),
      rtol=_CLOSE,
      atol=1e-12 * len(_rows()[0]),
    )
  for kind_of_set in ('anderson-rubin', 'clr'):
    np.testing.assert_allclose(
      far.weak_instrument_set(kind_of_set).intervals,
      near.weak_instrument_set(kind_of_set).intervals,
      rtol=_CLOSE,
    )
  assert far.inference_.r2 == pytest.approx(near.inference_.r2, rel=_CLOSE)
  assert far.inference_.scale == pytest.approx(
    near.inference_.scale, rel=_CLOSE
  )


@pytest.mark.parametrize('extras', ['', 'weights'])
def test_the_intercept_and_curves_are_those_of_the_offset_rows(extras):
  near, far = (_fit(estimators.TwoSLS, {}, extras, each) for each in (0.0, 1e9))
  b, g, a = near.inference_.coefficients
  # y + c = (t + c) b + (x + 2c) g + a', so that a' = a + c (1 - b - 2 g).
  assert far.inference_.coefficients[-1] == pytest.approx(
    a + 1e9 * (1.0 - b - 2.0 * g), rel=_CLOSE
  )
  move = np.array([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [-1e9, -2e9, 1.0]])
  np.testing.assert_allclose(
    far.inference_.covariance,
    move @ near.inference_.covariance @ move.T,
    rtol=_CLOSE,
  )
  grid = np.array([-1.0, 0.0, 2.0])
  for uniform in (False, True):
    band, wanted = (
      model.cate_interval(
        grid + offset, given={0: 0.5 + 2.0 * offset}, uniform=uniform
      )
      for model, offset in ((far, 1e9), (near, 0.0))
    )
    np.testing.assert_allclose(band.std_error, wanted.std_error, rtol=_CLOSE)
    # 1e9 has a last digit of 1e-7.
    np.testing.assert_allclose(band.low - 1e9, wanted.low, atol=3e-7)
  np.testing.assert_allclose(
    far.predict(grid + 1e9, [[0.5 + 2e9]]) - 1e9,
    near.predict(grid, [[0.5]]),
    atol=3e-7,
  )


def test_predictions_beside_absorbed_groups_are_those_of_the_offset_rows():
  near, far = (
    _fit(estimators.TwoSLS, {}, 'absorb', each) for each in (0.0, 1e9)
  )
  grid = np.array([-1.0, 0.0, 2.0])
  np.testing.assert_allclose(
    far.predict(grid + 1e9, [[0.5 + 2e9]]) - 1e9,
    near.predict(grid, [[0.5]]),
    atol=1e-6,
  )


def test_a_saved_fit_has_the_same_numbers_and_an_older_one_is_read(tmp_path):
  model = _fit(estimators.TwoSLS, {}, 'weights', 1e9)
  model.save(tmp_path / 'new')
  loaded = estimators.load(tmp_path / 'new')
  np.testing.assert_array_equal(
    loaded.inference_.covariance, model.inference_.covariance
  )
  # Earlier versions stored the raw coefficients and no centre.
  for extras, offset in (('', 0.0), ('absorb', 3.5)):
    model = _fit(estimators.TwoSLS, {}, extras, 0.0)
    directory = tmp_path / f'old{extras}'
    model.save(directory)
    arrays = dict(np.load(directory / 'arrays.npz'))
    arrays['inference_coefficients'] = model.inference_.coefficients
    arrays['inference_covariance'] = model.inference_.covariance
    for name in ('centred', 'centred_covariance', 'centre'):
      del arrays[f'inference_{name}']
    np.savez(directory / 'arrays.npz', **arrays)
    path = directory / 'estimator.json'
    record = json.loads(path.read_text())
    record['inference']['offset'] = offset
    path.write_text(json.dumps(record))
    old = estimators.load(directory)
    np.testing.assert_array_equal(
      old.inference_.coefficients, model.inference_.coefficients
    )
    np.testing.assert_array_equal(
      old.inference_.covariance, model.inference_.covariance
    )
    assert old.ate_interval(0.0, 1.0).low == pytest.approx(
      model.ate_interval(0.0, 1.0).low, rel=1e-14
    )
