"""Which columns of a table are outcome, treatment, instrument, covariate."""

import collections
from collections.abc import Mapping
import dataclasses
from typing import TYPE_CHECKING

if TYPE_CHECKING:
  import numpy as np

# Ways of clustering rows.
_MOST_WAYS = 2


@dataclasses.dataclass(frozen=True, kw_only=True)
class Roles:
  """Names of columns; each has one role.

  Attributes:
    outcome: Y.
    treatment: T, whose effect is asked for.
    instrument: Z, which moves the treatment and nothing else.
    covariate: X, observed confounders; may be empty.
    weights: of rows; None if all count alike.
    clusters: labels of rows that may depend on each other: none, one way, or
      two. They may be columns of another role.
  """

  outcome: str
  treatment: tuple[str, ...]
  instrument: tuple[str, ...]
  covariate: tuple[str, ...] = ()
  weights: str | None = None
  clusters: tuple[str, ...] = ()

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
    if len(self.clusters) > _MOST_WAYS or (
      len(set(self.clusters)) < len(self.clusters)
    ):
      raise ValueError(
        'Rows are clustered by one column or by two different ones, got '
        f'{", ".join(self.clusters)}. Name the coarsest.'
      )

  @property
  def by_role(self) -> dict[str, tuple[str, ...]]:
    """The names of each role."""
    return {
      'outcome': (self.outcome,),
      'treatment': self.treatment,
      'instrument': self.instrument,
      'covariate': self.covariate,
      **({} if self.weights is None else {'weights': (self.weights,)}),
    }

  @property
  def names(self) -> tuple[str, ...]:
    """Names of what are numbers: all but the clusters."""
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

  def check_rows(
    self,
    numbers: Mapping[str, 'np.ndarray'],
    labels: Mapping[str, 'np.ndarray'],
    *,
    method: str,
    linear: bool,
  ) -> None:
    """Refuses weights and clusters that a method has no use for.

    Args:
      numbers: columns by name, [n] each.
      labels: of the clusters by name, [n] each.
      method: its name.
      linear: whether it fits a line; intervals of curves have one way of
        clustering and no weights.

    Raises:
      ValueError: says which, and what to do.
    """
    if self.weights is not None:
      if not linear:
        raise ValueError(
          f'{method} takes no weights, got {self.weights}; two_sls does. Fit '
          'that, or leave the weights out.'
        )
      wrong = int((numbers[self.weights] <= 0.0).sum())
      if wrong:
        raise ValueError(
          f'The weights {self.weights} must be positive, but {wrong} of '
          f'{len(numbers[self.weights])} are not. Leave rows of weight zero '
          'out of the file.'
        )
    if len(self.clusters) > 1 and not linear:
      raise ValueError(
        f'{method} has intervals for one way of clustering, got '
        f'{" and ".join(self.clusters)}. Name the coarser one.'
      )
    from dfiv_ope.iv.functionals import stages  # Loads arrays.

    fewest = 2 if linear else stages.FOLDS
    for name in self.clusters:
      count = len(set(labels[name].tolist()))
      if count < fewest:
        raise ValueError(
          f'Clusters need at least {fewest} labels, but {name} has {count}. '
          'Name a finer column, or none.'
        )
