"""Bounds of the entries of an action, as options and mappings write them.

--bounds 0:10,-1:1,:          dose in [0, 10], rate in [-1, 1], drug none
bounds: [[0, 10], [-1, null], [null, null]]
"""

from collections.abc import Sequence
import math
from typing import Any

# Least and greatest value of an entry; None where there is none.
Pair = tuple[float | None, float | None]
SYNTAX = (
  'one LOW:HIGH for each entry of the action, with commas; either may '
  'be left out'
)


def parse(value: Any) -> tuple[Pair, ...]:
  """Returns the bounds that a text or a list of pairs asks for.

  Args:
    value: as `--bounds` has it, a list of pairs, or the pair of one entry.

  Raises:
    ValueError: it is none of these.
  """
  if isinstance(value, str):
    pairs: Sequence[Any] = [each.split(':') for each in value.split(',')]
  elif isinstance(value, list | tuple):
    single = len(value) == 2 and not any(
      isinstance(each, list | tuple) for each in value
    )
    pairs = [value] if single else value
  else:
    pairs = [value]
  for pair in pairs:
    if not isinstance(pair, list | tuple) or len(pair) != 2:
      raise ValueError(
        f'bounds should be {SYNTAX} (in YAML and Python, pairs such as '
        f'[0, 10]), got {value!r}.'
      )
  return tuple(
    (_number(low, -math.inf), _number(high, math.inf)) for low, high in pairs
  )


def _number(value: Any, none: float) -> float | None:
  """Returns a bound; None where it is left out or infinite."""
  if value is None or isinstance(value, str) and not value.strip():
    return None
  try:
    number = math.nan if isinstance(value, bool) else float(value)
  except (TypeError, ValueError, OverflowError):
    number = math.nan
  if number == none:
    return None
  if not math.isfinite(number):
    raise ValueError(f'A bound of an action is a number, got {value!r}.')
  return number


def text(pairs: Sequence[Pair]) -> str:
  """Returns bounds as `--bounds` takes them, without a loss."""
  return ','.join(
    ':'.join('' if each is None else repr(each) for each in pair)
    for pair in pairs
  )


def interval(low: float | None, high: float | None) -> str:
  """Returns bounds for people; empty if there are none."""
  if low is None and high is None:
    return ''
  start = '(-inf' if low is None else f'[{low:g}'
  return f'{start}, ' + ('inf)' if high is None else f'{high:g}]')
