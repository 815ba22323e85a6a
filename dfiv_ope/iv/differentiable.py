"""Ridge regression and both stages on tensors, with gradients.

`ridge` and `two_stage` are numpy, so that closed forms do without TensorFlow.
Here is what networks are trained through, and nothing else: the same solve and
the same stage-2 design, inside graphs and with gradients. What a penalty means,
and that the intercept has none, is said in `ridge` and taken from there.
tests/iv/test_differentiable.py holds both to the same numbers.

    weights = differentiable.stage1(phi1, psi1, 1e-3)        # Eq. (7)
    predicted = differentiable.predict_treatment(phi2, weights)
    design = differentiable.design(predicted, xi2)
    outcome_weights = differentiable.stage2(design, 1e-3)(y2)     # Eq. (9)

Weights come back in the dtype of the features; solves are float64.
"""

from collections.abc import Callable

import tensorflow as tf

from dfiv_ope.iv import ridge

_DTYPE = tf.float64


def append_intercept(features: tf.Tensor) -> tf.Tensor:
  """Returns features [B, D] with a column of ones at the end, [B, D + 1]."""
  features = tf.convert_to_tensor(features)
  return tf.concat([features, tf.ones_like(features[:, :1])], axis=1)


def sums(
  features: tf.Tensor, targets: tf.Tensor, *, dtype: tf.DType = _DTYPE
) -> ridge.Sums:
  """Returns `ridge.sums` of features [B, D] and targets [B, K] in a graph.

  Args:
    features: [B, D].
    targets: [B, K].
    dtype: of the products; the sums are float64.
  """
  features, targets = map(tf.convert_to_tensor, (features, targets))
  ridge.check_rows(features, targets)
  features, targets = tf.cast(features, dtype), tf.cast(targets, dtype)
  # Gram and moment in one product.
  products = tf.cast(
    tf.matmul(
      features, tf.concat([features, targets], axis=1), transpose_a=True
    ),
    _DTYPE,
  )
  size = features.shape[1]
  return ridge.Sums(
    gram=products[:, :size],
    moment=products[:, size:],
    square=tf.cast(tf.reduce_sum(tf.square(targets), axis=0), _DTYPE),
    count=tf.cast(tf.shape(features)[0], _DTYPE),
  )


def solve(
  features: tf.Tensor,
  targets: tf.Tensor,
  penalty: float,
  *,
  intercept: bool = False,
) -> tf.Tensor:
  """Returns `ridge.solve_sums` of rows, with a gradient: argmin_W of `loss`.

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
  ridge.check_penalty(penalty)
  return tf.cast(
    _weights(sums(features, targets), penalty, intercept),
    tf.convert_to_tensor(features).dtype,
  )


def solver(
  features: tf.Tensor, penalty: float, *, intercept: bool = False
) -> Callable[[tf.Tensor], tf.Tensor]:
  """Returns `solve` as a function of the targets; the Gram is made once."""
  ridge.check_penalty(penalty)
  features = tf.convert_to_tensor(features)
  rows = tf.cast(features, _DTYPE)
  gram = tf.matmul(rows, rows, transpose_a=True)

  def solved(targets: tf.Tensor) -> tf.Tensor:
    ridge.check_rows(features, targets)
    wide = tf.cast(targets, _DTYPE)
    return tf.cast(
      _weights(
        ridge.Sums(
          gram=gram,
          moment=tf.matmul(rows, wide, transpose_a=True),
          square=tf.reduce_sum(tf.square(wide), axis=0),
          count=tf.cast(tf.shape(rows)[0], _DTYPE),
        ),
        penalty,
        intercept,
      ),
      features.dtype,
    )

  return solved


def _weights(total: ridge.Sums, penalty: float, intercept: bool) -> tf.Tensor:
  """Returns `ridge.solve_sums` of tensors, with a gradient: [D, K]."""
  gram, moment = ridge.without_intercept(total) if intercept else total[:2]
  weights = _solve_symmetric(
    gram
    + ridge.scaled_penalty(total, penalty)
    * tf.eye(tf.shape(gram)[0], dtype=_DTYPE),
    moment,
  )
  if intercept:
    weights = tf.concat([weights, ridge.intercept_of(total, weights)], axis=0)
  if tf.executing_eagerly() and not bool(
    tf.reduce_all(tf.math.is_finite(weights))
  ):
    weights = tf.constant(ridge.solve_sums(total, penalty, intercept=intercept))
  return weights


def loss(
  features: tf.Tensor,
  targets: tf.Tensor,
  weights: tf.Tensor,
  penalty: float,
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
  ridge.check_penalty(penalty)
  features, targets = map(tf.convert_to_tensor, (features, targets))
  ridge.check_rows(features, targets)
  weights = tf.cast(weights, features.dtype)
  error = tf.cast(targets, features.dtype) - predict(features, weights)
  penalised = weights[:-1] if intercept else weights
  return tf.reduce_sum(tf.square(error)) / tf.cast(
    tf.shape(features)[0], features.dtype
  ) + penalty * tf.reduce_sum(tf.square(penalised))


def predict(features: tf.Tensor, weights: tf.Tensor) -> tf.Tensor:
  """Returns features [B, D] times weights [D, K]: [B, K]."""
  features = tf.convert_to_tensor(features)
  return tf.matmul(features, tf.cast(weights, features.dtype))


def stage1(
  instrument: tf.Tensor, treatment: tf.Tensor, penalty: float
) -> tf.Tensor:
  """Returns the transpose of V-hat, Eq. (7).

  Deviation: phi gets a constant, which is not penalised.

  Args:
    instrument: phi(z), [B, d2].
    treatment: psi(x), [B, d1].
    penalty: lambda1.

  Returns:
    Stage-1 weights [d2 + 1, d1].
  """
  return solve(append_intercept(instrument), treatment, penalty, intercept=True)


def stage1_loss(
  instrument: tf.Tensor,
  treatment: tf.Tensor,
  weights: tf.Tensor,
  penalty: float,
) -> tf.Tensor:
  """Returns the stage-1 empirical loss, Eq. (6): []."""
  return loss(
    append_intercept(instrument), treatment, weights, penalty, intercept=True
  )


def predict_treatment(
  instrument: tf.Tensor, stage1_weights: tf.Tensor
) -> tf.Tensor:
  """Returns V phi(z), the estimate of E[psi(X) | z], [B, d1]."""
  return predict(append_intercept(instrument), stage1_weights)


def design(
  treatment: tf.Tensor, covariate: tf.Tensor | None = None
) -> tf.Tensor:
  """Returns `two_stage.design` of psi [B, d1] and xi [B, d3], or None."""
  if covariate is None:
    return append_intercept(treatment)
  covariate = append_intercept(covariate)
  # A product of two broadcast matrices, and its gradient, would be far slower.
  columns = tf.split(treatment, treatment.shape[1], axis=1)
  return tf.concat([*(each * covariate for each in columns), covariate], axis=1)


def stage2(
  design_matrix: tf.Tensor, penalty: float
) -> Callable[[tf.Tensor], tf.Tensor]:
  """Returns u-hat, Eq. (9), [D, 1], as a function of the outcome [B, 1].

  Deviation: the intercept is not penalised.

  Args:
    design_matrix: predicted features, the last column constant, [B, D].
    penalty: lambda2.
  """
  return solver(design_matrix, penalty, intercept=True)


def stage2_loss(
  design_matrix: tf.Tensor,
  outcome: tf.Tensor,
  weights: tf.Tensor,
  penalty: float,
) -> tf.Tensor:
  """Returns the stage-2 empirical loss, Eq. (8): []."""
  return loss(design_matrix, outcome, weights, penalty, intercept=True)


@tf.custom_gradient
def _solve_symmetric(
  matrix: tf.Tensor, right: tf.Tensor
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
