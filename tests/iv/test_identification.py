"""Order and rank conditions of the estimators on arrays."""

import warnings

import numpy as np
import pytest

from dfiv_ope.iv import bases, estimators, identification

KIV = estimators.KIV(random_features=20, n_splits=1)


def data(rows=200, seed=0):
  """Two instruments, two treatments, one covariate."""
  generator = np.random.default_rng(seed)
  z, noise = generator.normal(size=(2, rows, 2))
  x = generator.normal(size=rows)
  treatment = z + noise + 0.5 * x[:, None]
  return treatment @ [1.0, 2.0] + x + noise.sum(axis=1), treatment, z, x


def problem(treatment, instrument, covariate=None):
  """The problem of columns, standardised."""

  def standard(columns):
    columns = np.asarray(columns, float).reshape(len(columns), -1)
    return (columns - columns.mean(axis=0)) / np.maximum(
      columns.std(axis=0), 1e-300
    )

  return identification.check(
    standard(treatment),
    standard(instrument),
    None if covariate is None else standard(covariate),
  )


def test_as_many_instruments_as_treatments_identify_a_linear_model():
  outcome, treatment, z, x = data()
  assert problem(treatment, z, x) == (2, 2, 2, 2)
  assert not problem(treatment, z, x).problem
  with warnings.catch_warnings():
    warnings.simplefilter('error', identification.UnderidentifiedWarning)
    model = estimators.TwoSLS().fit(outcome, treatment, Z=z, X=x)
  np.testing.assert_allclose(model.coef_, [1.0, 2.0, 1.0], atol=0.5)
  assert model.underidentified_ == ''


def test_fewer_instruments_than_treatments_are_refused():
  outcome, treatment, z, x = data()
  assert problem(treatment, z[:, 0], x) == (2, 2, 1, 1)
  with pytest.raises(
    ValueError,
    match=r'\(order condition\): T has 2 columns,'
    ' but Z only 1 that is no linear combination',
  ):
    estimators.TwoSLS().fit(outcome, treatment, Z=z[:, 0], X=x)


def test_copies_among_instruments_do_not_count():
  outcome, treatment, z, x = data()
  for copy in (
    z[:, 0],
    5.0 - 2.0 * z[:, 0],
    np.float32(z[:, 0]),
    z[:, 0] + 3.0 * x,
    np.full(200, 7.0),
  ):
    twice = np.stack([z[:, 0], copy], axis=1)
    with pytest.raises(ValueError, match='order condition'):
      estimators.TwoSLS().fit(outcome, treatment, Z=twice, X=x)


def test_the_tolerance_is_a_millionth_of_a_standard_deviation():
  _, treatment, z, _ = data()
  for size, instruments in ((3e-7, 1), (1e-5, 2)):
    near = np.stack([z[:, 0], z[:, 0] + size * z[:, 1]], axis=1)
    assert problem(treatment, near).instruments == instruments


def test_an_instrument_among_the_covariates_moves_nothing():
  outcome, treatment, z, x = data()
  for kind in (estimators.TwoSLS(), estimators.SieveIV()):
    with pytest.raises(ValueError, match='combination of the columns of X'):
      kind.fit(outcome, treatment[:, 0], Z=1.0 + 2.0 * x, X=x)
  with pytest.warns(identification.UnderidentifiedWarning):
    KIV.fit(outcome, treatment[:, 0], Z=x, X=x)


def test_treatments_that_are_copies_of_each_other_or_of_x_are_refused():
  outcome, treatment, z, x = data()
  one = treatment[:, 0]
  for other in (-one, one + x, x):
    with pytest.raises(ValueError, match='only 1 of them are linearly indep'):
      estimators.TwoSLS().fit(outcome, np.stack([one, other], axis=1), Z=z, X=x)


def test_instruments_that_move_one_combination_fail_the_rank_condition():
  outcome, treatment, z, _ = data()
  # What is left of a column without z is not moved by z at all.
  columns = np.append(z, np.ones((200, 1)), axis=1)
  noise = (
    treatment[:, 1]
    - columns @ np.linalg.lstsq(columns, treatment[:, 1], rcond=None)[0]
  )
  for size, rank in ((0.0, 1), (1e-3, 2)):
    both = np.stack([treatment[:, 0], noise + size * z[:, 1]], axis=1)
    assert problem(both, z) == (2, 2, 2, rank)
  with pytest.raises(ValueError, match=r'\(rank condition\).* has rank 1'):
    estimators.TwoSLS().fit(
      outcome, np.stack([treatment[:, 0], noise], axis=1), Z=z
    )


def test_only_the_linear_methods_refuse():
  found = identification.Identification(2, 2, 1, 1)
  none = identification.Identification(1, 1, 0, 0)
  assert {
    name: (kind()._refuses(found), kind()._refuses(none))
    for name, kind in estimators.ESTIMATORS.items()
  } == {
    'two_sls': (True, True),
    'sieve': (False, True),
    'kiv': (False, False),
    'agmm': (False, False),
    'auto': (False, False),
    'deepiv': (False, False),
    'deepgmm': (False, False),
    'dfiv': (False, False),
  }


def test_flexible_methods_warn_and_say_so_in_the_summary(tmp_path):
  outcome, treatment, z, _ = data()
  model = KIV
  with pytest.warns(
    identification.UnderidentifiedWarning, match='order condition'
  ):
    model.fit(outcome, treatment, Z=z[:, 0])
  assert 'Warning: Not identified (order condition)' in model.summary()
  model.save(tmp_path / 'saved')
  assert (
    estimators.load(tmp_path / 'saved').underidentified_
    == model.underidentified_
  )
  with warnings.catch_warnings():
    warnings.simplefilter('error', identification.UnderidentifiedWarning)
    model.fit(outcome, treatment, Z=z)
  assert 'Not identified' not in model.summary()


def test_a_penalty_that_was_asked_for_makes_the_error_a_warning():
  outcome, treatment, z, _ = data()
  with pytest.warns(identification.UnderidentifiedWarning):
    model = estimators.TwoSLS(stage2_penalty=1e-3).fit(
      outcome, treatment, Z=z[:, 0]
    )
  assert np.all(np.isfinite(model.coef_))


def test_many_columns_of_pixels_are_not_counted(recwarn):
  outcome, treatment, z, _ = data()
  pictures = treatment[:, :1, None] * np.arange(1.0, 5.0).reshape(1, 2, 2)
  estimators.KIV(random_features=20, n_splits=1).fit(
    outcome, pictures, Z=z[:, 0]
  )
  assert not [
    each
    for each in recwarn
    if issubclass(each.category, identification.UnderidentifiedWarning)
  ]


def test_wide_instruments_are_ranked_by_random_combinations():
  generator = np.random.default_rng(0)
  factors = generator.normal(size=(300, 2))
  wide = factors @ generator.normal(size=(2, 500))
  treatment = factors @ generator.normal(size=(2, 3)) + generator.normal(
    size=(300, 3)
  )
  assert problem(treatment, wide).instruments == 2
  assert not problem(treatment[:, :2], wide).problem


def test_a_sieve_takes_a_basis_that_its_instrument_identifies():
  generator = np.random.default_rng(0)
  z = generator.integers(0, 2, 400)
  noise = generator.normal(size=400)
  treatment = 2.0 * z + noise
  outcome = np.square(treatment) + noise
  model = estimators.SieveIV(n_splits=1).fit(outcome, treatment, Z=z)
  # Two values of z tell no more than a line.
  assert model.model_.config.treatment_bases == (bases.Hermite(1),)
  for basis in (bases.Hermite(2), bases.BSpline(5)):
    with pytest.raises(ValueError, match='no treatment basis has as few func'):
      estimators.SieveIV(treatment_bases=(basis,), n_splits=1).fit(
        outcome, treatment, Z=z
      )


def test_a_sieve_with_three_values_of_z_identifies_two_functions():
  generator = np.random.default_rng(0)
  z = generator.integers(0, 3, 400)
  treatment = z + generator.normal(size=400)
  outcome = np.square(treatment)
  two = estimators.SieveIV(treatment_bases=(bases.Hermite(2),), n_splits=1)
  two.fit(outcome, treatment, Z=z)
  with pytest.raises(ValueError, match='Not identified'):
    estimators.SieveIV(treatment_bases=(bases.BSpline(5),), n_splits=1).fit(
      outcome, treatment, Z=z
    )


def test_a_sieve_with_covariates_checks_their_products_too():
  outcome, treatment, z, x = data()
  small = {
    'treatment_bases': (bases.Hermite(2),),
    'n_splits': 1,
    'covariate_bases': (bases.Hermite(1),),
  }
  estimators.SieveIV(**small).fit(outcome, treatment[:, 0], Z=z[:, 0], X=x)
  with pytest.raises(ValueError, match='Not identified'):
    # One function of z and the products with x, for two of the treatment.
    estimators.SieveIV(**small, interaction=1).fit(
      outcome, treatment[:, 0], Z=np.sign(z[:, 0]), X=x
    )


def test_an_instrument_of_few_values_tells_few_functions():
  generator = np.random.default_rng(0)
  treatment = generator.normal(size=(60, 1))
  levels = np.arange(60.0)[:, None]
  assert '2 values, so it can tell 1 function of T' in (
    identification.few_values(treatment, levels % 2)
  )
  assert '4 values, so it can tell 3 functions' in identification.few_values(
    treatment, np.append(levels % 2, levels // 30, axis=1)
  )
  assert not identification.few_values(treatment, levels % 5)
  assert not identification.few_values(treatment > 0.0, levels % 2)


def test_only_a_curve_is_warned_of_an_instrument_of_two_values():
  generator = np.random.default_rng(0)
  z = np.arange(200.0) % 2
  treatment = z + generator.normal(size=200)
  with pytest.warns(identification.UnderidentifiedWarning, match='Z has 2'):
    model = estimators.SieveIV(n_splits=1).fit(treatment, treatment, Z=z)
  assert 'Z has 2 values' in model.summary()
  with warnings.catch_warnings():
    warnings.simplefilter('error')
    estimators.TwoSLS().fit(treatment + z, treatment, Z=z)
