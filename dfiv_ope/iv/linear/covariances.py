"""Covariances of linear estimators: what may differ or depend among rows.

A linear estimator errs by the sum over rows of loading times noise. These
products, estimated with residuals, are its scores [n, D]:

    covariances.of_scores(scores, settings, clusters)     # [D, D]
"""

from collections.abc import Callable
import dataclasses
import math

import numpy as np

from dfiv_ope import types

UNADJUSTED, CLUSTERED, HAC = 'unadjusted', 'clustered', 'HAC'
ROBUST = ('HC0', 'HC1', 'HC2', 'HC3')
KINDS = (UNADJUSTED, *ROBUST, CLUSTERED, HAC)
# Characteristic exponent, constant and exponent of the pilot lags of the
# automatic bandwidth of Newey and West (1994).
_RULES = {
  'bartlett': (1, 1.1447, 2 / 9),
  'parzen': (2, 2.6614, 4 / 25),
  'quadratic-spectral': (2, 1.3221, 2 / 25),
}
KERNELS = tuple(_RULES)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Settings:
  """Which covariance is estimated.

  Attributes:
    kind: one of `KINDS`: equal variances; variances of their own (HC0 to HC3,
      where HC1 has the factor n / (n - k) and HC2 and HC3 divide by leverages
      of the second stage); rows that depend within clusters; rows of a time
      series.
    debiased: whether variances have the factor n / (n - k) (of clusters also
      G / (G - 1)), and t and F distributions stand for the normal and the
      chi-square. HC0 to HC3 have the factor of their name either way.
    kernel: of HAC, one of `KERNELS`.
    bandwidth: of HAC, in rows; chosen by Newey and West's rule if None.
  """

  kind: str = 'HC1'
  debiased: bool = True
  kernel: str = 'bartlett'
  bandwidth: float | None = None

  def __post_init__(self) -> None:
    if self.kind not in KINDS:
      raise ValueError(
        f'covariance must be one of {", ".join(KINDS)}, got {self.kind!r}.'
      )
    if self.kernel not in KERNELS:
      raise ValueError(
        f'kernel must be one of {", ".join(KERNELS)}, got {self.kernel!r}.'
      )
    if self.bandwidth is not None and not (
      math.isfinite(self.bandwidth) and self.bandwidth >= 0
    ):
      raise ValueError(
        'bandwidth must be a number of rows, at least 0, or None, got '
        f'{self.bandwidth}.'
      )


def of_scores(
  scores: types.FloatArray,
  settings: Settings,
  *,
  freedom: int,
  clusters: types.FloatArray | None = None,
  bandwidth: float = 0.0,
) -> types.FloatArray:
  """Returns the estimated covariance of the sum of scores, [D, D].

  Args:
    scores: [n, D]; of HC2 and HC3 made with `adjusted` residuals.
    settings: not `UNADJUSTED`, which needs no scores.
    freedom: rows less coefficients.
    clusters: codes 0, 1, ..., [n, ways], one way or two; for `CLUSTERED`.
    bandwidth: in rows; for `HAC`.
  """
  rows = len(scores)
  factor = rows / freedom if settings.debiased else 1.0
  if settings.kind == CLUSTERED and clusters is not None:
    return _clustered(
      scores, clusters, ((rows - 1.0) / freedom if settings.debiased else None)
    )
  if settings.kind == HAC:
    return factor * _kernel(scores, settings.kernel, bandwidth)
  return scores.T @ scores * (rows / freedom if settings.kind == 'HC1' else 1.0)


def of_sets(kind: str) -> str:
  """Returns the kind of weak-instrument-robust sets of a fit.

  They rest on a test of several moments at once, for which HC1 is too small:
  with three instruments and 200 rows it refuses a true value in 6.0 to 6.6 %
  of samples instead of 5, HC3 in 5.4 to 5.6 (docs/iv-inference.md).
  """
  return 'HC3' if kind == 'HC1' else kind


def adjusted(
  residuals: types.FloatArray,
  settings: Settings,
  leverages: Callable[[], types.FloatArray],
) -> types.FloatArray:
  """Returns residuals [n] as the scores of a kind want them.

  Args:
    residuals: [n].
    settings: which kind.
    leverages: returns diagonals of the hat matrix, [n]; HC2 and HC3 ask.
  """
  if settings.kind not in ('HC2', 'HC3'):
    return residuals
  left = np.maximum(1.0 - leverages(), 1e-10)
  return residuals / (np.sqrt(left) if settings.kind == 'HC2' else left)


def bandwidth_of(
  settings: Settings, series: Callable[[], types.FloatArray]
) -> float:
  """Returns the bandwidth of HAC; 0 of others.

  Args:
    settings: has one, or None for the automatic rule.
    series: returns the scores' sum over coefficients but the constant, [n].

  Raises:
    ValueError: there are too few rows for the rule.
  """
  if settings.kind != HAC:
    return 0.0
  if settings.bandwidth is not None:
    return float(settings.bandwidth)
  values = series()
  rows = len(values)
  exponent, constant, pilot = _RULES[settings.kernel]
  lags = math.ceil(4.0 * (rows / 100.0) ** pilot)
  if lags >= rows - 1:
    raise ValueError(
      f'The automatic bandwidth needs more than {rows} rows. Pass bandwidth.'
    )
  products = np.array(
    [values[lag:] @ values[: rows - lag] / rows for lag in range(lags + 1)]
  )
  total = products[0] + 2.0 * np.sum(products[1:])
  weighted = 2.0 * np.sum(products[1:] * np.arange(1.0, lags + 1.0) ** exponent)
  rate = 1.0 / (2.0 * exponent + 1.0)
  best = constant * ((weighted / total) ** 2 * rows) ** rate
  return float(min(math.ceil(best), rows - 1))


def cluster_count(clusters: types.FloatArray) -> int:
  """Returns the number of clusters; of two ways, the smaller one."""
  return int(min(way.max() for way in clusters.T)) + 1


def _clustered(
  scores: types.FloatArray, clusters: types.FloatArray, factor: float | None
) -> types.FloatArray:
  """Adds up the ways and takes out their intersection, if there are two."""
  ways = [*clusters.T]
  signs = [1.0] * len(ways)
  if len(ways) == 2:
    both = ways[0].astype(np.int64) * (int(ways[1].max()) + 1) + ways[1]
    ways.append(np.unique(both, return_inverse=True)[1])
    signs.append(-1.0)
  total = np.zeros([scores.shape[1]] * 2)
  for way, sign in zip(ways, signs, strict=True):
    sums = np.stack(
      [np.bincount(way, weights=column) for column in scores.T], axis=1
    )
    count = len(sums)
    # All rows may differ in both ways; then the intersection is no cluster.
    scale = 1.0 if factor is None else factor * count / (count - 1.0)
    total += sign * scale * (sums.T @ sums)
  return total


def _kernel(
  scores: types.FloatArray, kernel: str, bandwidth: float
) -> types.FloatArray:
  """Returns the long-run covariance of the rows in their order."""
  total = scores.T @ scores
  for lag, weight in enumerate(_lag_weights(kernel, bandwidth, len(scores))):
    if lag and weight:
      products = scores[lag:].T @ scores[:-lag]
      total = total + weight * (products + products.T)
  return total


def _lag_weights(kernel: str, bandwidth: float, rows: int) -> types.FloatArray:
  """Returns the weight of each lag, that of none first."""
  if kernel == 'quadratic-spectral':
    if bandwidth == 0.0:
      return np.ones(1)
    angle = 1.2 * np.pi * np.arange(1.0, rows) / bandwidth
    return np.append(
      1.0, 3.0 / angle**2 * (np.sin(angle) / angle - np.cos(angle))
    )
  lags = min(int(bandwidth), rows - 1)
  share = np.arange(lags + 1.0) / (int(bandwidth) + 1.0)
  if kernel == 'bartlett':
    return 1.0 - share
  return np.where(
    share <= 0.5,
    1.0 - 6.0 * share**2 + 6.0 * share**3,
    2.0 * (1.0 - share) ** 3,
  )
