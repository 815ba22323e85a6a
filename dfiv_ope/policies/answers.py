"""What foreign code says of observations, as probabilities of actions."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from dfiv_ope import user_code

# Probabilities from elsewhere sum to one up to this.
SUM_SLACK = 1e-4
# A model may round differently in a smaller batch, and break a tie otherwise.
TIES = 0.01


def call(function: Callable[..., Any], name: str, *inputs: Any) -> Any:
  """Returns what foreign code says; arrays are copies, it may write into them.

  Raises:
    ValueError: it failed; the message begins with its name.
  """
  try:
    return function(
      *(
        np.array(each, np.float64) if isinstance(each, np.ndarray) else each
        for each in inputs
      )
    )
  except BaseException as error:
    user_code.let_interrupts_pass(error)
    shapes = [list(x.shape) for x in inputs[:1] if isinstance(x, np.ndarray)]
    got = (
      f' It was given an array {shapes[0]}, a state a row.' if shapes else ''
    )
    raise ValueError(f'{name} failed: {user_code.line(error)}.{got}') from error


def as_probabilities(
  answer: Any, rows: int, num_actions: int, labels: Sequence[str] = ()
) -> np.ndarray:
  """Returns what foreign code says of B observations as float32 [B, A].

  Args:
    answer: probabilities [B, A]; or actions [B], numbers from 0 or labels.
      Columns of a data frame that are named after actions may have any order.
    rows: B.
    num_actions: A.
    labels: names of the actions, if they have any.

  Raises:
    ValueError: it is neither; the message goes on after the policy's name.
  """
  names = list(labels) or [str(number) for number in range(num_actions)]
  array = as_array(answer, rows, names, labelled=bool(labels))
  if array.size and all(isinstance(each, str) for each in array.flat):
    array = array.astype(str)
  kind, shape = array.dtype.kind, array.shape
  wanted = (
    f'probabilities [{rows}, {num_actions}]'
    f'{" of " + ", ".join(names[:20]) if labels else ""} or actions [{rows}] '
    'are wanted, whole numbers from 0 or labels.'
  )
  if shape == (rows,) and kind == 'f':
    raise ValueError(
      'returned one real number an observation, but the actions of the log '
      f'are not amounts: {wanted} End with astype(int) if these are actions.'
    )
  if shape == (rows,) and kind in 'iubU':
    return np.eye(num_actions, dtype=np.float32)[
      _indices(array, num_actions, labels)
    ]
  if shape != (rows, num_actions) or kind not in 'fiub':
    entries = '' if kind in 'fiubU' else f' with entries of type {array.dtype}'
    raise ValueError(
      f'returned {type(answer).__name__} of shape {list(shape)}{entries}, '
      f'but {wanted}'
    )
  sums = array.sum(axis=1, dtype=np.float64, keepdims=True)
  wrong = ~((np.abs(sums - 1.0) <= SUM_SLACK) & (array >= 0))  # or nan
  if wrong.any():
    row = int(np.argmax(wrong.any(axis=1)))
    raise ValueError(
      f'returned {", ".join(f"{x:.4g}" for x in array[row, :8])} for '
      f'observation {row}, but probabilities are finite, not negative, and '
      'sum to 1. If these are logits, add a softmax; if they are values, '
      'return the best action.'
    )
  return array.astype(np.float32)


def as_array(
  answer: Any, rows: int, names: Sequence[str], *, labelled: bool
) -> np.ndarray:
  """Returns an answer without the names of its rows and columns.

  Args:
    answer: what the policy returned.
    rows: B.
    names: of the actions, or of the entries of one, in order.
    labelled: whether the log calls them so.

  Raises:
    ValueError: rows or columns have other names, or values are missing.
  """
  index, columns = (
    None if callable(found := getattr(answer, name, None)) else found
    for name in ('index', 'columns')
  )
  if (
    index is not None
    and len(index) == rows
    and (list(index) != list(range(rows)))
  ):
    raise ValueError(
      'returned rows whose index is not 0, 1, 2, ..., so they may be sorted '
      'or shuffled. Return them in the order of the observations, after '
      'reset_index(drop=True).'
    )
  if np.ma.is_masked(answer):
    raise ValueError(
      'returned a masked array, in which numbers are missing. Fill them in.'
    )
  order = (
    None if columns is None else _order(list(columns), names, labelled=labelled)
  )
  try:
    array = np.asarray(answer)
  except Exception as error:  # rows of different lengths, or any other error
    raise ValueError(
      f'returned {type(answer).__name__}, which makes no array '
      f'({type(error).__name__}). Return a numpy array.'
    ) from error
  return array if order is None else array[:, order]


def _order(
  columns: list[Any], names: Sequence[str], *, labelled: bool
) -> list[int]:
  """Returns where a data frame has the column of each action."""
  found = [str(each) for each in columns]
  places = [str(place) for place in range(len(columns))]
  # Numbers as names are numpy's or pandas', where none were given.
  numbered = found == places and not any(
    isinstance(each, str) for each in columns
  )
  named = sorted(found) == sorted(names)
  if numbered and named and labelled and found != list(names):
    raise ValueError(
      f'returned the columns {", ".join(found[:20])}, which may be names of '
      f'actions or their places, as the actions of the log are '
      f'{", ".join(names[:20])}. Name the columns by strings, or return an '
      'array in this order.'
    )
  if named and not numbered:
    return [found.index(name) for name in names]
  if numbered:
    return list(range(len(columns)))
  raise ValueError(
    f'returned the columns {", ".join(found[:20])}, but the actions of the '
    f'log are {", ".join(names[:20])}. Name the columns after these, or '
    'return an array in this order.'
  )


def _indices(
  actions: np.ndarray, num_actions: int, labels: Sequence[str]
) -> np.ndarray:
  """Returns actions [B], which are numbers or labels, as numbers from 0."""
  names = list(labels) or [str(number) for number in range(num_actions)]
  said = f'the actions of the log are {", ".join(names[:20])}'
  if actions.dtype.kind == 'U':
    unknown = set(actions.tolist()) - set(names)
    if unknown:
      raise ValueError(f'returned the action {min(unknown)!r}, but {said}.')
    return np.array([names.index(name) for name in actions.tolist()], int)
  if labels and all(label.lstrip('-').isdecimal() for label in labels):
    raise ValueError(
      f'returned the number {actions[0]}, which may be the name of an action '
      f'or its place, as {said}. Return the names as strings, or '
      'probabilities in this order.'
    )
  wrong = (actions < 0) | (actions >= num_actions)
  if wrong.any():
    raise ValueError(
      f'returned the action {actions[wrong][0]}, but actions are the numbers '
      f'from 0 to {num_actions - 1}.'
    )
  return actions.astype(int)
