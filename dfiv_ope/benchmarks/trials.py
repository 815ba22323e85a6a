"""A run of a method on a design: one row.

design = demand.Demand(n=5000, rho=0.5)
config = settings.config(design.problem, 'dfiv')
row = trials.run(design, 'dfiv', config, seed=0)
row.metrics['mse']
"""

from collections.abc import Callable, Mapping, Sequence
import dataclasses
import math
import time
from typing import Any, Protocol

from dfiv_ope import configs, types, versions
from dfiv_ope.iv import estimators, methods
from dfiv_ope.results import problems, rows

# A fitted structural function: predict(T) or predict(T, X).
Predict = Callable[..., types.FloatArray]


class Design(Protocol):
  """A problem whose answer is known."""

  @property
  def problem(self) -> problems.IVDesign:
    """The design as a result row names it; 'n' is a parameter."""

  def sample(self, seed: int) -> types.IVBatch:
    """Draws rows of both stages, each member as `IVEstimator.fit` takes it."""

  def metrics(self, predict: Predict) -> dict[str, float]:
    """Returns errors of a structural function, 'mse' among them."""

  def curves(self, predict: Predict) -> dict[str, list[float]]:
    """Returns what figures show of a structural function."""


def run(
  design: Design,
  method: str,
  config: Any,
  *,
  seed: int,
  preset: str = 'default',
  custom: bool = False,
  watch: bool = False,
  progress: Callable[..., None] | None = None,
) -> rows.Row:
  """Fits a method to a sample and measures it against the truth.

  Args:
    design: the problem.
    method: one of `methods.NAMES`.
    config: its config.
    seed: seeds the sample and the fit.
    preset: where the config is from.
    custom: whether it was changed.
    watch: whether the error is measured at each check of the training too;
      the curve 'watched_mse'. Nothing is chosen by it.
    progress: told of the fit's progress.

  Returns:
    A row with the design's metrics and curves, and the method's history.
  """
  data = design.sample(seed)
  estimator = estimators.ESTIMATORS[method](
    random_state=seed,
    **{
      field.name: getattr(config, field.name)
      for field in dataclasses.fields(config)
    },
  )
  if 'n_splits' in estimator.get_params():
    # A row is of the method as published, which splits the rows once.
    estimator.set_params(n_splits=1)
  watched: list[float] = []
  spent = 0.0

  def look(fitted: Any) -> None:
    nonlocal spent
    start = time.process_time()
    watched.append(design.metrics(fitted.predict)['mse'])
    spent += time.process_time() - start

  start = time.process_time()
  estimator.fit(
    data.outcome,
    data.treatment,
    Z=data.instrument,
    X=data.covariate,
    progress=progress,
    watch=look if watch else None,
  )
  cpu_seconds = time.process_time() - start - spent
  first = estimator.first_stage_
  return row(
    design,
    method,
    configs.encode(config),
    estimator.predict,
    version=methods.ENTRIES[method].version,
    seed=seed,
    preset=preset,
    custom=custom,
    cpu_seconds=cpu_seconds,
    metrics={
      'first_stage_r2': float(first.r2[0]),
      'held_out_index_f': float(first.held_out_index_f[0]),
      **(
        {'effective_f': float(first.effective_f[0])}
        if len(first.effective_f)
        else {}
      ),
    },
    curves={
      **estimator.history_,
      **({'watched_mse': watched} if watch else {}),
    },
  )


def row(
  design: Design,
  method: str,
  config: Mapping[str, Any],
  predict: Predict,
  *,
  version: int,
  seed: int,
  cpu_seconds: float,
  preset: str = 'default',
  custom: bool = False,
  metrics: Mapping[str, float] | None = None,
  curves: Mapping[str, Sequence[float]] | None = None,
) -> rows.Row:
  """Returns the row of a structural function, measured on its design."""
  measured = {**design.metrics(predict), **(metrics or {})}
  finite = math.isfinite(measured['mse'])
  return rows.Row(
    problem=design.problem,
    method=method,
    config=config,
    seed=seed,
    version=version,
    preset=preset,
    custom=custom,
    metrics=measured if finite else {},
    outcome=rows.FINISHED if finite else rows.DIVERGED,
    reason='' if finite else 'its error is not finite',
    curves={
      name: tuple(
        float(each) if math.isfinite(each) else None for each in values
      )
      for name, values in {**design.curves(predict), **(curves or {})}.items()
    },
    cpu_seconds=cpu_seconds,
    versions=versions.versions(),
  )
