"""Linear 2SLS, KIV, AGMM and sieve IV against formulas and other programs."""

from linearmodels.iv import IV2SLS
import numpy as np
import pytest

from dfiv_ope import types
from dfiv_ope.iv import bases, features, heavy_tails
from dfiv_ope.iv import landmarks as landmarks_lib
from dfiv_ope.iv.methods import agmm, kiv, sieve, two_sls


def batch(rows=200, seed=0):
  generator = np.random.default_rng(seed)
  z, x, noise = generator.normal(size=(3, rows, 1))
  treatment = 1.5 * z + 0.5 * x + 0.5 * noise
  return types.IVBatch(
    treatment, np.concatenate([z, x], axis=1), np.sin(treatment) + x + noise, x
  )


def test_two_sls_equals_linearmodels_on_the_rows_of_both_halves():
  first, second = batch(seed=0), batch(seed=1)
  rows = [np.concatenate(pair) for pair in zip(first, second, strict=True)]
  reference = (
    IV2SLS(
      rows[2],
      np.concatenate([rows[3], np.ones_like(rows[3])], axis=1),
      rows[0],
      rows[1][:, :1],
    )
    .fit()
    .params.values
  )
  model = two_sls.fit(two_sls.Config(), first, second, seed=0)
  expected = rows[0] * reference[2] + rows[3] * reference[0] + reference[1]
  np.testing.assert_allclose(
    model.predict(rows[0], rows[3]), expected, rtol=1e-8, atol=1e-9
  )


def gaussian_kernel(a, b, bandwidth):
  scaled = (a[:, None] - b[None]) / bandwidth
  return np.exp(-np.sum(scaled**2, axis=-1) / 2.0)


def test_landmarks_reproduce_the_kernel_on_their_rows():
  x = np.random.default_rng(0).normal(size=(150, 2))
  bandwidth = features.median_bandwidth(x)
  landmarks = landmarks_lib.Landmarks(2)
  landmarks.adapt(x, bandwidth, 1e-10)
  values = landmarks(x)
  assert values.shape[1] <= 150
  np.testing.assert_allclose(
    values @ values.T, gaussian_kernel(x, x, bandwidth), atol=1e-7
  )


def test_exact_kiv_equals_the_kernel_formulas_of_singh_et_al():
  first, second = batch(60, 0), batch(50, 1)
  config = kiv.Config(
    stage1_penalties=(1e-2,),
    stage2_penalties=(1e-3,),
    folds=1,
    tolerance=1e-13,
    search_bandwidths=False,
  )
  model = kiv.fit(config, first, second, seed=0)
  x1, x2, new = (
    np.concatenate([b.treatment, b.covariate], axis=1)
    for b in (first, second, batch(20, 2))
  )
  z1, z2 = first.instrument, second.instrument
  bandwidth_x = features.median_bandwidth(np.concatenate([x1, x2]))
  bandwidth_z = features.median_bandwidth(np.concatenate([z1, z2]))
  m, n = len(x1), len(x2)
  # Kernels without the constants: centred, as an unpenalised constant does.
  centre = np.eye(m) - np.ones((m, m)) / m
  k_zz = gaussian_kernel(z1, z1, bandwidth_z)
  k_z = gaussian_kernel(z1, z2, bandwidth_z)
  shifted = k_z - k_zz.mean(axis=1, keepdims=True)
  gamma = centre @ np.linalg.solve(
    centre @ k_zz @ centre + m * 1e-2 * np.eye(m), centre @ shifted
  )
  gamma = gamma + 1.0 / m  # [m, n]: weights of E[psi | z2] on psi(x1).
  k_xx = gaussian_kernel(x1, x1, bandwidth_x)
  predicted = (k_xx @ gamma).T  # [n, m]
  centre2 = np.eye(n) - np.ones((n, n)) / n
  design = centre2 @ predicted
  alpha = np.linalg.lstsq(
    design.T @ design + n * 1e-3 * k_xx,
    design.T @ (second.outcome - second.outcome.mean()),
    rcond=1e-12,
  )[0]
  constant = second.outcome.mean() - (predicted @ alpha).mean()
  expected = gaussian_kernel(new, x1, bandwidth_x) @ alpha + constant
  new_batch = batch(20, 2)
  np.testing.assert_allclose(
    model.predict(new_batch.treatment, new_batch.covariate), expected, atol=1e-4
  )


def test_random_features_approach_the_exact_kernel():
  halves = batch(60, 0), batch(60, 1)
  fixed = {
    'stage1_penalties': (1e-3,),
    'stage2_penalties': (1e-2,),
    'search_bandwidths': False,
  }
  exact = kiv.fit(kiv.Config(**fixed), *halves, seed=0)
  point = batch(50, 2)
  errors = []
  for size in (20, 1000):
    model = kiv.fit(kiv.Config(random_features=size, **fixed), *halves, seed=0)
    errors.append(
      np.abs(
        model.predict(point.treatment, point.covariate)
        - exact.predict(point.treatment, point.covariate)
      ).mean()
    )
  assert errors[1] < errors[0] / 3.0


def sine_error(module, samples):
  """Returns the error of fits of y = sin(t) + x + noise at x = 0."""
  grid = np.linspace(-2.0, 2.0, 21)[:, None]
  errors = [
    module.fit(module.Config(), *halves, seed=0).predict(
      grid, np.zeros_like(grid)
    )
    - np.sin(grid)
    for halves in samples
  ]
  return np.sqrt(np.mean(np.square(errors)))


# The choice of a dictionary makes the sieve's error vary: three samples.
@pytest.mark.parametrize('module, count', [(kiv, 1), (agmm, 1), (sieve, 3)])
def test_the_instrument_removes_the_confounding_of_a_sine(module, count):
  samples = [
    (batch(1000, 2 * seed), batch(1000, 2 * seed + 1)) for seed in range(count)
  ]
  # With the treatment as its own instrument this is ordinary regression.
  ordinary = [
    [
      half._replace(
        instrument=np.concatenate([half.treatment, half.covariate], axis=1)
      )
      for half in halves
    ]
    for halves in samples
  ]
  error = sine_error(module, samples)
  assert error < 0.15
  assert error < 0.5 * sine_error(module, ordinary)


def test_sieve_chooses_among_its_candidates_by_the_held_out_loss():
  calls = []
  model = sieve.fit(
    sieve.Config(),
    batch(500, 0),
    batch(500, 1),
    seed=0,
    progress=lambda done, total, losses: calls.append(losses),
  )
  assert len(model.config.treatment_bases) == 1
  assert len(model.config.covariate_bases) == 1
  assert min(model.history['stage2_loss']) == pytest.approx(
    calls[-1]['stage2_loss']
  )
  # A straight line cannot follow a sine.
  assert model.config.treatment_bases[0] != bases.Hermite(1)


def test_sieve_drops_interactions_that_would_be_too_many():
  config = sieve.Config(most_functions=20, covariate_products=(True,))
  data = batch(100)
  wide = np.random.default_rng(3).normal(size=(100, 5))
  data = data._replace(
    covariate=wide,
    instrument=np.concatenate([data.instrument[:, :1], wide], axis=1),
  )
  halves = [
    types.IVBatch(*(each[part] for each in data))
    for part in (slice(0, 50), slice(50, 100))
  ]
  model = sieve.fit(config, *halves, seed=0)
  assert model.features(data).covariate.shape[1] <= 5 * 24
  assert np.all(np.isfinite(model.predict(data.treatment, wide)))


def test_sieve_without_products_is_a_sum_that_covariates_do_not_bend():
  config = sieve.Config(
    treatment_bases=(bases.BSpline(8),),
    covariate_bases=(bases.BSpline(6),),
    covariate_products=(False,),
  )
  halves = batch(500, 0), batch(500, 1)
  model = sieve.fit(config, *halves, seed=0)
  points = np.linspace(-1.5, 1.5, 9)[:, None]
  curves = [
    model.predict(points, np.full_like(points, value))
    - model.predict(np.zeros_like(points), np.full_like(points, value))
    for value in (-1.0, 0.5)
  ]
  np.testing.assert_allclose(*curves, atol=1e-10)
  np.testing.assert_allclose(curves[0], np.sin(points), atol=0.25)
  again = sieve.build(
    model.config, types.Sizes(1, halves[0].instrument.shape[1], 1)
  )
  again.restore(model.state())
  np.testing.assert_array_equal(
    again.predict(points, points), model.predict(points, points)
  )


def test_sieve_clips_heavy_tails_of_outcomes():
  halves = batch(500, 0), batch(500, 1)
  wild = np.random.default_rng(5).standard_t(1.2, (500, 1))
  halves = tuple(
    half._replace(outcome=half.outcome + sign * wild)
    for half, sign in zip(halves, (1.0, -1.0), strict=True)
  )
  with pytest.warns(heavy_tails.HeavyTailsWarning):
    model = sieve.fit(sieve.Config(), *halves, seed=0)
  kept = sieve.fit(sieve.Config(outcome_width=0.0), *halves, seed=0)
  points = np.linspace(-1.5, 1.5, 9)[:, None]

  def error(fitted):
    found = fitted.predict(points, np.zeros_like(points))
    return np.mean(np.square(found - np.sin(points)))

  assert error(model) < 0.3 * error(kept)


def test_sieve_says_when_every_candidate_is_too_wide():
  with pytest.raises(ValueError, match='Raise most_columns'):
    sieve.fit(sieve.Config(most_columns=3), batch(50), batch(50), seed=0)


@pytest.mark.parametrize(
  'make, message',
  [
    (lambda: two_sls.Config(stage1_penalty=0.0), 'stage1_penalty must be pos'),
    (lambda: kiv.Config(random_features=3), 'even and at least 2'),
    (lambda: kiv.Config(bandwidth_scale=-1.0), 'bandwidth_scale must be pos'),
    (lambda: kiv.Config(stage2_penalties=()), 'at least one'),
    (lambda: kiv.Config(stage1_penalties=(0.0,)), 'positive candidates'),
    (lambda: sieve.Config(stage1_penalties=(-1.0,)), 'positive candidates'),
    (lambda: sieve.Config(interaction=0), 'interaction must be at least 1'),
    (lambda: sieve.Config(treatment_bases=()), 'at least one candidate'),
  ],
)
def test_bad_configs_are_refused(make, message):
  with pytest.raises(ValueError, match=message):
    make()


def test_slack_takes_the_largest_penalty_within_a_standard_error():
  halves = batch(300, 0), batch(300, 1)
  plain = kiv.fit(kiv.Config(random_features=50, slack=0.0), *halves, seed=0)
  slack = kiv.fit(kiv.Config(random_features=50, slack=1.0), *halves, seed=0)
  losses = np.array(plain.history['stage2_loss'])
  allowed = losses.min() * (1.0 + np.sqrt(2.0 / 600.0))
  penalties = np.array(kiv.Config().stage2_penalties)
  assert slack.history['stage2_penalty'] == [penalties[losses <= allowed].max()]
  assert plain.history['stage2_penalty'] == [penalties[losses.argmin()]]


def test_pixels_have_one_bandwidth():
  rows = np.random.default_rng(0).normal(size=(300, 5)) * [
    1.0,
    2.0,
    3.0,
    1.0,
    0.0,
  ]
  bandwidth = features.median_bandwidth(rows, pixels=3)
  np.testing.assert_array_equal(
    bandwidth[:2], features.median_bandwidth(rows[:, :2])
  )
  np.testing.assert_array_equal(
    bandwidth[2:], np.full(3, features.median_distance(rows[:, 2:]))
  )


@pytest.mark.parametrize(
  'settings, message',
  [
    ({'folds': 0}, 'folds must be at least 1'),
    ({'outcome_width': -1.0}, 'outcome_width must be at least 0'),
    ({'slack': -1.0}, 'slack must be at least 0'),
    ({'treatment_pixels': -1}, 'treatment_pixels must be at least 0'),
  ],
)
def test_settings_of_kiv_that_cannot_be_are_refused(settings, message):
  with pytest.raises(ValueError, match=message):
    kiv.Config(**settings)


def test_agmm_needs_folds_to_choose_its_penalties():
  with pytest.raises(ValueError, match='folds must be at least 2'):
    agmm.Config(folds=1)


def test_agmm_equals_the_formula_of_its_game():
  halves = batch(60, 0), batch(60, 1)
  model = agmm.fit(
    agmm.Config(
      stage1_penalties=(1e-3,),
      stage2_penalties=(1e-4,),
      search_bandwidths=False,
    ),
    *halves,
    seed=0,
  )
  parts = [model.features(half) for half in halves]
  psi, phi, y = (
    np.concatenate([getattr(part, name) for part in parts])
    for name in ('treatment', 'instrument', 'outcome')
  )
  n, centre = len(y), lambda x: x - x.mean(axis=0)
  projection = centre(phi) @ np.linalg.solve(
    centre(phi).T @ centre(phi) + n * 1e-3 * np.eye(phi.shape[1]), centre(phi).T
  )
  u = np.linalg.solve(
    centre(psi).T @ projection @ centre(psi) + n * 1e-4 * np.eye(psi.shape[1]),
    centre(psi).T @ projection @ centre(y),
  )
  point = batch(20, 2)
  expected = (model.features(point).treatment - psi.mean(axis=0)) @ u + y.mean()
  np.testing.assert_allclose(
    model.predict(point.treatment, point.covariate), expected, atol=1e-6
  )
