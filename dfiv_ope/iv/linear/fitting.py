"""A linear IV model, estimated and tested.

rows = system.build(Y, T, Z, X)
found = fitting.fit(rows, fitting.Settings(), ...)
found.coefficients, found.covariance, found.tests
"""

import dataclasses
import math

import numpy as np

from dfiv_ope import types
from dfiv_ope.iv.linear import (
  covariances,
  estimates,
  first_stage,
  gmm,
  jackknife,
  k_class,
  noise_models,
  reset,
  results,
  specification,
  system,
  weak_sets,
)

TWO_SLS, LIML, K_CLASS, GMM, CROSS_FIT = (
  '2SLS',
  'LIML',
  'k-class',
  'GMM',
  'cross-fit 2SLS',
)
# Larger covariances of all moments and treatments are not made: they would
# serve robust Anderson-Rubin sets only.
_MOST_MOMENTS = 500


@dataclasses.dataclass(frozen=True, kw_only=True)
class Settings:
  """How a linear model is estimated.

  Attributes:
    estimator: `TWO_SLS`, `LIML`, `K_CLASS`, `GMM` or `CROSS_FIT`.
    covariance: of its coefficients.
    kappa: of `K_CLASS`.
    fuller: of `LIML`: kappa is less by this over the freedom of the first
      stage; 1 makes it about unbiased.
    steps: of `GMM`.
  """

  estimator: str = TWO_SLS
  covariance: covariances.Settings = covariances.Settings()
  kappa: float = 1.0
  fuller: float = 0.0
  steps: int = 2

  def __post_init__(self) -> None:
    if not math.isfinite(self.kappa):
      raise ValueError(f'kappa must be a number, got {self.kappa}.')
    if not 0.0 <= self.fuller < math.inf:
      raise ValueError(
        f'fuller must be at least 0, such as 1, got {self.fuller}.'
      )
    if self.steps < 2:
      raise ValueError(
        f'steps must be at least 2, got {self.steps}. One step is 2SLS.'
      )


def fit(
  rows: system.System,
  settings: Settings,
  *,
  clusters: types.FloatArray | None = None,
) -> results.LinearFit:
  """Estimates and tests a linear model.

  Args:
    rows: of the model.
    settings: which estimator and covariance.
    clusters: codes 0, 1, ..., [n, ways], one way or two; for the clustered
      covariance, and for cross-fitting, which leaves out whole clusters of the
      first way.

  Raises:
    ValueError: the estimate does not exist; the message says why.
  """
  noise = noise_models.Noise(rows, settings.covariance, clusters)
  parts = k_class.parts(rows)
  two_stage, plain = k_class.solve(rows, 1.0), k_class.solve(rows, 0.0)
  noise.settle(two_stage.residuals(rows))
  estimate, j = _estimate(rows, settings, two_stage, parts, noise, clusters)
  residuals = estimate.residuals(rows)
  size = float(residuals @ residuals)
  if noise.robust:
    covariance = noise.of(
      estimate.loadings(),
      residuals,
      freedom=rows.freedom,
      leverages=_leverages(rows, settings.covariance),
    )
  else:
    count = rows.freedom if settings.covariance.debiased else len(rows.outcome)
    covariance = estimate.inverse * (size / count)
  ours = two_stage if settings.estimator not in (LIML, K_CLASS) else estimate
  with np.errstate(divide='ignore', invalid='ignore'):  # An exact fit.
    tests = _tests(rows, ours, two_stage, plain, parts, noise)
  if settings.estimator == GMM and not math.isnan(j):
    tests = [each for each in tests if each.name != 'Hansen J']
    freedom = rows.instruments.shape[1] - rows.treatment.shape[1]
    if freedom:
      tests.append(
        specification.Test(
          'Hansen J',
          specification.OVER_IDENTIFICATION,
          j,
          freedom,
          math.inf,
          specification.f_tail(j / freedom, freedom, math.inf),
          noise.robust,
        )
      )
  first_denominator = noise.denominator
  if settings.covariance.debiased and (
    settings.covariance.kind != covariances.CLUSTERED
  ):
    first_denominator = float(rows.first_freedom)
  return results.LinearFit(
    estimator=settings.estimator,
    covariance_kind=settings.covariance.kind,
    debiased=settings.covariance.debiased,
    bandwidth=noise.bandwidth,
    centred=_spread(rows, estimate.coefficients, 0.0),
    centred_covariance=_spread_square(rows, covariance),
    centre=rows.centre,
    treatments=rows.treatment.shape[1],
    constant=rows.constant,
    rows=len(rows.outcome),
    freedom=rows.freedom,
    denominator=noise.denominator,
    clusters=0 if clusters is None else covariances.cluster_count(clusters),
    absorbed=rows.absorbed,
    kappa=estimate.kappa,
    r2=first_stage.r2(rows.outcome, residuals, rows),
    scale=math.sqrt(size / rows.freedom),
    effective_units=noise.effective_units(
      estimate.loadings()[:, : rows.treatment.shape[1]]
    ),
    tests=tuple(tests),
    first_stage=first_stage.table(
      rows,
      two_stage,
      plain,
      lambda basis, left: noise.of(
        basis,
        left,
        freedom=rows.first_freedom,
        leverages=_first_leverages(rows, settings.covariance),
      ),
      first_denominator,
    ),
    weak=_weak(rows, parts, noise.of_sets(), first_denominator),
  )


def _estimate(
  rows: system.System,
  settings: Settings,
  two_stage: estimates.Estimate,
  parts: k_class.Parts,
  noise: noise_models.Noise,
  clusters: types.FloatArray | None,
) -> tuple[estimates.Estimate, float]:
  """Returns the estimate, and Hansen's J of GMM."""
  nan = float('nan')
  if settings.estimator == LIML:
    kappa = k_class.liml_kappa(parts) - settings.fuller / rows.first_freedom
    return k_class.solve(rows, kappa), nan
  if settings.estimator == K_CLASS:
    return k_class.solve(rows, settings.kappa, limit=False), nan
  if settings.estimator == GMM:
    found = gmm.solve(
      rows,
      two_stage,
      lambda left: noise.of(rows.basis, left, freedom=rows.freedom),
      steps=settings.steps,
    )
    return found.estimate, found.j
  if settings.estimator == CROSS_FIT:
    return jackknife.solve(
      rows, None if clusters is None else clusters[:, 0]
    ), nan
  return two_stage, nan


def _tests(
  rows: system.System,
  ours: estimates.Estimate,
  two_stage: estimates.Estimate,
  plain: estimates.Estimate,
  parts: k_class.Parts,
  noise: noise_models.Noise,
) -> list[specification.Test]:
  of_tests = noise.of_tests()

  def covariance(
    loadings: types.FloatArray, left: types.FloatArray, more: int
  ) -> types.FloatArray:
    return of_tests.of(loadings, left, freedom=rows.freedom - more)

  robust = covariance if noise.robust else None
  return [
    *specification.over_identification(rows, ours, two_stage, parts, robust),
    *specification.endogeneity(rows, two_stage, plain, robust),
    *reset.linearity(rows, two_stage, covariance, robust=noise.robust),
    *reset.interactions(
      rows, two_stage, covariance, units=noise.units, robust=noise.robust
    ),
  ]


def _weak(
  rows: system.System,
  parts: k_class.Parts,
  noise: noise_models.Noise,
  denominator: float,
) -> weak_sets.Statistics:
  """Returns what weak-instrument-robust sets are made of."""
  moments = rows.instruments.T @ rows.left
  covariance = np.zeros([0, 0])
  if noise.robust and moments.size <= _MOST_MOMENTS:
    left = rows.left - rows.instruments @ moments
    leverages = _first_leverages(rows, noise.settings)
    if leverages is not None:
      left = covariances.adjusted(left.T, noise.settings, lambda: leverages).T
    scores = (left[:, :, None] * rows.instruments[:, None, :]).reshape(
      len(left), -1
    )
    covariance = noise.of(
      scores, np.ones(len(left)), freedom=rows.first_freedom
    )
    count = rows.instruments.shape[1]
    if np.linalg.matrix_rank(covariance[:count, :count]) < count:
      covariance = np.zeros([0, 0])  # Too few clusters tell none.
  return weak_sets.Statistics(
    parts=parts,
    instruments=rows.instruments.shape[1],
    freedom=rows.first_freedom,
    denominator=denominator,
    moments=moments,
    covariance=covariance,
  )


def _leverages(
  rows: system.System, settings: covariances.Settings
) -> types.FloatArray | None:
  """Returns leverages of the second stage, where they are asked for."""
  if settings.kind not in ('HC2', 'HC3'):
    return None
  basis = np.linalg.qr(
    rows.instruments @ (rows.instruments.T @ rows.left[:, 1:])
  )[0]
  return np.sum(np.square(rows.controls), axis=1) + np.sum(
    np.square(basis), axis=1
  )


def _first_leverages(
  rows: system.System, settings: covariances.Settings
) -> types.FloatArray | None:
  """Returns leverages of the first stage, where they are asked for."""
  if settings.kind not in ('HC2', 'HC3'):
    return None
  return np.sum(np.square(rows.basis), axis=1)


def _places(rows: system.System) -> types.FloatArray:
  """Returns where coefficients stand among treatments, X and the constant."""
  treatments = rows.treatment.shape[1]
  first = int(rows.constant)
  covariates = treatments + np.flatnonzero(rows.kept[first:])
  constant = [treatments + len(rows.kept) - 1] if rows.constant else []
  return np.concatenate([np.arange(treatments), constant, covariates]).astype(
    int
  )


def _spread(
  rows: system.System, values: types.FloatArray, missing: float
) -> types.FloatArray:
  """Returns values for all columns, the constant last."""
  result = np.full(rows.treatment.shape[1] + len(rows.kept), missing)
  result[_places(rows)] = values
  return result


def _spread_square(
  rows: system.System, matrix: types.FloatArray
) -> types.FloatArray:
  size = rows.treatment.shape[1] + len(rows.kept)
  result = np.full([size, size], np.nan)
  places = _places(rows)
  result[np.ix_(places, places)] = matrix
  return result
