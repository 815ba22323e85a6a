"""A fitted linear model as numbers and JSON data, and back."""

from collections.abc import Mapping
import dataclasses
from typing import Any

import numpy as np

from dfiv_ope import types
from dfiv_ope.iv.linear import (
  first_stage,
  k_class,
  results,
  specification,
  weak_sets,
)

_MATRICES = ('centred', 'centred_covariance', 'centre')
_WEAK = ('instruments', 'freedom', 'denominator')


def arrays(found: results.LinearFit) -> dict[str, types.FloatArray]:
  """Returns the arrays of a fitted model by name."""
  return {
    **{name: getattr(found, name) for name in _MATRICES},
    'explained': found.weak.parts.explained,
    'left': found.weak.parts.left,
    'moments': found.weak.moments,
    'moment_covariance': found.weak.covariance,
  }


def record(found: results.LinearFit) -> dict[str, Any]:
  """Returns everything else as JSON data."""
  return {
    **{
      field.name: getattr(found, field.name)
      for field in dataclasses.fields(found)
      if field.name not in (*_MATRICES, 'tests', 'first_stage', 'weak')
    },
    'tests': [list(each) for each in found.tests],
    'first_stage': [list(each) for each in found.first_stage],
    'weak': {name: getattr(found.weak, name) for name in _WEAK},
  }


def restore(
  data: Mapping[str, Any], numbers: Mapping[str, types.FloatArray]
) -> results.LinearFit:
  """Returns the fitted model of a `record` and its `arrays`.

  Raises:
    KeyError: something is missing.
  """
  data, numbers = dict(data), dict(numbers)
  if 'offset' in data:  # An earlier version counted columns from zero.
    centre = np.zeros(len(numbers['coefficients']) + (not data['constant']))
    centre[0] = data.pop('offset')
    numbers.update(
      centred=numbers['coefficients'],
      centred_covariance=numbers['covariance'],
      centre=centre,
    )
  stages = []
  for each in data['first_stage']:
    stage = first_stage.FirstStage(*each)
    stages.append(stage._replace(critical_values=tuple(stage.critical_values)))
  return results.LinearFit(
    **{
      **data,
      **{name: numbers[name] for name in _MATRICES},
      'effective_units': tuple(data.get('effective_units', ())),
      'tests': tuple(specification.Test(*each) for each in data['tests']),
      'first_stage': tuple(stages),
      'weak': weak_sets.Statistics(
        parts=k_class.Parts(numbers['explained'], numbers['left']),
        moments=numbers['moments'],
        covariance=np.asarray(numbers['moment_covariance']),
        **data['weak'],
      ),
    }
  )
