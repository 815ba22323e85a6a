"""Choosing between estimates without the truth, by their estimated errors.

A tournament (`selection`) needs Q-functions; estimators that weigh a log have
none. What all have is an estimate and its changes by the same resampled
episodes: these give variances and the chance of differences, and differences
beyond chance give biases (`ope.blending`). Where one of the candidates is
doubly robust with recorded probabilities and enough effective episodes, it is
taken to have no bias; elsewhere a candidate that the others agree with has
little.
"""

from collections.abc import Sequence
import dataclasses
import math

import numpy as np

from dfiv_ope.evaluation import inference
from dfiv_ope.ope import blending
from dfiv_ope.results import rows as rows_lib

# Right whatever the state is, the steadier one first.
_ROBUST = ('wdr', 'dr')
ERROR = 'estimated_error'


def judge(rows: Sequence[rows_lib.Row]) -> list[rows_lib.Row]:
  """Returns rows with the estimated root mean squared error of each.

  One that failed, or whose weights are worth too few episodes to tell their own
  error, has none.

  Args:
    rows: of candidates on one log, one of each.

  Raises:
    ValueError: none can be chosen.
  """
  sound = [
    row
    for row in rows
    if not row.failed
    and row.resamples
    and row.metrics.get('effective_episodes', math.inf)
    >= inference.FEW_EFFECTIVE
  ]
  if not sound:
    raise ValueError(
      'No candidate has an estimate that tells its own error, so none can '
      'be chosen. Name others, such as --method auto --method lstd --method '
      'blend.'
    )
  values = np.array([row.metrics['estimate'] for row in sound])
  changes = np.array([row.resamples for row in sound])  # [C, B]
  covariance = np.atleast_2d(np.cov(changes))
  trusted = [
    place
    for method in _ROBUST
    for place, row in enumerate(sound)
    if row.method == method
    and not row.metrics.get('estimated_propensities', 1.0)
  ]
  biases = (
    blending.from_trusted(values, covariance, trusted[0])
    if trusted
    else blending.from_differences(values, covariance)
  )
  errors = np.sqrt(np.diag(covariance + biases))
  best = int(np.argmin(errors))
  known = {
    id(row): {ERROR: float(error), 'chosen': float(place == best)}
    for place, (row, error) in enumerate(zip(sound, errors, strict=True))
  }
  return [
    dataclasses.replace(
      row, metrics={**row.metrics, **known.get(id(row), {'chosen': 0.0})}
    )
    for row in rows
  ]
