"""Off-policy evaluation and deep instrumental-variable regression.

The package imports nothing heavy by itself: `import dfiv_ope` does not load
TensorFlow, so that the command line answers at once. The names below are
loaded when they are first used.
"""

import importlib
import os
from typing import Any

__version__ = '0.1.0'

# TensorFlow reads this once, when something of ours first imports it: its notes
# on drivers and instruction sets are not for our users.
os.environ.setdefault('TF_CPP_MIN_LOG_LEVEL', '3')

# Modules that users import from here, wherever they live.
_MODULES = {
    'estimators': 'dfiv_ope.iv.estimators',
    'regressors': 'dfiv_ope.iv.regressors',
}


def __getattr__(name: str) -> Any:
  if name in _MODULES:
    return importlib.import_module(_MODULES[name])
  raise AttributeError(f'module {__name__!r} has no attribute {name!r}')


def __dir__() -> list[str]:
  return sorted([*globals(), *_MODULES])
