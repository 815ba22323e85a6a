"""Formulas of IV models: 'y ~ x1 + C(x2) + [t ~ z1 + z2]'.

    parts = formulas.read('lwage ~ exper + [educ ~ nearc4]', frame)
    estimators.TwoSLS().fit(parts.Y, parts.T, Z=parts.Z, X=parts.X)

Outside the brackets stand outcome and covariates, inside them the treatments
and their instruments. Terms are those of formulaic: interactions a:b and a*b,
categories C(a), functions such as log(a) and a**2 as {a**2}. A constant is
always in the fit.
"""

from collections.abc import Sequence
import re
from typing import Any, NamedTuple

import pandas as pd

from dfiv_ope import hints

_BRACKETS = re.compile(r'\+?\s*\[([^\[\]~]*)~([^\[\]~]*)\]')
# Of errors of formulaic.
_COLOURS = re.compile(r'\x1b\[[0-9;]*m|[\u29da\u29db](\[[0-9;]*m)?')
_CONSTANT = 'Intercept'
_FORM = "Write it as 'y ~ x1 + x2 + [t ~ z1 + z2]'."


class Parts(NamedTuple):
  """The columns of a formula.

  Attributes:
    Y: outcome.
    T: treatments.
    Z: instruments.
    X: covariates; None if there are none.
  """

  Y: pd.Series
  T: pd.DataFrame
  Z: pd.DataFrame
  X: pd.DataFrame | None


def read(formula: str, data: pd.DataFrame) -> Parts:
  """Returns the columns that a formula asks for.

  Args:
    formula: of an IV model.
    data: has the columns that it names.

  Raises:
    ValueError: it is no such formula, names what data does not have, or meets
      missing values.
  """
  inner = _BRACKETS.findall(formula)
  outer = _BRACKETS.sub('', formula)
  if len(inner) != 1 or outer.count('~') != 1 or '[' in outer:
    raise ValueError(f'{formula!r} is no formula of an IV model. {_FORM}')
  outcome, covariates = outer.split('~')
  treatments, instruments = inner[0]
  made = []
  for part in (outcome, treatments, instruments, covariates.strip() or '1'):
    if not part.strip():
      raise ValueError(f'{formula!r} lacks a part. {_FORM}')
    made.append(_columns(part, data))
  y, T, Z, X = made
  if y.shape[1] != 1:
    raise ValueError(
      f'The outcome {outcome.strip()!r} has {y.shape[1]} columns; it must '
      'be one column of numbers.'
    )
  for name, part, frame in (
    ('treatment', treatments, T),
    ('instrument', instruments, Z),
  ):
    if not frame.shape[1]:
      raise ValueError(f'The formula has no {name} in {part.strip()!r}.')
  return Parts(y.iloc[:, 0], T, Z, X if X.shape[1] else None)


def column(name: str, wanted: Any, data: pd.DataFrame) -> Any:
  """Returns columns of data that are named; anything else as it is.

  Args:
    name: what to call it in an error.
    wanted: a name, a list of names, or values.
    data: has the columns.
  """
  if isinstance(wanted, str):
    _require(name, [wanted], data)
    return data[wanted]
  if (
    isinstance(wanted, list | tuple)
    and wanted
    and all(isinstance(each, str) for each in wanted)
    and len(wanted) < len(data)
  ):
    _require(name, wanted, data)
    return data[list(wanted)]
  return wanted


def _columns(part: str, data: pd.DataFrame) -> pd.DataFrame:
  """Returns the columns of a part of a formula, without the constant."""
  import formulaic  # Slow, and only formulas need it.

  try:
    parsed = formulaic.Formula(part)
    _require('the formula', sorted(parsed.required_variables), data)
    frame = pd.DataFrame(
      parsed.get_model_matrix(data, context={}, na_action='raise')
    )
  except formulaic.errors.FormulaicError as error:
    raise ValueError(
      f'{part.strip()!r} cannot be read as a part of a formula: '
      f'{" ".join(_COLOURS.sub("", str(error)).split())}'
    ) from error
  except ValueError as error:
    if 'contains null values' not in str(error):
      raise
    raise ValueError(
      f'{part.strip()!r} has missing values. Drop or impute these rows first.'
    ) from error
  if _CONSTANT not in frame:
    raise ValueError(
      f'{part.strip()!r} leaves out the constant, which is always in the '
      "fit. Remove '0 +' or '- 1'; absorb takes constants of groups out."
    )
  return frame.drop(columns=_CONSTANT)


def _require(name: str, wanted: Sequence[str], data: pd.DataFrame) -> None:
  for each in wanted:
    hints.require(
      f'column of data for {name},', each, [str(c) for c in data.columns]
    )
