"""The demand design with pictures: the design of `demand`, and its pictures."""

import pathlib

import numpy as np
import pytest

from dfiv_ope.benchmarks import demand, demand_mnist, mnist
from dfiv_ope.results import problems

_REAL = pathlib.Path(__file__).parents[3] / 'shared/data/mnist'


pytestmark = pytest.mark.usefixtures('numbered_digits')


def _numbers(images):
  assert np.all(images == images[:, :1, :1])
  return np.round(images[:, 0, 0] * 255.0).astype(int)


def test_sample_is_that_of_demand_with_pictures_of_the_group():
  design = demand_mnist.DemandMNIST(n=500, rho=0.3)
  data, low = design.sample(7), demand.sample(500, rho=0.3, seed=7)
  np.testing.assert_array_equal(data.outcome, low.outcome)
  np.testing.assert_array_equal(data.treatment, low.treatment)
  np.testing.assert_array_equal(data.instrument, low.instrument)
  time, images = data.covariate
  np.testing.assert_array_equal(time, low.covariate[:, :1])
  assert (time.dtype, time.shape) == (np.float64, (500, 1))
  assert (images.dtype, images.shape) == (np.float32, (500, 28, 28))
  np.testing.assert_array_equal(_numbers(images) % 10, low.covariate[:, 1])


def test_samples_show_training_pictures_and_the_grid_test_pictures():
  design = demand_mnist.DemandMNIST(n=2000)
  trained = set(_numbers(design.sample(0).covariate[1]))
  tested = set(_numbers(design.grid()[1][1]))
  # All ten pictures of each of the groups 1 to 7.
  assert trained == {n for n in range(100) if 1 <= n % 10 <= 7}
  assert tested == {n + 100 for n in trained}


def test_grid_is_that_of_demand_and_the_same_each_time():
  treatment, (time, images), truth = demand_mnist.DemandMNIST(n=10).grid()
  low_treatment, low_covariate = demand.grid()
  np.testing.assert_array_equal(treatment, low_treatment)
  np.testing.assert_array_equal(time, low_covariate[:, :1])
  np.testing.assert_array_equal(_numbers(images) % 10, low_covariate[:, 1])
  np.testing.assert_array_equal(
    truth, demand.structural(low_treatment, low_covariate)
  )
  again = demand_mnist.DemandMNIST(n=20, rho=0.9).grid()
  np.testing.assert_array_equal(images, again[1][1])


def test_sample_is_decided_by_its_seed():
  design = demand_mnist.DemandMNIST(n=50)
  first, same, other = (design.sample(seed) for seed in (0, 0, (0, 1)))
  np.testing.assert_array_equal(first.outcome, same.outcome)
  np.testing.assert_array_equal(first.covariate[1], same.covariate[1])
  assert np.any(first.covariate[1] != other.covariate[1])


def test_who_reads_the_digit_has_no_error_and_a_constant_its_own():
  design = demand_mnist.DemandMNIST(n=10)

  def oracle(treatment, covariate):
    time, images = covariate
    group = _numbers(images)[:, np.newaxis] % 10
    low = np.concatenate([time, group], axis=1)
    return demand.structural(treatment, low)[:, 0]

  assert design.metrics(oracle) == {'mse': 0.0}
  truth = design.grid()[2]
  assert design.metrics(lambda t, x: np.full((2800, 1), truth.mean()))[
    'mse'
  ] == pytest.approx(truth.var())
  assert design.curves(oracle) == {}


def test_a_row_names_the_design_without_its_directory():
  design = demand_mnist.DemandMNIST(n=10, rho=0.1, mnist='/some/where')
  assert design.problem == problems.IVDesign(
    name='demand_mnist', parameters={'n': 10, 'rho': 0.1}
  )


@pytest.mark.parametrize(
  'values, message',
  [
    ({'n': 0}, 'n must be at least 1, got 0'),
    ({'rho': 1.5}, r'rho must lie in \[0, 1\], got 1.5'),
    ({'rho': -0.1}, 'rho must lie in'),
  ],
)
def test_bad_designs_are_refused(values, message):
  with pytest.raises(ValueError, match=message):
    demand_mnist.DemandMNIST(**values)


@pytest.mark.skipif(
  not _REAL.is_dir(), reason='the MNIST files are not on this machine'
)
def test_real_pictures_show_the_group(monkeypatch):
  monkeypatch.undo()
  design = demand_mnist.DemandMNIST(n=300, mnist=str(_REAL))
  train, test = mnist.load(str(_REAL))
  _, images = design.sample(0).covariate
  groups = demand.sample(300, rho=0.5, seed=0).covariate[:, 1]
  digit_of = lambda pool: dict(  # noqa: E731
    zip(map(bytes, pool.images), pool.labels, strict=True)
  )
  known, unseen = digit_of(train), digit_of(test)
  raw = np.round(images * 255.0).astype(np.uint8)
  assert [known[bytes(image)] for image in raw] == groups.tolist()
  raw = np.round(design.grid()[1][1] * 255.0).astype(np.uint8)
  groups = demand.grid()[1][:, 1]
  assert [unseen[bytes(image)] for image in raw] == groups.tolist()
  assert not any(bytes(image) in known for image in raw)
