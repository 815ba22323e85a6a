"""The suite of IV designs: every law with its sizes, and the demand design.

for design in suite.designs():
  row = trials.run(design, 'kiv', config, seed=0)
"""

from collections.abc import Callable, Mapping, Sequence
import dataclasses
import functools
from typing import Any

import numpy as np

from dfiv_ope import hints, types
from dfiv_ope.benchmarks import demand, laws
from dfiv_ope.results import problems

NAME = 'suite'
# Rows that errors are measured at, and the seed of their draw.
_TEST_ROWS, _TEST_SEED = 4000, 2**31
# Sizes of the demand design of the paper; the last is set aside.
_DEMAND, _DEMAND_SET_ASIDE = (1000, 5000), (20_000,)
_RHO = 0.5

Predict = Callable[..., types.FloatArray]


@dataclasses.dataclass(frozen=True, kw_only=True)
class SuiteDesign:
  """A law and a number of rows, as `trials.run` takes it.

  Attributes:
    law: one of `laws.LAWS`.
    n: rows of both stages.
  """

  law: str
  n: int

  def __post_init__(self) -> None:
    hints.require('law', self.law, tuple(laws.LAWS))
    if self.n < 1:
      raise ValueError(f'n must be at least 1, got {self.n}.')

  @property
  def problem(self) -> problems.IVDesign:
    """The design as a result row names it."""
    return problems.IVDesign(
      name=NAME, parameters={'law': self.law, 'n': self.n}
    )

  def sample(self, seed: int) -> types.IVBatch:
    """Draws rows."""
    drawn = _draw(self.law, self.n, seed)
    return types.IVBatch(
      drawn.treatment,
      drawn.instrument,
      self.truth(drawn.treatment, drawn.covariate) + drawn.noise,
      drawn.covariate,
    )

  def truth(
    self, treatment: types.FloatArray, covariate: types.FloatArray | None = None
  ) -> types.FloatArray:
    """Returns the structural function, [B, 1]."""
    return laws.LAWS[self.law].structural(treatment, covariate)

  def metrics(self, predict: Predict) -> dict[str, float]:
    """Returns the error in the unit of the law, at rows of another draw."""
    treatment, covariate, truth, unit = _test(self.law)
    error = np.reshape(predict(treatment, covariate), truth.shape) - truth
    return {'mse': float(np.mean(np.square(error))) / unit}

  def curves(self, predict: Predict) -> dict[str, list[float]]:
    """Returns nothing: no figure shows these functions."""
    del predict
    return {}


Design = SuiteDesign | demand.Demand


def designs(*, set_aside: bool | None = None) -> list[Design]:
  """Returns the designs, small ones of a law first.

  Args:
    set_aside: only those that are set aside, or only those that are not;
      without it all of them.
  """
  every: list[Design] = [
    SuiteDesign(law=name, n=size)
    for name, law in laws.LAWS.items()
    for size in (*law.sizes, *law.set_aside)
  ]
  every += [
    demand.Demand(n=size, rho=_RHO) for size in (*_DEMAND, *_DEMAND_SET_ASIDE)
  ]
  return [
    each
    for each in every
    if set_aside in (None, is_set_aside(each.problem.parameters))
  ]


def named(names: Sequence[str]) -> list[Design]:
  """Returns the designs of some laws; 'demand' is the paper's.

  Raises:
    ValueError: there is no such law.
  """
  for name in names:
    hints.require('design', name, (*laws.LAWS, 'demand'))
  return [each for each in designs() if _law(each.problem.parameters) in names]


def is_set_aside(parameters: Mapping[str, Any]) -> bool:
  """Returns whether no default was chosen on a design."""
  law = _law(parameters)
  return parameters['n'] in (
    laws.LAWS[law].set_aside if law in laws.LAWS else _DEMAND_SET_ASIDE
  )


def is_identified(parameters: Mapping[str, Any]) -> bool:
  """Returns whether the instruments of a design move its treatment."""
  law = _law(parameters)
  return law not in laws.LAWS or laws.LAWS[law].identified


def _law(parameters: Mapping[str, Any]) -> str:
  return str(parameters.get('law', 'demand'))


def _draw(law: str, n: int, seed: int) -> laws.Draw:
  return laws.LAWS[law].draw(n, np.random.default_rng(seed))


@functools.lru_cache(maxsize=4)
def _test(
  law: str,
) -> tuple[types.FloatArray, types.FloatArray | None, types.FloatArray, float]:
  """Returns treatments, covariates, the truth at them, and the unit."""
  if laws.LAWS[law].structural is laws.noisy_sales:
    # Published errors of this design are on the grid.
    treatment, covariate = demand.grid()
    covariate = laws.one_hot(covariate)
    return treatment, covariate, laws.noisy_sales(treatment, covariate), 1.0
  drawn = _draw(law, _TEST_ROWS, _TEST_SEED)
  truth = laws.LAWS[law].structural(drawn.treatment, drawn.covariate)
  varied = truth + drawn.noise if laws.LAWS[law].unit == 'outcome' else truth
  return drawn.treatment, drawn.covariate, truth, float(np.var(varied))
