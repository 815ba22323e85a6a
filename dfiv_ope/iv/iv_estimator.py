"""What the estimators on arrays share: everything but the method."""

from collections.abc import Callable, Mapping
import contextlib
import dataclasses
import inspect
import pathlib
from typing import Any
import warnings

import numpy as np
from sklearn import base, exceptions
from sklearn.utils import metadata_routing

from dfiv_ope import types
from dfiv_ope.iv import (
  arrays,
  conventions,
  convergence,
  effect_checks,
  effect_intervals,
  effects,
  frames,
  hyperparameters,
  identified,
  methods,
  splits,
  storage,
  summary_lines,
)
from dfiv_ope.iv.diagnostics import fitted_model, strength, summaries
from dfiv_ope.iv.linear import inputs

# Rows at which the predictions of several splits are compared.
_SPREAD_ROWS = 1000


class IVEstimator(
  effects.Effects,
  effect_intervals.EffectIntervals,
  effect_checks.EffectChecks,
  conventions.Conventions,
  identified.Identified,
  base.BaseEstimator,
):
  """An instrumental-variable regression with scikit-learn's habits.

  `fit(Y, T, Z=Z, X=X)` has the order of econometrics; for pipelines and
  searches, which call fit(X, y), there is `regressors.IVRegressor`.

  Attributes:
    models_: the fitted method on standardised data, one for each split.
    model_: the first of them, which diagnostics and history are of.
    first_stage_: first-stage diagnostics (`strength.FirstStage`).
    history_: losses by name.
    n_rows_: number of rows of the fit.
    names_: names of the columns of each member; None for arrays.
    split_spread_: standard deviation of predictions over splits, as a share
      of the outcome's; nan for one split.
    underidentified_: what speaks against identification; empty if nothing.
  """

  # Wrappers of scikit-learn have Y and T in another order.
  __metadata_request__fit = dict.fromkeys(
    ('T', 'Z', 'progress', 'watch'), metadata_routing.UNUSED
  )
  __metadata_request__predict = {'T': metadata_routing.UNUSED}
  __metadata_request__score = dict.fromkeys(
    ('T', 'Z', 'sample_weight'), metadata_routing.UNUSED
  )

  _method: str
  _dtype: type = np.float32
  _most_splits: int = 1
  _configurable: bool = True
  # Attributes of hyper-parameters by the field of the config.
  _names_of_fields: Mapping[str, str] = {}

  def __init_subclass__(
    cls,
    *,
    method: str,
    dtype: type = np.float32,
    most_splits: int = 1,
    parameters: Mapping[str, Any] | None = None,
    configurable: bool = True,
    **kwargs: Any,
  ) -> None:
    """Gives the estimator the hyper-parameters of a method's config.

    Args:
      method: one of `methods.NAMES`.
      dtype: of the data that the method sees.
      most_splits: splits that a fit averages by default; 0 for a method whose
        answer does not depend on the split.
      parameters: more hyper-parameters with their defaults.
      configurable: whether those of the config are among them.
      **kwargs: of other classes.
    """
    super().__init_subclass__(**kwargs)
    cls._method, cls._dtype, cls._most_splits = method, dtype, most_splits
    cls._configurable = configurable
    fields = dataclasses.fields(methods.load(method).Config)
    cls._names_of_fields = hyperparameters.names(
      cls, [field.name for field in fields if configurable]
    )
    defaults: dict[str, Any] = {
      cls._names_of_fields[field.name]: field.default
      for field in fields
      if configurable
    }
    defaults.update(parameters or {}, random_state=0, verbose=False)
    if most_splits:
      defaults.update(n_splits=None)

    hyperparameters.give(cls, defaults, cls._names_of_fields)

  def fit(
    self,
    Y: Any,
    T: Any,
    *,
    Z: Any = None,
    X: Any = None,
    progress: arrays.Progress | None = None,
    watch: Callable[['IVEstimator'], None] | None = None,
    **refused: Any,
  ) -> 'IVEstimator':
    """Learns the structural function of Y in T from the instruments Z.

    Args:
      Y: outcome, [n].
      T: treatment: [n], [n, columns] or pictures [n, height, width], whose
        pixels share one scale; or a tuple of such arrays side by side.
      Z: instruments, likewise; they are required.
      X: observed confounders, likewise, or None.
      progress: called as progress(done, total, losses); with `verbose` a
        progress bar is drawn instead.
      watch: called with this estimator at each check of the training, when it
        can predict; for DFIV and DeepGMM, with one split.
      **refused: what only linear estimators take, such as sample_weight.

    Returns:
      The estimator itself.

    Raises:
      TypeError: there is no Z, or an argument that this method does not take.
      ValueError: the data cannot be used; the message says why.
    """
    inputs.refuse(type(self).__name__, refused)
    rows = self._begin(Y, T, Z, X)
    self._train(rows, progress, watch)
    self.first_stage_ = self._diagnosed(rows)
    for each in (*self.first_stage_.warnings(), *self._training_warnings()):
      warnings.warn(each, stacklevel=2)
    return self

  def predict(self, T: Any, X: Any = None) -> types.FloatArray:
    """Returns the structural function f(T, X) on the scale of Y, [n]."""
    outcome = np.mean(self._predict_each(T, X), axis=0)
    return outcome[:, 0] if self.outcome_is_vector_ else outcome

  def summary(self) -> str:
    """Returns the fit in words and numbers."""
    self._check_fitted()
    first = self.first_stage_
    lines = [
      f'{type(self).__name__} fitted to {self.n_rows_} rows',
      *summary_lines.columns(self.scales_, self.names_),
      *(
        splits.lines(len(self.models_), self.split_spread_)
        if self._most_splits
        else []
      ),
      *summaries.first_stage(first),
    ]
    lines += summary_lines.losses(self.history_)
    lines += self.derivative_lines()
    lines += [
      f'Warning: {each}'
      for each in (
        self.underidentified_,
        *first.warnings(),
        *self._training_warnings(),
      )
      if each
    ]
    return '\n'.join(lines)

  def save(self, directory: str | pathlib.Path) -> None:
    """Writes the fitted estimator to a new directory, without pickle."""
    self._check_fitted()
    storage.save(self, pathlib.Path(directory))

  def _begin(self, Y: Any, T: Any, Z: Any, X: Any) -> types.IVBatch:
    """Returns the rows of a fit, checked; keeps their names and scales."""
    arrays.refuse_swapped(type(self).__name__, Y, T, Z)
    self._config()
    frames.check_rows({'Y': Y, 'T': T, 'Z': Z, 'X': X})
    rows = arrays.batch(Y, T, Z, X)
    self.outcome_is_vector_ = np.ndim(Y) == 1
    self.n_rows_ = len(rows.outcome)
    self.covariate_ = rows.covariate
    self._keep(rows)
    self.scales_ = arrays.scales(Y, T, Z, X)
    self.names_ = types.IVBatch(
      *(
        frames.names(name, values)
        for name, values in (('T', T), ('Z', Z), ('Y', Y), ('X', X))
      )
    )
    self.underidentified_ = self._identify(
      rows, checkable=not arrays.has_pictures(T, X)
    )
    return rows

  def _train(
    self,
    rows: types.IVBatch,
    progress: arrays.Progress | None,
    watch: Callable[['IVEstimator'], None] | None,
  ) -> None:
    """Fits the method to each split."""
    config, module = self._config(), methods.load(self._method)
    count = self._split_count()
    extra = {}
    if watch is not None:
      extra['watch'] = self._watcher(module, watch, count)
    models: list[Any] = []
    with self._reporting(progress) as report:
      for split in splits.draw(self.n_rows_, count, int(self.random_state)):
        halves = [self._standardised(rows, index) for index in split.halves]
        models.append(
          module.fit(
            config,
            *halves,
            seed=split.seed,
            progress=arrays.progress_part(report, len(models), count),
            **extra,
          )
        )
    self._adopt(models)
    self.split_spread_ = self._spread(rows)

  def _reporting(
    self, progress: arrays.Progress | None
  ) -> contextlib.AbstractContextManager[arrays.Progress | None]:
    """Returns what hands out where to tell of progress: a bar if asked."""
    return (
      arrays.progress_bar(type(self).__name__)
      if self.verbose
      else contextlib.nullcontext(progress)
    )

  def _adopt(self, models: list[Any]) -> None:
    """Takes fitted models, one for each split."""
    self.models_, self.model_ = models, models[0]
    self.history_ = {
      name: [float(each) for each in values]
      for name, values in self.model_.history.items()
    }

  def _config(self) -> Any:
    hyperparameters.check_seed(self.random_state)
    config = methods.load(self._method).Config
    if not self._configurable:
      return config()
    return config(
      **{
        field: getattr(self, name)
        for field, name in self._names_of_fields.items()
      }
    )

  def _split_count(self) -> int:
    """Returns the number of splits; warns of a single one of few rows."""
    asked = getattr(self, 'n_splits', 1)
    if asked is not None:
      return splits.checked(asked)
    count = splits.number(self.n_rows_, self._most_splits)
    if count == 1 and self.n_rows_ < splits.FEW_ROWS:
      warnings.warn(
        splits.few_rows(self.n_rows_), splits.SplitWarning, stacklevel=4
      )
    return count

  def _predict_each(self, T: Any, X: Any) -> types.FloatArray:
    """Returns the prediction of each split, [splits, n, 1]."""
    self._check_fitted()
    T = frames.aligned('T', T, self.names_.treatment)
    X = frames.aligned('X', X, self.names_.covariate)
    frames.check_rows({'T': T, 'X': X})
    treatment, covariate = arrays.points(
      T, X, self.scales_.treatment, self.scales_.covariate
    )
    treatment = self.scales_.treatment.apply(treatment).astype(self._dtype)
    if covariate is not None and self.scales_.covariate is not None:
      covariate = self.scales_.covariate.apply(covariate).astype(self._dtype)
    return np.stack(
      [
        self.scales_.outcome.invert(
          np.asarray(model.predict(treatment, covariate), np.float64)
        )
        for model in self.models_
      ]
    )

  def _spread(self, rows: types.IVBatch) -> float:
    """Returns how far the splits differ at rows of the fit."""
    if len(self.models_) < 2:
      return float('nan')
    some = slice(None, None, -(-self.n_rows_ // _SPREAD_ROWS))
    covariate = None if rows.covariate is None else rows.covariate[some]
    return splits.spread(
      self._predict_each(rows.treatment[some], covariate),
      float(self.scales_.outcome.scale[0]),
    )

  def _watcher(
    self, module: Any, watch: Callable[['IVEstimator'], None], count: int
  ) -> Callable[[Any], None]:
    """Returns what a method calls with its model at each check."""
    if 'watch' not in inspect.signature(module.fit).parameters:
      raise ValueError(
        f'{type(self).__name__} cannot be watched: it can only predict once '
        'it is fitted. Leave watch out.'
      )
    if count > 1:
      raise ValueError(
        f'A training can be watched where there is one, got n_splits={count}.'
        ' Pass n_splits=1.'
      )

    def look(model: Any) -> None:
      self.models_, self.model_ = [model], model
      watch(self)

    return look

  def _standardised(
    self, rows: types.IVBatch, index: types.FloatArray
  ) -> types.IVBatch:
    """Returns some rows as a method wants them: phi sees (z, o)."""
    treatment, instrument, outcome, covariate = (
      None if each is None else scale.apply(each[index]).astype(self._dtype)
      for each, scale in zip(rows, self.scales_, strict=True)
    )
    if covariate is not None:
      instrument = np.concatenate([instrument, covariate], axis=1)
    return types.IVBatch(treatment, instrument, outcome, covariate)

  def _diagnosed(self, rows: types.IVBatch) -> strength.FirstStage:
    """Returns the first-stage diagnostics of the first split."""
    (split, *_) = splits.draw(
      self.n_rows_, len(self.models_), int(self.random_state)
    )
    return fitted_model.first_stage(
      self.model_,
      *(self._standardised(rows, index) for index in split.halves),
      seed=int(self.random_state),
    )

  def _training_warnings(self) -> list[UserWarning]:
    """Returns what says that the method was trained too short."""
    return convergence.warnings(
      self.history_,
      getattr(methods.load(self._method), 'TRAINED', {}),
      self._config(),
    )

  def _check_fitted(self) -> None:
    if not hasattr(self, 'model_'):
      raise exceptions.NotFittedError(
        f'This {type(self).__name__} is not fitted. Call fit(Y, T, Z=Z) first.'
      )
