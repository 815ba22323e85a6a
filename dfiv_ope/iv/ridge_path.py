"""Ridge fits of many penalties, and what each would miss on other rows.

One eigendecomposition serves all of them; the error of a penalty costs D^2, so
only the chosen weights are ever formed.
"""

from collections.abc import Sequence

import numpy as np

from dfiv_ope import types
from dfiv_ope.iv import ridge


class Path:
  """Ridge fits to rows whose last feature is the constant."""

  def __init__(self, total: ridge.Sums, penalties: Sequence[float]):
    """Initialises it with rows and penalties.

    Args:
      total: sums of features F [B, D], the last of them the constant, and
        targets T [B, K].
      penalties: L positive penalties per row.
    """
    self._total = ridge.arrays(total)
    gram, moment = ridge.without_intercept(self._total)
    values, self._vectors = np.linalg.eigh(gram)
    self._rotated = self._vectors.T @ moment
    # Rounding makes the smallest eigenvalues of a Gram matrix negative.
    self._kept = np.stack(
      [
        1.0
        / (np.maximum(values, 0.0) + ridge.scaled_penalty(self._total, penalty))
        for penalty in penalties
      ]
    )  # [L, D - 1]

  def weights(
    self, place: int, targets: slice = slice(None)
  ) -> types.FloatArray:
    """Returns the weights of a penalty for some of the targets, [D, K]."""
    weights = self._vectors @ (
      self._kept[place][:, None] * self._rotated[:, targets]
    )
    return np.concatenate(
      [
        weights,
        ridge.intercept_of(ridge.targets(self._total, targets), weights),
      ]
    )

  def errors(
    self, other: ridge.Sums, targets: slice = slice(None)
  ) -> types.FloatArray:
    """Returns the squared error per row of other rows by each penalty, [L].

    It is `ridge.mean_squared_error` of `weights`, summed over targets.

    Args:
      other: sums of the same features and targets of other rows.
      targets: those that are summed over.
    """
    other = ridge.targets(ridge.arrays(other), targets)
    rotated = self._rotated[:, targets]
    # Features and targets less their means in the rows of the fit.
    inputs = self._total.gram[-1, :-1] / self._total.gram[-1, -1]
    outputs = self._total.moment[-1, targets] / self._total.gram[-1, -1]
    count, sums = other.gram[-1, -1], other.gram[-1, :-1]
    totals = other.moment[-1]
    cross = np.outer(sums, inputs)
    gram = (
      other.gram[:-1, :-1] - cross - cross.T + count * np.outer(inputs, inputs)
    )
    moment = other.moment[:-1] - np.outer(sums, outputs)
    moment -= np.outer(inputs, totals - count * outputs)
    square = np.sum(other.square - 2.0 * outputs * totals + count * outputs**2)
    first = np.sum(rotated * (self._vectors.T @ moment), axis=1)
    second = (self._vectors.T @ gram @ self._vectors) * (rotated @ rotated.T)
    both = np.sum((self._kept @ second) * self._kept, axis=1)
    return (square - 2.0 * self._kept @ first + both) / other.count
