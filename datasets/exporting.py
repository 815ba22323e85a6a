"""Writes a dataset as a log that `import` reads back without a loss."""

from collections.abc import Iterator
import contextlib
import dataclasses
import gzip
import json
import pathlib
import shutil
from typing import Any, NamedTuple

import numpy as np

from dfiv_ope import actions as actions_lib
from dfiv_ope import hints
from dfiv_ope.datasets import bounds as bounds_lib
from dfiv_ope.datasets import categories as categories_lib
from dfiv_ope.datasets import columns as columns_lib
from dfiv_ope.datasets import formats, reading
from dfiv_ope.datasets import labels as labels_lib
from dfiv_ope.datasets.formats import npz_file, parquet_file, source

FORMATS = ('csv', 'parquet', 'npz', 'minari')


class _Column(NamedTuple):
  """A column of the table, and where its cells are empty."""

  values: np.ndarray
  empty: Any = None


def export(
  dataset: reading.Dataset, out: pathlib.Path, *, format_name: str
) -> None:
  """Writes a dataset as a log; the file is there whole or not at all.

  Args:
    dataset: what to write.
    out: a new file, or a new directory for Minari.
    format_name: one of FORMATS.

  Raises:
    FileExistsError: there is something already.
    ValueError: the format is unknown or cannot hold the dataset.
  """
  writers = {'csv': _csv, 'parquet': _parquet, 'npz': _npz, 'minari': _minari}
  if format_name not in writers:
    raise ValueError(hints.unknown('export to', format_name, FORMATS))
  if out.exists():
    raise FileExistsError(
      f'{out} exists, and nothing is ever overwritten. Choose another --out '
      'or remove it.'
    )
  out.parent.mkdir(parents=True, exist_ok=True)
  with _whole(out) as partial:
    writers[format_name](dataset, partial)


def told(out: pathlib.Path) -> str:
  """Returns the format that the name of a file tells.

  Raises:
    ValueError: it tells none.
  """
  found = formats.of_name(out)
  if found is None:
    raise ValueError(
      f'The name of {out} tells no format. Say --format with one of '
      f'{", ".join(FORMATS)}.'
    )
  return found


def csv_notes(dataset: reading.Dataset) -> Iterator[str]:
  """Yields what an import of exported CSV must be told."""
  continuous, named = dataset.metadata.continuous, categorical(dataset)
  if continuous:
    yield (
      'The rows alone do not tell what the actions are: import them with '
      f'{action_options(continuous)}.'
    )
  elif not inferred(dataset):
    yield (
      'The rows alone do not tell all actions and their order: import '
      f'them with --actions {",".join(labels(dataset))}.'
    )
  if named:
    yield (
      'The rows alone do not tell which observations are categorical: '
      f'import them with --categorical {",".join(named)}.'
    )


def labels(dataset: reading.Dataset) -> tuple[str, ...]:
  """Returns a label for each action; its number if it has no other."""
  metadata = dataset.metadata
  return metadata.action_labels or tuple(map(str, range(metadata.num_actions)))


def categorical(dataset: reading.Dataset) -> dict[str, list[Any]]:
  """Returns the labels of categorical columns by their exported names."""
  return {
    f'obs_{column}': list(each)
    for column, each in dataset.metadata.categories.items()
  }


def inferred(dataset: reading.Dataset) -> bool:
  """Returns whether the rows alone tell all actions and their order."""
  all_labels = labels(dataset)
  steps = dataset.steps
  named = any(
    name.startswith(columns_lib.TARGET_PROBABILITY)
    for name in dataset.annotations
  )
  taken = len(np.unique(steps.action[~steps.is_last])) == len(all_labels)
  return (named or taken) and labels_lib.in_order(all_labels) == list(
    all_labels
  )


def action_names(continuous: actions_lib.Continuous) -> list[str]:
  """Returns the columns that the entries of actions are exported as."""
  if continuous.size == 1:
    return [source.ACTION]
  return [f'{source.ACTION}_{place}' for place in range(continuous.size)]


def action_options(continuous: actions_lib.Continuous) -> str:
  """Returns the options that an import of exported CSV needs."""
  pairs = list(zip(continuous.low, continuous.high, strict=True))
  named = ','.join(
    action_names(continuous)[place] for place in continuous.categories
  )
  return (
    '--continuous'
    + (
      f' --bounds {bounds_lib.text(pairs)}'
      if set(pairs) != {(None, None)}
      else ''
    )
    + (f' --map categorical_actions={named}' if named else '')
  )


def _actions(dataset: reading.Dataset) -> dict[str, _Column]:
  """Returns the columns of the actions."""
  steps, continuous = dataset.steps, dataset.metadata.continuous
  if continuous is not None:
    return {
      name: _Column(
        np.where(
          steps.is_last,
          '',
          np.array(continuous.categories[place], object)[x.astype(np.int64)],
        )
        if place in continuous.categories
        else x,
        steps.is_last,
      )
      for place, (name, x) in enumerate(
        zip(action_names(continuous), steps.action.T, strict=True)
      )
    }
  action = steps.action.astype(np.int64)
  if dataset.metadata.action_labels:
    action = np.where(
      steps.is_last, '', np.array(labels(dataset), object)[action]
    )
  return {source.ACTION: _Column(action, steps.is_last)}


def table(dataset: reading.Dataset) -> dict[str, _Column]:
  """Returns the columns of a log, a row for each observation."""
  steps, last = dataset.steps, dataset.steps.is_last
  terminated = np.append(steps.is_terminal[1:], False)
  categories = dataset.metadata.categories
  starts = np.flatnonzero(steps.is_first)
  episode = np.cumsum(steps.is_first) - 1
  names = labels(dataset)
  result = {
    'episode': _Column(episode),
    'step': _Column(np.arange(len(episode)) - starts[episode]),
    **{
      f'obs_{index}': _Column(
        categories_lib.decode(column, categories[index])
        if index in categories
        else column
      )
      for index, column in enumerate(steps.observation.T)
    },
    **_actions(dataset),
    'reward': _Column(steps.reward, last),
    'terminated': _Column(terminated, last),
    'truncated': _Column(np.append(last[1:], False) & ~terminated, last),
  }
  if not np.array_equal(steps.discount, ~(terminated | last)):
    result[columns_lib.STEP_DISCOUNT] = _Column(steps.discount, last)
  for name, values in dataset.annotations.items():
    label = name.removeprefix(columns_lib.TARGET_PROBABILITY)
    if label == name:
      result[name] = _Column(values, last)
    else:
      # After a termination there is no action to be probable.
      result[f'{columns_lib.TARGET_PROBABILITY}{names[int(label)]}'] = _Column(
        values, steps.is_terminal
      )
  return result


def _csv(dataset: reading.Dataset, out: pathlib.Path) -> None:
  import pandas as pd

  from dfiv_ope.datasets.formats import csv_file

  continuous = dataset.metadata.continuous
  confused = set(labels(dataset)).union(
    *(continuous.categories.values() if continuous else ())
  ) & set(csv_file.EMPTY)
  if confused:
    raise ValueError(
      f'In CSV the action {", ".join(sorted(confused))} would be an empty '
      'cell. Choose another format.'
    )
  columns = table(dataset)
  open_file = gzip.open if out.suffix == '.gz' else open
  with open_file(out, 'wt', encoding='utf-8', newline='') as stream:
    for start in range(0, len(dataset.steps.action), source.CHUNK_ROWS):
      part = slice(start, start + source.CHUNK_ROWS)
      pd.DataFrame(
        {name: _with_gaps(column, part) for name, column in columns.items()}
      ).to_csv(stream, index=False, header=start == 0)


def _with_gaps(column: _Column, part: slice) -> Any:
  """Returns a part of a column as pandas writes it, empty cells included."""
  import pandas as pd

  values = column.values[part]
  if column.empty is None:
    return values
  return pd.Series(
    values,
    dtype={'i': 'Int64', 'b': 'boolean', 'f': values.dtype}.get(
      values.dtype.kind
    ),
  ).mask(column.empty[part])


def _parquet(dataset: reading.Dataset, out: pathlib.Path) -> None:
  try:
    import pyarrow as pa
    from pyarrow import parquet
  except ImportError as error:
    raise source.not_installed(error, 'Parquet') from error
  columns = {
    name: pa.array(column.values, mask=column.empty)
    for name, column in table(dataset).items()
  }
  continuous = dataset.metadata.continuous
  parquet.write_table(
    pa.table(
      columns,
      metadata={
        **(
          {parquet_file.ACTION_LABELS: json.dumps(labels(dataset))}
          if continuous is None
          else {parquet_file.CONTINUOUS: _described(continuous)}
        ),
        parquet_file.CATEGORIES: json.dumps(categorical(dataset)),
      },
    ),
    out,
  )


def _npz(dataset: reading.Dataset, out: pathlib.Path) -> None:
  arrays = {}
  for name, (values, empty) in table(dataset).items():
    if values.dtype == object:
      values = values.astype(str)  # Empty text where a cell is empty.
    elif empty is not None:
      kind = values.dtype if values.dtype.kind == 'f' else np.float64
      values = np.where(empty, np.nan, values).astype(kind)
    arrays[name] = values
  continuous = dataset.metadata.continuous
  if continuous is None:
    arrays[npz_file.ACTION_LABELS] = np.array(labels(dataset))
  else:
    arrays[npz_file.CONTINUOUS] = np.array(_described(continuous))
  arrays[npz_file.CATEGORIES] = np.array(json.dumps(categorical(dataset)))
  with out.open('wb') as stream:
    np.savez_compressed(stream, **arrays)


def _described(continuous: actions_lib.Continuous) -> str:
  """Returns actions as the JSON that `source.described` reads."""
  return json.dumps(dataclasses.asdict(continuous))


def _minari(dataset: reading.Dataset, out: pathlib.Path) -> None:
  from dfiv_ope.datasets.formats import minari_writing

  infos = {
    name: np.where(empty, np.float32(np.nan), values)
    for name, (values, empty) in table(dataset).items()
    if name in (columns_lib.BEHAVIOUR_PROBABILITY, columns_lib.STEP_DISCOUNT)
    or name.startswith(columns_lib.TARGET_PROBABILITY)
  }
  minari_writing.write(
    out,
    dataset.steps,
    infos=infos,
    action_labels=labels(dataset),
    categories=dataset.metadata.categories,
    name=dataset.metadata.spec.id,
    continuous=dataset.metadata.continuous,
  )


@contextlib.contextmanager
def _whole(out: pathlib.Path) -> Iterator[pathlib.Path]:
  """Gives a path beside the output that becomes the output at the end."""
  partial = out.with_name(f'.partial-{out.name}')
  shutil.rmtree(partial, ignore_errors=True)
  partial.unlink(missing_ok=True)
  try:
    yield partial
    partial.replace(out)
  finally:
    shutil.rmtree(partial, ignore_errors=True)
    partial.unlink(missing_ok=True)
