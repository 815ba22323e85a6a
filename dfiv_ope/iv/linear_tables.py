"""Tables, tests and sentences of a linear fit as methods of an estimator."""

import abc

import numpy as np
import pandas as pd

from dfiv_ope import types
from dfiv_ope.iv import frames, summary_lines
from dfiv_ope.iv.diagnostics import specification_words, strength, summaries
from dfiv_ope.iv.linear import real_sets, results, tables


class LinearTables(abc.ABC):
  """What a linear fit says of its coefficients, instruments and model."""

  inference_: results.LinearFit | None = None
  first_stage_: strength.FirstStage
  names_: types.IVBatch
  scales_: types.IVBatch
  underidentified_: str

  @abc.abstractmethod
  def _check_fitted(self) -> None:
    """Raises a NotFittedError where there is no fit."""

  @abc.abstractmethod
  def _inference(self) -> results.LinearFit:
    """Returns the inference of the fit, or raises a ValueError."""

  @property
  def coefficient_names_(self) -> tuple[str, ...]:
    """Names of all coefficients: of T, of X, and the intercept if any."""
    self._check_fitted()
    names = [
      label
      for member, given, scale in (
        ('T', self.names_.treatment, self.scales_.treatment),
        ('X', self.names_.covariate, self.scales_.covariate),
      )
      if scale is not None
      for label in frames.labels(member, given, len(scale.mean))
    ]
    if self.inference_ is None or self.inference_.constant:
      names.append('intercept')
    return tuple(names)

  def coef_table(self, level: float = 0.95) -> pd.DataFrame:
    """Returns coefficients, standard errors, t, p and intervals by name."""
    return tables.coefficients(
      self._inference(), self.coefficient_names_, level
    )

  def conf_int(self, level: float = 0.95) -> pd.DataFrame:
    """Returns the confidence intervals of all coefficients by name."""
    return self.coef_table(level)[['low', 'high']]

  def first_stage_table(self) -> pd.DataFrame:
    """Returns the first stage of each treatment by name."""
    found = self._inference()
    return tables.first_stage(
      found, self.coefficient_names_[: found.treatments]
    )

  def tests(self) -> pd.DataFrame:
    """Returns tests of instruments, endogeneity, linearity and all slopes."""
    found = self._inference()
    return tables.tests([*found.tests, found.wald()])

  def weak_instrument_set(
    self,
    kind: str = results.ANDERSON_RUBIN,
    *,
    treatment: int | str = 0,
    level: float = 0.95,
  ) -> real_sets.RealSet:
    """Returns a set for a slope that holds however weak instruments are.

    Args:
      kind: 'anderson-rubin' or 'clr', the conditional likelihood ratio.
      treatment: name or number of the treatment.
      level: of confidence.
    """
    found = self._inference()
    names = self.coefficient_names_[: found.treatments]
    if isinstance(treatment, str):
      if treatment not in names:
        raise ValueError(
          f'There is no treatment {treatment!r}; the fit had '
          f'{", ".join(names)}.'
        )
      treatment = names.index(treatment)
    if not 0 <= treatment < found.treatments:
      raise ValueError(
        f'There is no treatment {treatment}; the fit had {len(names)}, '
        'counted from 0.'
      )
    return found.weak_set(kind, treatment, results.check_level(level))

  def to_latex(self, level: float = 0.95) -> str:
    """Returns the tables of the summary as LaTeX (booktabs)."""
    return tables.latex(self._grids(level))

  def to_html(self, level: float = 0.95) -> str:
    """Returns the tables of the summary as HTML."""
    return tables.web(self._grids(level))

  def _table_summary(self, level: float = 0.95) -> str:
    """Returns the fit as a table, its tests and its first stage."""
    found = self._inference()
    return '\n'.join(
      [
        *summary_lines.linear_head(found, type(self).__name__),
        *(
          line
          for grid in self._grids(level)
          for line in ('', *tables.text(grid))
        ),
        '',
        *specification_words.sentences(
          found, self.coefficient_names_[: found.treatments]
        ),
        '',
        *summary_lines.columns(self.scales_, self.names_),
        *self._held_out_lines(),
        *(
          f'Warning: {each}'
          for each in (self.underidentified_, *self.first_stage_.warnings())
          if each
        ),
      ]
    )

  def _grids(self, level: float) -> list[tables.Grid]:
    found = self._inference()
    names = self.coefficient_names_
    results.check_level(level)
    sets = [
      (name, label, found.weak_set(kind, column, level))
      for column, name in enumerate(names[: found.treatments])
      for kind, label in summary_lines.set_labels(found)
    ]
    return tables.grids(
      found, names, sets, level, (self.first_stage_.shortfall < 1.0).tolist()
    )

  def _held_out_lines(self) -> list[str]:
    if np.isnan(self.first_stage_.r2).all():
      return []
    return summaries.held_out(self.first_stage_)
