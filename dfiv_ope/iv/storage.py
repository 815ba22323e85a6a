"""Fitted estimators as directories: JSON and numbers, nothing else.

Nothing is pickled, so a directory from a stranger cannot run code. A closed
form is saved as numpy arrays; networks are checkpoints of TensorFlow.
"""

from collections.abc import Mapping
import json
import pathlib
from typing import Any
import zipfile

import numpy as np

from dfiv_ope import configs, types, versions
from dfiv_ope.iv import bases, methods
from dfiv_ope.iv.diagnostics import strength
from dfiv_ope.iv.linear import records
from dfiv_ope.nn import layers, scaling

# Format 1 has one split and no names; up to 2 closed forms are checkpoints.
_FORMAT, _READ = 3, (1, 2, 3)
_RECORD, _ARRAYS, _WEIGHTS = 'estimator.json', 'arrays.npz', 'weights'
# Begins the names of arrays of a linear fit's inference.
_INFERENCE = 'inference_'
_MEMBERS = types.IVBatch._fields


def save(estimator: Any, directory: pathlib.Path) -> None:
  """Writes a fitted estimator to a new directory.

  Raises:
    FileExistsError: the directory exists; nothing is overwritten.
  """
  if directory.exists():
    raise FileExistsError(
      f'{directory} exists, and nothing is ever overwritten. Save to '
      'another directory or remove it.'
    )
  directory.mkdir(parents=True)
  arrays = {
    'covariate': estimator.covariate_,
    'split_spread': estimator.split_spread_,
  }
  for name, scale in zip(_MEMBERS, estimator.scales_, strict=True):
    if scale is not None:
      for part, values in scale._asdict().items():
        arrays[f'{name}_{part}'] = values
  for name, values in estimator.first_stage_._asdict().items():
    arrays[f'first_stage_{name}'] = values
  inference = getattr(estimator, 'inference_', None)
  if inference is not None:
    for name, values in records.arrays(inference).items():
      arrays[_INFERENCE + name] = values
  np.savez(
    directory / _ARRAYS,
    **{name: values for name, values in arrays.items() if values is not None},
  )
  for index, model in enumerate(estimator.models_):
    path = directory / _weights(index)
    if estimator._method in methods.CLOSED_FORMS:
      np.savez(path.with_suffix('.npz'), **model.state())
    else:
      _checkpoint(model).write(str(path))
  # The record comes last: a directory that has one is complete.
  (directory / _RECORD).write_text(
    json.dumps(
      {
        'format': _FORMAT,
        'estimator': type(estimator).__name__,
        'parameters': configs.encode(list(estimator.get_params().items())),
        'configs': [
          configs.encode(model.config) for model in estimator.models_
        ],
        'names': estimator.names_._asdict(),
        'underidentified': estimator.underidentified_,
        'outcome_is_vector': estimator.outcome_is_vector_,
        'rows': estimator.n_rows_,
        'history': estimator.history_,
        'derivative_lines': estimator.derivative_lines(),
        'inference': None if inference is None else records.record(inference),
        'versions': versions.versions(),
      },
      indent=2,
    ),
    encoding='utf-8',
  )


def load(directory: pathlib.Path, classes: Mapping[str, type]) -> Any:
  """Returns the estimator in a directory.

  Args:
    directory: where `save` wrote.
    classes: the estimators that may be in it, by the names of their classes.

  Raises:
    FileNotFoundError: the directory holds no estimator.
    ValueError: it was written by another version, or is damaged.
  """
  path = directory / _RECORD
  if not path.is_file():
    raise FileNotFoundError(
      f'{directory} holds no saved estimator ({_RECORD} is missing). Name '
      'the directory given to save().'
    )
  record = json.loads(path.read_text(encoding='utf-8'))
  if record.get('format') not in _READ or record['estimator'] not in classes:
    raise ValueError(
      f'{path} has format {record.get("format")} and estimator '
      f'{record.get("estimator")!r}; this version reads formats {_READ} '
      f'and {sorted(classes)}.'
    )
  kind: Any = classes[record['estimator']]
  module = methods.load(kind._method)
  parts = (*_parts(kind._method), module.Config)
  estimator = kind(**dict(configs.decode(record['parameters'], parts)))
  arrays = _read(directory / _ARRAYS)
  estimator.covariate_ = arrays.get('covariate')
  estimator.scales_ = types.IVBatch(
    *(
      scaling.Standardiser(
        **{
          part: arrays[f'{name}_{part}']
          for part in scaling.Standardiser._fields
          if f'{name}_{part}' in arrays
        }
      )  # an older file has no remainder
      if f'{name}_mean' in arrays
      else None
      for name in _MEMBERS
    )
  )
  estimator.first_stage_ = _first_stage(arrays)
  if record.get('inference') is not None:
    estimator.inference_ = records.restore(
      record['inference'],
      {
        name.removeprefix(_INFERENCE): values
        for name, values in arrays.items()
        if name.startswith(_INFERENCE)
      },
    )
  estimator.outcome_is_vector_ = record['outcome_is_vector']
  estimator.n_rows_ = record['rows']
  estimator.history_ = record['history']
  estimator.derivative_lines_ = tuple(record.get('derivative_lines', ()))
  estimator.underidentified_ = record.get('underidentified', '')
  names = record.get('names', {})
  estimator.names_ = types.IVBatch(
    *(
      None if names.get(name) is None else tuple(names[name])
      for name in _MEMBERS
    )
  )
  estimator.split_spread_ = float(arrays.get('split_spread', np.nan))
  sizes = [
    0 if scale is None else len(scale.mean) for scale in estimator.scales_
  ]
  estimator.models_ = []
  for index, config in enumerate(
    record['configs'] if 'configs' in record else [record['config']]
  ):
    model = module.build(
      configs.decode(config, parts),
      types.Sizes(sizes[0], sizes[1] + sizes[3], sizes[3]),
    )
    saved = directory / _weights(index)
    if kind._method not in methods.CLOSED_FORMS:
      _checkpoint(model).read(str(saved)).expect_partial()
    elif record['format'] < _FORMAT:
      model.restore(_old_state(saved))
    else:
      saved = saved.with_suffix('.npz')
      try:
        model.restore(_read(saved))
      except KeyError as error:
        raise _damaged(saved) from error
    estimator.models_.append(model)
  estimator.model_ = estimator.models_[0]
  return estimator


def _parts(method: str) -> tuple[type, ...]:
  """Returns what configs of a method are made of."""
  if method in methods.CLOSED_FORMS:
    return bases.Hermite, bases.BSpline
  return tuple(layers.LAYERS)


def _checkpoint(model: Any) -> Any:
  """Returns the checkpoint of a model of networks."""
  import tensorflow as tf

  return tf.train.Checkpoint(model=model)


def _old_state(path: pathlib.Path) -> dict[str, types.FloatArray]:
  """Returns the state of a closed form that was saved as a checkpoint."""
  import tensorflow as tf

  ending = '/.ATTRIBUTES/VARIABLE_VALUE'
  reader = tf.train.load_checkpoint(str(path))
  return {
    name.removeprefix('model/')
    .removesuffix(ending)
    .replace('/_', '/')
    .removeprefix('_'): reader.get_tensor(name)
    for name in reader.get_variable_to_shape_map()
    if name.endswith(ending)
  }


def _read(path: pathlib.Path) -> dict[str, types.FloatArray]:
  """Returns the arrays of a file.

  Raises:
    ValueError: it is missing or damaged.
  """
  try:
    with np.load(path, allow_pickle=False) as file:
      return dict(file)
  except (
    OSError,
    EOFError,
    ValueError,
    AttributeError,
    TypeError,
    zipfile.BadZipFile,
  ) as error:
    raise _damaged(path) from error


def _damaged(path: pathlib.Path) -> ValueError:
  return ValueError(
    f'{path} is missing or damaged. Copy the whole directory that save() '
    'wrote once more.'
  )


def _weights(index: int) -> str:
  """Returns the name of the weights of a split."""
  return f'{_WEIGHTS}_{index}' if index else _WEIGHTS


def _first_stage(arrays: dict[str, types.FloatArray]) -> strength.FirstStage:
  """Returns the diagnostics; an older file has fewer of them."""
  saved: dict[str, Any] = {
    name: arrays[f'first_stage_{name}']
    for name in strength.FirstStage._fields
    if f'first_stage_{name}' in arrays
  }
  if 'held_out_index_f' not in saved:  # It once was called the effective F.
    saved['held_out_index_f'] = saved.pop('effective_f')
  for name, kind in (
    ('of_effect', bool),
    ('condition', float),
    ('low_value', float),
    ('linear', bool),
  ):
    if name in saved:
      saved[name] = kind(saved[name])
  return strength.FirstStage(**saved)
