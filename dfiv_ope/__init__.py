"""Off-policy evaluation and deep instrumental-variable regression.

The package imports nothing heavy by itself: `import dfiv_ope` does not load
TensorFlow, so that the command line answers at once. What it offers is loaded
when it is first used:

    log = dfiv_ope.Log.from_arrays(
        observations, actions, rewards, terminals, discount=0.99)
    result = dfiv_ope.evaluate(log, policy)
    result.value, result.interval(0.95), result.warnings
    dfiv_ope.compare(log, {'a': f, 'b': g}).to_frame()
    dfiv_ope.estimators.DFIV().fit(Y, T, Z=Z)
"""

import importlib
import logging
import os
from typing import Any

__version__ = '0.2.0'

# TensorFlow reads it when it is first imported: errors only.
os.environ.setdefault('TF_CPP_MIN_LOG_LEVEL', '3')


def _is_no_chatter(record: logging.LogRecord) -> bool:
  """Drops what TensorFlow says of graphs that are made for each learner."""
  return not any(
    words in record.getMessage()
    for words in (
      'triggered tf.function retracing',
      'AutoGraph could not transform',
    )
  )


logging.getLogger('tensorflow').addFilter(_is_no_chatter)

# Name -> module it lives in; and modules that users import from here.
_NAMES = {
  'Log': 'dfiv_ope.datasets.log',
  'evaluate': 'dfiv_ope.front.evaluating',
  'compare': 'dfiv_ope.front.comparing',
}
_MODULES = {
  'estimators': 'dfiv_ope.iv.estimators',
  'regressors': 'dfiv_ope.iv.regressors',
}


def __getattr__(name: str) -> Any:
  if name in _NAMES:
    return getattr(importlib.import_module(_NAMES[name]), name)
  if name in _MODULES:
    return importlib.import_module(_MODULES[name])
  raise AttributeError(f'module {__name__!r} has no attribute {name!r}')


def __dir__() -> list[str]:
  return sorted([*globals(), *_NAMES, *_MODULES])
