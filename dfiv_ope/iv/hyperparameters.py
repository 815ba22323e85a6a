"""Hyper-parameters of estimators as scikit-learn wants them: a signature."""

from collections.abc import Mapping
import inspect
from typing import Any

import numpy as np


def give(kind: type, defaults: Mapping[str, Any]) -> None:
  """Gives a class an initialiser that takes these by keyword, and no others.

  Args:
    kind: the class.
    defaults: values of its hyper-parameters by name.
  """

  def initialise(self: Any, **parameters: Any) -> None:
    unknown = set(parameters) - set(defaults)
    if unknown:
      raise TypeError(
        f'{kind.__name__} has no parameter {sorted(unknown)[0]!r}. Its '
        f'parameters are: {", ".join(sorted(defaults))}.'
      )
    for name, value in {**defaults, **parameters}.items():
      setattr(self, name, value)

  # scikit-learn reads the parameters of an estimator from its signature.
  signature = [inspect.Parameter('self', inspect.Parameter.POSITIONAL_ONLY)]
  signature += [
    inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=value)
    for name, value in defaults.items()
  ]
  initialise.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
    signature
  )
  kind.__init__ = initialise  # type: ignore[misc]


def check_seed(random_state: Any) -> None:
  """Raises a ValueError where a random state is no seed."""
  if (
    isinstance(random_state, bool)
    or not isinstance(random_state, int | np.integer)
    or random_state < 0
  ):
    raise ValueError(
      f'random_state must be a non-negative int, got '
      f'{random_state!r}; the same number gives the same fit.'
    )
