"""The choice between closed forms by a loss that is the same for all of them.

Each candidate is fitted to one half of the rows and predicts the other half.
There, one regression on instruments and covariates, the same for all, averages
its predictions: E[f(X) | z], which is E[Y | z] if f is the structural function.
The mean square of Y less that is its loss. A candidate's own stage-2 loss would
not do: it depends on how well its own stage 1 predicts its own features.

    model = auto.fit(auto.Config(), stage1, stage2, seed=0)
    model.config.candidates                                  # the chosen one
"""

import dataclasses
import math
from typing import Any
import warnings

import numpy as np

from dfiv_ope import types
from dfiv_ope.iv import closed_form, features, landmarks, methods, ridge
from dfiv_ope.iv.methods.entries import auto as entry

# Known before this module is loaded.
Config = entry.Config

# Of the common regression: features of the instruments, what they may leave of
# the kernel, candidate penalties, and folds within each half.
_LANDMARKS, _TOLERANCE, _FOLDS = 200, 1e-6, 5
_PENALTIES = tuple(10.0**power for power in range(-7, 1))


def build(
  config: Config, sizes: types.Sizes, *, seed: int = 0
) -> closed_form.Model:
  """Returns an unfitted model of the first candidate."""
  name = config.candidates[0]
  model: closed_form.Model = methods.load(name).build(
    _settings(config, name), sizes, seed=seed
  )
  model.config = dataclasses.replace(config, candidates=(name,))
  return model


def fit(
  config: Config,
  stage1: types.IVBatch,
  stage2: types.IVBatch,
  *,
  seed: int,
  progress: types.Progress | None = None,
) -> closed_form.Model:
  """Returns the fit of the candidate with the least loss to all rows.

  Args:
    config: hyper-parameters.
    stage1: half of the rows.
    stage2: the other half.
    seed: of each fit.
    progress: called after each fit, with the losses so far.

  Returns:
    The fitted model. Its config names the chosen method, its history has the
    loss of each candidate beside that method's own.

  Raises:
    ValueError: no candidate can be fitted.
  """
  halves = [
    _first_rows(half, config.choice_rows // 2) for half in (stage1, stage2)
  ]
  squares: dict[str, types.FloatArray] = {}
  refusals: list[str] = []
  total = len(config.candidates) + 1
  for done, name in enumerate(config.candidates, start=1):
    if total > 2:
      try:
        squares[name] = _squares(
          halves, _predictions(config, name, halves, seed)
        )
      except ValueError as error:
        refusals.append(f'{name}: {error}')
    if progress is not None:
      progress(done, total, _means(squares))
  if total > 2 and not squares:
    raise ValueError(
      f'None of the candidates can be fitted. {" ".join(refusals)}'
    )
  name = (
    choose(squares, config.least_gain) if squares else (config.candidates[0])
  )
  model = _fit(config, name, (stage1, stage2), seed)
  chosen: dict[str, Any] = {'candidates': (name,)}
  if name == 'sieve':
    chosen.update(
      {
        each: getattr(model.config, each)
        for each in ('treatment_bases', 'covariate_bases')
      }
    )
  model.config = dataclasses.replace(config, **chosen)
  model.history = {
    **model.history,
    **{name: [loss] for name, loss in _means(squares).items()},
  }
  if progress is not None:
    progress(total, total, _means(squares))
  return model


def choose(squares: dict[str, types.FloatArray], least_gain: float) -> str:
  """Returns the candidate of the least loss, or the first if about as good.

  Args:
    squares: squared errors of the same rows [n] by candidate.
    least_gain: standard errors of a difference of losses that count.
  """
  first = next(iter(squares))
  best = min(squares, key=lambda name: float(np.mean(squares[name])))
  gain = squares[first] - squares[best]
  error = float(np.std(gain)) / math.sqrt(len(gain))
  return best if float(np.mean(gain)) > least_gain * error else first


def _fit(
  config: Config,
  name: str,
  halves: tuple[types.IVBatch, types.IVBatch],
  seed: int,
) -> closed_form.Model:
  """Returns the fit of one candidate."""
  model: closed_form.Model = methods.load(name).fit(
    _settings(config, name), *halves, seed=seed
  )
  return model


def _settings(config: Config, name: str) -> Any:
  """Returns the config of a candidate: its default, but for bases."""
  default = methods.ENTRIES[name].configs['default']
  return (
    default
    if name != 'sieve'
    else dataclasses.replace(
      default,
      treatment_bases=config.treatment_bases,
      covariate_bases=config.covariate_bases,
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


def _squares(
  halves: list[types.IVBatch], predictions: list[types.FloatArray]
) -> types.FloatArray:
  """Returns (y - E[f(X) | z])^2 of all rows, [n]."""
  squares = []
  for rows, predicted in zip(halves, predictions, strict=True):
    phi = ridge.append_intercept(_instrument_features(rows.instrument))
    outcome = np.asarray(rows.outcome, np.float64)
    # The penalty predicts Y best, and so is the same for all candidates.
    penalty = min(
      _PENALTIES,
      key=lambda each: float(
        np.mean(np.square(outcome - _averaged(phi, outcome, each)))
      ),
    )
    squares.append(
      np.square(outcome - _averaged(phi, predicted, penalty))[:, 0]
    )
  return np.concatenate(squares)


def _instrument_features(instrument: types.FloatArray) -> types.FloatArray:
  """Returns features of a kernel that is wide where there are many columns."""
  x = np.asarray(instrument, np.float64)
  made = landmarks.Landmarks(x.shape[1])
  made.adapt(
    x,
    features.median_bandwidth(x) * math.sqrt(x.shape[1]),
    _TOLERANCE,
    _LANDMARKS,
  )
  return made(x)


def _averaged(
  phi: types.FloatArray, target: types.FloatArray, penalty: float
) -> types.FloatArray:
  """Returns the regression of a target on phi at rows it was not fitted to."""
  result = np.zeros_like(target)
  folds = [np.arange(start, len(target), _FOLDS) for start in range(_FOLDS)]
  parts = [ridge.sums(phi[fold], target[fold]) for fold in folds]
  for index, fold in enumerate(folds):
    others = ridge.merge(
      *(each for at, each in enumerate(parts) if at != index)
    )
    result[fold] = phi[fold] @ ridge.solve_sums(others, penalty, intercept=True)
  return result


def _means(squares: dict[str, types.FloatArray]) -> dict[str, float]:
  return {
    f'{entry.LOSS}{name}': float(np.mean(each))
    for name, each in squares.items()
  }


def _first_rows(half: types.IVBatch, count: int) -> types.IVBatch:
  return _rows(half, slice(count))


def _rows(batch: types.IVBatch, which: slice) -> types.IVBatch:
  return types.IVBatch(
    *(None if each is None else each[which] for each in batch)
  )
