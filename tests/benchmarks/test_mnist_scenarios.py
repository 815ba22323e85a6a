"""The scenarios of Bennett et al.: moments, pictures, and the least error."""

import pathlib

import numpy as np
import pytest

from dfiv_ope.benchmarks import mnist, mnist_scenarios
from dfiv_ope.results import problems

_REAL = pathlib.Path(__file__).parents[3] / 'shared/data/mnist'


pytestmark = pytest.mark.usefixtures('numbered_digits')


def _numbers(images):
  assert np.all(images == images[:, :1, :1])
  return np.round(images[:, 0, 0] * 255.0).astype(int)


@pytest.fixture(name='low', scope='module')
def _low():
  return mnist_scenarios.sample_low(1_000_000, np.random.default_rng(0))


def test_rows_have_the_moments_of_the_design(low):
  noise = (low.outcome - np.abs(low.treatment))[:, 0]  # e + delta
  shock = (low.treatment - low.instrument[:, :1])[:, 0]  # e + gamma
  assert np.abs(low.instrument).max() <= 3.0
  np.testing.assert_allclose(low.instrument.var(axis=0), 3.0, rtol=0.01)
  assert np.cov(low.instrument.T)[0, 1] == pytest.approx(0.0, abs=0.01)
  # gamma and delta have the standard deviation 0.1, and share nothing.
  assert noise.var() == pytest.approx(1.01, rel=0.01)
  assert shock.var() == pytest.approx(1.01, rel=0.01)
  assert (noise - shock).std() == pytest.approx(0.1 * np.sqrt(2.0), rel=0.01)
  # The noise moves with the treatment and not with the instrument.
  covariance = np.cov(noise, low.treatment[:, 0])[0, 1]
  assert covariance == pytest.approx(1.0, abs=0.02)
  for column in low.instrument.T:
    assert np.cov(noise, column)[0, 1] == pytest.approx(0.0, abs=0.01)


def test_variance_of_the_outcome_is_that_of_the_rows(low):
  assert mnist_scenarios.outcome_variance() == pytest.approx(
    low.outcome.var(), rel=0.005
  )
  assert mnist_scenarios.outcome_variance() == pytest.approx(2.237, abs=5e-4)


def test_errors_of_the_docstring(low):
  truth = np.abs(low.treatment[:, 0])
  digits = mnist_scenarios.digit(low.treatment[:, 0])
  mean_of = lambda groups, values: (  # noqa: E731
    np.bincount(groups, values) / np.maximum(np.bincount(groups), 1)
  )[groups]
  error = lambda guess: np.mean(np.square(guess - truth))  # noqa: E731
  outcome = low.outcome[:, 0]
  assert truth.var() == pytest.approx(1.227, rel=0.01)
  fine = np.round((low.treatment[:, 0] + 10.0) * 20.0).astype(int)
  assert error(mean_of(fine, outcome)) == pytest.approx(0.298, rel=0.01)
  assert error(mean_of(digits, outcome)) == pytest.approx(0.357, rel=0.01)
  assert error(mean_of(digits, truth)) == pytest.approx(
    mnist_scenarios.least_error('x'), rel=0.01
  )


def test_least_errors_of_the_scenarios():
  assert mnist_scenarios.least_error('x') == pytest.approx(0.0989, abs=1e-4)
  assert mnist_scenarios.least_error('xz') == mnist_scenarios.least_error('x')
  assert mnist_scenarios.least_error('z') == 0.0
  with pytest.raises(ValueError, match="no scenario 'y'"):
    mnist_scenarios.least_error('y')


def test_digits_at_the_edges_of_their_intervals():
  values = np.array([-9.0, -3.1, -2.9, 0.0, 0.3, 0.4, 2.3, 2.4, 9.0])
  assert mnist_scenarios.digit(values).tolist() == [0, 0, 1, 5, 5, 6, 8, 9, 9]


@pytest.mark.parametrize(
  'scenario, treatment, instrument',
  [('x', (28, 28), (2,)), ('z', (1,), (28, 28)), ('xz', (28, 28), (28, 28))],
)
def test_the_letters_name_what_is_shown_as_pictures(
  scenario, treatment, instrument
):
  data = mnist_scenarios.MNISTScenario(scenario=scenario, n=300).sample(5)
  low = mnist_scenarios.sample_low(300, np.random.default_rng(5))
  assert data.treatment.shape == (300, *treatment)
  assert data.instrument.shape == (300, *instrument)
  assert data.covariate is None
  np.testing.assert_array_equal(data.outcome, low.outcome)
  for got, number in (
    (data.treatment, low.treatment),
    (data.instrument, low.instrument),
  ):
    if got.ndim == 3:
      assert got.dtype == np.float32
      np.testing.assert_array_equal(
        _numbers(got) % 10, mnist_scenarios.digit(number[:, 0])
      )
    else:
      np.testing.assert_array_equal(got, number)


def test_samples_show_training_pictures_and_the_grid_test_pictures():
  design = mnist_scenarios.MNISTScenario(scenario='xz', n=3000)
  data = design.sample(0)
  assert set(_numbers(data.treatment)) == set(range(100))
  # No instrument in [-3, 3] is far enough from 0 to show the digit 0.
  assert set(_numbers(data.instrument)) == {n for n in range(100) if n % 10}
  assert set(_numbers(design.grid()[0])) == set(range(100, 200))


def test_sample_is_decided_by_its_seed():
  design = mnist_scenarios.MNISTScenario(scenario='xz', n=50)
  first, same, other = (design.sample(seed) for seed in (0, 0, 1))
  for left, right in zip(first[:3], same[:3], strict=True):
    np.testing.assert_array_equal(left, right)
  for left, right in zip(first[:3], other[:3], strict=True):
    assert np.any(left != right)


def test_grid_has_the_truth_of_its_treatments_and_is_the_same_each_time():
  treatment, truth = mnist_scenarios.MNISTScenario(scenario='z', n=5).grid()
  np.testing.assert_array_equal(truth, np.abs(treatment))
  images, same = mnist_scenarios.MNISTScenario(scenario='x', n=9).grid()
  np.testing.assert_array_equal(truth, same)
  np.testing.assert_array_equal(
    _numbers(images) % 10, mnist_scenarios.digit(treatment[:, 0])
  )
  again, _ = mnist_scenarios.MNISTScenario(scenario='xz').grid()
  np.testing.assert_array_equal(images, again)


def test_who_knows_the_function_has_the_least_error():
  exact = mnist_scenarios.MNISTScenario(scenario='z', n=5)
  assert exact.metrics(np.abs) == {'mse': 0.0, 'mse_standardised': 0.0}
  assert exact.curves(np.abs) == {}
  design = mnist_scenarios.MNISTScenario(scenario='xz', n=5)
  images, truth = design.grid()
  digits = _numbers(images) % 10
  means = np.bincount(digits, truth[:, 0]) / np.bincount(digits)
  metrics = design.metrics(lambda shown: means[_numbers(shown) % 10])
  least = mnist_scenarios.least_error('xz')
  assert metrics['mse'] == pytest.approx(least, rel=0.1)
  assert metrics['mse_standardised'] == pytest.approx(
    metrics['mse'] / 2.2369, rel=1e-4
  )


def test_a_row_names_the_scenario_without_its_directory():
  design = mnist_scenarios.MNISTScenario(scenario='z', n=7, mnist='/some/where')
  assert design.problem == problems.IVDesign(
    name='mnist', parameters={'scenario': 'z', 'n': 7}
  )


@pytest.mark.parametrize(
  'values, message',
  [
    ({'n': 0}, 'n must be at least 1, got 0'),
    ({'scenario': 'zx'}, "no scenario 'zx'. Choose one of x, z, xz"),
    ({'scenario': ''}, "no scenario ''"),
  ],
)
def test_bad_designs_are_refused(values, message):
  with pytest.raises(ValueError, match=message):
    mnist_scenarios.MNISTScenario(**values)


@pytest.mark.skipif(
  not _REAL.is_dir(), reason='the MNIST files are not on this machine'
)
def test_real_pictures_show_the_digits(monkeypatch):
  monkeypatch.undo()
  design = mnist_scenarios.MNISTScenario(scenario='xz', n=200, mnist=str(_REAL))
  pool = mnist.load(str(_REAL)).train
  digit_of = dict(zip(map(bytes, pool.images), pool.labels, strict=True))
  shown = lambda images: [  # noqa: E731
    digit_of[bytes(image)]
    for image in np.round(images * 255.0).astype(np.uint8)
  ]
  data = design.sample(3)
  low = mnist_scenarios.sample_low(200, np.random.default_rng(3))
  for images, number in (
    (data.treatment, low.treatment),
    (data.instrument, low.instrument),
  ):
    assert shown(images) == mnist_scenarios.digit(number[:, 0]).tolist()
