"""Closed forms averaged by a loss that is the same for all of them.

Each candidate is fitted to one half of the rows and predicts the other half.
There, one regression on instruments and covariates, the same for all, averages
its predictions: E[f(X) | z], which is E[Y | z] if f is the structural function.
The mean square of Y less that is its loss (`auto_losses`). A candidate's own
stage-2 loss would not do: it depends on how well its own stage 1 predicts its
own features. Curves that are about as good as the best share the answer, beside
two-stage least squares, which has the more of it the less clear it is that
there is more than a line (`auto_line`).

    model = auto.fit(auto.Config(), stage1, stage2, seed=0)
    model.config.candidates              # those with a share, curves first
"""

from collections.abc import Mapping, Sequence
import dataclasses
from typing import Any
import warnings

import numpy as np

from dfiv_ope import types
from dfiv_ope.iv import closed_form, kernels, methods
from dfiv_ope.iv.methods import auto_average, auto_line, auto_losses, two_sls
from dfiv_ope.iv.methods.entries import auto as entry
from dfiv_ope.iv.methods.entries import kernel_rules

# Known before this module is loaded.
Config = entry.Config

Model = closed_form.Model | auto_average.Average

_LINE = 'two_sls'
# Whose width outcomes are clipped by.
_KERNELS = kernel_rules.Kernels()

# Fields that are those of the sieve's config.
_OF_SIEVE = ('treatment_bases', 'covariate_bases', 'covariate_products')


def build(config: Config, sizes: types.Sizes, *, seed: int = 0) -> Model:
  """Returns an unfitted average of the candidates."""
  parts: list[closed_form.Model] = [
    methods.load(name).build(_settings(config, name), sizes, seed=seed)
    for name in config.candidates
  ]
  return _average(config, parts, [1.0 / len(parts)] * len(parts))


def fit(
  config: Config,
  stage1: types.IVBatch,
  stage2: types.IVBatch,
  *,
  seed: int,
  progress: types.Progress | None = None,
) -> Model:
  """Returns the average of the candidates that are about as good as the best.

  Args:
    config: hyper-parameters.
    stage1: half of the rows.
    stage2: the other half.
    seed: of each fit.
    progress: called after each fit, with the losses so far.

  Returns:
    The fitted model. Its config names the methods with a share, its history
    has the loss of each candidate and the shares beside the history of the
    first of them, whose features intervals have.

  Raises:
    ValueError: no candidate can be fitted.
  """
  stage1, stage2 = _without_heavy_tails(stage1, stage2)
  halves = [
    _rows(half, slice(config.choice_rows // 2)) for half in (stage1, stage2)
  ]
  predictions: dict[str, list[types.FloatArray]] = {}
  refusals: list[str] = []
  total = len(config.candidates) + 1
  for done, name in enumerate(config.candidates, start=1):
    if total > 2:
      try:
        predictions[name] = _predictions(config, name, halves, seed)
      except ValueError as error:
        refusals.append(f'{name}: {error}')
    if progress is not None:
      progress(done, total, {})
  shares = {config.candidates[0]: 1.0}
  losses: Mapping[str, float] = {}
  told: float | None = None
  if total > 2:
    if not predictions:
      raise ValueError(
        f'None of the candidates can be fitted. {" ".join(refusals)}'
      )
    outcome = np.concatenate(
      [np.asarray(half.outcome, np.float64) for half in halves]
    )
    expected = np.concatenate(
      [
        auto_losses.expectations(
          half, np.concatenate([each[at] for each in predictions.values()], 1)
        )
        for at, half in enumerate(halves)
      ]
    )
    names = tuple(predictions)
    losses = auto_losses.means(outcome, expected, names)
    curves = [at for at, name in enumerate(names) if name != _LINE]
    shares = (
      auto_losses.shares(
        outcome, expected[:, curves], [names[at] for at in curves]
      )
      if curves
      else {_LINE: 1.0}
    )
    if curves and _LINE in names:
      told = auto_line.t_statistic(*halves)
      shares = auto_line.shares(told, shares, _LINE)
  parts = {name: _fit(config, name, (stage1, stage2), seed) for name in shares}
  chosen: dict[str, Any] = {'candidates': tuple(shares)}
  if 'sieve' in parts:
    chosen.update(
      {each: getattr(parts['sieve'].config, each) for each in _OF_SIEVE}
    )
  model = _average(
    dataclasses.replace(config, **chosen),
    list(parts.values()),
    list(shares.values()),
  )
  model.history = {
    **next(iter(parts.values())).history,
    **{f'{entry.LOSS}{name}': [loss] for name, loss in losses.items()},
    **{
      f'{entry.SHARE}{name}': [share]
      for name, share in shares.items()
      if len(shares) > 1
    },
    **({} if told is None else {entry.CURVE: [told]}),
  }
  if progress is not None:
    progress(
      total, total, {f'{entry.LOSS}{name}': x for name, x in losses.items()}
    )
  return model


def _average(
  config: Config, parts: Sequence[closed_form.Model], shares: Sequence[float]
) -> Model:
  """Returns the average of models; of one, that model with another config."""
  if len(parts) > 1:
    return auto_average.Average(config, parts, np.array(shares))
  parts[0].config = config
  return parts[0]


def _fit(
  config: Config,
  name: str,
  halves: tuple[types.IVBatch, types.IVBatch],
  seed: int,
) -> closed_form.Model:
  """Returns the fit of one candidate."""
  settings = _settings(config, name)
  if name == _LINE:  # Instruments may move hardly anything.
    return two_sls.fit_fuller(settings, *halves)
  model: closed_form.Model = methods.load(name).fit(
    settings, *halves, seed=seed
  )
  return model


def _settings(config: Config, name: str) -> Any:
  """Returns the config of a candidate: its default, but for bases."""
  default = methods.ENTRIES[name].configs['default']
  return (
    default
    if name != 'sieve'
    else dataclasses.replace(
      default, **{each: getattr(config, each) for each in _OF_SIEVE}
    )
  )


def _predictions(
  config: Config, name: str, halves: list[types.IVBatch], seed: int
) -> list[types.FloatArray]:
  """Returns what the fit to each half predicts at the rows of the other."""
  predictions = []
  for rows, others in (halves, halves[::-1]):
    middle = len(others.outcome) // 2
    with warnings.catch_warnings():
      warnings.simplefilter('ignore')  # The fit to all rows gives them.
      model = _fit(
        config,
        name,
        (
          _rows(others, slice(None, middle)),
          _rows(others, slice(middle, None)),
        ),
        seed,
      )
    predictions.append(
      np.asarray(model.predict(rows.treatment, rows.covariate), np.float64)
    )
  return predictions


def _without_heavy_tails(
  stage1: types.IVBatch, stage2: types.IVBatch
) -> tuple[types.IVBatch, types.IVBatch]:
  """Returns both halves, outcomes clipped as for KIV.

  A line has no such rule of its own, and one outcome may decide it.
  """
  outcome = kernels.rows_of(_KERNELS, stage1, stage2).outcome
  middle = len(stage1.outcome)
  return (
    stage1._replace(outcome=outcome[:middle]),
    stage2._replace(outcome=outcome[middle:]),
  )


def _rows(batch: types.IVBatch, which: slice) -> types.IVBatch:
  return types.IVBatch(
    *(None if each is None else each[which] for each in batch)
  )
