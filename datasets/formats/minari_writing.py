"""Writes episodes in the HDF5 layout of Minari 0.5."""

from collections.abc import Mapping, Sequence
import dataclasses
import json
import pathlib
from typing import Any

import numpy as np

from dfiv_ope import actions as actions_lib
from dfiv_ope.datasets import steps as steps_lib
from dfiv_ope.datasets.formats import minari_folder, source

# The layout is that of this version.
_VERSION = '0.5.3'


def write(
  out: pathlib.Path,
  steps: steps_lib.Steps,
  *,
  infos: Mapping[str, np.ndarray],
  action_labels: Sequence[str],
  categories: Mapping[int, Sequence[Any]],
  name: str,
  continuous: actions_lib.Continuous | None = None,
) -> None:
  """Writes a dataset of Minari into a new directory.

  Args:
    out: the directory.
    steps: rows of whole episodes.
    infos: further columns, each [N].
    action_labels: one an action.
    categories: labels of categorical columns of the observation.
    name: of the dataset.
    continuous: what the actions are if they are vectors.
  """
  try:
    import h5py
  except ImportError as error:
    raise source.not_installed(error, 'Minari') from error
  folder = out / 'data'
  folder.mkdir(parents=True)
  ends = np.flatnonzero(steps.is_last)
  with h5py.File(
    folder / minari_folder.MAIN_FILE, 'w', track_order=True
  ) as file:
    for number, (start, end) in enumerate(
      zip(np.append(0, ends[:-1] + 1), ends, strict=True)
    ):
      episode = file.create_group(f'episode_{number}')
      episode.attrs['id'] = number
      episode.attrs['total_steps'] = end - start
      is_end = np.arange(start, end) == end - 1
      terminal = steps.is_terminal[end]
      arrays = {
        'observations': steps.observation[start : end + 1],
        'actions': steps.action[start:end].astype(
          np.int64 if continuous is None else np.float64
        ),
        'rewards': steps.reward[start:end],
        'terminations': is_end & terminal,
        'truncations': is_end & ~terminal,
        **{
          f'{minari_folder.INFOS}/{key}': values[start : end + 1]
          for key, values in infos.items()
        },
      }
      for key, values in arrays.items():
        episode.create_dataset(
          key, data=values, chunks=True, maxshape=(None, *values.shape[1:])
        )
  size = sum(file.stat().st_size for file in folder.iterdir())
  width = steps.observation.shape[1]
  (folder / minari_folder.METADATA).write_text(
    json.dumps(
      {
        'total_episodes': len(ends),
        'total_steps': int(np.sum(~steps.is_last)),
        'data_format': 'hdf5',
        'observation_space': json.dumps(
          {
            'type': 'Box',
            'dtype': 'float64',
            'shape': [width],
            'low': [-np.inf] * width,
            'high': [np.inf] * width,
          }
        ),
        'action_space': json.dumps(
          {
            'type': 'Discrete',
            'dtype': 'int64',
            'start': 0,
            'n': len(action_labels),
          }
          if continuous is None
          else _box(continuous)
        ),
        'dataset_id': f'{name}-v0',
        'minari_version': _VERSION,
        'dataset_size': round(size / 1e6, 1),
        **(
          {minari_folder.ACTION_LABELS: list(action_labels)}
          if continuous is None
          else {minari_folder.CONTINUOUS: dataclasses.asdict(continuous)}
        ),
        minari_folder.CATEGORIES: {
          f'{source.OBSERVATION}[{column}]': list(labels)
          for column, labels in categories.items()
        },
      }
    ),
    encoding='utf-8',
  )


def _box(continuous: actions_lib.Continuous) -> dict[str, Any]:
  """Returns the space of actions; names are stored by their place."""
  low, high = continuous.bounds
  for place, labels in continuous.categories.items():
    low[place], high[place] = 0.0, len(labels) - 1.0
  return {
    'type': 'Box',
    'dtype': 'float64',
    'shape': [continuous.size],
    'low': low.tolist(),
    'high': high.tolist(),
  }
