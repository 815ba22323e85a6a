"""Designs that know their truth, for the coverage of intervals of IV effects.

A treatment t = z + s h + 0.3 e (+ 0.4 x) and an outcome of it share h. Four
designs serve for looks; intervals were chosen on all others, three relatives
of each of the four (`KINDS`) and three smooth ones, each with the same weight.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

# Of confounding: standard deviation of what treatment and outcome share.
STRENGTHS = (0.5, 1.0)
# These serve for looks.
CHECK = ('bump', 'logistic', 'slopes', 'square-x')
# These are for development, by the one of the four that they are like.
KINDS = {
  'bends back': ('hump', 'wave', 'dip'),
  'levels off': ('arctan', 'gompertz', 'fall'),
  'kink': ('abs', 'hinge', 'elbow'),
  'covariate': ('tanh-x', 'abs-x', 'exp-x'),
  'smooth': ('sin', 'cubic', 'line'),
}
DEVELOPMENT = tuple(name for names in KINDS.values() for name in names)
_CURVES = {
  'sin': np.sin,
  'abs': np.abs,
  'cubic': lambda t: t**3 / 12.0 - t / 2.0,
  'tanh-x': np.tanh,
  'abs-x': lambda t: np.abs(t - 0.5),
  'exp-x': lambda t: np.exp(0.5 * t),
  'line': lambda t: 0.7 * t,
  'hump': lambda t: 2.0 * np.exp(-((t + 0.6) ** 2) / 1.6),
  'wave': lambda t: 1.5 * (t - 0.5) * np.exp(-((t - 0.5) ** 2) / 2.2),
  'dip': lambda t: 1.5 * (t + 0.7) * np.exp(-np.abs(t + 0.7) / 1.2),
  'arctan': lambda t: 1.5 * np.arctan(1.5 * t),
  'gompertz': lambda t: 2.5 * np.exp(-np.exp(-1.5 * t)),
  'fall': lambda t: -2.0 * np.tanh(0.8 * (t - 0.6)),
  'hinge': lambda t: 1.2 * np.maximum(t + 0.5, 0.0),
  'elbow': lambda t: np.where(t < -0.3, -0.8, 0.5) * (t + 0.3),
  'bump': lambda t: t * np.exp(-(t**2) / 4.0),
  'logistic': lambda t: 3.0 / (1.0 + np.exp(-2.0 * t + 1.0)),
  'slopes': lambda t: np.where(t < 0.4, 0.3 * t, 1.5 * t - 0.48),
  'square-x': lambda t: t**2 / 3.0,
}
# Of x: what the curve is multiplied by, a slope in t, and what is added; the
# last two have mean zero.
_WITH_X = {
  'tanh-x': lambda x: (1.0 + 0.5 * x, 0.0, x),
  'abs-x': lambda x: (1.0, 0.3 * x, np.sin(x)),
  'exp-x': lambda x: (1.0, -0.4 * x, x**2 / 2.0 - 2.0 / 3.0),
  'square-x': lambda x: (1.0, 0.5 * x, np.cos(x) - np.sin(2.0) / 2.0),
}


class Sample(NamedTuple):
  """Rows of a design, [n] each but for `z`, [n] or [n, 2].

  Attributes:
    y: outcome.
    t: treatment.
    z: instrument; a second column moves nothing.
    x: covariate, or None.
    slope: df/dt, the truth.
  """

  y: np.ndarray
  t: np.ndarray
  z: np.ndarray
  x: np.ndarray | None
  slope: np.ndarray


def draw(design: str, strength: float, rows: int, seed: int) -> Sample:
  """Returns a sample of a design."""
  generator = np.random.default_rng(
    (seed, sum(map(ord, design)), int(100 * strength), rows)
  )
  hidden, one, two = generator.normal(size=(3, rows))
  noise, x = strength * hidden, None
  curve = _CURVES[design]
  if design == 'tanh-x':
    z, x = generator.uniform(-3.0, 3.0, rows), generator.normal(size=rows)
  elif design in _WITH_X:
    z, x = 1.5 * generator.normal(size=rows), generator.uniform(-2.0, 2.0, rows)
  else:
    z = generator.uniform(-3.0, 3.0, (rows, 2))
  t = (z if z.ndim == 1 else z[:, 0]) + noise + 0.3 * one
  t += 0.0 if x is None else 0.4 * x
  scale, tilt, shift = (1.0, 0.0, 0.0) if x is None else _WITH_X[design](x)
  slope = (curve(t + 1e-3) - curve(t - 1e-3)) / 2e-3 * scale + tilt
  y = curve(t) * scale + tilt * t + shift + noise + 0.3 * two
  return Sample(y, t, z, x, slope)


def truths(
  design: str, strength: float, grid: np.ndarray
) -> dict[str, float | np.ndarray]:
  """Returns the effect of -1 -> 1, the average derivative and the curve."""
  curve: Callable[[np.ndarray | float], np.ndarray] = _CURVES[design]
  return {
    'effect': float(curve(1.0) - curve(-1.0)),
    'derivative': float(np.mean(draw(design, strength, 400_000, 10**6).slope)),
    'band': curve(grid),
  }
