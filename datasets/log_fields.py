"""The fields of a `log.Log`, from rows of whatever source."""

from collections.abc import Mapping
import pathlib
from typing import Any

import numpy as np

from dfiv_ope import types
from dfiv_ope.datasets import column_notes, logs, reading
from dfiv_ope.datasets import columns as columns_lib
from dfiv_ope.datasets import spec as spec_lib
from dfiv_ope.datasets import steps as steps_lib
from dfiv_ope.datasets.formats import source
from dfiv_ope.ope import log_notes

_ADVICE = 'Correct it, or leave the episode out.'


def read(
  log: pathlib.Path | source.Source,
  columns: columns_lib.Columns,
  *,
  discount: float,
  name: str,
  format_name: str | None = None,
) -> dict[str, Any]:
  """Reads a log as `dataset import` does, but into memory.

  Args:
    log: a file or directory, or what gives rows.
    columns: what its columns are.
    discount: of the value that will be asked for.
    name: what to call the log.
    format_name: of the file; None where rows are given.

  Raises:
    ValueError: it is no log, or the discount is none.
  """
  spec_lib.Log(
    name=name, source=name, format='', mapping={}, discount=discount
  )  # Refuses a discount that is none.
  reader = logs.LogReader(
    log, columns=columns, format_name=format_name or name, advice=_ADVICE
  )
  blocks = list(reader.blocks(progress=lambda _: None))
  if not blocks:
    raise reader.nothing_left()
  steps = steps_lib.concatenate(block.steps for block in blocks)
  annotations = np.concatenate([block.annotations for block in blocks])
  del blocks  # They are as large as the log.
  actions = reader.find_actions(lambda _: None)
  names = reader.observation_names
  labels = reader.find_categories(lambda _: None)
  categories = {names.index(each): labels[each] for each in labels}
  return of_steps(
    steps,
    dict(zip(reader.annotations, annotations.T, strict=True)),
    num_actions=len(actions.labels),
    discount=discount,
    name=name,
    digest=reading.digest(
      steps,
      annotations if annotations.shape[1] else None,
      categories,
      actions.continuous,
    ),
    action_labels=actions.recorded,
    observation_names=names,
    categorical=tuple(categories),
    notes=tuple(reader.all_notes()),
    time_feature=columns.time_feature,
    continuous=actions.continuous,
    transitions_only=columns.transitions,
  )


def of_directory(
  directory: pathlib.Path, discount: float | None
) -> dict[str, Any]:
  """Returns the log of a directory that `dfiv-ope dataset` wrote.

  Args:
    directory: of the dataset.
    discount: of the value that will be asked for; None for the recorded one.

  Raises:
    FileNotFoundError: it holds no dataset.
    ValueError: its content is not what its record says.
  """
  dataset = reading.open_dataset(directory)
  metadata = dataset.metadata
  profile = column_notes.Profile(
    metadata.observations, categorical=metadata.categories
  )
  profile.add(dataset.steps)
  only = spec_lib.is_transitions(metadata)
  return of_steps(
    dataset.steps,
    dataset.annotations,
    transitions_only=only,
    num_actions=metadata.num_actions,
    name=metadata.spec.id,
    discount=metadata.spec.discount if discount is None else discount,
    digest=metadata.digest,
    action_labels=metadata.action_labels,
    observation_names=metadata.observations,
    categorical=tuple(metadata.categories),
    notes=(
      *([log_notes.Note(kind=log_notes.TRANSITIONS)] if only else []),
      *profile.notes(),
    ),
    time_feature=metadata.time_feature,
    continuous=metadata.continuous,
    metadata=metadata,
  )


def of_steps(
  steps: steps_lib.Steps,
  annotations: Mapping[str, np.ndarray],
  *,
  num_actions: int,
  **known: Any,
) -> dict[str, Any]:
  """Returns the log of rows of steps and their further columns.

  Args:
    steps: the rows.
    annotations: their further columns.
    num_actions: A; 0 if actions are vectors.
    **known: further fields.
  """
  moves, first, after = steps_lib.places(steps)
  behaviour = annotations.get(columns_lib.BEHAVIOUR_PROBABILITY)
  targets = [
    annotations[name]
    for action in range(num_actions)
    if (name := f'{columns_lib.TARGET_PROBABILITY}{action}') in annotations
  ]
  return dict(
    transitions=types.Transition(
      observation=steps.observation[moves],
      action=steps.action[moves],
      reward=steps.reward[moves],
      discount=steps.discount[moves],
      next_observation=steps.observation[after],
    ),
    episodes=(np.cumsum(steps.is_first) - 1)[moves],
    initial_observations=steps.observation[first],
    num_actions=num_actions,
    truncated=int(np.sum(steps.is_last & ~steps.is_terminal)),
    behaviour_probabilities=None if behaviour is None else behaviour[moves],
    recorded_targets=(steps.observation, np.stack(targets, axis=1))
    if targets and len(targets) == num_actions
    else None,
    steps=steps,
    **known,
  )
