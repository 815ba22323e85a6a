"""What the configs of estimators have."""

import dataclasses


@dataclasses.dataclass(frozen=True, kw_only=True)
class MethodConfig:
  """Hyper-parameters of an estimator of either kind (`agents`)."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Config(MethodConfig):
  """What the config of every agent that learns a Q-function has.

  Attributes:
    updates: updates of a whole run; 0 for a closed form.
    batch_size: rows of each of the two batches of an update.
    checks: number of evaluation points; a step of the learner makes the
      updates up to the next one.
  """

  updates: int = 0
  batch_size: int = 1024
  checks: int = 1

  def __post_init__(self) -> None:
    if self.updates < 0:
      raise ValueError(f'updates must not be negative, got {self.updates}.')
    for name in ('batch_size', 'checks'):
      if getattr(self, name) < 1:
        raise ValueError(
          f'{name} must be at least 1, got {getattr(self, name)}.'
        )
    if self.checks > max(self.updates, 1):
      raise ValueError(
        f'checks must not exceed updates, got checks={self.checks} and '
        f'updates={self.updates}.'
      )

  @property
  def marks(self) -> tuple[int, ...]:
    """Updates that are done at each evaluation point."""
    return tuple(
      self.updates * mark // self.checks for mark in range(1, self.checks + 1)
    )
