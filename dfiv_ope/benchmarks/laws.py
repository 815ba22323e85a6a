"""Laws of the suite of IV designs: how rows are drawn, and the truth.

A law draws treatments, instruments, covariates and a noise that is correlated
with the treatment; the outcome is its structural function plus that noise.
Sizes that are `set_aside` were looked at once, after every default was chosen
on the others.
"""

from collections.abc import Callable
import dataclasses
from typing import NamedTuple

import numpy as np

from dfiv_ope import types
from dfiv_ope.benchmarks import demand

# The normalisation of the noisy demand design (Hartford et al., 2017).
_SALES_MEAN, _SALES_SCALE = -292.1, 158.0
# Correlation of the noises of price and sales there.
_RHO = 0.9


class Draw(NamedTuple):
  """Rows without their outcome.

  Attributes:
    treatment: [n, D].
    instrument: [n, D].
    noise: of the outcome, [n, 1].
    covariate: [n, D], or None.
  """

  treatment: types.FloatArray
  instrument: types.FloatArray
  noise: types.FloatArray
  covariate: types.FloatArray | None = None


@dataclasses.dataclass(frozen=True, kw_only=True)
class Law:
  """How the rows of a design are drawn.

  Attributes:
    draw: makes n rows with a generator.
    structural: the truth at treatments [B, D] and covariates [B, D]: [B, 1].
    words: what it is, in a few words.
    sizes: numbers of rows of the designs that defaults were chosen on.
    set_aside: numbers of rows of those that were looked at once, afterwards.
    identified: whether the instruments move the treatment at all.
    unit: errors are shares of the variance of 'outcome' or 'effect', or on the
      'raw' scale.
  """

  draw: Callable[[int, np.random.Generator], Draw]
  structural: Callable[..., types.FloatArray]
  words: str
  sizes: tuple[int, ...] = (2000,)
  set_aside: tuple[int, ...] = ()
  identified: bool = True
  unit: str = 'outcome'


def _aside(law: Law, *sizes: int) -> Law:
  """Returns a law that no default was chosen on."""
  return dataclasses.replace(law, sizes=(), set_aside=sizes or law.sizes)


_FUNCTIONS: dict[str, Callable[[types.FloatArray], types.FloatArray]] = {
  'abs': np.abs,
  'sin': np.sin,
  'step': lambda x: (x > 0.0) * 1.0,
  'linear': lambda x: x,
}


def _curve(
  function: str,
  *,
  strength: float = 1.0,
  confounding: float = 1.0,
  covariates: int = 0,
  noises: int = 0,
  tails: float = 0.0,
  **law: object,
) -> Law:
  """A function of one treatment (Lewis and Syrgkanis, 2018; Bennett et al.).

  Args:
    function: one of `_FUNCTIONS`.
    strength: of the instrument, beside a confounder of variance 1.
    confounding: what the confounder adds to the outcome.
    covariates: columns that move nothing.
    noises: instruments that move nothing.
    tails: degrees of freedom of a t-distributed noise; 0 for a normal one of
      standard deviation 0.1.
    **law: fields of `Law`.
  """

  def draw(n: int, generator: np.random.Generator) -> Draw:
    instrument = generator.uniform(-3.0, 3.0, (n, 2))
    hidden = generator.standard_normal((n, 1))
    small = 0.1 * generator.standard_normal((n, 2))
    treatment = strength * instrument[:, :1] + hidden + small[:, :1]
    noise = confounding * hidden + (
      generator.standard_t(tails, (n, 1)) if tails else small[:, 1:]
    )
    if noises:
      instrument = np.append(
        instrument, generator.standard_normal((n, noises)), axis=1
      )
    return Draw(
      treatment,
      instrument,
      noise,
      generator.standard_normal((n, covariates)) if covariates else None,
    )

  kind = f'{function}, strength {strength:g}, confounding {confounding:g}'
  return Law(
    draw=draw,
    structural=lambda t, x=None: _FUNCTIONS[function](t),
    **{'words': kind, **law},  # type: ignore[arg-type]
  )


def _with_covariates(
  structural: Callable[..., types.FloatArray],
  *,
  treatments: int = 1,
  covariates: int = 1,
  binary: bool = False,
  **law: object,
) -> Law:
  """Treatments moved by an instrument each, by covariates and a confounder."""

  def draw(n: int, generator: np.random.Generator) -> Draw:
    instrument = generator.uniform(-2.0, 2.0, (n, treatments))
    covariate = generator.uniform(-2.0, 2.0, (n, covariates))
    hidden = generator.standard_normal((n, 1))
    treatment = (
      instrument
      + 0.3 * covariate.sum(axis=1, keepdims=True)
      + (hidden + 0.5 * generator.standard_normal((n, treatments)))
    )
    if binary:
      treatment = (treatment > 0.0) * 1.0
    return Draw(
      treatment,
      instrument,
      hidden + 0.1 * generator.standard_normal((n, 1)),
      covariate,
    )

  return Law(draw=draw, structural=structural, unit='effect', **law)  # type: ignore[arg-type]


def _noisy_demand(n: int, generator: np.random.Generator) -> Draw:
  """The demand design with normalised sales and unit noise, S one-hot."""
  data = demand.sample(n, rho=_RHO, seed=int(generator.integers(2**31)))
  assert data.covariate is not None
  noise = data.outcome - demand.structural(data.treatment, data.covariate)
  return Draw(data.treatment, data.instrument, noise, one_hot(data.covariate))


def one_hot(covariate: types.FloatArray) -> types.FloatArray:
  """Returns (T, S) [B, 2] with an indicator of each group: [B, 8]."""
  time, group = covariate[:, :1], covariate[:, 1:]
  return np.append(time, (group == demand.GROUPS) * 1.0, axis=1)


def noisy_sales(
  treatment: types.FloatArray, covariate: types.FloatArray
) -> types.FloatArray:
  """Returns normalised sales at prices [B, 1] and (T, one-hot S) [B, 8]."""
  group = covariate[:, 1:] @ demand.GROUPS[:, None]
  raw = demand.structural(treatment, np.append(covariate[:, :1], group, axis=1))
  return (raw - _SALES_MEAN) / _SALES_SCALE


LAWS: dict[str, Law] = {
  # Functions of one treatment without covariates.
  'abs': _curve('abs'),
  'sin': _curve('sin', sizes=(100, 2000, 50_000)),
  'step': _curve('step'),
  'linear': _curve('linear'),
  'sin_weak': _curve('sin', strength=0.4),
  'sin_low': _curve('sin', confounding=0.3),
  'abs_weak': _aside(_curve('abs', strength=0.4)),
  'linear_weak': _aside(_curve('linear', strength=0.4)),
  'step_low': _aside(_curve('step', confounding=0.3), 500),
  'abs_strong': _aside(_curve('abs', strength=2.0)),
  'irrelevant': _curve(
    'sin',
    strength=0.0,
    identified=False,
    words='sin, an instrument that moves nothing',
  ),
  'many_instruments': _curve(
    'sin', noises=18, words='sin, 1 of 20 instruments moves it'
  ),
  'covariates20': _curve(
    'linear', covariates=20, words='linear, 20 irrelevant covariates'
  ),
  'sin_covariates20': _aside(
    _curve('sin', covariates=20, words='sin, 20 irrelevant covariates')
  ),
  'abs_heavy': _curve(
    'abs',
    tails=2.0,
    words='abs, t-distributed noise (2 degrees)',
    unit='effect',
  ),
  'step_heavy': _aside(
    _curve(
      'step',
      tails=1.5,
      words='step, t-distributed noise (1.5 degrees)',
      unit='effect',
    ),
    5000,
  ),
  # Effects of treatment and covariate that are no product of two functions.
  'sum_sin': _with_covariates(lambda t, x: np.sin(t + x), words='sin(t + x)'),
  'rank2': _with_covariates(
    lambda t, x: np.sin(t) * x[:, :1] + 0.5 * t * np.abs(x[:, 1:]),
    covariates=2,
    words='sin(t) x1 + t |x2| / 2',
  ),
  'distance': _aside(
    _with_covariates(lambda t, x: np.abs(t - x), words='|t - x|')
  ),
  # Several treatments.
  'two_treatments': _with_covariates(
    lambda t, x: t[:, :1] + np.square(t[:, 1:]) / 2.0 + x,
    treatments=2,
    words='t1 + t2^2 / 2 + x',
  ),
  'three_treatments': _aside(
    _with_covariates(
      lambda t, x: t[:, :1] * t[:, 1:2] / 2.0 + np.sin(t[:, 2:]) - x,
      treatments=3,
      words='t1 t2 / 2 + sin(t3) - x',
    ),
    5000,
  ),
  'binary': _with_covariates(
    lambda t, x: t * (1.0 + x), binary=True, words='binary t, t (1 + x)'
  ),
  'binary_sin': _aside(
    _with_covariates(
      lambda t, x: t * np.sin(2.0 * x[:, :1]) + x[:, 1:],
      covariates=2,
      binary=True,
      words='binary t, t sin(2 x1) + x2',
    )
  ),
  'noisy_demand': Law(
    draw=_noisy_demand,
    structural=noisy_sales,
    sizes=(1000, 5000),
    set_aside=(10_000,),
    unit='raw',
    words='demand / 158 with unit noise, rho 0.9, S one-hot',
  ),
}
