"""Ridge regression: the only Gram matrix and the only meaning of a penalty.

A penalty is per row: it is multiplied by the number of rows here and nowhere
else. Everything but `solve_grid` is differentiable. Sums and solves are float64
whatever the features are, because Gram matrices of learned features are too
ill-conditioned for float32 (`tests/test_ridge.py` shows a case); weights come
back in the dtype of the features.

With `intercept=True` the last column of the features is the constant. It is
not penalised: a penalty on it would make the answer depend on the origin of
the outcome.

    features = ridge.append_intercept(features)            # [B, D + 1]
    weights = ridge.solve(features, targets, 1e-3, intercept=True)
    ridge.predict(features, weights)                        # [B, K]

Rows may be summed in parts, on one machine or many, and solved once:

    total = ridge.merge(ridge.sums(*part1), ridge.sums(*part2))
    ridge.solve_sums(total, 1e-3)
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
import tensorflow as tf

from dfiv_ope import types

_DTYPE = tf.float64


class Sums(NamedTuple):
  """Sums over rows that determine a ridge regression.

  Attributes:
    gram: sum of outer products of features, [D, D].
    moment: sum of outer products of features and targets, [D, K].
    square: sum of squares of each target, [K].
    count: number of rows, [].
  """
  gram: tf.Tensor
  moment: tf.Tensor
  square: tf.Tensor
  count: tf.Tensor


def append_intercept(features: tf.Tensor) -> tf.Tensor:
  """Returns features [B, D] with a column of ones at the end, [B, D + 1]."""
  features = tf.convert_to_tensor(features)
  return tf.concat([features, tf.ones_like(features[:, :1])], axis=1)


def sums(features: tf.Tensor, targets: tf.Tensor) -> Sums:
  """Returns the sums of features [B, D] and targets [B, K]."""
  features, targets = _checked(features, targets)
  features = tf.cast(features, _DTYPE)
  targets = tf.cast(targets, _DTYPE)
  # Gram and moment in one product.
  products = tf.matmul(
      tf.transpose(features), tf.concat([features, targets], axis=1))
  size = features.shape[1]
  return Sums(
      gram=products[:, :size],
      moment=products[:, size:],
      square=tf.reduce_sum(tf.square(targets), axis=0),
      count=tf.cast(tf.shape(features)[0], _DTYPE))


def merge(*parts: Sums) -> Sums:
  """Returns the sums over the rows of all parts."""
  if not parts:
    raise ValueError('merge needs at least one Sums, got none.')
  return Sums(*(tf.add_n(list(member)) for member in zip(*parts, strict=True)))


def solve(
    features: tf.Tensor,
    targets: tf.Tensor,
    penalty: float | tf.Tensor,
    *,
    intercept: bool = False,
) -> tf.Tensor:
  """Returns argmin_W of `loss`: (F'F + n penalty I)^-1 F'T, Eq. (7) and (9).

  Args:
    features: F, [B, D].
    targets: T, [B, K].
    penalty: ridge penalty per row, positive.
    intercept: whether the last feature is the constant, free of penalty.

  Returns:
    Weights [D, K] in the dtype of the features.

  Raises:
    ValueError: the shapes do not fit or the penalty is not positive.
  """
  features = tf.convert_to_tensor(features)
  weights = solve_sums(
      sums(features, targets), penalty, intercept=intercept)
  return tf.cast(weights, features.dtype)


def solve_sums(
    total: Sums, penalty: float | tf.Tensor, *, intercept: bool = False,
) -> tf.Tensor:
  """Returns the ridge weights [D, K] from sums, by Cholesky, in float64.

  Rounding may leave a Gram matrix that is indefinite by more than the penalty,
  such as that of fitted values. Cholesky has no answer then; outside a graph
  `solve_grid` gives one.
  """
  _check_penalty(penalty)
  gram, moment = _without_intercept(total) if intercept else total[:2]
  ridge_term = _scalar(penalty, _DTYPE) * total.count
  weights = _solve_symmetric(
      gram + ridge_term * tf.eye(tf.shape(gram)[0], dtype=_DTYPE), moment)
  weights = _with_intercept(total, weights) if intercept else weights
  if (tf.executing_eagerly() and not _is_finite(weights)
      and _is_finite(gram) and _is_finite(moment)):
    return tf.constant(solve_grid(
        total, [float(penalty)], intercept=intercept)[0])
  return weights


def solve_grid(
    total: Sums, penalties: Sequence[float], *, intercept: bool = False,
) -> list[types.FloatArray]:
  """Returns the weights of `solve_sums` for each penalty, outside a graph.

  One eigendecomposition serves the whole grid. It is numpy's, several times
  faster than TensorFlow's, so gradients do not pass.

  Args:
    total: sums of the rows.
    penalties: L positive penalties.
    intercept: whether the last feature is the constant, free of penalty.

  Returns:
    L weights [D, K], float64.
  """
  for penalty in penalties:
    _check_penalty(penalty)
  gram, moment = _without_intercept(total) if intercept else total[:2]
  values, vectors = np.linalg.eigh(np.asarray(gram))
  # Rounding makes the smallest eigenvalues of a Gram matrix negative.
  values = np.maximum(values, 0.)[:, None]
  rotated = vectors.T @ np.asarray(moment)
  count = float(total.count)
  grid = [
      vectors @ (rotated / (values + penalty * count)) for penalty in penalties]
  if intercept:
    cross, size = np.asarray(total.gram)[-1:, :-1], float(total.gram[-1, -1])
    target = np.asarray(total.moment)[-1:]
    grid = [
        np.concatenate([weights, (target - cross @ weights) / size])
        for weights in grid]
  return grid


def solve_cross(total: Sums, penalty: float | tf.Tensor) -> tf.Tensor:
  """Returns u with (F'X + n penalty I) u = F'y: [D, 1], float64.

  The features F are the instruments of as many regressors X. With
  F = psi(s, a) and X = psi(s, a) - gamma d psi(s', a') this is LSTD-Q (Bradtke
  and Barto, 1996). The last weight is not penalised.

  Args:
    total: sums of the features F [B, D] and the targets [X, y], [B, D + 1].
    penalty: ridge penalty per row, positive.
  """
  return tf.linalg.solve(_cross(total, penalty), total.moment[:, -1:])


def solve_dual(
    total: Sums, value: tf.Tensor, penalty: float | tf.Tensor,
) -> tf.Tensor:
  """Returns w with (F'X + n penalty I)' w = v: [D, 1], float64.

  With u of `solve_cross`, v'u = w'F'y: w says what a unit of each row's y adds
  to it.

  Args:
    total: as in `solve_cross`.
    value: v, [D, 1].
    penalty: ridge penalty per row, positive.
  """
  return tf.linalg.solve(
      _cross(total, penalty), tf.cast(value, _DTYPE), adjoint=True)


def _cross(total: Sums, penalty: float | tf.Tensor) -> tf.Tensor:
  """Returns F'X + n penalty I, with no penalty on the last weight."""
  _check_penalty(penalty)
  penalised = tf.concat(
      [tf.ones_like(total.square[:-2]), tf.zeros([1], _DTYPE)], axis=0)
  ridge_term = _scalar(penalty, _DTYPE) * total.count * penalised
  return total.moment[:, :-1] + tf.linalg.diag(ridge_term)


def project(total: Sums, weights: tf.Tensor) -> Sums:
  """Returns the sums of W = F V and the same targets, without the rows.

  Args:
    total: sums of the features F [B, D] and their targets [B, K].
    weights: V, [D, E].
  """
  weights = tf.cast(weights, _DTYPE)
  return Sums(
      gram=tf.matmul(
          weights, tf.matmul(total.gram, weights), transpose_a=True),
      moment=tf.matmul(weights, total.moment, transpose_a=True),
      square=total.square,
      count=total.count)


def targets(total: Sums, columns: slice) -> Sums:
  """Returns the sums of the same features with some of the targets."""
  return total._replace(
      moment=total.moment[:, columns], square=total.square[columns])


def predict(features: tf.Tensor, weights: tf.Tensor) -> tf.Tensor:
  """Returns features [B, D] times weights [D, K]: [B, K]."""
  features = tf.convert_to_tensor(features)
  return tf.matmul(features, tf.cast(weights, features.dtype))


def mean_squared_error(total: Sums, weights: tf.Tensor) -> tf.Tensor:
  """Returns the squared error per row, summed over targets, from sums: []."""
  weights = tf.cast(weights, _DTYPE)
  fitted = tf.matmul(total.gram, weights)
  return (tf.reduce_sum(total.square)
          - 2. * tf.reduce_sum(weights * total.moment)
          + tf.reduce_sum(weights * fitted)) / total.count


def loss(
    features: tf.Tensor,
    targets: tf.Tensor,
    weights: tf.Tensor,
    penalty: float | tf.Tensor,
    *,
    intercept: bool = False,
) -> tf.Tensor:
  """Returns mean_i |t_i - W'f_i|^2 + penalty |W|^2, Eq. (6) and (8): [].

  Args:
    features: [B, D].
    targets: [B, K].
    weights: [D, K].
    penalty: ridge penalty per row, positive.
    intercept: whether the last feature is the constant, free of penalty.
  """
  _check_penalty(penalty)
  features, targets = _checked(features, targets)
  weights = tf.cast(weights, features.dtype)
  error = tf.cast(targets, features.dtype) - tf.matmul(features, weights)
  penalised = weights[:-1] if intercept else weights
  return (tf.reduce_sum(tf.square(error))
          / tf.cast(tf.shape(features)[0], features.dtype)
          + _scalar(penalty, features.dtype)
          * tf.reduce_sum(tf.square(penalised)))


@tf.custom_gradient
def _solve_symmetric(
    matrix: tf.Tensor, right: tf.Tensor,
) -> tuple[tf.Tensor, Callable[[tf.Tensor], tuple[tf.Tensor, tf.Tensor]]]:
  """Returns M^-1 R, [D, K], for symmetric positive M [D, D] and R [D, K].

  The gradient is one more solve with the factor at hand. TensorFlow would
  differentiate the factorisation itself, at several times the cost.
  """
  factor = tf.linalg.cholesky(matrix)
  solution = tf.linalg.cholesky_solve(factor, right)

  def gradient(upstream: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
    to_right = tf.linalg.cholesky_solve(factor, upstream)
    return -tf.matmul(to_right, solution, transpose_b=True), to_right

  return solution, gradient


def _without_intercept(total: Sums) -> tuple[tf.Tensor, tf.Tensor]:
  """Returns gram [D-1, D-1] and moment [D-1, K] with the constant removed."""
  # The Schur complement: the same as centring features and targets.
  cross = total.gram[:-1, -1:]
  size = total.gram[-1, -1]
  gram = total.gram[:-1, :-1] - tf.matmul(cross, cross, transpose_b=True) / size
  moment = total.moment[:-1] - cross * total.moment[-1:] / size
  return gram, moment


def _with_intercept(total: Sums, weights: tf.Tensor) -> tf.Tensor:
  """Returns weights [D-1, K] with the row of the constant, [D, K]."""
  fitted = tf.matmul(total.gram[-1:, :-1], weights)
  constant = (total.moment[-1:] - fitted) / total.gram[-1, -1]
  return tf.concat([weights, constant], axis=0)


def _is_finite(values: tf.Tensor) -> bool:
  return bool(tf.reduce_all(tf.math.is_finite(values)))


def _scalar(value: float | tf.Tensor, dtype: tf.DType) -> tf.Tensor:
  # tf.cast would take a Python number through float32.
  if tf.is_tensor(value):
    return tf.cast(value, dtype)
  return tf.constant(value, dtype)


def _check_penalty(penalty: float | tf.Tensor) -> None:
  if isinstance(penalty, int | float) and not penalty > 0:
    raise ValueError(
        f'A ridge penalty must be positive, got {penalty}. Use a small one, '
        'such as 1e-10, for an ordinary least-squares fit.')


def _checked(
    features: tf.Tensor, targets: tf.Tensor,
) -> tuple[tf.Tensor, tf.Tensor]:
  features = tf.convert_to_tensor(features)
  targets = tf.convert_to_tensor(targets)
  if features.shape.rank != 2 or targets.shape.rank != 2:
    raise ValueError(
        'Ridge regression wants features [B, D] and targets [B, K], got '
        f'shapes {features.shape} and {targets.shape}.')
  if not features.shape[:1].is_compatible_with(targets.shape[:1]):
    raise ValueError(
        f'Features have {features.shape[0]} rows, targets '
        f'{targets.shape[0]}; each row needs both.')
  return features, targets
