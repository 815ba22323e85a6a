"""Fitted estimators as directories: JSON, numbers and a checkpoint.

Nothing is pickled, so a directory from a stranger cannot run code.
"""

from collections.abc import Iterable
import json
import pathlib
from typing import Any

import numpy as np
import tensorflow as tf

from dfiv_ope import (
  configs,
  diagnostics,
  dictionaries,
  features,
  methods,
  networks,
  types,
  versions,
)

_FORMAT = 1
_RECORD, _ARRAYS, _WEIGHTS = 'estimator.json', 'arrays.npz', 'weights'
_PARTS = (
    *networks.LAYERS, dictionaries.Hermite, dictionaries.BSpline)
_MEMBERS = types.IVBatch._fields


def save(estimator: Any, directory: pathlib.Path) -> None:
  """Writes a fitted estimator to a new directory.

  Raises:
    FileExistsError: the directory exists; nothing is overwritten.
  """
  if directory.exists():
    raise FileExistsError(
        f'{directory} exists, and nothing is ever overwritten. Save to '
        'another directory or remove it.')
  directory.mkdir(parents=True)
  arrays = {'covariate': estimator.covariate_}
  for name, scale in zip(_MEMBERS, estimator.scales_, strict=True):
    if scale is not None:
      arrays[f'{name}_mean'], arrays[f'{name}_scale'] = scale
  for name, values in estimator.first_stage_._asdict().items():
    arrays[f'first_stage_{name}'] = values
  np.savez(directory / _ARRAYS, **{
      name: values for name, values in arrays.items() if values is not None})
  tf.train.Checkpoint(model=estimator.model_).write(
      str(directory / _WEIGHTS))
  # The record comes last: a directory that has one is complete.
  (directory / _RECORD).write_text(json.dumps({
      'format': _FORMAT,
      'estimator': type(estimator).__name__,
      'parameters': configs.encode(list(estimator.get_params().items())),
      'config': configs.encode(estimator.model_.config),
      'outcome_is_vector': estimator.outcome_is_vector_,
      'rows': estimator.n_rows_,
      'history': estimator.history_,
      'versions': versions.versions(),
  }, indent=2), encoding='utf-8')


def load(directory: pathlib.Path, classes: Iterable[type]) -> Any:
  """Returns the estimator in a directory.

  Args:
    directory: where `save` wrote.
    classes: the estimators that may be in it.

  Raises:
    FileNotFoundError: the directory holds no estimator.
    ValueError: it was written by another version.
  """
  path = directory / _RECORD
  if not path.is_file():
    raise FileNotFoundError(
        f'{directory} holds no saved estimator ({_RECORD} is missing). Name '
        'the directory given to save().')
  record = json.loads(path.read_text(encoding='utf-8'))
  known = {each.__name__: each for each in classes}
  if record.get('format') != _FORMAT or record['estimator'] not in known:
    raise ValueError(
        f'{path} has format {record.get("format")} and estimator '
        f'{record.get("estimator")!r}; this version reads format {_FORMAT} '
        f'and {sorted(known)}.')
  kind: Any = known[record['estimator']]
  module = methods.load(kind._method)
  parts = (*_PARTS, module.Config)
  estimator = kind(**dict(configs.decode(record['parameters'], parts)))
  with np.load(directory / _ARRAYS, allow_pickle=False) as file:
    arrays = dict(file)
  estimator.covariate_ = arrays.get('covariate')
  estimator.scales_ = types.IVBatch(*(
      features.Standardiser(
          arrays[f'{name}_mean'], arrays[f'{name}_scale'])
      if f'{name}_mean' in arrays else None for name in _MEMBERS))
  estimator.first_stage_ = _first_stage(arrays)
  estimator.outcome_is_vector_ = record['outcome_is_vector']
  estimator.n_rows_ = record['rows']
  estimator.history_ = record['history']
  sizes = [
      0 if scale is None else len(scale.mean) for scale in estimator.scales_]
  estimator.model_ = module.build(
      configs.decode(record['config'], parts), treatment_size=sizes[0],
      instrument_size=sizes[1] + sizes[3], covariate_size=sizes[3])
  checkpoint = tf.train.Checkpoint(model=estimator.model_)
  checkpoint.read(str(directory / _WEIGHTS)).expect_partial()
  return estimator


def _first_stage(
    arrays: dict[str, types.FloatArray]) -> diagnostics.FirstStage:
  """Returns the diagnostics; an older file has fewer of them."""
  saved: dict[str, Any] = {
      name: arrays[f'first_stage_{name}']
      for name in diagnostics.FirstStage._fields
      if f'first_stage_{name}' in arrays}
  if 'held_out_index_f' not in saved:  # It once was called the effective F.
    saved['held_out_index_f'] = saved.pop('effective_f')
  for name, kind in (('of_effect', bool), ('condition', float),
                     ('low_value', float), ('linear', bool)):
    if name in saved:
      saved[name] = kind(saved[name])
  return diagnostics.FirstStage(**saved)
