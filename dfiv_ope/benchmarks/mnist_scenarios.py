"""The MNIST scenarios of Bennett et al. (2019): |x| seen through digits.

    Z ~ Unif([-3, 3]^2),  e ~ N(0, 1),  gamma, delta ~ N(0, 0.1^2)
    X = Z_1 + e + gamma,  Y = |X| + e + delta,  f(X) = |X|

The treatment ('x'), the instrument ('z') or both ('xz') are shown as a random
picture of the digit pi(.); a shown instrument is that of Z_1.

    design = mnist_scenarios.MNISTScenario(scenario='xz', mnist='data/mnist')
    data = design.sample(seed=0)
    design.metrics(estimator.predict)

Deviation: the text of the paper's appendix swaps the names of 'x' and 'z'.
Its table repeats numbers of Bennett et al., whose MNIST_x has the picture in
the place of X, so the letters here name what is shown as a picture.
Deviation: 0.1 is read as a standard deviation; as a variance it would change
the numbers below by less than a tenth.

Errors, as raw (standardised: divided by the variance of Y, 2.237):

    a constant                                   1.227 (0.548)
    E[Y | X], which uses no instrument: 'z'      0.298 (0.133)
      and with a picture of X: 'x', 'xz'         0.357 (0.160)
    the least of any function of a picture of X  0.099 (0.044)

The paper does not say the scale of its table. Its 0.10 +- 0.003 for 'xz' would
be the least possible as a raw error, so Y was most likely standardised:
compare the table with 'mse_standardised'.
The least error is not what an instrument can find: ten digits are hardly told
apart by Z (the condition number of P(digit | Z) is 4000), and in 'xz', where
no instrument shows a 0, nine means decide ten unknowns. A ridge regression
which is told the digits has 0.15 (0.07) at n = 20 000 with its best penalty.
"""

from collections.abc import Callable
import dataclasses
import math

import numpy as np

from dfiv_ope import types
from dfiv_ope.benchmarks import mnist
from dfiv_ope.results import problems

# A structural function: treatment [B, 1] or images [B, 28, 28] -> [B] or
# [B, 1].
Structural = Callable[[types.FloatArray], types.FloatArray]

SCENARIOS = ('x', 'z', 'xz')
# Z_1 and Z_2 lie between minus this and this.
_INSTRUMENT_BOUND = 3.0
_SMALL_NOISE = 0.1
_TEST_POINTS = 10_000
# A tuple, so that no run's own seed draws the same rows.
_TEST_SEED = (2019, _TEST_POINTS)


@dataclasses.dataclass(frozen=True, kw_only=True)
class MNISTScenario:
  """A scenario.

  Attributes:
    scenario: what is shown as pictures: 'x', 'z' or 'xz'.
    n: rows of both stages together; the estimator splits them.
    mnist: directory of the MNIST files, or None to download them.
  """

  scenario: str = 'x'
  n: int = 20_000
  mnist: str | None = None

  def __post_init__(self) -> None:
    _check(self.scenario)
    if self.n < 1:
      raise ValueError(f'n must be at least 1, got {self.n}.')

  @property
  def problem(self) -> problems.IVDesign:
    """The scenario as a result row names it."""
    return problems.IVDesign(
      name='mnist', parameters={'scenario': self.scenario, 'n': self.n}
    )

  def sample(self, seed: types.Seed) -> types.IVBatch:
    """Draws n rows with training pictures.

    Args:
      seed: seeds the draw; X, Z and Y of a seed are those of all scenarios.

    Returns:
      Treatment and instrument, each as images float32 [n, 28, 28] or as
      numbers float64, X [n, 1] and Z [n, 2]; outcome float64 [n, 1].
    """
    generator = np.random.default_rng(seed)
    data = sample_low(self.n, generator)
    return _show(self.scenario, data, generator, mnist.load(self.mnist).train)

  def grid(self) -> tuple[types.FloatArray, types.FloatArray]:
    """Returns 10 000 test treatments and their true |X|, [10 000, 1].

    They are drawn like a sample, with test pictures, the same in every run.
    """
    generator = np.random.default_rng(_TEST_SEED)
    data = sample_low(_TEST_POINTS, generator)
    shown = _show(self.scenario, data, generator, mnist.load(self.mnist).test)
    return shown.treatment, structural(data.treatment)

  def metrics(self, predict: Structural) -> dict[str, float]:
    """Returns the error of a function at the test points.

    Args:
      predict: takes treatments, returns outcomes on the scale of the sample.

    Returns:
      'mse' on the raw scale, 'mse_standardised' on that of a Y with variance
      one, most likely the scale of the published table.
    """
    treatment, truth = self.grid()
    error = np.reshape(predict(treatment), truth.shape) - truth
    mse = float(np.mean(np.square(error)))
    return {'mse': mse, 'mse_standardised': mse / outcome_variance()}

  def curves(self, predict: Structural) -> dict[str, list[float]]:
    """Returns no curves: a picture has no axis to draw one over.

    Args:
      predict: not called.
    """
    del predict
    return {}


def structural(treatment: types.FloatArray) -> types.FloatArray:
  """Returns f(X) = |X|."""
  return np.abs(treatment)


def digit(values: types.FloatArray) -> np.ndarray:
  """Returns pi(x) = round(min(max(1.5 x + 5, 0), 9)), integers in 0..9."""
  return np.round(np.clip(1.5 * values + 5.0, 0.0, 9.0)).astype(np.int64)


def sample_low(n: int, generator: np.random.Generator) -> types.IVBatch:
  """Draws n rows before anything is shown as a picture.

  Args:
    n: number of rows.
    generator: makes the draw.

  Returns:
    Float64 arrays: treatment X [n, 1], instrument Z [n, 2], outcome Y [n, 1].
  """
  instrument = generator.uniform(-_INSTRUMENT_BOUND, _INSTRUMENT_BOUND, (n, 2))
  confounder = generator.standard_normal((n, 1))
  gamma, delta = _SMALL_NOISE * generator.standard_normal((2, n, 1))
  treatment = instrument[:, :1] + confounder + gamma
  return types.IVBatch(
    treatment=treatment,
    instrument=instrument,
    outcome=structural(treatment) + confounder + delta,
  )


def outcome_variance() -> float:
  """Returns the exact variance of Y, what standardising Y divides by.

  |X| and e are uncorrelated: turning the signs of Z, e and gamma leaves |X|
  as it is and turns e.
  """
  noise = 1.0 + _SMALL_NOISE**2  # The variance of e + gamma, and e + delta.
  bound = _INSTRUMENT_BOUND
  # E|X| is the mean over Z_1 of E|z + sqrt(noise) N(0, 1)|.
  mean = (
    (bound**2 + noise) * math.erf(bound / math.sqrt(2.0 * noise))
    + bound
    * math.sqrt(2.0 * noise / math.pi)
    * math.exp(-(bound**2) / (2.0 * noise))
  ) / (2.0 * bound)
  return bound**2 / 3.0 + noise - mean**2 + noise


def least_error(scenario: str) -> float:
  """Returns the least raw error that any function of the treatment can have.

  A picture tells the digit of X and no more, so it is the mean of
  Var(|X| | digit); where X itself is seen it is zero.

  Args:
    scenario: one of `SCENARIOS`.
  """
  _check(scenario)
  if 'x' not in scenario:
    return 0.0
  # Midpoints of steps that divide the intervals of the digits, whose ends are
  # odd multiples of a third, and the half lines.
  step = 1.0 / 300.0
  treatment = (np.arange(-3600, 3600) + 0.5) * step
  scale = math.sqrt(2.0 * (1.0 + _SMALL_NOISE**2))
  erf = np.vectorize(math.erf)
  density = (
    erf((treatment + _INSTRUMENT_BOUND) / scale)
    - erf((treatment - _INSTRUMENT_BOUND) / scale)
  ) / (4.0 * _INSTRUMENT_BOUND)
  mass, truth = density * step, structural(treatment)
  digits = digit(treatment)
  means = np.bincount(digits, mass * truth) / np.bincount(digits, mass)
  return float(np.sum(mass * np.square(truth - means[digits])))


def _check(scenario: str) -> None:
  if scenario not in SCENARIOS:
    raise ValueError(
      f'There is no scenario {scenario!r}. Choose one of '
      f'{", ".join(SCENARIOS)}: what is shown as pictures.'
    )


def _show(
  scenario: str,
  data: types.IVBatch,
  generator: np.random.Generator,
  pool: mnist.Pool,
) -> types.IVBatch:
  """Returns the rows with pictures in the place of what is shown."""
  shown = {
    member: mnist.pixels(
      mnist.random_images(generator, digit(getattr(data, member)[:, 0]), pool)
    )
    for letter, member in (('x', 'treatment'), ('z', 'instrument'))
    if letter in scenario
  }
  return data._replace(**shown)
