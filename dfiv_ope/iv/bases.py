"""Bases of sieve regression as data; `dictionaries` makes functions of them.

Nothing here needs numpy.
"""

import dataclasses

DEGREE = 3  # of splines


@dataclasses.dataclass(frozen=True)
class Hermite:
  """Normalised Hermite polynomials of degree 1 to `degree`."""

  degree: int

  def __post_init__(self) -> None:
    if self.degree < 1:
      raise ValueError(f'Hermite.degree must be at least 1, got {self.degree}.')


@dataclasses.dataclass(frozen=True)
class BSpline:
  """`size` cubic B-splines with knots at quantiles, constant outside."""

  size: int

  def __post_init__(self) -> None:
    if self.size < DEGREE + 1:
      raise ValueError(
        f'BSpline.size must be at least {DEGREE + 1}, got {self.size}.'
      )


Basis = Hermite | BSpline
