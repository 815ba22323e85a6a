"""The demand design against numbers of the paper's appendix."""

import numpy as np
import pytest

from dfiv_ope.benchmarks import demand, settings, trials
from dfiv_ope.iv import methods
from dfiv_ope.nn import layers as layers_lib
from dfiv_ope.results import problems, rows


def test_structural_function_at_points_worked_out_by_hand():
  # h(5) = 2 (0 + 1 + 0.5 - 2) = -1; f(20, 5, 3) = 100 + 30 * 3 * (-1) - 40.
  value = demand.structural(np.array([[20.0]]), np.array([[5.0, 3.0]]))
  np.testing.assert_allclose(value, [[-30.0]])


def test_grid_has_the_2800_points_of_the_appendix():
  treatment, covariate = demand.grid()
  assert treatment.shape == (2800, 1)
  assert covariate.shape == (2800, 2)
  assert len(np.unique(treatment)) == 20
  assert (treatment.min(), treatment.max()) == (10.0, 25.0)
  assert sorted(np.unique(covariate[:, 1])) == [1, 2, 3, 4, 5, 6, 7]
  assert (covariate[:, 0].min(), covariate[:, 0].max()) == (0.0, 10.0)


def test_the_best_constant_has_the_published_error():
  treatment, covariate = demand.grid()
  mean = demand.structural(treatment, covariate).mean()
  error = demand.mean_squared_error(lambda t, x: np.full((len(t), 1), mean))
  # A constant fitted to data, not to the grid, has 32 644.
  assert 15_000 < error < 32_644
  data = demand.sample(100_000, rho=0.5, seed=0)
  fitted = data.outcome.mean()
  assert demand.mean_squared_error(
    lambda t, x: np.full((len(t), 1), fitted)
  ) == pytest.approx(32_644, rel=0.01)


def test_sample_has_the_moments_of_the_design():
  data = demand.sample(200_000, rho=0.7, seed=0)
  noise = data.outcome - demand.structural(data.treatment, data.covariate)
  shock = (
    data.treatment
    - 25.0
    - (data.instrument + 3.0) * demand.season(data.covariate[:, :1])
  )
  assert noise.std() == pytest.approx(1.0, abs=0.01)
  assert shock.std() == pytest.approx(1.0, abs=0.01)
  assert np.corrcoef(noise[:, 0], shock[:, 0])[0, 1] == pytest.approx(
    0.7, abs=0.01
  )
  assert np.corrcoef(noise[:, 0], data.instrument[:, 0])[0, 1] == (
    pytest.approx(0.0, abs=0.01)
  )
  assert data.treatment.mean() == pytest.approx(17.779, abs=0.05)


def test_sample_is_decided_by_its_seed():
  first, same, other = (demand.sample(5, rho=0.1, seed=s) for s in (0, 0, 1))
  np.testing.assert_array_equal(first.outcome, same.outcome)
  assert np.abs(first.outcome - other.outcome).max() > 0


def test_effects_of_the_true_function_are_the_exact_ones():
  np.testing.assert_allclose(
    demand.cate(demand.structural), demand.true_cate(), rtol=1e-12
  )
  np.testing.assert_allclose(
    demand.ate(demand.structural), demand.true_ate(), rtol=1e-3
  )
  assert np.all(np.diff(demand.true_ate()) < 0)


def test_paper_networks_are_the_tables_of_the_appendix():
  sizes = lambda layers: [  # noqa: E731
    layer.size for layer in layers if isinstance(layer, layers_lib.Dense)
  ]
  paper = lambda method: settings.config(  # noqa: E731
    demand.Demand(n=5000, rho=0.5).problem, method, paper=True
  )
  dfiv = paper('dfiv')
  assert sizes(dfiv.treatment_net) == [16, 1]
  assert sizes(dfiv.instrument_net) == [128, 64, 32]
  assert sizes(dfiv.covariate_net) == [128, 64, 32]
  deepgmm = paper('deepgmm')
  assert sizes(deepgmm.instrument_net) == [128, 64, 32, 1]
  deepiv = paper('deepiv')
  assert sizes(deepiv.treatment_net) == [128, 64, 32, 1]
  assert deepiv.instrument_net[1].rate == pytest.approx(1 / 6)
  assert paper('kiv').random_features == 100
  with pytest.raises(ValueError, match='no setting for'):
    paper('sieve')


def test_a_run_is_a_row_with_its_error_and_curves():
  config = methods.load('two_sls').Config()
  design = demand.Demand(n=1000, rho=0.5)
  row = trials.run(design, 'two_sls', config, seed=1)
  # Linear 2SLS cannot follow f: the released code has 9320 at n = 5000.
  assert row.metrics['mse'] == pytest.approx(9320, rel=0.05)
  assert row.metrics['effective_f'] > 100.0
  assert len(row.curves['ate']) == len(row.curves['cate']) == 20
  again = trials.run(design, 'two_sls', config, seed=1)
  assert (again.key, again.metrics) == (row.key, row.metrics)
  assert row.problem == problems.IVDesign(
    name='demand', parameters={'n': 1000, 'rho': 0.5}
  )
  assert rows.decode(rows.encode(row)) == row


def test_an_error_that_is_not_finite_is_a_divergence():
  row = trials.row(
    demand.Demand(n=10),
    'kiv',
    {'type': 'Config'},
    lambda treatment, covariate: np.full((len(treatment), 1), np.nan),
    version=1,
    seed=0,
    cpu_seconds=0.0,
    preset='paper',
    custom=True,
    curves={'loss': [1.0, np.inf]},
  )
  assert row.failed and row.outcome == 'diverged'
  assert row.reason == 'its error is not finite'
  assert (row.metrics, row.preset, row.custom) == ({}, 'paper', True)
  assert row.curves['loss'] == (1.0, None)
  assert row.curves['ate'] == (None,) * 20
  assert rows.decode(rows.encode(row)) == row


@pytest.mark.parametrize(
  'n, rho, message',
  [
    (0, 0.5, 'n must be at least 1'),
    (10, 1.5, 'rho must lie in'),
    (10, -0.1, 'rho must lie in'),
  ],
)
def test_bad_designs_are_refused(n, rho, message):
  with pytest.raises(ValueError, match=message):
    demand.sample(n, rho=rho, seed=0)
