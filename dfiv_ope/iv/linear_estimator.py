"""What linear IV estimators on arrays share: inference."""

from collections.abc import Callable
from typing import Any
import warnings

import numpy as np
import pandas as pd
from sklearn.utils import metadata_routing

from dfiv_ope import types
from dfiv_ope.iv import (
  arrays,
  frames,
  identification,
  iv_estimator,
  linear_effects,
  linear_tables,
  methods,
)
from dfiv_ope.iv.diagnostics import specification_words, strength
from dfiv_ope.iv.linear import (
  covariances,
  fitting,
  formulas,
  inputs,
  results,
  standardised,
  system,
)

# More rows than these have no held-out diagnostics: of a linear fit the
# effective F decides, and the spectrum says nothing more.
_HELD_OUT_ROWS = 20_000
# Rows that are tried first for whether the model is identified.
_IDENTIFIED_ROWS = 5_000

PARAMETERS = {
  'covariance': None,
  'debiased': True,
  'kernel': 'bartlett',
  'bandwidth': None,
}


# Clusters are given to `fit`, and intervals have no bound of a bias.
class LinearEstimator(  # type: ignore[misc]
  linear_effects.LinearEffects,
  iv_estimator.IVEstimator,
  linear_tables.LinearTables,
  method='two_sls',
  dtype=np.float64,
  most_splits=0,
  parameters=PARAMETERS,
  configurable=False,
):
  """A linear IV estimator with standard errors, tests and intervals.

  Parameters:
    covariance: 'unadjusted', 'HC0' to 'HC3', 'clustered' or 'HAC'
      (`covariances.KINDS`); 'clustered' where groups are passed and 'HC1'
      elsewhere if None.
    debiased: whether small samples are corrected for (`covariances.Settings`).
    kernel: of 'HAC'.
    bandwidth: of 'HAC', in rows; chosen from the data if None.

  Attributes:
    inference_: all numbers (`results.LinearFit`); None for a penalised fit.
  """

  __metadata_request__fit = dict.fromkeys(
    ('sample_weight', 'groups', 'absorb'), metadata_routing.UNUSED
  )

  _linear = True
  _estimator = fitting.TWO_SLS
  inference_: results.LinearFit | None = None

  # It takes what others refuse.
  def fit(  # type: ignore[override]
    self,
    Y: Any,
    T: Any,
    *,
    Z: Any = None,
    X: Any = None,
    sample_weight: Any = None,
    groups: Any = None,
    absorb: Any = None,
    progress: arrays.Progress | None = None,
    watch: Callable[[iv_estimator.IVEstimator], None] | None = None,
  ) -> 'LinearEstimator':
    """Estimates Y = T b + X g + a constant from the instruments Z.

    Args:
      Y: outcome, [n].
      T: treatment, [n] or [n, columns].
      Z: instruments, likewise; they are required.
      X: observed confounders, likewise, or None.
      sample_weight: positive weights of rows, [n]; a row counts in proportion.
      groups: labels of clusters whose rows may depend on each other, [n], or
        [n, 2] for two ways of clustering.
      absorb: labels of groups that have a constant of their own, [n] or
        [n, ways].
      progress: called as progress(done, total, losses).
      watch: refused: there is no training.

    Returns:
      The estimator itself.

    Raises:
      TypeError: there is no Z.
      ValueError: the data cannot be used; the message says why.
    """
    settings = self._settings(groups)
    if watch is not None:
      self._watcher(methods.load(self._method), watch, 1)
    rows = self._begin(Y, T, Z, X)
    frames.check_rows(
      {
        'Y': Y,
        'sample_weight': sample_weight,
        'groups': groups,
        'absorb': absorb,
      }
    )
    if self._penalised:
      self._refuse_without_inference(
        sample_weight, groups, absorb, self.covariance
      )
      self.inference_ = None
      self._train(rows, progress, None)
      self.first_stage_ = self._diagnosed(rows)
    else:
      weights = inputs.weights(sample_weight, self.n_rows_)
      effects = inputs.codes('absorb', absorb, self.n_rows_)
      self._infer(
        rows,
        settings,
        weights=weights,
        absorb=effects,
        clusters=inputs.clusters(groups, self.n_rows_),
      )
      self.first_stage_ = self._first_stage(
        rows,
        held_out=(
          self.n_rows_ <= _HELD_OUT_ROWS and weights is None and effects is None
        ),
      )
      with self._reporting(progress) as report:
        if report is not None:
          report(1, 1, {})
    for each in self.first_stage_.warnings():
      warnings.warn(each, stacklevel=2)
    return self

  def fit_formula(
    self,
    formula: str,
    data: pd.DataFrame,
    *,
    sample_weight: Any = None,
    groups: Any = None,
    absorb: Any = None,
  ) -> 'LinearEstimator':
    """Fits a formula such as 'y ~ x1 + C(x2) + [t ~ z1 + z2]'.

    Args:
      formula: of formulaic's terms (`formulas`).
      data: has the columns that it names.
      sample_weight: as in `fit`, or the name of a column.
      groups: as in `fit`, or names of columns.
      absorb: likewise.

    Returns:
      The estimator itself.

    Raises:
      ValueError: the formula or the data cannot be used.
    """
    parts = formulas.read(formula, data)
    return self.fit(
      parts.Y,
      parts.T,
      Z=parts.Z,
      X=parts.X,
      sample_weight=formulas.column('sample_weight', sample_weight, data),
      groups=formulas.column('groups', groups, data),
      absorb=formulas.column('absorb', absorb, data),
    )

  @property
  def coef_(self) -> types.FloatArray:
    """Coefficients of T and X on the raw scale, [columns of T, then of X]."""
    self._check_fitted()
    if self.inference_ is not None:
      found = self.inference_
      return found.coefficients[:-1] if found.constant else found.coefficients
    scales = [
      each.scale
      for each in (self.scales_.treatment, self.scales_.covariate)
      if each is not None
    ]
    weights = self.model_.weights[:-1, 0]
    return weights * self.scales_.outcome.scale / np.concatenate(scales)

  # Clusters are known from the fit.
  def checks(self) -> list[str]:  # type: ignore[override]
    """Returns what tests say of the model, a sentence each with a remedy."""
    found = self._inference()
    return specification_words.sentences(
      found, self.coefficient_names_[: found.treatments]
    )

  def summary(self, level: float = 0.95) -> str:
    """Returns the fit as a table, its tests and its first stage."""
    self._check_fitted()
    if self.inference_ is None:
      return super().summary()
    return self._table_summary(level)

  @property
  def _penalised(self) -> bool:
    """Whether penalties other than the defaults pick the answer."""
    return False

  def _settings(self, groups: Any) -> fitting.Settings:
    """Returns how to estimate; refuses parameters that are none."""
    kind = self.covariance
    if kind is None:
      kind = 'HC1' if groups is None else covariances.CLUSTERED
    if kind == covariances.CLUSTERED and groups is None:
      raise ValueError(
        "covariance='clustered' needs the clusters: pass groups to fit."
      )
    if kind != covariances.CLUSTERED and groups is not None:
      raise ValueError(
        f"groups go with covariance='clustered', got {kind!r}. Leave one of "
        'them out.'
      )
    if kind != covariances.HAC and (
      self.bandwidth is not None or self.kernel != PARAMETERS['kernel']
    ):
      raise ValueError(
        f"kernel and bandwidth go with covariance='HAC', got {kind!r}. Leave "
        'them out.'
      )
    return fitting.Settings(
      estimator=self._estimator,
      covariance=covariances.Settings(
        kind=kind,
        debiased=bool(self.debiased),
        kernel=self.kernel,
        bandwidth=self.bandwidth,
      ),
      **self._own_settings(),
    )

  def _own_settings(self) -> dict[str, Any]:
    """Returns the settings that only this estimator has."""
    return {}

  def _identification(
    self, rows: types.IVBatch
  ) -> identification.Identification:
    # What some rows identify all do, and few are quick to check.
    step = -(-self.n_rows_ // _IDENTIFIED_ROWS)
    found = super()._identification(
      types.IVBatch(*(None if each is None else each[::step] for each in rows))
    )
    if found.problem and step > 1:
      return super()._identification(rows)
    return found

  def _refuses(self, found: identification.Identification) -> bool:
    del found
    return not self._penalised

  def _infer(
    self,
    rows: types.IVBatch,
    settings: fitting.Settings,
    *,
    weights: types.FloatArray | None,
    clusters: types.FloatArray | None,
    absorb: types.FloatArray | None,
  ) -> None:
    """Estimates the model and takes its coefficients for predictions."""
    made = system.build(
      rows.outcome[:, 0],
      rows.treatment,
      rows.instrument,
      rows.covariate,
      weights=weights,
      absorb=absorb,
      names=(self.names_.instrument or (), self.names_.covariate or ()),
    )
    found = fitting.fit(made, settings, clusters=clusters)
    if clusters is not None:
      inputs.warn_of_few(found.clusters, len(found.coefficients))
    self.inference_ = found
    config = self._config()
    model = methods.load(self._method).build(config, types.Sizes(0, 0))
    model.adopt(standardised.solution(found, self.scales_, config))
    self._adopt([model])
    self.split_spread_ = float('nan')

  def _first_stage(
    self, rows: types.IVBatch, *, held_out: bool
  ) -> strength.FirstStage:
    """Returns the first stage of the fit, that of held-out rows if asked."""
    stages = self._inference().first_stage
    nan = np.full(len(stages), np.nan)
    found = strength.FirstStage(nan, nan, nan, linear=True, low_value=0.0)
    if held_out:
      found = self._diagnosed(rows)
    return found._replace(
      linear_partial_r2=np.array([each.partial_r2 for each in stages]),
      robust_f=np.array([each.f for each in stages]),
      effective_f=np.array([each.effective_f for each in stages]),
      critical_values=np.array([each.critical_values for each in stages]),
    )

  def _inference(self) -> results.LinearFit:
    """Returns the inference.

    Raises:
      ValueError: there is none.
    """
    self._check_fitted()
    if self.inference_ is None:
      raise ValueError(
        'This fit has no standard errors: its penalties shrink the '
        'coefficients, or an older version saved it. Fit with the default '
        'penalties.'
      )
    return self.inference_

  def _refuse_without_inference(self, *given: Any) -> None:
    if any(each is not None for each in given):
      raise ValueError(
        'covariance, sample_weight, groups and absorb go with the default '
        'penalties; with others there are no standard errors. Leave them '
        'out.'
      )
