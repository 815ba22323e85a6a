"""The demand design: airline tickets of Hartford et al. (2017).

Sales Y depend on the price P, the time of year T and the customer group S;
the fuel cost C is the instrument of the price. This is the version of the
paper's appendix: the outcome is not normalised and its noise has variance 1.

    data = demand.sample(5000, rho=0.5, seed=0)
    estimator.fit(data.outcome, data.treatment,
                  Z=data.instrument, X=data.covariate)
    demand.mean_squared_error(estimator.predict)

`trials.run` does all of this for a method and a seed.
"""

from collections.abc import Callable, Iterable
import dataclasses
import math

import numpy as np

from dfiv_ope import types
from dfiv_ope.results import problems

# A structural function: (treatment [B, 1], covariate [B, 2]) -> [B, 1].
Structural = Callable[[types.FloatArray, types.FloatArray], types.FloatArray]

GROUPS = np.arange(1.0, 8.0)
PRICES = np.linspace(10.0, 25.0, 20)
TIMES = np.linspace(0.0, 10.0, 20)
# The CATE figure holds the price at 25.
CATE_PRICE = 25.0
# Midpoints of a hundred equal parts of the year, to average over T.
_YEAR = np.arange(0.05, 10.0, 0.1)


def season(time: types.FloatArray) -> types.FloatArray:
  """Returns h(t), the demand over the year."""
  centred = time - 5.0
  return 2.0 * (
    centred**4 / 600.0 + np.exp(-4.0 * centred**2) + time / 10.0 - 2.0
  )


def structural(
  treatment: types.FloatArray, covariate: types.FloatArray
) -> types.FloatArray:
  """Returns f(P, T, S) = 100 + (10 + P) S h(T) - 2 P without noise.

  Args:
    treatment: P, [B, 1].
    covariate: (T, S), [B, 2].

  Returns:
    Sales [B, 1].
  """
  time, group = covariate[:, :1], covariate[:, 1:]
  return 100.0 + (10.0 + treatment) * group * season(time) - 2.0 * treatment


def sample(n: int, *, rho: float, seed: types.Seed) -> types.IVBatch:
  """Draws n rows; both stages together, the estimator splits them in halves.

  Args:
    n: number of rows.
    rho: correlation of the noises of price and sales, in [0, 1].
    seed: seeds the draw.

  Returns:
    Float64 arrays: treatment P [n, 1], instrument C [n, 1], outcome Y [n, 1]
    and covariate (T, S) [n, 2].
  """
  check(n, rho)
  generator = np.random.default_rng(seed)
  group = generator.choice(GROUPS, size=(n, 1))
  time = generator.uniform(0.0, 10.0, (n, 1))
  cost = generator.standard_normal((n, 1))
  shock = generator.standard_normal((n, 1))
  noise = rho * shock + math.sqrt(1.0 - rho**2) * generator.standard_normal(
    (n, 1)
  )
  price = 25.0 + (cost + 3.0) * season(time) + shock
  covariate = np.concatenate([time, group], axis=1)
  return types.IVBatch(
    treatment=price,
    instrument=cost,
    outcome=structural(price, covariate) + noise,
    covariate=covariate,
  )


def grid() -> tuple[types.FloatArray, types.FloatArray]:
  """Returns the 2800 test points: prices [2800, 1], covariates [2800, 2]."""
  price, time, group = np.meshgrid(PRICES, TIMES, GROUPS, indexing='ij')
  covariate = np.stack([time.ravel(), group.ravel()], axis=1)
  return price.reshape(-1, 1), covariate


def mean_squared_error(predict: Structural) -> float:
  """Returns the error of a structural function on the grid, raw scale."""
  treatment, covariate = grid()
  truth = structural(treatment, covariate)
  error = np.reshape(predict(treatment, covariate), truth.shape) - truth
  return float(np.mean(np.square(error)))


def ate(predict: Structural) -> types.FloatArray:
  """Returns E[Y | do(P=p)] at each of PRICES, averaged over T and S: [20]."""
  return _averages(predict, PRICES, [_YEAR])


def cate(predict: Structural) -> types.FloatArray:
  """Returns E[Y | do(P=25), T=t] at each of TIMES, averaged over S: [20]."""
  return _averages(predict, [CATE_PRICE], [[time] for time in TIMES])


def true_ate() -> types.FloatArray:
  """Returns the exact E[Y | do(P=p)] = (G - 2) p + 100 + 10 G: [20]."""
  bump = math.sqrt(math.pi) / 2.0 * math.erf(10.0) / 10.0
  mean_season = 2.0 * (5.0**4 / 5.0 / 600.0 + bump + 0.5 - 2.0)
  factor = GROUPS.mean() * mean_season
  return (factor - 2.0) * PRICES + 100.0 + 10.0 * factor


def true_cate() -> types.FloatArray:
  """Returns the exact 100 + (10 + p) E[S] h(t) - 2 p at p = 25: [20]."""
  return (
    100.0
    + (10.0 + CATE_PRICE) * GROUPS.mean() * season(TIMES)
    - 2.0 * CATE_PRICE
  )


@dataclasses.dataclass(frozen=True, kw_only=True)
class Demand:
  """The design as `trials.run` takes it.

  Attributes:
    n: rows of both stages.
    rho: correlation of the noises of price and sales.
  """

  n: int = 5000
  rho: float = 0.5

  def __post_init__(self) -> None:
    check(self.n, self.rho)

  @property
  def problem(self) -> problems.IVDesign:
    """The design as a result row names it."""
    return problems.IVDesign(
      name='demand', parameters={'n': self.n, 'rho': self.rho}
    )

  def sample(self, seed: int) -> types.IVBatch:
    """Draws rows."""
    return sample(self.n, rho=self.rho, seed=seed)

  def truth(
    self, treatment: types.FloatArray, covariate: types.FloatArray | None = None
  ) -> types.FloatArray:
    """Returns sales without noise, [B, 1]."""
    assert covariate is not None
    return structural(treatment, covariate)

  def metrics(self, predict: Structural) -> dict[str, float]:
    """Returns the error on the grid."""
    return {'mse': mean_squared_error(predict)}

  def curves(self, predict: Structural) -> dict[str, list[float]]:
    """Returns the average effects at PRICES and TIMES."""
    return {'ate': ate(predict).tolist(), 'cate': cate(predict).tolist()}


def check(n: int, rho: float) -> None:
  """Raises a ValueError where a design cannot be."""
  if n < 1:
    raise ValueError(f'n must be at least 1, got {n}.')
  if not 0.0 <= rho <= 1.0:
    raise ValueError(f'rho must lie in [0, 1], got {rho}.')


def _averages(
  predict: Structural,
  prices: Iterable[float],
  year_parts: Iterable[Iterable[float]],
) -> types.FloatArray:
  """Returns the mean over times and groups for each price and year part."""
  means = []
  for price in prices:
    for times in year_parts:
      time, group = np.meshgrid(list(times), GROUPS, indexing='ij')
      covariate = np.stack([time.ravel(), group.ravel()], axis=1)
      treatment = np.full((len(covariate), 1), price)
      means.append(np.mean(predict(treatment, covariate)))
  return np.array(means)
