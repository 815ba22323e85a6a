"""Hyper-parameters of estimators as scikit-learn wants them: a signature."""

from collections.abc import Iterable, Mapping
import inspect
from typing import Any

import numpy as np


def names(kind: type, fields: Iterable[str]) -> dict[str, str]:
  """Returns what fields of a config are called as attributes of an estimator.

  A method of the estimator keeps its name: DFIV looks at losses `checks` times
  in training, and `DFIV().checks()` says what speaks for the fit. The field is
  `training_checks` there.

  Args:
    kind: class of the estimator.
    fields: of the config.
  """
  return {
    field: f'training_{field}'
    if callable(getattr(kind, field, None))
    else field
    for field in fields
  }


def give(
  kind: type, defaults: Mapping[str, Any], aliases: Mapping[str, str]
) -> None:
  """Gives a class an initialiser that takes these by keyword, and no others.

  Args:
    kind: the class.
    defaults: values of its hyper-parameters by name.
    aliases: other names that it takes, and what they stand for.
  """

  def initialise(self: Any, **given: Any) -> None:
    parameters = {aliases.get(name, name): each for name, each in given.items()}
    if len(parameters) < len(given):
      twice = next(name for name in given if aliases.get(name, name) != name)
      raise TypeError(
        f'{kind.__name__} got {twice!r} and {aliases[twice]!r}, which are the '
        'same. Leave one out.'
      )
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
