"""Methods on the demand design: the paper's settings, and a run of one."""

from collections.abc import Callable
import dataclasses
import time
from typing import Any

from dfiv_ope import configs, estimators, methods, results, versions
from dfiv_ope.benchmarks import demand


def paper_config(method: str, n: int) -> Any:
  """Returns the paper's config of a method for n rows.

  Raises:
    ValueError: the paper has no setting for the method.
  """
  module = methods.load(method)
  if method == 'deepiv':
    return module.Config.paper(n)
  if not hasattr(module, 'PAPER'):
    raise ValueError(
        f'The paper has no setting for {method!r}; run it without --paper.')
  return module.PAPER


def run(
    method: str,
    config: Any,
    *,
    n: int,
    rho: float,
    seed: int,
    progress: Callable[..., None] | None = None,
) -> results.ResultRow:
  """Fits a method to a sample and measures it against the truth.

  Args:
    method: one of `methods.NAMES`.
    config: its config.
    n: rows of both stages.
    rho: correlation of the noises.
    seed: seeds the sample and the fit.
    progress: told of the fit's progress.

  Returns:
    A row with the metric 'mse' and the curves 'ate', 'cate' and those of the
    method's history.
  """
  data = demand.sample(n, rho=rho, seed=seed)
  estimator = estimators.ESTIMATORS[method](
      random_state=seed, **{
          field.name: getattr(config, field.name)
          for field in dataclasses.fields(config)})
  start = time.process_time()
  estimator.fit(
      data.outcome, data.treatment, Z=data.instrument, X=data.covariate,
      progress=progress)
  cpu_seconds = time.process_time() - start
  first = estimator.first_stage_
  return results.ResultRow(
      problem=demand.problem(n, rho), method=method,
      config=configs.encode(config), seed=seed,
      metrics={
          'mse': demand.mean_squared_error(estimator.predict),
          'first_stage_r2': float(first.r2[0]),
          'effective_f': float(first.effective_f[0])},
      curves={
          'ate': demand.ate(estimator.predict).tolist(),
          'cate': demand.cate(estimator.predict).tolist(),
          **estimator.history_},
      cpu_seconds=cpu_seconds, versions=versions.versions())
