"""The suite of designs: laws against their moments, baselines, coverage."""

import numpy as np
import pytest

from dfiv_ope.benchmarks import baselines, demand, laws, settings, suite
from dfiv_ope.iv import methods
from dfiv_ope.results import problems


@pytest.mark.parametrize('name', laws.LAWS)
def test_a_law_has_rows_of_finite_numbers_and_its_own_truth(name):
  design = suite.SuiteDesign(law=name, n=50)
  rows = design.sample(seed=0)
  again = design.sample(seed=0)
  np.testing.assert_array_equal(rows.outcome, again.outcome)
  assert all(
    each is None or (each.shape[0] == 50 and np.isfinite(each).all())
    for each in rows
  )
  assert rows.outcome.shape == (50, 1)
  assert design.metrics(design.truth) == {'mse': 0.0}


@pytest.mark.parametrize('name, strength', [('sin', 1.0), ('sin_weak', 0.4)])
def test_a_curve_has_the_moments_of_its_law(name, strength):
  rows = suite.SuiteDesign(law=name, n=100_000).sample(seed=1)
  noise = (rows.outcome - np.sin(rows.treatment))[:, 0]
  shock = (rows.treatment - strength * rows.instrument[:, :1])[:, 0]
  # The confounder has variance 1, the rest of both noises 0.01.
  assert shock.var() == pytest.approx(1.01, abs=0.02)
  assert noise.var() == pytest.approx(1.01, abs=0.02)
  assert np.cov(shock, noise)[0, 1] == pytest.approx(1.0, abs=0.02)
  assert rows.instrument[:, 0].var() == pytest.approx(3.0, abs=0.03)
  assert abs(np.corrcoef(rows.instrument[:, 0], noise)[0, 1]) < 0.01


def test_a_constant_has_the_error_of_the_variance():
  # |x| with Var x = 4.01 beside a confounder: published as .59 of Var y.
  error = suite.SuiteDesign(law='abs', n=1).metrics(
    lambda t, x=None: np.full((len(t), 1), 1.64)
  )['mse']
  assert error == pytest.approx(0.55, abs=0.05)


def test_noisy_demand_is_the_normalised_law_on_the_published_grid():
  design = suite.SuiteDesign(law='noisy_demand', n=20_000)
  rows = design.sample(seed=0)
  assert rows.covariate.shape == (20_000, 8)
  np.testing.assert_array_equal(rows.covariate[:, 1:].sum(axis=1), 1.0)
  noise = rows.outcome - design.truth(rows.treatment, rows.covariate)
  assert noise.std() == pytest.approx(1.0, abs=0.02)
  # f(20, 5, 3) = -30, see tests/benchmarks/test_demand.py.
  point = laws.one_hot(np.array([[5.0, 3.0]]))
  np.testing.assert_allclose(
    design.truth(np.array([[20.0]]), point), [[(292.1 - 30.0) / 158.0]]
  )
  # 1.31 is published for a constant.
  assert design.metrics(lambda t, x: np.full((len(t), 1), rows.outcome.mean()))[
    'mse'
  ] == pytest.approx(1.31, abs=0.02)


def test_a_third_of_the_designs_is_set_aside():
  every, later = suite.designs(), suite.designs(set_aside=True)
  assert len(later) / len(every) == pytest.approx(1 / 3, abs=0.05)
  assert set(later).isdisjoint(suite.designs(set_aside=False))
  assert len(later) + len(suite.designs(set_aside=False)) == len(every)
  sizes = {design.n for design in every}
  assert min(sizes) == 100 and max(sizes) == 50_000


def test_designs_by_name():
  assert suite.named(['abs']) == [suite.SuiteDesign(law='abs', n=2000)]
  assert {type(each) for each in suite.named(['demand'])} == {demand.Demand}
  with pytest.raises(ValueError, match="no design 'abss': did you mean abs"):
    suite.named(['abss'])
  with pytest.raises(ValueError, match="no law 'cos'"):
    suite.SuiteDesign(law='cos', n=10)
  with pytest.raises(ValueError, match='n must be at least 1, got 0'):
    suite.SuiteDesign(law='abs', n=0)


def test_one_default_is_taken_on_every_design():
  for name, entry in methods.ENTRIES.items():
    for design in suite.designs():
      assert settings.config(design.problem, name) == entry.configs['default']


def test_baselines_take_no_instrument_and_the_oracle_is_not_confounded():
  design = suite.SuiteDesign(law='linear', n=600)
  rows = {
    name: baselines.run(design, name, seed=0)
    for name in (baselines.CONSTANT, baselines.PLAIN, baselines.ORACLE)
  }
  errors = {name: row.metrics['mse'] for name, row in rows.items()}
  # Least squares has a slope of 1 + 1 / 4.01, so an error of 0.25 / 7.01.
  assert errors['plain_kiv'] == pytest.approx(0.036, abs=0.015)
  assert errors['oracle'] < errors['plain_kiv'] / 5
  assert errors['constant'] == pytest.approx(0.57, abs=0.05)
  row = rows['oracle']
  assert row.problem == problems.IVDesign(
    name='suite', parameters={'law': 'linear', 'n': 600}
  )
  assert row.version == methods.ENTRIES['kiv'].version
