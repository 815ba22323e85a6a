"""What a fit does about a model that its rows do not identify."""

import warnings

from dfiv_ope import types
from dfiv_ope.iv import identification


class Identified:
  """Refuses rows that do not identify a model, or warns of them."""

  _linear: bool = False
  scales_: types.IVBatch

  def _identify(self, rows: types.IVBatch, *, checkable: bool) -> str:
    """Returns what speaks against identification; refuses or warns of it.

    Args:
      rows: of the fit, on the raw scale.
      checkable: whether columns are numbers of their own, not pixels.
    """
    covariate = rows.covariate
    wide = covariate is not None and 2 * covariate.shape[1] > len(covariate)
    # Pixels and wide covariates span anything; only a linear fit is that rich.
    if not self._linear and (wide or not checkable):
      return ''
    found = self._identification(rows)
    if found.problem and self._refuses(found):
      raise ValueError(found.problem)
    problem = found.problem
    if not problem and not self._linear:
      problem = identification.few_values(rows.treatment, rows.instrument)
    if problem:
      warnings.warn(
        problem, identification.UnderidentifiedWarning, stacklevel=4
      )
    return problem

  def _identification(
    self, rows: types.IVBatch
  ) -> identification.Identification:
    """Returns the order and the rank condition of rows."""
    covariate = rows.covariate
    if covariate is not None and self.scales_.covariate is not None:
      covariate = self.scales_.covariate.apply(covariate)
    return identification.check(
      self.scales_.treatment.apply(rows.treatment),
      self.scales_.instrument.apply(rows.instrument),
      covariate,
    )

  def _refuses(self, found: identification.Identification) -> bool:
    """Returns whether a fit that is not identified is an error."""
    del found
    return False
