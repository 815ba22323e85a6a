"""Ridge regressions inside graphs of which one factor serves many targets.

    fit = factored.Regression(features, targets, 1e-6)        # no gradient
    fit.weights                                               # [D, K]
    fit.of(features, target)                                  # [D, 1], gradient

`differentiable.solve` lets gradients pass through every column of the targets.
Where the loss depends on one combination of them, t = T u, one column will do:
the weights of t are those of T times u. Their gradient is a few products of
vectors with the rows, and one solve with the factor at hand.

Products of rows are float32 and solves are float64. Deviation: the diagonal of
the Gram matrix gets 1e-7 of its trace beside the penalty, several times what
rounding may have made of it.
"""

from collections.abc import Callable

import tensorflow as tf

from dfiv_ope.iv import differentiable, ridge

_ROUNDING = 1e-7
# Share of the penalty that a free weight has: features may all be zero.
_FREE = 1e-6


class Regression:
  """A ridge regression, solved; nothing learns through its own weights.

  Attributes:
    weights: argmin_W of `differentiable.loss`, [D, K], float32.
    error: |T - F W|^2 over all rows and targets, [], float32.
  """

  def __init__(
    self,
    features: tf.Tensor,
    targets: tf.Tensor,
    penalty: float,
    *,
    intercept: bool = True,
    count: tf.Tensor | None = None,
  ):
    """Solves for the weights.

    Args:
      features: F, float32 [B, D].
      targets: T, float32 [B, K].
      penalty: ridge penalty per row, positive.
      intercept: whether the last weight is free of penalty.
      count: rows that the penalty is multiplied by; None for B. Of regressions
        that are blocks of one, all rows count.
    """
    ridge.check_penalty(penalty)
    total = differentiable.sums(
      *map(tf.stop_gradient, (features, targets)), dtype=tf.float32
    )
    if count is not None:
      total = total._replace(count=tf.cast(count, tf.float64))
    size = features.shape[1]
    mask = tf.concat(
      [tf.ones([size - 1], tf.float64), [_FREE if intercept else 1.0]], axis=0
    )
    diagonal = mask * ridge.scaled_penalty(
      total, penalty
    ) + _ROUNDING * tf.linalg.trace(total.gram)
    self._factor = tf.linalg.cholesky(total.gram + tf.linalg.diag(diagonal))
    weights = tf.linalg.cholesky_solve(self._factor, total.moment)
    self.weights = tf.cast(weights, tf.float32)
    # With (F'F + D) W = F'T, W'F'F W = W'F'T - W'D W.
    self.error = tf.cast(
      tf.reduce_sum(total.square)
      - tf.reduce_sum(weights * total.moment)
      - tf.reduce_sum(diagonal[:, None] * tf.square(weights)),
      tf.float32,
    )

  def solve(self, features: tf.Tensor, target: tf.Tensor) -> tf.Tensor:
    """Returns the weights of another target of the same rows, [D, K]."""
    return self._solve(tf.matmul(features, target, transpose_a=True))

  def of(self, features: tf.Tensor, target: tf.Tensor) -> tf.Tensor:
    """Returns the weights of one target [B, 1], with gradients: [D, 1].

    Args:
      features: those that it was made of.
      target: t.
    """

    @tf.custom_gradient
    def weights(
      rows: tf.Tensor, values: tf.Tensor
    ) -> tuple[tf.Tensor, Callable[[tf.Tensor], tuple[tf.Tensor, tf.Tensor]]]:
      solution = self.solve(rows, values)

      def gradient(upstream: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        # With s = (F'F + n penalty)^-1 g: dt = F s, dF = e s' - (F s) v'.
        dual = self._solve(upstream)
        to_values = tf.matmul(rows, dual)
        error = values - tf.matmul(rows, solution)
        return (
          tf.matmul(
            tf.concat([error, -to_values], axis=1),
            tf.concat([dual, solution], axis=1),
            transpose_b=True,
          ),
          to_values,
        )

      return solution, gradient

    return weights(features, target)

  def _solve(self, moment: tf.Tensor) -> tf.Tensor:
    return tf.cast(
      tf.linalg.cholesky_solve(self._factor, tf.cast(moment, tf.float64)),
      tf.float32,
    )
