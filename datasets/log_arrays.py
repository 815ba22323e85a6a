"""Arrays that a user hands in, one entry a step, as the columns of a log."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from dfiv_ope.datasets import bounds as bounds_lib
from dfiv_ope.datasets import columns as columns_lib
from dfiv_ope.datasets.formats import in_memory, source


def as_source(
  given: Mapping[str, Any],
  *,
  num_actions: int | None,
  categorical: Sequence[int | str],
  time_feature: bool,
  horizon: int | None,
  continuous: bool,
  bounds: Any,
  categorical_actions: Sequence[int],
) -> tuple[in_memory.InMemory, columns_lib.Columns]:
  """Returns the rows that arrays are, and what their columns mean.

  Args:
    given: by the names that columns of logs have; None for what is not there.
    num_actions: as this and the others in `log.Log.from_arrays`.
    categorical: columns of the observations whose values are names.
    time_feature: whether the number of the step becomes a column.
    horizon: steps of episodes that are complete.
    continuous: whether actions are amounts.
    bounds: of continuous actions.
    categorical_actions: their entries whose values are names.

  Raises:
    ValueError: the arrays do not fit each other or are no log.
  """
  arrays = gather(given)
  if source.EPISODE not in arrays:
    arrays[source.EPISODE] = episode_ids(arrays)
  check_ends(arrays)
  columns = columns_lib.Columns(
    observations=(source.OBSERVATION,),
    categorical=tuple(
      entry(
        each,
        names=names_of(given[source.OBSERVATION]),
        shape=arrays[source.OBSERVATION].shape,
      )
      for each in categorical
    ),
    time_feature=time_feature,
    horizon=horizon,
    continuous=continuous or are_vectors(arrays[source.ACTION]),
    bounds=None if bounds is None else bounds_lib.parse(bounds),
    categorical_actions=tuple(
      f'{source.ACTION}[{index}]' for index in categorical_actions
    ),
  )
  if columns.vectors and num_actions is not None:
    raise columns_lib.discrete_only('num_actions')
  labels = (
    None
    if columns.vectors
    else action_labels(arrays[source.ACTION], num_actions)
  )
  rows = np.arange(len(arrays[source.ACTION]))
  if 'next_observation' in arrays:
    arrays, rows = with_final(arrays, rows)
  return in_memory.InMemory(arrays, rows=rows, actions=labels), columns


def gather(given: Mapping[str, Any]) -> dict[str, np.ndarray]:
  """Returns what was given as arrays of one length.

  Raises:
    ValueError: there are no steps, or lengths differ.
  """
  arrays = {}
  _check_labels(given)
  for name, values in given.items():
    if values is not None:
      if np.ma.is_masked(values):
        raise ValueError(
          f'{name} is a masked array in which values are missing. Fill them '
          'in, or leave these episodes out.'
        )
      try:
        arrays[name] = _array(values)
      except ValueError as error:
        raise ValueError(
          f'{name} makes no array ({error}). Give one entry a step, of the '
          'same shape in all steps.'
        ) from error
      if not arrays[name].ndim:
        raise ValueError(
          f'{name} is the single value {values!r}, but one entry a step is '
          'wanted.'
        )
  lengths = {name: len(array) for name, array in arrays.items()}
  if len(set(lengths.values())) > 1:
    said = ', '.join(f'{name} {each:,}' for name, each in lengths.items())
    raise ValueError(
      f'The arrays differ in length: {said}. Give one entry a step in each.'
    )
  if not next(iter(lengths.values())):
    raise ValueError('The log is empty: a value needs at least one step.')
  if arrays[source.OBSERVATION].shape[1:] == (0,):
    raise ValueError(
      'The observations have no columns. Where nothing is observed, pass a '
      'column of zeros.'
    )
  known = arrays.get(columns_lib.BEHAVIOUR_PROBABILITY)
  if known is not None and known.shape[1:] not in ((), (1,)):
    raise ValueError(
      f'behaviour_probabilities have the shape {list(known.shape)}, but one '
      'number a step is wanted, the probability of the action that was taken: '
      'p[np.arange(len(p)), actions] of probabilities p of all actions.'
    )
  return arrays


def _check_labels(given: Mapping[str, Any]) -> None:
  """Refuses pandas' rows that are labelled otherwise in another argument.

  Raises:
    ValueError: there are such rows: one of them may be sorted or shuffled.
  """
  labelled = {
    name: values.index
    for name, values in given.items()
    if hasattr(values, 'iloc') and hasattr(values, 'index')
  }
  first = next(iter(labelled), '')
  for name, index in labelled.items():
    # Other lengths are refused elsewhere, with the numbers.
    if len(index) == len(labelled[first]) and list(index) != list(
      labelled[first]
    ):
      raise ValueError(
        f'The rows of {name} and of {first} have other labels (their index), '
        'so one of them may be sorted or shuffled. Sort them alike, or pass '
        f'{name}.to_numpy() if they correspond as they stand.'
      )


def _array(values: Any) -> np.ndarray:
  """Returns an array; columns by name are put beside each other, [N, D]."""
  names = names_of(values)
  if not names:
    return np.asarray(values)
  columns = [np.asarray(values[name]) for name in names]
  if any(each.dtype.kind not in 'fiub' for each in columns):
    columns = [each.astype(object) for each in columns]
  return np.stack(columns, axis=1)


def names_of(values: Any) -> list[str]:
  """Returns names of columns: of a mapping, frame or structured array."""
  if isinstance(values, Mapping):
    return list(values)
  if hasattr(values, 'columns'):
    return list(values.columns)
  return list(getattr(getattr(values, 'dtype', None), 'names', None) or ())


def entry(
  column: int | str, *, names: list[str], shape: tuple[int, ...]
) -> str:
  """Returns what a column of the observations is called in a log.

  Args:
    column: its number or name.
    names: of all columns, if they have any.
    shape: of the observations.

  Raises:
    ValueError: there is no such column.
  """
  if isinstance(column, str):
    if column not in names:
      raise ValueError(
        f'{column!r} should be categorical, but the observations have '
        + (
          f'only the columns {", ".join(map(str, names[:40]))}.'
          if names
          else 'no names. Give the number of the column.'
        )
      )
    column = names.index(column)
  if len(shape) == 1 and column == 0:
    return source.OBSERVATION
  if not 0 <= column < int(np.prod(shape[1:])):
    raise ValueError(
      f'Column {column} should be categorical, but the observations have '
      f'columns 0 to {int(np.prod(shape[1:])) - 1}.'
    )
  return f'{source.OBSERVATION}[{column}]'


def ends(arrays: Mapping[str, np.ndarray]) -> np.ndarray:
  """Returns whether an episode ends after a step, [N]."""
  result = np.zeros(len(arrays[source.ACTION]), bool)
  for name in (source.TERMINATED, source.TRUNCATED):
    if name in arrays:
      flags = np.asarray(arrays[name])
      if flags.ndim > 1 and flags.size == len(flags):
        flags = flags.reshape(-1)
      if (
        flags.ndim > 1
        or flags.dtype.kind not in 'biuf'
        or not np.isin(flags, (0, 1)).all()
      ):
        raise ValueError(
          f'{name} should be true or false (1 or 0) in each step, got '
          f'shape {flags.shape} of type {flags.dtype}.'
        )
      result |= flags.astype(bool)
  return result


def episode_ids(arrays: Mapping[str, np.ndarray]) -> np.ndarray:
  """Returns numbers of episodes that end where they say so, [N]."""
  return np.cumsum(np.append(False, ends(arrays)[:-1]))


def check_ends(arrays: Mapping[str, np.ndarray]) -> None:
  """Refuses an episode that never ends."""
  names = arrays[source.EPISODE]
  last = np.append(names[1:] != names[:-1], True)
  never = np.flatnonzero(last & ~ends(arrays))
  if never.size and len(np.unique(names)) < np.sum(last):
    raise ValueError(
      f'The rows of episode {names[never[0]]} do not follow each other. Sort '
      'all arrays by episode, and within it by time.'
    )
  if never.size:
    raise ValueError(
      f'The episode of step {never[0]} never ends: no terminal or truncation '
      'is true in its last step. Set truncations there if it was cut off.'
    )


def are_vectors(actions: np.ndarray) -> bool:
  """Whether actions [N] or [N, d] have several entries or fractions."""
  if actions.ndim > 1 and actions.shape[1:] != (1,):
    return True
  if actions.dtype == object:  # Such as pandas' own types.
    return any(
      isinstance(each, float) and not each.is_integer() and np.isfinite(each)
      for each in actions.reshape(-1)
    )
  return actions.dtype.kind == 'f' and bool(
    np.any(np.isfinite(actions) & (actions != np.floor(actions)))
  )


def action_labels(
  actions: np.ndarray, num_actions: int | None
) -> list[str] | None:
  """Returns the labels of numbered actions; None if they have labels.

  Raises:
    ValueError: a number is no action.
  """
  if actions.dtype.kind not in 'fiu':
    if num_actions is not None:
      raise ValueError(
        'num_actions goes with actions that are numbers, but these are '
        f'labels (type {actions.dtype}). Leave it out.'
      )
    return None
  wrong = np.flatnonzero(
    ~(np.isfinite(actions) & (actions == np.floor(actions)) & (actions >= 0))
    .reshape(len(actions), -1)
    .all(axis=1)
  )
  if wrong.size:
    value = np.ravel(actions[wrong[0]])[0]
    raise ValueError(
      f'The action of step {wrong[0]} is {value:g}, but actions are whole '
      'numbers from 0, or labels. If they are amounts, pass '
      'continuous=True.'
    )
  largest = int(actions.max())
  if num_actions is None:
    num_actions = max(largest + 1, 2)
  if largest >= num_actions:
    raise ValueError(
      f'The log has action {largest}, but num_actions is {num_actions} '
      f'(actions 0 to {num_actions - 1}).'
    )
  return list(map(str, range(num_actions)))


def with_final(
  arrays: Mapping[str, np.ndarray], rows: np.ndarray
) -> tuple[dict[str, np.ndarray], np.ndarray]:
  """Adds the final observations of episodes as rows of their own.

  Raises:
    ValueError: a next observation is not the observation that follows.
  """
  arrays = dict(arrays)
  later, now = arrays.pop('next_observation'), arrays[source.OBSERVATION]
  if later.shape != now.shape:
    raise ValueError(
      f'next_observations have shape {later.shape}, observations '
      f'{now.shape}. They must be the same.'
    )
  last = np.append(
    arrays[source.EPISODE][1:] != arrays[source.EPISODE][:-1], True
  )
  differs = ~last[:-1] & (later[:-1] != now[1:]).reshape(len(now) - 1, -1).any(
    axis=1
  )
  if differs.any():
    step = int(np.argmax(differs))
    raise ValueError(
      f'The next observation of step {step} is not the observation of step '
      f'{step + 1}, though no episode ends between them. Steps must follow '
      'each other in time; set truncations where the log has a gap.'
    )
  places = np.flatnonzero(last) + 1
  final = {
    source.OBSERVATION: later[last],
    source.EPISODE: arrays[source.EPISODE][last],
  }
  for name, values in arrays.items():
    if name in final:
      added = final[name]
    else:
      values = source.with_empty_end(values)
      values, added = values[:-1], np.repeat(values[-1:], last.sum(), axis=0)
    arrays[name] = np.insert(values, places, added, axis=0)
  return arrays, np.insert(rows, places, rows[last])
