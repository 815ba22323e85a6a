"""Makes a dataset of a user's log."""

from collections.abc import Mapping
import pathlib
from typing import Any

from dfiv_ope import atomic_output, stages, versions, whole_files
from dfiv_ope.datasets import logs, store
from dfiv_ope.datasets import spec as spec_lib


def build(
  reader: logs.LogReader,
  out: pathlib.Path,
  *,
  discount: float,
  request: Mapping[str, Any],
  progress: stages.Progress = stages.silent,
) -> None:
  """Makes the directory of a dataset, whole or not at all.

  Args:
    reader: the log.
    out: a new directory, or what a killed run of the same request left.
    discount: of the value that will be asked for.
    request: what else the user asked for.
    progress: told of each stage.

  Raises:
    OSError: there is something else, or the checkpoint could not be written.
    ValueError: something is wrong with the log, or nothing is left of it.
  """
  spec = spec_lib.Log(
    name=out.resolve().name,
    source=reader.file,
    format=reader.format,
    mapping=reader.mapping,
    discount=discount,
  )
  with atomic_output.building(
    out,
    record=spec_lib.METADATA,
    request={**request, 'mapping': reader.mapping, 'discount': discount},
  ):
    make(reader, out, spec, progress=progress)


def make(
  reader: logs.LogReader,
  out: pathlib.Path,
  spec: spec_lib.Log,
  *,
  progress: stages.Progress = stages.silent,
) -> None:
  """Reads the log and writes the dataset, its record last.

  Args:
    reader: the log.
    out: directory of the dataset to be; what a killed run left is removed.
    spec: where the log comes from.
    progress: told of each stage.

  Raises:
    OSError: the checkpoint could not be written.
    ValueError: something is wrong with the log, or nothing is left of it.
  """
  with progress('Looking for the actions', 1.0) as update:
    reader.find_actions(update)
  store.clear(out)
  with progress('Importing', 1.0) as update:
    metadata = write(reader, out, spec, progress=update)
  whole_files.write(out / spec_lib.METADATA, metadata.to_json())


def write(
  reader: logs.LogReader,
  out: pathlib.Path,
  spec: spec_lib.Log,
  *,
  progress: logs.Progress,
) -> spec_lib.Metadata:
  """Writes all of a dataset but its record.

  Args:
    reader: the log.
    out: directory of the dataset to be; must not hold a checkpoint.
    spec: where the log comes from.
    progress: is told how far it is.

  Returns:
    The record.

  Raises:
    OSError: the checkpoint could not be written.
    ValueError: something is wrong with the log, or nothing is left of it.
  """
  writer = None
  try:
    for block in reader.blocks(progress=progress):
      if writer is None:
        num_observations = block.steps.observation.shape[1]
        names = reader.observation_names
        labels = reader.find_categories(progress)
        writer = store.Writer(
          out,
          num_observations=num_observations,
          discount=spec.discount,
          num_annotations=block.annotations.shape[1],
          categories={names.index(name): each for name, each in labels.items()},
          continuous=reader.find_actions(progress).continuous,
        )
      writer.extend(block.steps, block.annotations)
    if writer is None:
      raise reader.nothing_left()
    contents = writer.finish()
  except BaseException:
    if writer is not None:
      writer.close()
    raise
  actions = reader.find_actions(progress)
  return spec_lib.Metadata(
    spec=spec,
    num_observations=num_observations,
    num_actions=len(actions.labels),
    transitions=contents.transitions,
    episodes=contents.episodes,
    truncated=contents.truncated,
    digest=contents.digest,
    files=store.file_record(out),
    truth=None,
    behaviour=contents.returns,
    policy=None,
    versions=versions.versions(),
    action_labels=actions.recorded,
    annotations=reader.annotations,
    observations=names,
    categorical={name: tuple(each) for name, each in labels.items()},
    continuous=actions.continuous,
  )
