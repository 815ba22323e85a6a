"""What speaks for and against a fitted curve, a sentence each with a number."""

import abc
from typing import Any, NamedTuple

import numpy as np

from dfiv_ope import types
from dfiv_ope.iv import effect_intervals
from dfiv_ope.iv.diagnostics import curve_words, messages, strength
from dfiv_ope.iv.functionals import inference as inference_lib
from dfiv_ope.iv.functionals import residuals

# Points of a curve, and shares of the treatment's rows outside of them.
_POINTS, _ENDS = 21, (0.01, 0.99)


class _Curve(NamedTuple):
  """A `curve_words.Curve`: the fitted one, and its band."""

  treatment: str
  curve: types.FloatArray
  band: types.FloatArray | None
  derivative: float
  debiased_derivative: tuple[float, float, float] | None
  bias_share: float


class EffectChecks(abc.ABC):
  """Specification checks of a method that learns a curve.

  Attributes:
    first_stage_: first-stage diagnostics.
    models_: one for each split.
    split_spread_: how far predictions of splits differ.
  """

  first_stage_: strength.FirstStage
  models_: list[Any]
  split_spread_: float
  names_: types.IVBatch
  rows_: types.IVBatch | None
  _most_splits: int

  @abc.abstractmethod
  def predict(self, T: Any, X: Any = None) -> types.FloatArray:
    """Returns the structural function f(T, X) on the scale of Y, [n]."""

  @property
  @abc.abstractmethod
  def has_intervals(self) -> bool:
    """Whether there are rows for intervals, and enough of them."""

  @abc.abstractmethod
  def _inferred(self, groups: Any) -> inference_lib.Inference:
    """Returns the inference of the rows of the fit."""

  def checks(self, *, groups: Any = None) -> list[str]:
    """Returns what speaks for and against the fit, a sentence each.

    They are of relevance, over-identification, endogeneity, the share of bias,
    overlap, and stability over splits. What needs the rows of the fit is left
    out where they are not there, and what is of one treatment where there are
    many.

    Args:
      groups: labels of clusters of the rows, [n]; independent rows if None.
    """
    rows = self.rows_ if self.has_intervals else None
    words = self._relevance()
    if rows is not None:
      words.append(
        curve_words.over_identification(self.over_identification(groups=groups))
      )
      columns = rows.treatment.shape[1]
      few = columns <= effect_intervals.MOST_TREATMENTS
      for place in range(columns if few else 0):
        words += curve_words.sentences(
          self._curve(place, rows, groups), rows.treatment[:, place]
        )
    if self._most_splits:
      words.append(curve_words.stability(len(self.models_), self.split_spread_))
    return words

  def over_identification(self, *, groups: Any = None) -> residuals.Explained:
    """Returns what Z and X tell of what the curve leaves: nothing, if valid.

    Args:
      groups: labels of clusters of the rows, [n].
    """
    return self._inferred(groups).over_identification()

  def _relevance(self) -> list[str]:
    first = self.first_stage_
    names = (
      ["the treatment's effect"]
      if first.of_effect
      else self._treatment_names(len(first.r2))
    )
    return [
      messages.strength(
        float(f), messages.WEAK_F, what=name, linear=False, conditional=False
      )
      for name, f in zip(names, first.held_out_index_f, strict=True)
    ]

  def _treatment_names(self, count: int) -> list[str]:
    if self.names_.treatment is not None:
      return [*self.names_.treatment]
    if count == 1:
      return ['the treatment']
    return [f'column {place} of the treatment' for place in range(count)]

  def _curve(self, place: int, rows: types.IVBatch, groups: Any) -> _Curve:
    """Returns the curve of a treatment with its band and plain regression."""
    values = np.unique(rows.treatment[:, place])
    if len(values) > effect_intervals.FEW_VALUES:
      low, high = np.quantile(rows.treatment[:, place], _ENDS)
      values = np.linspace(low, high, _POINTS)
    found = self._inferred(groups)
    band = found.levels_interval(place, values, uniform=True)
    return _Curve(
      self._treatment_names(found.treatments)[place],
      np.stack(
        [
          values,
          self._fitted_levels(place, values, rows),
          found.plain_levels(place, values),
        ],
        axis=1,
      ),
      np.stack([band.low, band.high], axis=1),
      float('nan'),
      None,
      float(np.mean(band.bias_share)),
    )

  def _fitted_levels(
    self, place: int, values: types.FloatArray, rows: types.IVBatch
  ) -> types.FloatArray:
    """Returns averages of predictions with one treatment set to values."""
    alone = rows.covariate is None and rows.treatment.shape[1] == 1
    points = rows.treatment[: 1 if alone else None].copy()
    found = []
    for value in values:
      points[:, place] = value
      found.append(np.mean(self.predict(points, rows.covariate)))
    return np.array(found)
