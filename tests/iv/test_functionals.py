"""Functionals of structural functions: estimates, intervals, refusals."""

import warnings

import numpy as np
import pytest

from dfiv_ope.iv import bases, estimators
from dfiv_ope.iv.functionals import intervals, spaces, stages

# A small, fast sieve.
_SMALL = {
  'treatment_bases': (bases.Hermite(3),),
  'covariate_bases': (bases.Hermite(1),),
  'n_splits': 1,
}


def _data(rows=400, seed=0, covariate=False):
  """f = sin(t) + x; ordinary regression adds half of the confounder."""
  generator = np.random.default_rng(seed)
  z = generator.uniform(-3.0, 3.0, rows)
  noise, x, rest = generator.normal(size=(3, rows))
  t = z + 0.7 * noise + 0.5 * covariate * x
  y = np.sin(t) + covariate * x + noise + 0.3 * rest
  return y, t, z, (x if covariate else None)


def _fit(kind=estimators.SieveIV, parameters=_SMALL, **data):
  y, t, z, x = _data(**data)
  with warnings.catch_warnings():
    warnings.simplefilter('ignore')
    return kind(**parameters).fit(y, t, Z=z, X=x)


def _at(*derivatives):
  """Returns the functional of one point with these derivatives by u."""
  return lambda u: spaces.Average(
    np.array(derivatives), np.array(derivatives) @ u[:, None]
  )


def test_with_strong_instruments_it_is_two_stage_least_squares():
  generator = np.random.default_rng(1)
  z = generator.normal(size=(5000, 1))
  noise = generator.normal(size=5000)
  t = z[:, 0] + noise
  rows = stages.Rows(
    design=np.stack([t, np.ones(5000)], axis=1),
    instruments=np.concatenate([z, np.ones((5000, 1))], axis=1),
    outcome=2.0 * t + noise,
    lines=t[:, None],
  )
  found = stages.Stages(rows, np.arange(5000) % 5).estimate(
    [_at(1.0, 0.0), _at(3.0, 1.0)]
  )
  slope = np.cov(z[:, 0], rows.outcome)[0, 1] / np.cov(z[:, 0], t)[0, 1]
  level = rows.outcome.mean() - slope * t.mean()
  # Folds and the penalty change it by little of its standard error.
  error = np.sqrt(np.sum(np.square(found.influence), axis=0))
  assert np.all(
    np.abs(found.estimate - [slope, 3.0 * slope + level]) < 0.25 * error
  )
  # The influence of a row is that of two-stage least squares.
  z = z[:, 0] - z.mean()
  wanted = z * (rows.outcome - level - slope * t) / np.sum(z * t)
  assert np.corrcoef(found.influence[:, 0], wanted)[0, 1] > 0.99
  assert np.std(found.influence[:, 0]) == pytest.approx(
    np.std(wanted), rel=0.02
  )
  # If the slope were larger by one, residuals would be smaller by t.
  t, residuals = t - t.mean(), rows.outcome - level - slope * t
  residuals -= residuals.mean()
  np.testing.assert_allclose(
    found.change[:, 0] * np.mean(residuals**2),
    [-2.0 * np.mean(residuals * t), np.mean(t**2)],
    rtol=0.05,
  )
  # What is told by 5,000 rows has no bias to speak of.
  assert np.linalg.norm(found.bias[:, 0]) < 0.05 * error[0]


def test_what_instruments_do_not_tell_is_bounded_by_the_prior_alone():
  generator = np.random.default_rng(2)
  z = generator.normal(size=1000)
  told, untold, noise = (
    z + 0.1 * generator.normal(size=1000),
    (generator.normal(size=1000)),
    generator.normal(size=1000),
  )
  one = np.ones(1000)
  found = stages.Stages(
    stages.Rows(
      design=np.stack([told, untold, one], axis=1),
      instruments=np.stack([z, one], axis=1),
      outcome=told + 0.5 * noise,
      lines=np.zeros((1000, 0)),
    ),
    np.arange(1000) % 5,
  ).estimate([_at(1.0, 0.0, 0.0), _at(0.0, 1.0, 0.0)])
  noise_part = np.sqrt(np.sum(np.square(found.influence), axis=0))
  bias_part = np.linalg.norm(found.bias, axis=0)
  assert bias_part[0] < 0.3 * noise_part[0]
  assert bias_part[1] > 3.0 * noise_part[1]
  # Coefficients are of the size of the one that is told.
  assert 0.3 < bias_part[1] < 3.0


def test_a_steep_line_does_not_say_that_a_curve_is_bent():
  generator = np.random.default_rng(3)
  z = generator.uniform(-2.0, 2.0, size=1000)
  t = z + 0.3 * generator.normal(size=1000)
  noise = 0.3 * generator.normal(size=1000)
  waves = [wave(k * t) for k in (1.0, 2.0, 4.0) for wave in (np.sin, np.cos)]
  told = [wave(k * z) for k in (1.0, 2.0) for wave in (np.sin, np.cos)]
  one, point = np.ones(1000), np.array([0.0] * 6 + [1.0, 0.0])
  bounds = []
  for slope in (0.0, 3.0):
    rows = stages.Rows(
      design=np.stack([*waves, 5.0 * t, one], axis=1),
      instruments=np.stack([*told, z, one], axis=1),
      outcome=np.sin(2.0 * t) + slope * t + noise,
      lines=t[:, None],
    )
    found = stages.Stages(rows, np.arange(1000) % 5).estimate(
      [_at(*np.eye(8)[4]), _at(*point)]
    )
    bounds.append(np.linalg.norm(found.bias[:, 0]))
  # Once it was twelve times as large, by the size of the line.
  assert bounds[1] == pytest.approx(bounds[0], rel=0.1)
  assert 0.1 < bounds[0] < 1.0


def test_intervals_are_sets_of_values_with_their_own_errors():
  found = stages.Functionals(
    estimate=np.array([2.0, 2.0, 2.0]),
    influence=np.array([[1.0, 1.0, 1.0], [-1.0, -1.0, -1.0]] * 50) / 10.0,
    change=np.array([[0.0, 0.2, 1.0], [0.0, 0.01, 1.0]]),
    bias=np.zeros((1, 3)),
  )
  each = intervals.of(found, clusters=None, level=0.95, uniform=False, seed=0)
  # The usual interval where errors do not depend on the value.
  half = 1.984217 * (100.0 / 99.0) ** 0.5
  assert each.low[0] == pytest.approx(2.0 - half, abs=1e-5)
  assert each.high[0] == pytest.approx(2.0 + half, abs=1e-5)
  # Longer where errors grow: d = c |1 + d / 10| at both ends.
  assert each.high[1] == pytest.approx(2.0 + half / (1.0 - half / 10.0))
  assert each.low[1] == pytest.approx(2.0 - half / (1.0 + half / 10.0))
  assert each.low[2] == -np.inf and each.high[2] == np.inf
  assert '2  95 % interval [0.0057' in each.summary()


def test_bias_has_the_same_share_in_intervals_and_bands():
  found = stages.Functionals(
    estimate=np.zeros(2),
    influence=np.array([[3.0, 0.3], [-3.0, -0.3]] * 50) / 10.0,
    change=np.zeros((2, 2)),
    bias=np.array([[4.0, 0.0], [0.0, 2.0]]),
  )
  each, band = (
    intervals.of(found, clusters=None, level=0.95, uniform=uniform, seed=0)
    for uniform in (False, True)
  )
  for one in (each, band):
    np.testing.assert_allclose(one.bias_bound, [2.2, 1.1])
    # Noise and bias add as variances: 3^2 and 0.3^2 of 100 rows.
    np.testing.assert_allclose(
      np.square(one.std_error),
      np.array([9.0, 0.09]) * 100.0 / 99.0 + [4.84, 1.21],
    )
  # Of 99 degrees of freedom; two that are independent need sqrt(0.95) each.
  np.testing.assert_allclose(each.high, 1.984217 * each.std_error, rtol=1e-6)
  np.testing.assert_allclose(
    band.high / each.high, 2.236477 / 1.959964, rtol=0.02
  )


@pytest.mark.parametrize('covariate', [False, True])
def test_effects_are_near_the_truth_within_their_intervals(covariate):
  model = _fit(rows=1000, covariate=covariate)
  ate = model.ate_interval(-1.0, 1.0)
  assert ate.low[0] < 2.0 * np.sin(1.0) < ate.high[0]
  assert abs(ate.estimate[0] - 2.0 * np.sin(1.0)) < 0.5
  narrow = model.ate_interval(-1.0, 1.0, level=0.5)
  assert narrow.high[0] - narrow.low[0] < ate.high[0] - ate.low[0]
  assert 0.0 < ate.bias_share[0] < 1.0
  slope = model.average_derivative()
  # E[cos(t)], t uniform with normal noise.
  truth = np.mean(np.cos(_data(rows=100_000, covariate=covariate)[1]))
  assert slope.low[0] < truth < slope.high[0]
  assert '% of its variance is a bound on bias' in model.summary()


def test_effects_at_covariates_are_differences_of_levels():
  model = _fit(covariate=True)
  at = [
    model.cate_interval([-1.0, 1.0], given={0: x}).estimate for x in (0.0, 1.0)
  ]
  # With one covariate nothing is left to average over.
  effects = model.effect_interval([[0.0], [1.0]], T0=-1.0, T1=1.0)
  np.testing.assert_allclose(effects.estimate, [b - a for a, b in at])
  both = model.dose_response_interval([-1.0, 1.0]).estimate
  assert model.ate_interval(-1.0, 1.0).estimate[0] == pytest.approx(
    both[1] - both[0]
  )
  # f = sin(t) + x.
  assert at[1][0] - at[0][0] == pytest.approx(1.0, abs=0.4)


def test_a_uniform_band_is_wider_than_intervals_and_has_the_same_middle():
  model = _fit()
  grid = np.linspace(-2.0, 2.0, 5)
  each, band = (
    model.dose_response_interval(grid, uniform=uniform)
    for uniform in (False, True)
  )
  np.testing.assert_array_equal(each.estimate, band.estimate)
  widths = (band.high - band.low) / (each.high - each.low)
  assert np.all(widths > 1.05)
  assert 'all together' in band.summary()


def test_units_and_seeds_of_the_data_are_kept():
  y, t, z, _ = _data()
  one, again = (_fit().ate_interval(-1.0, 1.0) for _ in range(2))
  np.testing.assert_array_equal(one[:5], again[:5])
  with warnings.catch_warnings():
    warnings.simplefilter('ignore')
    model = estimators.SieveIV(**_SMALL).fit(10.0 * y + 3.0, t, Z=z)
  np.testing.assert_allclose(
    model.ate_interval(-1.0, 1.0)[:5], 10.0 * np.array(one[:5]), rtol=1e-5
  )


def test_clusters_of_copies_have_the_errors_of_their_rows():
  y, t, z, _ = _data(rows=300)
  twice = [np.repeat(each, 2) for each in (y, t, z)]
  groups = np.repeat(np.arange(300), 2)
  model = _fit(rows=300)
  alone = model.average_derivative()
  both = model.inference(
    twice[0], twice[1], Z=twice[2], groups=groups
  ).average_derivative()
  # Copies tell nothing new; as rows of their own they would make it 0.71.
  noise = [
    np.sqrt(each.std_error[0] ** 2 - each.bias_bound[0] ** 2)
    for each in (alone, both)
  ]
  assert noise[1] == pytest.approx(noise[0], rel=0.2)
  assert model.average_derivative(groups=np.arange(300)).std_error == (
    pytest.approx(alone.std_error, rel=0.2)
  )


@pytest.mark.filterwarnings('ignore')
@pytest.mark.parametrize(
  'method, parameters',
  [
    ('kiv', {'n_splits': 1}),
    ('agmm', {}),
    ('dfiv', {'iterations': 2, 'checks': 1}),
    ('deepgmm', {'steps': 2, 'checks': 1}),
    (
      'deepiv',
      {'density_steps': 2, 'response_steps': 2, 'checks': 1, 'members': 2},
    ),
  ],
)
def test_every_method_has_intervals(method, parameters):
  model = _fit(estimators.ESTIMATORS[method], parameters, rows=300, seed=1)
  ate = model.ate_interval(-1.0, 1.0)
  # However short its training, rough features reach the truth.
  assert ate.low[0] < 2.0 * np.sin(1.0) < ate.high[0]
  assert ate.high[0] - ate.low[0] < 4.0
  band = model.dose_response_interval([-1.0, 0.0, 1.0], uniform=True)
  assert np.all(band.low < band.high)


@pytest.mark.filterwarnings('ignore')
def test_kernel_methods_hold_the_effect_beside_a_covariate():
  ate = _fit(estimators.KIV, {'n_splits': 1}, covariate=True).ate_interval(
    -1.0, 1.0
  )
  assert ate.low[0] < 2.0 * np.sin(1.0) < ate.high[0] < 4.0


def test_a_loaded_estimator_takes_rows_again(tmp_path):
  model = _fit()
  model.save(tmp_path / 'model')
  loaded = estimators.load(tmp_path / 'model')
  with pytest.raises(ValueError, match=r'Call inference\(Y, T, Z=Z, X=X\)'):
    loaded.ate_interval(-1.0, 1.0)
  y, t, z, _ = _data()
  np.testing.assert_allclose(
    loaded.inference(y, t, Z=z).ate_interval(-1.0, 1.0)[:5],
    model.ate_interval(-1.0, 1.0)[:5],
  )


def test_what_has_no_intervals_is_refused():
  with pytest.raises(ValueError, match='is not fitted'):
    estimators.KIV().ate_interval(0.0, 1.0)
  y, t, z, _ = _data(rows=60)
  model = _fit(estimators.KIV, {'n_splits': 1, 'random_features': 10}, rows=60)
  with pytest.raises(ValueError, match='at least 50 rows, got 20'):
    model.inference(y[:20], t[:20], Z=z[:20])
  with pytest.raises(ValueError, match='at least 5 clusters, got 3'):
    model.ate_interval(0.0, 1.0, groups=np.arange(60) % 3)
  with pytest.raises(ValueError, match='no treatment 1; the fit had 1'):
    model.average_derivative(1)
  with pytest.raises(ValueError, match='level must be between 0 and 1'):
    model.ate_interval(0.0, 1.0, level=95)


def test_an_average_is_that_of_the_features_of_its_points():
  generator = np.random.default_rng(3)
  rows = generator.normal(size=(500, 1)), generator.normal(size=(500, 2))
  space = spaces.Space(lambda t, x: t * x, rows, seed=0, trends=True)
  u = generator.normal(size=space.rows.shape[1])
  found = space.average(u, *rows)
  np.testing.assert_allclose(found.values, space.rows @ u, rtol=1e-9)
  np.testing.assert_allclose(found.mean, space.rows.mean(axis=0), atol=1e-9)
  # One treatment for all covariates: as row by row.
  level = space.average(u, np.ones((500, 1)), rows[1])
  each = [
    space.average(u, np.ones((1, 1)), rows[1][row : row + 1]).values[0]
    for row in range(3)
  ]
  np.testing.assert_allclose(level.values[:3], each, rtol=1e-9)
  assert level.mean @ u == pytest.approx(level.values.mean())
