"""What the estimators on arrays share: everything but the method."""

from collections.abc import Callable, Mapping
import contextlib
import dataclasses
import inspect
import pathlib
from typing import Any
import warnings

import numpy as np
from sklearn import base

from dfiv_ope import (
  arrays,
  convergence,
  diagnostics,
  methods,
  model_diagnostics,
  storage,
  strength,
  types,
  weak_instruments,
)

# Singular values that a summary has room for.
_SHOWN = 6


class IVEstimator(base.BaseEstimator):
  """An instrumental-variable regression with scikit-learn's habits.

  Attributes:
    model_: the fitted method, on standardised data.
    first_stage_: first-stage diagnostics (`diagnostics.FirstStage`).
    history_: losses by name.
    n_rows_: number of rows of the fit.
  """

  _method: str
  _dtype: type = np.float32

  def __init_subclass__(
      cls, *, method: str, dtype: type = np.float32, **kwargs: Any,
  ) -> None:
    """Gives the estimator the hyper-parameters of a method's config."""
    super().__init_subclass__(**kwargs)
    cls._method, cls._dtype = method, dtype
    defaults = {
        field.name: field.default
        for field in dataclasses.fields(methods.load(method).Config)}
    defaults.update(random_state=0, verbose=False)

    def initialise(self: 'IVEstimator', **parameters: Any) -> None:
      unknown = set(parameters) - set(defaults)
      if unknown:
        raise TypeError(
            f'{cls.__name__} has no parameter {sorted(unknown)[0]!r}. Its '
            f'parameters are: {", ".join(sorted(defaults))}.')
      for name, value in {**defaults, **parameters}.items():
        setattr(self, name, value)

    # scikit-learn reads the parameters of an estimator from its signature.
    signature = [inspect.Parameter('self', inspect.Parameter.POSITIONAL_ONLY)]
    signature += [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=value)
        for name, value in defaults.items()]
    initialise.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
        signature)
    cls.__init__ = initialise  # type: ignore[assignment, method-assign]

  def fit(
      self,
      Y: Any,
      T: Any,
      *,
      Z: Any,
      X: Any = None,
      progress: arrays.Progress | None = None,
      watch: Callable[['IVEstimator'], None] | None = None,
  ) -> 'IVEstimator':
    """Learns the structural function of Y in T from the instruments Z.

    Args:
      Y: outcome, [n].
      T: treatment: [n], [n, columns] or pictures [n, height, width], whose
        pixels share one scale; or a tuple of such arrays side by side.
      Z: instruments, likewise.
      X: observed confounders, likewise, or None.
      progress: called as progress(done, total, losses); with `verbose` a
        progress bar is drawn instead.
      watch: called with this estimator at each check of the training, when it
        can predict; for DFIV and DeepGMM.

    Returns:
      The estimator itself.

    Raises:
      ValueError: the data cannot be used; the message says why.
    """
    config = self._config()
    rows = arrays.batch(Y, T, Z, X)
    self.outcome_is_vector_ = np.ndim(Y) == 1
    self.n_rows_ = len(rows.outcome)
    self.covariate_ = rows.covariate
    self.scales_ = arrays.scales(Y, T, Z, X)
    order = np.random.default_rng(self.random_state).permutation(self.n_rows_)
    halves = [
        self._standardised(rows, index)
        for index in np.array_split(order, 2)]
    module = methods.load(self._method)
    extra = {}
    if watch is not None:
      extra['watch'] = self._watcher(module, watch)
    with contextlib.ExitStack() as stack:
      if self.verbose:
        progress = stack.enter_context(
            arrays.progress_bar(type(self).__name__))
      self.model_ = module.fit(
          config, *halves, seed=self.random_state, progress=progress, **extra)
    self.history_ = {
        name: [float(each) for each in values]
        for name, values in self.model_.history.items()}
    self.first_stage_ = self._diagnose(*halves)
    for each in self._training_warnings():
      warnings.warn(each, stacklevel=2)
    return self

  def predict(self, T: Any, X: Any = None) -> types.FloatArray:
    """Returns the structural function f(T, X) on the scale of Y, [n]."""
    self._check_fitted()
    treatment, covariate = arrays.points(
        T, X, self.scales_.treatment, self.scales_.covariate)
    treatment = self.scales_.treatment.apply(treatment).astype(self._dtype)
    if covariate is not None and self.scales_.covariate is not None:
      covariate = self.scales_.covariate.apply(covariate).astype(self._dtype)
    outcome = np.asarray(
        self.model_.predict(treatment, covariate), np.float64)
    outcome = self.scales_.outcome.invert(outcome)
    return outcome[:, 0] if self.outcome_is_vector_ else outcome

  def effect(
      self, X: Any = None, *, T0: Any, T1: Any,
  ) -> types.FloatArray:
    """Returns f(T1, X) - f(T0, X) for each row of X (or of T0 and T1)."""
    return self.predict(T1, X) - self.predict(T0, X)

  def ate(self, T0: Any, T1: Any) -> float:
    """Returns the mean effect of T0 -> T1 over the covariates of the fit."""
    self._check_fitted()
    return float(np.mean(self.effect(self.covariate_, T0=T0, T1=T1)))

  def dose_response(self, T_grid: Any) -> types.FloatArray:
    """Returns E[Y | do(T=t)] for each row t of T_grid, [G]."""
    return self.cate(T_grid, given={})

  def cate(
      self, T_grid: Any, *, given: Mapping[int, float],
  ) -> types.FloatArray:
    """Returns E[Y | do(T=t), X_j=x_j] for each row t of T_grid, [G].

    Args:
      T_grid: treatments, [G] or [G, columns].
      given: values of some columns of X; the others are averaged over the
        rows of the fit.
    """
    self._check_fitted()
    covariate = arrays.held(self.covariate_, given)
    grid = arrays.column_matrix('T_grid', T_grid)
    return np.array([
        np.mean(self.predict(point[None], covariate)) for point in grid])

  def summary(self) -> str:
    """Returns the fit in words and numbers."""
    self._check_fitted()
    first = self.first_stage_
    lines = [
        f'{type(self).__name__} fitted to {self.n_rows_} rows',
        f'treatment columns   {len(self.scales_.treatment.mean)}',
        f'covariate columns   '
        f'{0 if self.covariate_ is None else self.covariate_.shape[1]}',
        *_linear_first_stage(first),
        f'first stage (held out), {_subject(first)}',
        f'  R2                {_numbers(first.r2)}',
        f'  partial R2 of Z   {_numbers(first.partial_r2)}',
        f'  F of the index    {_numbers(first.held_out_index_f)}'
        f'{"  WEAK" if first.weak and not first.linear else ""}',
        *_operator(first),
    ]
    lines += [
        f'{name:<19} {values[-1]:.6g}'
        for name, values in self.history_.items() if len(values) == 1]
    lines += [
        f'least {name:<13} {min(values):.6g}'
        for name, values in self.history_.items()
        if len(values) > 1 and name.endswith('loss')]
    lines += [f'Warning: {each}' for each in (
        *first.warnings(), *self._training_warnings())]
    return '\n'.join(lines)

  def save(self, directory: str | pathlib.Path) -> None:
    """Writes the fitted estimator to a new directory, without pickle."""
    self._check_fitted()
    storage.save(self, pathlib.Path(directory))

  def _config(self) -> Any:
    if type(self.random_state) is not int or self.random_state < 0:
      raise ValueError(
          f'random_state must be a non-negative int, got '
          f'{self.random_state!r}; the same number gives the same fit.')
    config = methods.load(self._method).Config
    return config(**{
        field.name: getattr(self, field.name)
        for field in dataclasses.fields(config)})

  def _watcher(
      self, module: Any, watch: Callable[['IVEstimator'], None],
  ) -> Callable[[Any], None]:
    """Returns what a method calls with its model at each check."""
    if 'watch' not in inspect.signature(module.fit).parameters:
      raise ValueError(
          f'{type(self).__name__} cannot be watched: it can only predict once '
          'it is fitted. Leave watch out.')

    def look(model: Any) -> None:
      self.model_ = model
      watch(self)

    return look

  def _standardised(
      self, rows: types.IVBatch, index: types.FloatArray,
  ) -> types.IVBatch:
    """Returns some rows as a method wants them: phi sees (z, o)."""
    treatment, instrument, outcome, covariate = (
        None if each is None
        else scale.apply(each[index]).astype(self._dtype)
        for each, scale in zip(rows, self.scales_, strict=True))
    if covariate is not None:
      instrument = np.concatenate([instrument, covariate], axis=1)
    return types.IVBatch(treatment, instrument, outcome, covariate)

  def _diagnose(
      self, stage1: types.IVBatch, stage2: types.IVBatch,
  ) -> diagnostics.FirstStage:
    """Returns the first-stage diagnostics; warns of what they show."""
    result = model_diagnostics.first_stage(
        self.model_, stage1, stage2, seed=self.random_state)
    for warning in result.warnings():
      warnings.warn(warning, stacklevel=3)
    return result

  def _training_warnings(self) -> list[UserWarning]:
    """Returns what says that the method was trained too short."""
    return convergence.warnings(
        self.history_, getattr(methods.load(self._method), 'TRAINED', {}),
        self._config())

  def _check_fitted(self) -> None:
    if not hasattr(self, 'model_'):
      raise ValueError(
          f'This {type(self).__name__} is not fitted. Call fit(Y, T, Z=Z) '
          'first.')


def _numbers(values: types.FloatArray) -> str:
  return ' '.join(f'{value:.4g}' for value in values)


def _subject(first: diagnostics.FirstStage) -> str:
  return ("of the treatment's effect" if first.of_effect
          else 'by treatment column')


def _linear_first_stage(first: diagnostics.FirstStage) -> list[str]:
  """Returns the textbook statistics, where there are any."""
  if not len(first.effective_f):
    return []
  name, critical = 'effective F of Z', first.critical_values[0]
  taus: tuple[float, ...] = weak_instruments.TAUS
  if len(first.effective_f) > 1:
    name, taus = 'conditional F', (strength.WORST_BIAS,)
    critical = first.critical_values[
        :, weak_instruments.TAUS.index(strength.WORST_BIAS)]
  shares = ', '.join(f'{100. * tau:.0f}' for tau in taus)
  return [
      f'first stage (linear in Z, all rows), {_subject(first)}',
      f'  partial R2 of Z   {_numbers(first.linear_partial_r2)}',
      f'  robust F of Z     {_numbers(first.robust_f)}',
      f'  {name:<17} {_numbers(first.effective_f)}'
      f'{"  WEAK" if first.weak and first.linear else ""}',
      f'  critical values   {_numbers(critical)} ({shares} % of the worst '
      'bias)',
  ]


def _operator(first: diagnostics.FirstStage) -> list[str]:
  """Returns what is known of the stage-1 operator, direction by direction."""
  values, alignment = (
      each[:_SHOWN] for each in (first.singular_values, first.alignment))
  if not len(values):  # Saved by an older version.
    return []
  more = len(first.singular_values) - len(values)
  along = ('too little to tell' if np.isnan(alignment).any()
           else ' '.join(
               f'{100. * max(each, 0.):.0f}%' for each in alignment))
  return [
      f'  singular values   {_numbers(values)}'
      f'{f" and {more} more" if more else ""}',
      f'  Y along them      {along}',
      f'  condition of Z    {first.condition:.2g}',
  ]
