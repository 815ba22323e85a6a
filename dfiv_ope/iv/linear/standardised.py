"""Coefficients of a linear fit on the scale of standardised columns."""

from typing import Any

import numpy as np

from dfiv_ope import types
from dfiv_ope.iv import two_stage
from dfiv_ope.iv.linear import results


def solution(
  found: results.LinearFit, scales: types.IVBatch, config: Any
) -> two_stage.Solution:
  """Returns the fit as the solution that a model of its method adopts.

  Args:
    found: the fit.
    scales: standardisers of each member.
    config: with the penalties of the method.
  """
  slopes = found.centred[: len(found.centre) - 1]
  constant = found.centred[-1] if found.constant else 0.0
  inner = [
    each for each in (scales.treatment, scales.covariate) if each is not None
  ]
  outer: Any = scales.outcome
  mean, remainder, scale = (
    np.concatenate([getattr(each, name) for each in inner])
    for name in ('mean', 'remainder', 'scale')
  )
  # Means of the rows are near the centre, so that nothing large cancels.
  level = (
    constant
    + slopes @ (mean - found.centre[1:] + remainder)
    - (outer.mean[0] - found.centre[0] + outer.remainder[0])
  )
  # The loss is that of the second stage, with predicted treatments.
  contrast = np.append(1.0, -slopes[: found.treatments])
  loss = found.weak.parts.left[0, 0] + np.sum(
    np.square(found.weak.moments @ contrast)
  )
  return two_stage.Solution(
    stage1_weights=np.zeros((0, 1)),
    stage2_weights=np.append(slopes * scale, level)[:, None] / outer.scale[0],
    stage1_penalty=config.stage1_penalty,
    stage2_penalty=config.stage2_penalty,
    stage1_losses=(),
    stage2_losses=(float(loss / found.rows / outer.scale[0] ** 2),),
  )
