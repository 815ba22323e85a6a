"""How the noise of a linear model is taken: equal, robust, clustered, HAC."""

import dataclasses
import math

import numpy as np

from dfiv_ope import types
from dfiv_ope.iv.linear import covariances, system


class Noise:
  """Covariances of what linear estimators err by, of one kind.

  Attributes:
    settings: which kind.
    bandwidth: of HAC, in rows; 0 of others.
    denominator: degrees of freedom of t and F; infinite where the normal and
      the chi-square stand for them.
  """

  def __init__(
    self,
    rows: system.System,
    settings: covariances.Settings,
    clusters: types.FloatArray | None,
  ):
    """Initialises it with rows, a kind and codes of clusters [n, ways]."""
    self._rows, self._clusters = rows, clusters
    self.settings = settings
    self.bandwidth = 0.0
    self.denominator = math.inf
    if settings.debiased:
      self.denominator = float(rows.freedom)
      if settings.kind == covariances.CLUSTERED and clusters is not None:
        self.denominator = covariances.cluster_count(clusters) - 1.0

  @property
  def robust(self) -> bool:
    """Whether variances may differ, or rows depend."""
    return self.settings.kind != covariances.UNADJUSTED

  @property
  def units(self) -> int:
    """Rows, or clusters, that do not depend on each other."""
    clusters = self._dependent()
    if clusters is None:
      return len(self._rows.outcome)
    return covariances.cluster_count(clusters)

  def effective_units(self, loadings: types.FloatArray) -> tuple[float, ...]:
    """Returns how many rows, or clusters, alike would tell as much.

    It is (sum h)^2 / sum h^2 with h the sum of squared loadings of each; of two
    ways of clustering the smaller one.

    Args:
      loadings: of estimates, [n, D].
    """
    parts = np.square(loadings)
    clusters = self._dependent()
    ways = [np.arange(len(parts))] if clusters is None else clusters.T
    found = []
    for column in parts.T:
      sums = [np.bincount(way, weights=column) for way in ways]
      found.append(
        min(float(each.sum() ** 2 / np.sum(each**2)) for each in sums)
      )
    return tuple(found)

  def of_sets(self) -> 'Noise':
    """Returns what weak-instrument-robust sets take for the noise."""
    return self._of_kind(covariances.of_sets(self.settings.kind))

  def of_tests(self) -> 'Noise':
    """Returns what tests take for it: HC1 for HC2 and HC3, without leverages.

    With HC0, tests of 200 rows and 100 covariates refuse far too often.
    """
    leverages = self.settings.kind in ('HC2', 'HC3')
    return self._of_kind('HC1') if leverages else self

  def settle(self, residuals: types.FloatArray) -> None:
    """Chooses the bandwidth of HAC by the scores of residuals [n]."""

    def series() -> types.FloatArray:
      rows = self._rows
      treatment = rows.basis @ (rows.basis.T @ rows.treatment)
      others = rows.regressors[:, int(rows.constant) :]
      # The rule counts columns from where the user does, as others do.
      raw = rows.centre[1 : 1 + rows.treatment.shape[1]].sum()
      raw += rows.centre[1 + rows.treatment.shape[1] :] @ rows.kept[1:]
      return (
        treatment.sum(axis=1)
        + others.sum(axis=1)
        + rows.root * (raw if rows.constant else 0.0)
      ) * residuals

    self.bandwidth = covariances.bandwidth_of(self.settings, series)

  def _of_kind(self, kind: str) -> 'Noise':
    if kind == self.settings.kind:
      return self
    return Noise(
      self._rows, dataclasses.replace(self.settings, kind=kind), self._clusters
    )

  def _dependent(self) -> types.FloatArray | None:
    """Returns the clusters that the covariance allows for, if any."""
    if self.settings.kind != covariances.CLUSTERED:
      return None
    return self._clusters

  def of(
    self,
    loadings: types.FloatArray,
    residuals: types.FloatArray,
    *,
    freedom: int,
    leverages: types.FloatArray | None = None,
  ) -> types.FloatArray:
    """Returns the covariance of loadings.T @ noise, [D, D].

    Args:
      loadings: [n, D].
      residuals: [n].
      freedom: rows less coefficients.
      leverages: of the regression, [n]; for HC2 and HC3.
    """
    if not self.robust:
      count = freedom if self.settings.debiased else len(residuals)
      return loadings.T @ loadings * (residuals @ residuals / count)
    if leverages is not None:
      residuals = covariances.adjusted(
        residuals, self.settings, lambda: leverages
      )
    return covariances.of_scores(
      loadings * residuals[:, None],
      self.settings,
      freedom=freedom,
      clusters=self._clusters,
      bandwidth=self.bandwidth,
    )
