"""Which columns of a table are outcome, treatment, instrument, covariate."""

import collections
from collections.abc import Mapping
import dataclasses
from typing import TYPE_CHECKING

if TYPE_CHECKING:
  import numpy as np


@dataclasses.dataclass(frozen=True, kw_only=True)
class Roles:
  """Names of columns; each has one role.

  Attributes:
    outcome: Y.
    treatment: T, whose effect is asked for.
    instrument: Z, which moves the treatment and nothing else.
    covariate: X, observed confounders; may be empty.
  """

  outcome: str
  treatment: tuple[str, ...]
  instrument: tuple[str, ...]
  covariate: tuple[str, ...] = ()

  def __post_init__(self) -> None:
    for role in ('treatment', 'instrument'):
      if not getattr(self, role):
        raise ValueError(f'Name at least one {role}.')
    for name, count in collections.Counter(self.names).items():
      if count > 1:
        roles = [
          role
          for role, names in self.by_role.items()
          for each in names
          if each == name
        ]
        raise ValueError(
          f'{name!r} is named {count} times: as {" and ".join(roles)}. A '
          'column has one role; covariates are their own instruments '
          'anyway.'
        )

  @property
  def by_role(self) -> dict[str, tuple[str, ...]]:
    """The names of each role."""
    return {
      'outcome': (self.outcome,),
      'treatment': self.treatment,
      'instrument': self.instrument,
      'covariate': self.covariate,
    }

  @property
  def names(self) -> tuple[str, ...]:
    """All names: outcome, treatment, instrument, covariate."""
    return tuple(name for names in self.by_role.values() for name in names)

  @property
  def inputs(self) -> tuple[str, ...]:
    """Names of what a prediction needs: treatment and covariate."""
    return (*self.treatment, *self.covariate)

  def check_values(self, numbers: Mapping[str, 'np.ndarray']) -> None:
    """Refuses columns that do not vary where they must.

    Args:
      numbers: columns by name, [n] each.

    Raises:
      ValueError: a treatment is constant, or all instruments are.
    """
    constant = [
      name for name in self.names if numbers[name].min() == numbers[name].max()
    ]
    for name in self.treatment:
      if name in constant:
        raise ValueError(
          f'The treatment {name} is {numbers[name][0]:g} in every row, so it '
          'has no effect to estimate.'
        )
    if set(self.instrument) <= set(constant):
      raise ValueError(
        f'The instrument {", ".join(self.instrument)} is the same in every '
        'row, so it cannot move the treatment. Name one that varies.'
      )
