"""What a fitted curve and its band mean, in sentences with a number."""

from collections.abc import Sequence
from typing import Protocol

import numpy as np

from dfiv_ope import types
from dfiv_ope.iv import splits

# A band of more than this is mostly what instruments cannot tell.
_MUCH_BIAS = 0.5
# Fifths of a treatment's range with a smaller share of rows are thin.
_FIFTHS, _THIN = 5, 0.05
# Instruments whose t is larger tell of residuals.
_TOLD = 1.96
# The split decides an answer that it moves by more, in deviations of Y.
_UNSTABLE = 0.1


class Told(Protocol):
  """What instruments tell of residuals, as `residuals.Explained` has it."""

  @property
  def share(self) -> float:
    """Of their variance, on held-out rows."""

  @property
  def t(self) -> float:
    """Large if something is told."""


class Curve(Protocol):
  """The effects of one treatment, as `effect_table` has them."""

  @property
  def treatment(self) -> str:
    """Its name."""

  @property
  def curve(self) -> types.FloatArray:
    """Values, average outcomes and those by plain regression, [points, 3]."""

  @property
  def band(self) -> types.FloatArray | None:
    """Ends of the uniform band, [points, 2]."""

  @property
  def derivative(self) -> float:
    """Mean of df/dt by the fit itself."""

  @property
  def debiased_derivative(self) -> tuple[float, float, float] | None:
    """The one that has an interval, and its ends."""

  @property
  def bias_share(self) -> float:
    """Share of the band's variance that is a bound on bias."""


def intervals(effects: Sequence[Curve]) -> str:
  """Returns the intervals of average derivatives in a sentence."""
  if any(each.band is None for each in effects):
    return (
      'There are no confidence intervals: rows are too few or too many. '
      'The numbers are point estimates.'
    )
  words = [
    'by {} {:.4g} [{:.4g}, {:.4g}]'.format(
      each.treatment, *each.debiased_derivative
    )
    for each in effects
    if each.debiased_derivative is not None
  ]
  return (
    f'Average derivative and 95 % confidence interval: {", ".join(words)}.'
    if words
    else 'The band has a confidence of 95 % at all values together.'
  )


def sentences(effect: Curve, rows: types.FloatArray) -> list[str]:
  """Returns what the curve of one treatment says, a sentence each.

  Args:
    effect: of the treatment.
    rows: its values in the rows of the fit, [n].
  """
  words = [_overlap(effect, rows)]
  if effect.band is not None:
    words = [_endogeneity(effect), _own(effect), _bias(effect), *words]
  return [each for each in words if each]


def over_identification(told: Told) -> str:
  """Returns what it means that instruments tell of residuals, or do not."""
  number = f'{100.0 * max(told.share, 0.0):.2g} %'
  if told.t > _TOLD:
    return (
      f'Z and X predict {number} of what the curve leaves (held out, t '
      f'{told.t:.1f}): an instrument moves the outcome by another way, or the '
      'curve is too smooth. Drop instruments that may, fit another method, '
      'and compare.'
    )
  return (
    f'Z and X predict {number} of what the curve leaves (held out, t '
    f'{told.t:.1f}), no more than chance: the instruments agree on one curve. '
    'All of them could still be invalid alike: argue for them.'
  )


def stability(count: int, spread: float) -> str:
  """Returns whether random splits of the rows decide the answer.

  Args:
    count: number of splits.
    spread: standard deviation over splits of one, as a share of that of Y.
  """
  if count == 1:
    return (
      'One random split of the rows decided part of this fit. '
      f'n_splits={splits.PROPOSED} tells how far others differ.'
    )
  mean = spread / np.sqrt(count)
  words = (
    f'{count} random splits of the rows differ by {spread:.2g} of the standard '
    f'deviation of Y, so their mean by about {mean:.2g}'
  )
  if mean > _UNSTABLE:
    return f'{words}: chance decides part of it. Raise n_splits.'
  return f'{words}: the split decides little.'


def _endogeneity(effect: Curve) -> str:
  outside = _outside(effect, 2)
  if outside.any():
    return (
      f'Plain regression of {effect.treatment} leaves the 95 % band at '
      f'{outside.sum()} of {len(outside)} values: the treatment is '
      'confounded, or the instruments are invalid. Report IV.'
    )
  return (
    f'Plain regression of {effect.treatment} stays within the 95 % band '
    f'at all {len(outside)} values: IV does not differ from it by more '
    'than chance and bias may explain. Report both.'
  )


def _own(effect: Curve) -> str:
  outside = _outside(effect, 1)
  if not outside.any():
    return ''
  return (
    f'The fitted curve of {effect.treatment} leaves its own band at '
    f'{outside.sum()} of {len(outside)} values: its penalties or its '
    'splits moved it. Trust the band, or fit another method.'
  )


def _bias(effect: Curve) -> str:
  assert effect.band is not None
  share = f'{100.0 * effect.bias_share:.0f} %'
  if not np.isfinite(effect.band).all():
    return (
      f'The band of {effect.treatment} is unbounded at some values: the '
      'instruments are too weak for a curve. Fit a line (two_sls) and '
      'read its Anderson-Rubin set, or find stronger instruments.'
    )
  if effect.bias_share > _MUCH_BIAS:
    return (
      f'{share} of the variance of the band of {effect.treatment} is a '
      'bound on bias: the instruments do not tell the shape of the curve '
      'more finely. Ask for averages such as the derivative, or find '
      'instruments that move the treatment more.'
    )
  return (
    f'{share} of the variance of the band of {effect.treatment} is a '
    'bound on bias, the rest is noise: more rows narrow it.'
  )


def _overlap(effect: Curve, rows: types.FloatArray) -> str:
  values = effect.curve[:, 0]
  if len(np.unique(rows)) <= _FIFTHS:
    return ''
  counts, ends = np.histogram(
    rows, bins=_FIFTHS, range=(float(values[0]), float(values[-1]))
  )
  least = int(np.argmin(counts))
  share = counts[least] / len(rows)
  place = f'from {ends[least]:.4g} to {ends[least + 1]:.4g}'
  if share < _THIN:
    return (
      f'Only {100.0 * share:.1f} % of the rows have {effect.treatment} '
      f'{place}: there the curve rests on what lies beside. Ask for '
      'effects between values that rows have.'
    )
  return (
    f'Every fifth of the range of {effect.treatment} has '
    f'{100.0 * share:.0f} % of the rows or more.'
  )


def _outside(effect: Curve, column: int) -> types.FloatArray:
  """Returns where a column of the curve lies outside of the band, [points]."""
  assert effect.band is not None
  line = effect.curve[:, column]
  return (line < effect.band[:, 0]) | (line > effect.band[:, 1])
