"""Reads a dataset back, all of it into memory.

Nothing here loads the target policy unless it is asked to: a SavedModel is a
program. Nothing needs Reverb, as `serving` does, and only tensors and policies
need TensorFlow.
"""

from collections.abc import Collection, Mapping, Sequence
import dataclasses
import functools
import pathlib
from typing import TYPE_CHECKING

import numpy as np

from dfiv_ope import actions, types
from dfiv_ope.datasets import array_files, store
from dfiv_ope.datasets import spec as spec_lib
from dfiv_ope.datasets import steps as steps_lib

if TYPE_CHECKING:
  import tensorflow as tf


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False)
class Dataset:
  """A dataset in memory.

  Attributes:
    path: its directory.
    metadata: its record.
    steps: all rows, in the order of collection.
    annotations: further columns of the log by name, each float32 [N], one
      entry a row of `steps`.
  """

  path: pathlib.Path
  metadata: spec_lib.Metadata
  steps: steps_lib.Steps
  annotations: Mapping[str, np.ndarray]

  @functools.cached_property
  def transitions(self) -> types.Transition:
    """All transitions, in the same order, as tensors [M, ...]."""
    return steps_lib.transitions(self.steps)

  @functools.cached_property
  def initial_observations(self) -> 'tf.Tensor':
    """First observation of every episode, [E, D]."""
    import tensorflow as tf

    return tf.constant(self.steps.observation[self.steps.is_first])

  @property
  def policy(self) -> types.Policy | types.ContinuousPolicy | None:
    """The target policy, if there is one; loaded each time it is asked for.

    Raises:
      ValueError: it holds operations that `load_policy` does not trust.
    """
    return load_policy(self.path, self.metadata)


def open_dataset(path: pathlib.Path) -> Dataset:
  """Reads a whole dataset into memory and checks it against its record.

  Args:
    path: the directory of the dataset.

  Raises:
    FileNotFoundError: no complete dataset, or a file of it is missing.
    ValueError: the content is not what the record says.
  """
  metadata = spec_lib.read_metadata(path)
  verify_files(path, metadata)
  arrays = {
    name: array_files.load(
      store.array_path(path, name), dtype=column.dtype, shape=column.shape
    )
    for name, column in store.array_columns(
      metadata.num_observations,
      len(metadata.annotations),
      metadata.action_entries,
    ).items()
  }
  require_alike(path, {len(array) for array in arrays.values()})
  annotations = arrays.pop(store.ANNOTATIONS, None)
  rows = steps_lib.Steps(**arrays)
  require_digest(
    path,
    digest(rows, annotations, metadata.categories, metadata.continuous),
    metadata,
  )
  return Dataset(
    path=path,
    metadata=metadata,
    steps=rows,
    annotations={}
    if annotations is None
    else dict(zip(metadata.annotations, annotations.T, strict=True)),
  )


def require_alike(path: pathlib.Path, lengths: Collection[int]) -> None:
  """Refuses arrays of different lengths, and empty ones.

  Raises:
    ValueError: they are.
  """
  if len(lengths) > 1 or 0 in lengths:
    raise ValueError(
      f'The arrays of {path} differ in length or are empty. Make the '
      'dataset again.'
    )


def require_digest(
  path: pathlib.Path, found: str, metadata: spec_lib.Metadata
) -> None:
  """Refuses content whose digest is not that of its record.

  Raises:
    ValueError: it is another.
  """
  if found != metadata.digest:
    raise ValueError(
      f'The content of {path} has digest {found}, but its record says '
      f'{metadata.digest}. Make the dataset again.'
    )


def vectors(
  path: pathlib.Path, metadata: spec_lib.Metadata
) -> np.ndarray | None:
  """Returns the logged actions alone, [M, d]; None if they are no vectors.

  Raises:
    ValueError: their files cannot be read.
  """
  if metadata.continuous is None:
    return None
  columns = store.array_columns(
    metadata.num_observations, action_entries=metadata.action_entries
  )
  action, is_last = (
    array_files.load(
      store.array_path(path, name),
      dtype=columns[name].dtype,
      shape=columns[name].shape,
    )
    for name in ('action', 'is_last')
  )
  return action[: len(is_last)][~is_last[: len(action)]]


def digest(
  rows: steps_lib.Steps,
  annotations: np.ndarray | None = None,
  categories: Mapping[int, Sequence[object]] | None = None,
  continuous: actions.Continuous | None = None,
) -> str:
  """Returns the digest of rows, taken block by block as they were written."""
  result = steps_lib.Digest(categories, continuous)
  for part in store.cut(rows.is_last):
    result.update(
      steps_lib.Steps(*(x[part] for x in rows)),
      None if annotations is None else annotations[part],
    )
  return result.hexdigest()


def load_policy(
  path: pathlib.Path, metadata: spec_lib.Metadata, *, trusted: bool = False
) -> types.Policy | types.ContinuousPolicy | None:
  """Loads the target policy of a dataset, None if it has none.

  Args:
    path: the directory of the dataset.
    metadata: its record.
    trusted: load it whatever operations it holds, see `acting.load`.
  """
  if metadata.policy is None:
    return None
  from dfiv_ope.policies import acting

  return acting.load(
    path / store.POLICY,
    num_observations=metadata.num_observations,
    num_actions=metadata.num_actions,
    actions=metadata.continuous,
    trusted=trusted,
  )


def verify_files(path: pathlib.Path, metadata: spec_lib.Metadata) -> None:
  """Compares all files with the record, before anything reads them.

  Raises:
    FileNotFoundError: a file is missing.
    ValueError: a file has another size or content, lies outside of the
      directory, or was not there when the record was written.
  """
  root = path.resolve()
  for name, record in metadata.files.items():
    file = path / name
    if not file.resolve().is_relative_to(root):
      raise ValueError(
        f'{path} names the file {name}, which lies outside of it. Copy the '
        'dataset again with all files in it.'
      )
    if not file.is_file():
      raise FileNotFoundError(
        f'{path} is not complete: {name} is missing. Copy it again or make '
        'the dataset again.'
      )
    size = file.stat().st_size
    if size != record['bytes'] or store.sha256(file) != record['sha256']:
      raise ValueError(
        f'{path} is damaged: {name} has {size} bytes and is not the file of '
        f'{record["bytes"]} bytes that was written. Copy it again or make '
        'the dataset again.'
      )
  unknown = sorted(
    name for name in store.file_names(path) if name not in metadata.files
  )
  if unknown:
    raise ValueError(
      f'{path} holds {unknown[0]}, which its record does not name. Remove '
      'it or make the dataset again.'
    )
