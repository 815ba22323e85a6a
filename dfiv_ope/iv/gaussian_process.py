"""Gaussian process regression whose columns have lengths of their own.

    k(x, z) = v exp(-sum_d (x_d - z_d)^2 / l_d^2 / 2),  y = f(x) + noise

Lengths, v and the noise are those of the greatest marginal likelihood
(Rasmussen and Williams, 2006, chapter 5): a column that does not matter gets a
length that reaches over all rows, and where there is noise alone v is nothing.
The mean of f over some points has a closed form, with its standard deviation.
"""

from typing import NamedTuple

import numpy as np
from scipy import linalg

from dfiv_ope import types

# Rows that the likelihood is asked of: it takes their number cubed.
_CHOICE_ROWS = 500
# Lengths that the search starts from, times the root of their number, and its
# steps.
_STARTS, _STEPS = (0.5, 2.0), 25
# Least and greatest length; signal and noise, as shares of the variance of y.
_LENGTHS, _SIGNAL, _NOISE = (0.05, 100.0), (1e-4, 100.0), (1e-3, 2.0)
# Rows that stand for all of them, and points whose pairs the spread is of.
_LANDMARKS, _PAIRED = 1_000, 1_000
# What makes the kernel of rows that are alike solvable, as a share of v.
_JITTER = 1e-6
# Rows of a part.
_PART = 2_000


class Kernel(NamedTuple):
  """What f and the noise are like.

  Attributes:
    lengths: l of each column, [D].
    variance: v.
    noise: its variance.
  """

  lengths: types.FloatArray
  variance: float
  noise: float

  def __call__(
    self, x: types.FloatArray, z: types.FloatArray
  ) -> types.FloatArray:
    """Returns k of rows x [B, D] and z [C, D], [B, C]."""
    return self.variance * np.exp(
      -_squares(x / self.lengths, z / self.lengths) / 2.0
    )


class Mean(NamedTuple):
  """The mean of f over some points.

  Attributes:
    value: what is expected of it.
    standard_error: its standard deviation, given the rows.
  """

  value: float
  standard_error: float


def _squares(x: types.FloatArray, z: types.FloatArray) -> types.FloatArray:
  """Returns squared distances of rows, [B, C]."""
  return np.maximum(
    np.sum(x * x, axis=1)[:, None] + np.sum(z * z, axis=1) - 2.0 * (x @ z.T),
    0.0,
  )


def loss(
  logs: types.FloatArray,
  x: types.FloatArray,
  y: types.FloatArray,
  groups: np.ndarray,
) -> tuple[float, types.FloatArray]:
  """Returns minus the log likelihood of a row, and its gradient.

  Constants are left out: y'C^-1 y / 2N + log det C / 2N with C = k + noise.

  Args:
    logs: of the length of each group of columns, of v and of the noise,
      [G + 2].
    x: [N, D].
    y: of mean zero, [N].
    groups: of each column, from 0, [D].
  """
  lengths, (variance, noise) = np.exp(logs[:-2]), np.exp(logs[-2:])
  x = x / lengths[groups]
  signal = variance * np.exp(-_squares(x, x) / 2.0)
  factor = np.linalg.cholesky(signal + noise * np.eye(len(y)))
  inverse = linalg.lapack.dpotri(factor, lower=1)[0]
  inverse = np.tril(inverse) + np.tril(inverse, -1).T
  weights = inverse @ y
  # With C, the loss rises by half of this.
  rise = inverse - np.outer(weights, weights)
  weighed = rise * signal
  # Of log l_d: sum_ij weighed_ij (x_id - x_jd)^2.
  columns = 2.0 * (
    np.sum(weighed, axis=1) @ np.square(x)
    - np.einsum('nd,nd->d', x, weighed @ x)
  )
  gradient = np.concatenate(
    [
      np.bincount(groups, weights=columns, minlength=len(lengths)),
      [np.sum(weighed), noise * np.trace(rise)],
    ]
  )
  found = y @ weights / 2.0 + np.sum(np.log(np.diag(factor)))
  return float(found) / len(y), gradient / (2.0 * len(y))


def choose(
  x: types.FloatArray,
  y: types.FloatArray,
  groups: np.ndarray,
  *,
  seed: types.Seed = 0,
) -> Kernel:
  """Returns the likeliest kernel, by some of the rows.

  Args:
    x: standardised columns, [N, D].
    y: of mean zero and not all the same, [N].
    groups: columns of a group share a length, [D].
    seed: of the choice of rows.
  """
  from scipy import optimize  # Takes a fifth of a second.

  rows = np.random.default_rng(seed).permutation(len(y))[:_CHOICE_ROWS]
  x, y = x[rows], y[rows]
  count, total = int(np.max(groups)) + 1, float(np.var(y))
  limits = [_LENGTHS] * count + [
    (low * total, high * total) for low, high in (_SIGNAL, _NOISE)
  ]
  found = min(
    (
      optimize.minimize(
        loss,
        np.log([*[start * np.sqrt(count)] * count, total / 2.0, total / 2.0]),
        args=(x, y, groups),
        jac=True,
        method='L-BFGS-B',
        bounds=np.log(limits),
        options={'maxiter': _STEPS},
      )
      for start in _STARTS
    ),
    key=lambda each: float(each.fun),
  )
  values = np.exp(found.x)
  return Kernel(values[:-2][groups], float(values[-2]), float(values[-1]))


def mean(
  kernel: Kernel,
  x: types.FloatArray,
  y: types.FloatArray,
  points: types.FloatArray,
  *,
  landmarks: int = _LANDMARKS,
  seed: types.Seed = 0,
) -> Mean:
  """Returns the mean of f over points.

  With as many landmarks as rows it is exact: value m'(K + noise)^-1 y and
  variance mm - m'(K + noise)^-1 m, where m has the mean over points of k to
  each row, and mm that over pairs of points.

  Args:
    kernel: of f and the noise.
    x: [N, D].
    y: of mean zero, [N].
    points: [P, D].
    landmarks: rows that f is made of, drawn.
    seed: of the draws.
  """
  generator = np.random.default_rng(seed)
  chosen = x[generator.permutation(len(x))[:landmarks]]
  inner = kernel(chosen, chosen)
  inner[np.diag_indices(len(chosen))] += _JITTER * kernel.variance
  factor = np.linalg.cholesky(inner)
  # Of all points, and of those whose pairs are looked at.
  some = points[generator.permutation(len(points))[:_PAIRED]]
  asked = linalg.solve_triangular(
    factor,
    np.stack([_mean(kernel, chosen, each) for each in (points, some)], axis=1),
    lower=True,
  )
  system, right = kernel.noise * np.eye(len(chosen)), np.zeros(len(chosen))
  for rows, outcomes in zip(_parts(x), _parts(y), strict=True):
    columns = linalg.solve_triangular(
      factor, kernel(chosen, rows), lower=True, check_finite=False
    )
    system += columns @ columns.T
    right += columns @ outcomes
  solved = linalg.cho_solve(linalg.cho_factor(system), asked)
  variance = (
    np.mean(kernel(some, some))
    - asked[:, 1] @ asked[:, 1]
    + kernel.noise * asked[:, 1] @ solved[:, 1]
  )
  return Mean(float(solved[:, 0] @ right), float(np.sqrt(max(variance, 0.0))))


def _mean(
  kernel: Kernel, rows: types.FloatArray, points: types.FloatArray
) -> types.FloatArray:
  """Returns the mean over points of k to each row, [B]."""
  return np.sum(
    [np.sum(kernel(rows, each), axis=1) for each in _parts(points)], axis=0
  ) / len(points)


def _parts(rows: types.FloatArray) -> list[types.FloatArray]:
  """Returns rows in parts."""
  return [rows[start : start + _PART] for start in range(0, len(rows), _PART)]
