"""Random Fourier features as data: how many, how wide, and if they fit memory.

They are those of LSTD-Q and KIV (`fixed_features` makes them), and of the
intervals and diagnostics of every method.
"""

import dataclasses
import math
from typing import ClassVar

from dfiv_ope.agents.entries import base

# What the features of states and actions may add to the memory of a process:
# in LSTD-Q, in KIV, and in the intervals and diagnostics of every method.
MEMORY_BUDGET = 2e9  # bytes
# Square matrices of all columns, in float64, that LSTD-Q and KIV hold at once,
# as measured (docs/intervals.md); influence holds as many as LSTD-Q.
LSTD_MATRICES, KIV_MATRICES = 22, 50


@dataclasses.dataclass(frozen=True, kw_only=True)
class Settings:
  """Features that values, weights and diagnostics are made of.

  Attributes:
    random_features: of the state, for each action.
    bandwidth_scale: multiplies the median distance between observations.
    penalty: of `lstd.Config`.
    reduced: whether memory or rows allow no more features.
  """
  random_features: int
  bandwidth_scale: float
  penalty: float
  reduced: bool = False


def affordable(num_actions: int, *, matrices: int = LSTD_MATRICES) -> int:
  """Returns the largest even number of features an action; 0 if none fits."""
  columns = math.floor(math.sqrt(MEMORY_BUDGET / (8. * matrices)))
  return max(0, columns // num_actions - 1) // 2 * 2


def require(
    num_actions: int, size: int, *, matrices: int = LSTD_MATRICES) -> None:
  """Refuses features that do not fit the memory, before any work.

  Args:
    num_actions: A.
    size: features of the state for each action.
    matrices: that are held at once.

  Raises:
    ValueError: they do not fit.
  """
  memory = 8. * matrices * float((size + 1) * num_actions) ** 2
  if memory <= MEMORY_BUDGET:
    return
  most = affordable(num_actions, matrices=matrices)
  raise ValueError(
      f'{num_actions} action{"s" * (num_actions > 1)} x {size + 1:,} features '
      f'= {num_actions * (size + 1):,} columns: about '
      f'{memory / 1e9:,.1f} GB to solve for as many '
      f'weights, more than the {MEMORY_BUDGET / 1e9:g} GB allowed. '
      + (f'Set random_features={most} or fewer (--set random_features={most}).'
         if most else 'Not even 2 features an action fit: merge actions.'))


@dataclasses.dataclass(frozen=True, kw_only=True)
class Config(base.Config):
  """Hyper-parameters of methods on fixed features.

  Attributes:
    random_features: random Fourier features of the state for each action.
    bandwidth_scale: multiplies the median distance between observations.
    matrices: square matrices of all columns that the method holds at once.
  """
  random_features: int = 300
  bandwidth_scale: float = 0.5
  matrices: ClassVar[int] = LSTD_MATRICES

  def __post_init__(self) -> None:
    super().__post_init__()
    size = self.random_features
    if size < 2 or size % 2:
      raise ValueError(
          f'random_features must be even and at least 2, got {size}.')
    require(1, size)
    if not self.bandwidth_scale > 0:
      raise ValueError(
          f'bandwidth_scale must be positive, got {self.bandwidth_scale}.')
