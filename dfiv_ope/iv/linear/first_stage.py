"""The first stage of each treatment, as a table."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from dfiv_ope import types
from dfiv_ope.iv.diagnostics import weak_instruments
from dfiv_ope.iv.linear import estimates, specification, system

# Covariance of coefficients of orthonormal columns [n, D] from residuals [n].
Covariance = Callable[[types.FloatArray, types.FloatArray], types.FloatArray]


class FirstStage(NamedTuple):
  """How instruments move one treatment.

  Attributes:
    r2: share of the treatment that instruments and controls explain.
    partial_r2: share that the instruments explain, given the controls.
    shea_r2: likewise, given the other treatments too.
    f: Wald statistic of the instruments over their number, with the covariance
      of the fit.
    freedom: of F.
    denominator: of F; infinite for the chi-square.
    p_value: of F.
    effective_f: Montiel Olea and Pflueger's; given the other treatments.
    critical_values: of that, one for each of `weak_instruments.TAUS`.
    conditional_f: Sanderson and Windmeijer's, given the other treatments.
  """

  r2: float
  partial_r2: float
  shea_r2: float
  f: float
  freedom: int
  denominator: float
  p_value: float
  effective_f: float
  critical_values: tuple[float, ...]
  conditional_f: float


def table(
  rows: system.System,
  two_stage: estimates.Estimate,
  plain: estimates.Estimate,
  covariance: Covariance,
  denominator: float,
) -> tuple[FirstStage, ...]:
  """Returns the first stage of each treatment.

  Args:
    rows: of the model.
    two_stage: by two-stage least squares.
    plain: by ordinary least squares.
    covariance: of coefficients of orthonormal columns.
    denominator: of F; infinite for the chi-square.
  """
  left = rows.left[:, 1:]
  count = rows.instruments.shape[1]
  found = []
  for column in range(left.shape[1]):
    one = left[:, column]
    strong = weak_instruments.of_treatment(
      one,
      np.delete(left, column, axis=1),
      rows.instruments,
      lambda residual, basis: covariance(basis, residual),
    )
    residual = one - rows.instruments @ (rows.instruments.T @ one)
    found.append(
      FirstStage(
        r2=r2(rows.treatment[:, column], residual, rows),
        partial_r2=strong.partial_r2,
        shea_r2=float(
          plain.inverse[column, column] / two_stage.inverse[column, column]
        ),
        f=strong.f,
        freedom=count,
        denominator=denominator,
        p_value=specification.f_tail(strong.f, count, denominator),
        effective_f=strong.effective_f,
        critical_values=tuple(map(float, strong.critical_values)),
        conditional_f=strong.conditional_f,
      )
    )
  return tuple(found)


def r2(
  target: types.FloatArray, residual: types.FloatArray, rows: system.System
) -> float:
  """Returns 1 - residual over total sum of squares, weighted.

  Args:
    target: times the root weights, [n].
    residual: likewise, [n].
    rows: with the root weights.
  """
  centred = target - rows.root * (rows.root @ target) / (rows.root @ rows.root)
  return float(1.0 - residual @ residual / (centred @ centred))
