"""What intervals depend on besides log, run and config, as data.

They are part of the key of a result row, so they are known without TensorFlow.
"""

from collections.abc import Iterable
import dataclasses
from typing import Any

from dfiv_ope import agents, configs
from dfiv_ope.agents.entries import base, random_features

# Of the numbers of intervals, in `influence` and `inference`: raised when they
# change, see `registry.Entry`.
VERSION = 8
# A longer log is thinned to about as many rows to solve for the weights.
DUAL_ROWS = 200_000
# Draws of the episodes.
RESAMPLES = 200


def default_features() -> Any:
  """Returns the config of LSTD-Q, whose features trained methods share."""
  return agents.ENTRIES['lstd'].configs['default']


def constants() -> dict[str, Any]:
  """Returns the settings as JSON data."""
  return {
    'version': VERSION,
    'features': configs.encode(default_features()),
    'memory': random_features.MEMORY_BUDGET,
    'dual_rows': DUAL_ROWS,
    'resamples': RESAMPLES,
  }


def settings(
  config: base.Config | None, num_actions: int, *, rows: int
) -> random_features.Settings:
  """Returns the features that a method's intervals are made of.

  Args:
    config: of the method; None for the default features.
    num_actions: A; 0 for vectors.
    rows: of the log; with few, the default features become as many columns.

  Raises:
    ValueError: the features of the method do not fit the memory.
  """
  if isinstance(config, random_features.Config):
    config.require(num_actions)
    return config.settings
  default = default_features().settings
  few = dataclasses.replace(
    default,
    random_features=min(
      default.random_features,
      max(2, (rows // max(num_actions, 1) - 1) // 2 * 2),
    ),
    joint_features=min(default.joint_features, max(2, rows // 2 * 2)),
  )
  used = (
    'random_features'
    if default.kind(num_actions=num_actions, tabular=False)
    == random_features.PER_ACTION
    else 'joint_features'
  )
  return dataclasses.replace(
    few, reduced=getattr(few, used) < getattr(default, used)
  )


def require(
  configs_: Iterable[base.MethodConfig], num_actions: int, *, rows: int
) -> None:
  """Refuses configs whose features do not fit the memory; as `settings`.

  Raises:
    ValueError: there is one.
  """
  for config in configs_:
    settings(config, num_actions, rows=rows)  # type: ignore[arg-type]
