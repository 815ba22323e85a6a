"""What intervals depend on besides log, run and config, as data.

They are part of the key of a result row, so they are known without TensorFlow.
"""

from typing import Any

from dfiv_ope import agents, configs
from dfiv_ope.agents.entries import base, random_features

# Of the numbers of intervals, in `influence` and `inference`: raised when they
# change, see `registry.Entry`.
VERSION = 1
# A longer log is thinned to about as many rows to solve for the weights.
DUAL_ROWS = 200_000
# Draws of the episodes.
RESAMPLES = 200


def default_features() -> Any:
  """Returns the config of LSTD-Q, whose features trained methods share."""
  return agents.ENTRIES['lstd'].configs['default']


def constants() -> dict[str, Any]:
  """Returns the settings as JSON data."""
  return {'version': VERSION,
          'features': configs.encode(default_features()),
          'memory': random_features.MEMORY_BUDGET,
          'dual_rows': DUAL_ROWS, 'resamples': RESAMPLES}


def settings(
    config: base.Config | None, num_actions: int, *, rows: int,
) -> random_features.Settings:
  """Returns the features that a method's intervals are made of.

  Args:
    config: of the method; None for the default features.
    num_actions: A; with many, the default features become fewer, to fit
      `random_features.MEMORY_BUDGET`.
    rows: of the log; with few, the default features become as many columns.

  Raises:
    ValueError: not even the fewest fit.
  """
  default = default_features()
  if isinstance(config, random_features.Config):
    random_features.require(
        num_actions, config.random_features, matrices=config.matrices)
    return random_features.Settings(
        random_features=config.random_features,
        bandwidth_scale=config.bandwidth_scale,
        penalty=getattr(config, 'penalty', default.penalty))
  most = random_features.affordable(num_actions)
  random_features.require(num_actions, max(most, 2))
  most = min(most, max(2, (rows // num_actions - 1) // 2 * 2))
  return random_features.Settings(
      random_features=min(default.random_features, most),
      bandwidth_scale=default.bandwidth_scale, penalty=default.penalty,
      reduced=most < default.random_features)
