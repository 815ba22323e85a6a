"""The three bsuite tasks of the paper, seeded and with action noise.

    environment = envs.make('catch', action_noise=0.2, seed=3)

The names of the tasks are known at once; dm_env and bsuite are imported when a
task is made, so that `--help` is instant.
"""

import importlib
from typing import TYPE_CHECKING, Any

from dfiv_ope.envs.names import TASKS, require

if TYPE_CHECKING:
  from dfiv_ope.envs.tasks import make, maker
  from dfiv_ope.envs.wrappers import DoublePrecision, RandomAction

__all__ = [
    'TASKS', 'RandomAction', 'DoublePrecision', 'make', 'maker', 'require']

_LAZY = {
    'make': 'tasks', 'maker': 'tasks', 'DoublePrecision': 'wrappers',
    'RandomAction': 'wrappers'}


def __getattr__(name: str) -> Any:
  if name in _LAZY:
    return getattr(
        importlib.import_module(f'{__name__}.{_LAZY[name]}'), name)
  raise AttributeError(f'module {__name__!r} has no attribute {name!r}')
