"""Random Fourier features as data: how many, how wide, and if they fit memory.

They are those of LSTD-Q and KIV (`fixed_features` makes them), and of the
intervals and diagnostics of every method.
"""

import dataclasses
import math
from typing import ClassVar, NamedTuple, Protocol

from dfiv_ope import hints
from dfiv_ope.agents.entries import base

# What the features of states and actions may add to the memory of a process:
# in LSTD-Q, in KIV, and in the intervals and diagnostics of every method.
MEMORY_BUDGET = 2e9  # bytes
# Square matrices of all columns, in float64, that LSTD-Q and KIV hold at once,
# as measured (docs/intervals.md); influence holds as many as LSTD-Q.
LSTD_MATRICES, KIV_MATRICES = 22, 50
# Of LSTD-Q, and so of intervals: see `lstd.Config`.
PENALTY, PRIOR_ROWS = 1e-8, 1.0


# How features depend on the action, and what is known of a state.
AUTO, PER_ACTION, TOGETHER, TABLE, ONE_STEP = KINDS = (
  'auto',
  'per_action',
  'together',
  'table',
  'one_step',
)
# Up to as many actions each has features of its own: 5 x 301 columns take 0.4
# GB in LSTD-Q and 0.9 in KIV.
FEW_ACTIONS = 5
# Columns of a table that are no longer solved for all at once.
_TABLE_COLUMNS = 1_500
# Of the state for each action, and of state and action together, where the log
# is long enough; and the bandwidth where nothing is known of the log.
MOST_FEATURES, MOST_JOINT, BANDWIDTH_SCALE = 300, 1_000, 0.5
# Rows that each column takes: docs/intervals.md has what fewer and more do.
ROWS_EACH = 8
# Fewer waves say nothing of a state.
_FEWEST_FEATURES = 4


class Size(NamedTuple):
  """How much there is to learn from; a `bellman.Problem` is such a thing."""

  num_actions: int
  num_rows: int
  bandwidth_scale: float | None = None
  one_step: bool = False


class Asked(Protocol):
  """What features follow from: `bellman.Problem`."""

  @property
  def num_actions(self) -> int:
    """A; 0 for vectors."""

  @property
  def num_rows(self) -> int:
    """Of the log."""

  @property
  def bandwidth_scale(self) -> float | None:
    """That was chosen from the log; None if none was."""

  @property
  def one_step(self) -> bool:
    """Whether every step of the log ends its episode."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Settings:
  """Features that values, weights and diagnostics are made of.

  Attributes:
    features: one of `KINDS`.
    random_features: of the state, for each action.
    joint_features: of state and action together, in all.
    bandwidth_scale: multiplies the median distance between observations.
    penalty: of `lstd.Config`.
    prior_rows: of `lstd.Config`.
    reduced: whether rows allow no more features.
    shared_features: of the state, for all actions of a one-step log; rows do
      not reduce them, as they have penalties of their own.
  """

  features: str = AUTO
  random_features: int
  joint_features: int
  bandwidth_scale: float
  penalty: float
  prior_rows: float
  reduced: bool = False
  shared_features: int = MOST_FEATURES

  def kind(
    self, *, num_actions: int, tabular: bool, one_step: bool = False
  ) -> str:
    """Returns which of the kinds fits a problem.

    Args:
      num_actions: A; 0 for vectors.
      tabular: whether all columns of a state are categorical.
      one_step: whether every step of the log ends its episode.
    """
    if self.features != AUTO:
      return self.features
    if tabular and num_actions:
      return TABLE
    # Few features without a penalty that fits them say little of a state.
    if 0 < num_actions <= FEW_ACTIONS and not (one_step and self.reduced):
      return PER_ACTION
    return ONE_STEP if one_step and num_actions else TOGETHER

  def dense(self, *, num_actions: int, cells: int | None) -> str:
    """Returns the kind where all columns are solved for at once.

    Args:
      num_actions: A; 0 for vectors.
      cells: number of states of a table; None if there is none.
    """
    found = self.kind(num_actions=num_actions, tabular=cells is not None)
    if found == TABLE and (
      cells is None or (cells + 1) * num_actions > _TABLE_COLUMNS
    ):
      return TOGETHER
    return TOGETHER if found == ONE_STEP else found


def affordable(num_actions: int, *, matrices: int = LSTD_MATRICES) -> int:
  """Returns the largest even number of features an action; 0 if none fits."""
  columns = math.floor(math.sqrt(MEMORY_BUDGET / (8.0 * matrices)))
  return max(0, columns // num_actions - 1) // 2 * 2


def require(
  num_actions: int, size: int, *, matrices: int = LSTD_MATRICES
) -> None:
  """Refuses features that do not fit the memory, before any work.

  Args:
    num_actions: A.
    size: features of the state for each action.
    matrices: that are held at once.

  Raises:
    ValueError: they do not fit.
  """
  memory = 8.0 * matrices * float((size + 1) * num_actions) ** 2
  if memory <= MEMORY_BUDGET:
    return
  most = affordable(num_actions, matrices=matrices)
  raise ValueError(
    f'{num_actions} action{"s" * (num_actions > 1)} x {size + 1:,} features '
    f'= {num_actions * (size + 1):,} columns: about '
    f'{memory / 1e9:,.1f} GB to solve for as many '
    f'weights, more than the {MEMORY_BUDGET / 1e9:g} GB allowed. '
    + (
      f'Set random_features={most} or fewer (--set random_features={most}).'
      if most
      else f'Say features={TOGETHER}.'
    )
  )


@dataclasses.dataclass(frozen=True, kw_only=True)
class Config(base.Config):
  """Hyper-parameters of methods on fixed features.

  Attributes:
    features: 'per_action' for random Fourier features of the state for each
      action, 'together' for those of state and action, of a size that does not
      grow with the actions, 'table' for one indicator for each state and
      action, 'one_step' for a ridge regression of each action that is drawn to
      a common one, on logs whose episodes have one step; 'auto' takes a table
      where all observations are categorical, features for each of up to five
      actions, 'one_step' on such logs for more, or where rows do not allow 300
      for each, and 'together' elsewhere.
    random_features: random Fourier features of the state for each action; None
      for 300, or as many as leave eight rows of the log for each column.
    joint_features: random Fourier features of state and action, in all; None
      for 1,000, likewise.
    bandwidth_scale: multiplies the median distance between observations; None
      to choose it from the log (`agents.bandwidth_choice`).
    matrices: square matrices of all columns that the method holds at once.
  """

  features: str = AUTO
  random_features: int | None = None
  joint_features: int | None = None
  bandwidth_scale: float | None = None
  matrices: ClassVar[int] = LSTD_MATRICES

  def __post_init__(self) -> None:
    super().__post_init__()
    if self.features not in KINDS:
      raise ValueError(hints.unknown('features', self.features, KINDS))
    for name in ('random_features', 'joint_features'):
      size = getattr(self, name)
      if size is None:
        continue
      if size < 2 or size % 2:
        raise ValueError(f'{name} must be even and at least 2, got {size}.')
      require(1, size)
    if self.bandwidth_scale is not None and not self.bandwidth_scale > 0:
      raise ValueError(
        f'bandwidth_scale must be positive, got {self.bandwidth_scale}.'
      )

  @property
  def settings(self) -> Settings:
    """The features alone, on a long log of which nothing else is known."""
    return Settings(
      features=self.features,
      random_features=self.random_features or MOST_FEATURES,
      shared_features=self.random_features or MOST_FEATURES,
      joint_features=self.joint_features or MOST_JOINT,
      bandwidth_scale=self.bandwidth_scale or BANDWIDTH_SCALE,
      penalty=getattr(self, 'penalty', PENALTY),
      prior_rows=getattr(self, 'prior_rows', PRIOR_ROWS),
    )

  def settings_of(self, asked: Asked) -> Settings:
    """Returns the features on a log: as many as its rows allow, as wide.

    What was set stays as it is.

    Args:
      asked: says how many rows there are, and which bandwidth was chosen.
    """
    whole = self.settings
    if self.bandwidth_scale is None and asked.bandwidth_scale is not None:
      whole = dataclasses.replace(whole, bandwidth_scale=asked.bandwidth_scale)
    columns = asked.num_rows // ROWS_EACH
    kind = whole.kind(num_actions=asked.num_actions, tabular=False)
    if kind == PER_ACTION and asked.num_actions:
      size = self.random_features or _even(
        columns // asked.num_actions - 1, MOST_FEATURES
      )
      return dataclasses.replace(
        whole, random_features=size, reduced=size < whole.random_features
      )
    # Regressions of one-step logs have penalties of their own.
    size = self.joint_features or _even(columns, MOST_JOINT)
    return dataclasses.replace(
      whole, joint_features=size, reduced=size < whole.joint_features
    )

  def require(self, num_actions: int) -> None:
    """Refuses features that do not fit the memory, before any work.

    Args:
      num_actions: A; 0 for vectors.

    Raises:
      ValueError: they do not fit.
    """
    found = self.settings.kind(num_actions=num_actions, tabular=False)
    if found == PER_ACTION:
      if not num_actions:
        raise ValueError(
          'Actions are vectors, so there are no features for each. Say '
          f'features={TOGETHER} or leave it {AUTO}.'
        )
      require(
        num_actions, self.settings.random_features, matrices=self.matrices
      )
    else:
      require(1, self.settings.joint_features, matrices=self.matrices)


def _even(size: int, most: int) -> int:
  """Returns the even number of features below a size, within limits."""
  return min(most, max(_FEWEST_FEATURES, size // 2 * 2))
