"""Ridge regression: the only Gram matrix and the only meaning of a penalty.

A penalty is per row: it is multiplied by the number of rows here
(`scaled_penalty`) and nowhere else. Sums and solves are float64 whatever the
features are, because Gram matrices of learned features are too ill-conditioned
for float32 (tests/iv/test_differentiable.py shows a case).

With `intercept=True` the last column of the features is the constant. It is
not penalised: a penalty on it would make the answer depend on the origin of
the outcome.

    features = ridge.append_intercept(features)            # [B, D + 1]
    total = ridge.sums(features, targets)
    weights = ridge.solve_sums(total, 1e-3, intercept=True)
    features @ weights                                      # [B, K]

Rows may be summed in parts, on one machine or many, and solved once:

    total = ridge.merge(ridge.sums(*part1), ridge.sums(*part2))
    ridge.solve_sums(total, 1e-3)

Everything here is numpy, so that closed forms need no TensorFlow. Sums may be
made in a graph; `differentiable` has what networks are trained through.
"""

from collections.abc import Sequence
import functools
import operator
from typing import NamedTuple

import numpy as np
from scipy import linalg

from dfiv_ope import types


class Sums(NamedTuple):
  """Sums over rows that determine a ridge regression: arrays, or tensors.

  Attributes:
    gram: sum of outer products of features, [D, D].
    moment: sum of outer products of features and targets, [D, K].
    square: sum of squares of each target, [K].
    count: number of rows, [].
  """

  gram: types.FloatArray
  moment: types.FloatArray
  square: types.FloatArray
  count: types.Nest


def append_intercept(features: types.FloatArray) -> types.FloatArray:
  """Returns features [B, D] with a column of ones at the end, [B, D + 1]."""
  features = np.asarray(features)
  return np.concatenate([features, np.ones_like(features[:, :1])], axis=1)


def sums(features: types.FloatArray, targets: types.FloatArray) -> Sums:
  """Returns the sums of features [B, D] and targets [B, K]."""
  features = np.asarray(features, np.float64)
  targets = np.asarray(targets, np.float64)
  check_rows(features, targets)
  return Sums(
    gram=features.T @ features,
    moment=features.T @ targets,
    square=np.sum(np.square(targets), axis=0),
    count=np.float64(len(features)),
  )


def merge(*parts: Sums) -> Sums:
  """Returns the sums over the rows of all parts."""
  if not parts:
    raise ValueError('merge needs at least one Sums, got none.')
  return Sums(
    *(
      functools.reduce(operator.add, member)
      for member in zip(*parts, strict=True)
    )
  )


def arrays(total: Sums) -> Sums:
  """Returns sums that a graph may have made as numpy arrays."""
  return Sums(*map(np.asarray, total))


def solve_sums(
  total: Sums, penalty: float, *, intercept: bool = False
) -> types.FloatArray:
  """Returns argmin_W of |T - F W|^2 / n + penalty |W|^2, Eq. (7) and (9).

  The answer is (F'F + n penalty I)^-1 F'T, by Cholesky. Rounding may leave a
  Gram matrix that is indefinite by more than the penalty, such as that of
  fitted values; then `solve_grid` answers.

  Args:
    total: sums of features F [B, D] and targets T [B, K].
    penalty: ridge penalty per row, positive.
    intercept: whether the last feature is the constant, free of penalty.

  Returns:
    Weights [D, K]; nan where the sums are not finite.

  Raises:
    ValueError: the penalty is not positive.
  """
  check_penalty(penalty)
  total = arrays(total)
  gram, moment = without_intercept(total) if intercept else total[:2]
  if not (np.isfinite(gram).all() and np.isfinite(moment).all()):
    return np.full(total.moment.shape, np.nan)
  try:
    factor = linalg.cho_factor(
      gram + scaled_penalty(total, penalty) * np.eye(len(gram)),
      lower=True,
      overwrite_a=True,
      check_finite=False,
    )
    weights = linalg.cho_solve(factor, moment, check_finite=False)
  except linalg.LinAlgError:
    return solve_grid(total, [penalty], intercept=intercept)[0]
  return _with_intercept(total, weights) if intercept else weights


def solve_grid(
  total: Sums, penalties: Sequence[float], *, intercept: bool = False
) -> list[types.FloatArray]:
  """Returns the weights of `solve_sums` for each penalty.

  One eigendecomposition serves the whole grid.

  Args:
    total: sums of the rows.
    penalties: L positive penalties.
    intercept: whether the last feature is the constant, free of penalty.

  Returns:
    L weights [D, K].
  """
  for penalty in penalties:
    check_penalty(penalty)
  total = arrays(total)
  gram, moment = without_intercept(total) if intercept else total[:2]
  values, vectors = np.linalg.eigh(gram)
  # Rounding makes the smallest eigenvalues of a Gram matrix negative.
  values = np.maximum(values, 0.0)[:, None]
  rotated = vectors.T @ moment
  grid = [
    vectors @ (rotated / (values + scaled_penalty(total, penalty)))
    for penalty in penalties
  ]
  return (
    [_with_intercept(total, weights) for weights in grid] if intercept else grid
  )


def solve_cross(total: Sums, penalty: float) -> types.FloatArray:
  """Returns u with (F'X + n penalty I) u = F'y: [D, 1].

  The features F are the instruments of as many regressors X. With
  F = psi(s, a) and X = psi(s, a) - gamma d psi(s', a') this is LSTD-Q (Bradtke
  and Barto, 1996). The last weight is not penalised.

  Args:
    total: sums of the features F [B, D] and the targets [X, y], [B, D + 1].
    penalty: ridge penalty per row, positive.
  """
  total = arrays(total)
  return np.linalg.solve(_cross(total, penalty), total.moment[:, -1:])


def solve_dual(
  total: Sums, value: types.FloatArray, penalty: float
) -> types.FloatArray:
  """Returns w with (F'X + n penalty I)' w = v: [D, 1].

  With u of `solve_cross`, v'u = w'F'y: w says what a unit of each row's y adds
  to it.

  Args:
    total: as in `solve_cross`.
    value: v, [D, 1].
    penalty: ridge penalty per row, positive.
  """
  return np.linalg.solve(
    _cross(arrays(total), penalty).T, np.asarray(value, np.float64)
  )


def _cross(total: Sums, penalty: float) -> types.FloatArray:
  """Returns F'X + n penalty I, with no penalty on the last weight."""
  check_penalty(penalty)
  penalised = np.append(np.ones(len(total.gram) - 1), 0.0)
  return total.moment[:, :-1] + np.diag(
    scaled_penalty(total, penalty) * penalised
  )


def project(total: Sums, weights: types.FloatArray) -> Sums:
  """Returns the sums of W = F V and the same targets, without the rows.

  Args:
    total: sums of the features F [B, D] and their targets [B, K].
    weights: V, [D, E].
  """
  total, weights = arrays(total), np.asarray(weights, np.float64)
  return total._replace(
    gram=weights.T @ (total.gram @ weights), moment=weights.T @ total.moment
  )


def targets(total: Sums, columns: slice) -> Sums:
  """Returns the sums of the same features with some of the targets."""
  return total._replace(
    moment=total.moment[:, columns], square=total.square[columns]
  )


def chosen(total: Sums, features: np.ndarray, columns: np.ndarray) -> Sums:
  """Returns the sums of some of the features and some of the targets.

  Args:
    total: sums of more of them.
    features: places of the features, [D].
    columns: places of the targets, [K].
  """
  return total._replace(
    gram=total.gram[np.ix_(features, features)],
    moment=total.moment[np.ix_(features, columns)],
    square=total.square[columns],
  )


def mean_squared_error(total: Sums, weights: types.FloatArray) -> float:
  """Returns the squared error per row, summed over targets, from sums."""
  total, weights = arrays(total), np.asarray(weights, np.float64)
  return float(
    (
      np.sum(total.square)
      - 2.0 * np.sum(weights * total.moment)
      + np.sum(weights * (total.gram @ weights))
    )
    / total.count
  )


def scaled_penalty(total: Sums, penalty: float) -> types.FloatArray:
  """Returns n times a penalty, what is added to the Gram matrix's diagonal."""
  return penalty * total.count


def without_intercept(total: Sums) -> tuple[types.FloatArray, types.FloatArray]:
  """Returns gram [D-1, D-1] and moment [D-1, K] with the constant removed.

  This is the Schur complement: the same as centring features and targets.
  """
  cross, size = total.gram[:-1, -1:], total.gram[-1, -1]
  return (
    total.gram[:-1, :-1] - cross * (total.gram[-1:, :-1] / size),
    total.moment[:-1] - cross * (total.moment[-1:] / size),
  )


def intercept_of(total: Sums, weights: types.FloatArray) -> types.FloatArray:
  """Returns the weights of the constant, [1, K], given others [D-1, K]."""
  return (total.moment[-1:] - total.gram[-1:, :-1] @ weights) / (
    total.gram[-1, -1]
  )


def _with_intercept(total: Sums, weights: types.FloatArray) -> types.FloatArray:
  return np.concatenate([weights, intercept_of(total, weights)])


def check_penalty(penalty: float) -> None:
  """Raises a ValueError for a penalty that is not positive."""
  if isinstance(penalty, int | float) and not penalty > 0:
    raise ValueError(
      f'A ridge penalty must be positive, got {penalty}. Use a small one, '
      'such as 1e-10, for an ordinary least-squares fit.'
    )


def check_rows(features: types.FloatArray, targets: types.FloatArray) -> None:
  """Raises a ValueError unless these are matrices of the same rows.

  Args:
    features: array or tensor; the rows of a graph may be unknown.
    targets: likewise.
  """
  if len(features.shape) != 2 or len(targets.shape) != 2:
    raise ValueError(
      'Ridge regression wants features [B, D] and targets [B, K], got '
      f'shapes {features.shape} and {targets.shape}.'
    )
  rows = features.shape[0], targets.shape[0]
  if None not in rows and rows[0] != rows[1]:
    raise ValueError(
      f'Features have {rows[0]} rows, targets {rows[1]}; each row needs both.'
    )
