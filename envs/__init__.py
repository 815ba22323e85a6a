"""Tasks by their names, seeded and with action noise.

    environment = envs.make('catch', action_noise=0.2, seed=3)

A task is one of bsuite's three in the paper, of Gymnasium (gym:ID), of DM
Control (control:DOMAIN-TASK) or of the user (module:function). Names are known
at once; what makes a task is imported when one is made, so that `--help` is
instant.
"""

import importlib
from typing import TYPE_CHECKING, Any

from dfiv_ope.envs.names import CONTROL, OFFERED, TASKS, require

if TYPE_CHECKING:
  from dfiv_ope.envs.tasks import is_continuous, make, maker
  from dfiv_ope.envs.wrappers import (
    DoublePrecision,
    GaussianAction,
    RandomAction,
  )

__all__ = [
  'CONTROL',
  'OFFERED',
  'TASKS',
  'DoublePrecision',
  'GaussianAction',
  'RandomAction',
  'is_continuous',
  'make',
  'maker',
  'require',
]

_LAZY = {
  'DoublePrecision': 'wrappers',
  'GaussianAction': 'wrappers',
  'RandomAction': 'wrappers',
  'is_continuous': 'tasks',
  'make': 'tasks',
  'maker': 'tasks',
}


def __getattr__(name: str) -> Any:
  if name in _LAZY:
    return getattr(importlib.import_module(f'{__name__}.{_LAZY[name]}'), name)
  raise AttributeError(f'module {__name__!r} has no attribute {name!r}')
