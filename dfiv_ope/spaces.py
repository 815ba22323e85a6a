"""What observations and actions of an environment are, as its specs say it."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from dm_env import specs
import numpy as np

from dfiv_ope import actions as actions_lib


class Observations(specs.Array):
  """Flat observations, float64 [D], of which some entries are names.

  Attributes:
    names: of the entries; empty if they are only numbered.
    categories: how many values, 0, 1, ..., an entry has that is a name, by its
      place.
  """

  def __init__(
    self,
    size: int,
    *,
    names: Sequence[str] = (),
    categories: Mapping[int, int] | None = None,
  ):
    super().__init__((size,), np.float64, 'observation')
    self.names = tuple(names)
    self.categories = dict(categories or {})


class Actions(NamedTuple):
  """What an action is.

  Attributes:
    num_actions: how many there are; 0 for vectors.
    continuous: what the vectors are; None if there are finitely many actions.
  """

  num_actions: int
  continuous: actions_lib.Continuous | None = None


def actions(spec: specs.Array) -> Actions:
  """Returns what the actions of an environment are.

  Raises:
    ValueError: neither one of finitely many, nor vectors within bounds.
  """
  if isinstance(spec, specs.DiscreteArray):
    return Actions(int(spec.num_values))
  if isinstance(spec, specs.BoundedArray) and np.issubdtype(
    spec.dtype, np.floating
  ):
    low, high = (
      np.broadcast_to(bound, spec.shape).ravel().astype(float)
      for bound in (spec.minimum, spec.maximum)
    )
    if low.size and np.isfinite([low, high]).all():
      return Actions(
        0,
        actions_lib.Continuous(
          low=tuple(low.tolist()), high=tuple(high.tolist())
        ),
      )
  raise ValueError(
    f'The actions are {spec}, but they should be a DiscreteArray, or a '
    'BoundedArray of floating-point numbers with finite bounds.'
  )
