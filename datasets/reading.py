"""Reads a dataset back: all of it into memory, or onto a Reverb server."""

from collections.abc import Mapping
import importlib.metadata
import pathlib
import subprocess
import sys
from typing import Any, NamedTuple

import numpy as np
import reverb
import tensorflow as tf

from dfiv_ope import policies, types
from dfiv_ope.datasets import spec as spec_lib
from dfiv_ope.datasets import steps as steps_lib
from dfiv_ope.datasets import store

# A healthy checkpoint restores in seconds; a broken one may never return.
RESTORE_SECONDS = 120.


class Dataset(NamedTuple):
  """A dataset in memory.

  Attributes:
    metadata: its record.
    steps: all rows, in the order of collection.
    transitions: all transitions, in the same order, as tensors [M, ...].
    initial_observations: of every episode, [E, D].
    policy: the target policy, if the dataset has one.
    annotations: further columns of the log by name, each float32 [N], one
      entry a row of `steps`.
  """
  metadata: spec_lib.Metadata
  steps: steps_lib.Steps
  transitions: types.Transition
  initial_observations: tf.Tensor
  policy: types.Policy | None
  annotations: Mapping[str, np.ndarray]


def open_dataset(
    path: pathlib.Path, *, restore_seconds: float = RESTORE_SECONDS
) -> Dataset:
  """Reads a whole dataset into memory and checks it against its record.

  Args:
    path: the directory of the dataset.
    restore_seconds: give up on Reverb after this time.

  Raises:
    FileNotFoundError: no complete dataset, or a file of it is missing.
    ValueError: the content is not what the record says.
    TimeoutError: Reverb did not restore its checkpoint in time.
  """
  metadata = spec_lib.read_metadata(path)
  verify_files(path, metadata)
  if metadata.versions.get('dm-reverb') != importlib.metadata.version(
      'dm-reverb'):
    # These very bytes were restored by the version that wrote them; what
    # another version does with them is not known.
    probe(path, num_observations=metadata.num_observations,
          num_annotations=len(metadata.annotations), seconds=restore_seconds)
  server = restore(
      path, num_observations=metadata.num_observations,
      num_annotations=len(metadata.annotations))
  try:
    blocks = _read(server, store.LOG)
    (initial,) = _read(server, store.INITIAL_OBSERVATIONS)
    annotations: list[Any] = [None] * len(blocks)
    if metadata.annotations:
      annotations = _read(server, store.ANNOTATIONS)
  finally:
    server.stop()
  digest = steps_lib.Digest(metadata.categories)
  for block, columns in zip(blocks, annotations, strict=True):
    digest.update(block, columns)
  if digest.hexdigest() != metadata.digest:
    raise ValueError(
        f'The content of {path} has digest {digest.hexdigest()}, but its '
        f'record says {metadata.digest}. Make the dataset again.')
  rows = steps_lib.concatenate(blocks)
  return Dataset(
      metadata=metadata, steps=rows,
      transitions=steps_lib.transitions(rows),
      initial_observations=tf.constant(initial),
      policy=load_policy(path, metadata),
      annotations=dict(zip(
          metadata.annotations, np.concatenate(annotations).T,
          strict=True)) if metadata.annotations else {})


def load_policy(
    path: pathlib.Path, metadata: spec_lib.Metadata) -> types.Policy | None:
  """Loads the target policy of a dataset, None if it has none."""
  if metadata.policy is None:
    return None
  return policies.load(
      path / store.POLICY, num_observations=metadata.num_observations,
      num_actions=metadata.num_actions)


def verify_files(path: pathlib.Path, metadata: spec_lib.Metadata) -> None:
  """Compares all files with the record, before anything reads them.

  Raises:
    FileNotFoundError: a file is missing.
    ValueError: a file has another size or content.
  """
  for name, record in metadata.files.items():
    file = path / name
    if not file.is_file():
      raise FileNotFoundError(
          f'{path} is not complete: {name} is missing. Copy it again or make '
          'the dataset again.')
    size = file.stat().st_size
    if size != record['bytes'] or store.sha256(file) != record['sha256']:
      raise ValueError(
          f'{path} is damaged: {name} has {size} bytes and is not the file of '
          f'{record["bytes"]} bytes that was written. Copy it again or make '
          'the dataset again.')


def restore(
    path: pathlib.Path, *, num_observations: int, num_annotations: int = 0,
    port: int | None = None,
) -> reverb.Server:
  """Starts a Reverb server with the tables of a dataset.

  Reverb holds Python's lock meanwhile, so nothing in this process could end
  it if it hangs; `probe` tries it in another process first.

  Args:
    path: the directory of the dataset.
    num_observations: entries of an observation.
    num_annotations: further columns of the log.
    port: to listen on; None takes a free one.

  Raises:
    ValueError: Reverb cannot read the checkpoint.
  """
  checkpoint = path / store.CHECKPOINT
  try:
    return reverb.Server(
        store.tables(num_observations, num_annotations), port=port,
        checkpointer=reverb.checkpointers.DefaultCheckpointer(
            str(checkpoint)))
  except RuntimeError as error:
    raise ValueError(
        f'Reverb cannot restore {checkpoint}: {error}. Make the dataset '
        'again.') from error


def probe(
    path: pathlib.Path, *, num_observations: int, num_annotations: int = 0,
    seconds: float = RESTORE_SECONDS) -> None:
  """Restores a dataset in a process of its own, under a time limit.

  Args:
    path: the directory of the dataset; it needs no record yet.
    num_observations: entries of an observation.
    num_annotations: further columns of the log.
    seconds: give up after this time.

  Raises:
    ValueError: Reverb cannot read the checkpoint, or died of it.
    TimeoutError: Reverb did not finish in time.
  """
  code = (
      'import pathlib, sys; from dfiv_ope.datasets import reading; '
      'reading.restore(pathlib.Path(sys.argv[1]), '
      'num_observations=int(sys.argv[2]), '
      'num_annotations=int(sys.argv[3])).stop()')
  checkpoint = path / store.CHECKPOINT
  try:
    subprocess.run(
        [sys.executable, '-c', code, str(path), str(num_observations),
         str(num_annotations)],
        check=True, timeout=seconds, capture_output=True, text=True)
  except subprocess.TimeoutExpired as error:
    raise TimeoutError(
        f'Reverb did not restore {checkpoint} within {seconds:g} s, so it is '
        'probably broken. Make the dataset again.') from error
  except subprocess.CalledProcessError as error:
    lines = error.stderr.strip().splitlines() or ['it died']
    raise ValueError(
        f'Reverb cannot restore {checkpoint} ({lines[-1]}). Make the dataset '
        'again.') from error


def _read(server: reverb.Server, table: str) -> list[Any]:
  """Takes every item of a table once, in the order of insertion."""
  client = server.localhost_client()
  count = client.server_info()[table].current_size
  samples = client.sample(
      table, count, emit_timesteps=False, unpack_as_table_signature=True)
  return [sample.data for sample in samples] if count else []
