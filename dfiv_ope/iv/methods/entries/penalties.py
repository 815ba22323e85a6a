"""Penalties that closed forms choose from."""

from collections.abc import Sequence
from typing import Any

# Candidates of both penalties for features of about unit norm.
CANDIDATES = tuple(10.0 ** (half / 2.0) for half in range(-18, 1))
# The same, fewer: a stage 1 changes little between them.
DECADES = CANDIDATES[::2]


def check(
  config: Any, names: Sequence[str] = ('stage1_penalties', 'stage2_penalties')
) -> None:
  """Raises a ValueError where a config's candidate penalties cannot be.

  Args:
    config: has them.
    names: of the fields that do.
  """
  for name in names:
    values = getattr(config, name)
    if not values or not all(value > 0 for value in values):
      raise ValueError(
        f'{name} must be positive candidates, at least one, got {values}.'
      )
