"""What intervals depend on besides log, run and config, as data.

They are part of the key of a result row, so they are known without TensorFlow.
"""

from collections.abc import Iterable
from typing import Any

from dfiv_ope import agents, configs
from dfiv_ope.agents.entries import base, random_features

# Of the numbers of intervals, in `influence` and `inference`: raised when they
# change, see `registry.Entry`.
VERSION = 13
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
  config: base.Config | None, asked: random_features.Asked
) -> random_features.Settings:
  """Returns the features that a method's intervals are made of.

  Args:
    config: of the method; None for the default features.
    asked: of the log: with few rows there are fewer default features.

  Raises:
    ValueError: the features of the method do not fit the memory.
  """
  if isinstance(config, random_features.Config):
    config.require(asked.num_actions)
    return config.settings_of(asked)
  found: random_features.Settings = default_features().settings_of(asked)
  return found


def require(configs_: Iterable[base.MethodConfig], num_actions: int) -> None:
  """Refuses configs whose features do not fit the memory.

  Raises:
    ValueError: there is one.
  """
  for config in configs_:
    if isinstance(config, random_features.Config):
      config.require(num_actions)
