"""What a candidate of AutoIV loses at rows that it has not seen.

One regression on instruments and covariates, the same for all candidates,
averages the predictions of each: E[f(X) | z], which is E[Y | z] if f is the
structural function.

    expected = auto_losses.expectations(rows, predictions)       # [n, K]
    shares = auto_losses.shares(outcome, expected, names)
"""

from collections.abc import Mapping, Sequence
import math

import numpy as np

from dfiv_ope import types
from dfiv_ope.iv import features, landmarks, ridge

# Features of all instruments together and of each, what they may leave of the
# kernel, candidate penalties, and folds.
_TOGETHER, _EACH, _TOLERANCE, _FOLDS = 200, 20, 1e-6, 5
_PENALTIES = tuple(10.0**power for power in range(-7, 1))
# How fast a share falls with the square of standard errors behind the best,
# and the share below which a candidate is left out.
_DECAY, _LEAST_SHARE = 0.25, 0.05


def expectations(
  rows: types.IVBatch, predictions: types.FloatArray
) -> types.FloatArray:
  """Returns E[f(X) | z] at rows that the regression was not fitted to.

  Features and penalty are those that predict Y best, and so the same for all.

  Args:
    rows: n of them.
    predictions: of each candidate, fitted to other rows, [n, K].
  """
  outcome = np.asarray(rows.outcome, np.float64)
  _, penalty, phi = min(
    (
      (error, penalty, phi)
      for phi in _instrument_features(rows.instrument)
      for penalty, error in zip(_PENALTIES, _errors(phi, outcome), strict=True)
    ),
    key=lambda each: each[0],
  )
  expected = np.zeros_like(predictions)
  parts = _parts(phi, predictions)
  for index, fold in enumerate(_folds(len(phi))):
    expected[fold] = phi[fold] @ _without(parts, index, penalty)
  return expected


def shares(
  outcome: types.FloatArray, expected: types.FloatArray, names: Sequence[str]
) -> dict[str, float]:
  """Returns what each candidate has of their average, the largest first.

  Those without are left out. A share falls with the paired difference of
  squared errors to those of the best, in standard errors of the difference.

  Args:
    outcome: [n, 1].
    expected: of each candidate, [n, K].
    names: of the candidates, K of them.
  """
  squares = np.square(outcome - expected)
  best = int(np.argmin(np.mean(squares, axis=0)))
  weights = np.array(
    [
      math.exp(-_DECAY * _difference(each, squares[:, best]) ** 2)
      for each in squares.T
    ]
  )
  weights = np.where(weights < _LEAST_SHARE * weights.sum(), 0.0, weights)
  weights /= weights.sum()
  return {
    names[at]: float(weights[at])
    for at in np.argsort(-weights, kind='stable')
    if weights[at] > 0.0
  }


def means(
  outcome: types.FloatArray, expected: types.FloatArray, names: Sequence[str]
) -> Mapping[str, float]:
  """Returns the loss of each candidate."""
  losses = np.mean(np.square(outcome - expected), axis=0)
  return dict(zip(names, losses.tolist(), strict=True))


def _difference(first: types.FloatArray, second: types.FloatArray) -> float:
  """Returns the mean of first - second [n] in standard errors."""
  gain = first - second
  mean = float(np.mean(gain))
  if not mean:
    return 0.0
  error = float(np.std(gain)) / math.sqrt(len(gain))
  return mean / error if error > 0.0 else math.copysign(math.inf, mean)


def _instrument_features(
  instrument: types.FloatArray,
) -> list[types.FloatArray]:
  """Returns features of all columns together, and of each beside them.

  One kernel of many columns sees few rows alike, and hardly tells what a single
  column moves.
  """
  x = np.asarray(instrument, np.float64)
  count = x.shape[1]
  bandwidth = features.median_bandwidth(x)
  together = _kernel(x, bandwidth * math.sqrt(count), _TOGETHER)
  made = [together]
  if count > 1:
    each = np.concatenate(
      [
        _kernel(x[:, [at]], bandwidth[[at]], _EACH) / math.sqrt(count)
        for at in range(count)
      ],
      axis=1,
    )
    made += [each, np.concatenate([each, together], axis=1)]
  return [ridge.append_intercept(phi) for phi in made]


def _kernel(
  x: types.FloatArray, bandwidth: types.FloatArray, most: int
) -> types.FloatArray:
  made = landmarks.Landmarks(x.shape[1])
  made.adapt(x, bandwidth, _TOLERANCE, most)
  return made(x)


def _errors(
  phi: types.FloatArray, outcome: types.FloatArray
) -> types.FloatArray:
  """Returns the held-out error of each penalty, [L]."""
  parts = _parts(phi, outcome)
  return np.mean(
    [
      [
        ridge.mean_squared_error(part, _without(parts, index, penalty))
        for penalty in _PENALTIES
      ]
      for index, part in enumerate(parts)
    ],
    axis=0,
  )


def _parts(
  phi: types.FloatArray, targets: types.FloatArray
) -> list[ridge.Sums]:
  return [ridge.sums(phi[fold], targets[fold]) for fold in _folds(len(phi))]


def _folds(rows: int) -> list[slice]:
  return [slice(start, rows, _FOLDS) for start in range(_FOLDS)]


def _without(
  parts: Sequence[ridge.Sums], index: int, penalty: float
) -> types.FloatArray:
  """Returns the regression of all folds but one."""
  others = [each for at, each in enumerate(parts) if at != index]
  return ridge.solve_sums(ridge.merge(*others), penalty, intercept=True)
