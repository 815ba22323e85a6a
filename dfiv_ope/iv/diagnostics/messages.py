"""When a first stage is weak, and how to say so.

The same words serve the estimators on arrays and off-policy evaluation. What
the numbers mean is told in docs/diagnostics.md.
"""

from collections.abc import Mapping, Sequence
import math

# Staiger and Stock's rule of thumb, for the F of one held-out index: below it,
# the bias may be more than a tenth of that of ordinary regression.
WEAK_F = 10.0
# Two-stage least squares is to keep less than this share of the worst-case
# bias; its effective F is held against the critical value of that.
WORST_BIAS = 0.1
# Share of what follows that states and actions should explain. On the logs of
# the three tasks it is above 0.6 even where every second action is replaced.
WEAK_R2 = 0.3
# Along a direction of singular value s, an error of the regression on the
# instruments is multiplied by 1 / s: tenfold below this.
LOW_VALUE = 0.1
# The F of a direction, s^2 n, below which its value is not known to a third of
# itself, and so neither is the effect along it.
_KNOWN_F = 10.0
# A share is known to about a tenth (`spectrum`); at three times that it is no
# chance that part of the outcome lies where stage 1 keeps little.
ILL_POSED_SHARE = 0.3


def low_value(rows: int) -> float:
  """Returns the singular value below which an effect cannot be told.

  A small value does no harm where many rows tell it well.

  Args:
    rows: number of rows it was estimated from.
  """
  return min(LOW_VALUE, math.sqrt(_KNOWN_F / rows))


def lost_share(
  values: Sequence[float], alignment: Sequence[float], low: float = LOW_VALUE
) -> float:
  """Returns how much of the outcome lies along directions of low values.

  Args:
    values: singular values of stage 1, [K].
    alignment: share of the outcome's explained part along each, [K]; nan
      where it is not known.
    low: values below this are low.

  Returns:
    A share between 0 and 1, or nan.
  """
  share = sum(
    each for value, each in zip(values, alignment, strict=True) if value < low
  )
  return share if math.isnan(share) else min(max(share, 0.0), 1.0)


def weak_instrument(share: float, f: float, *, what: str) -> str:
  """Says that an instrument hardly moves a treatment, however it is used.

  Args:
    share: what it explains of it on held-out rows.
    f: of the held-out first-stage index.
    what: names the treatment.
  """
  return (
    f'Z is a weak instrument: it explains {percent(share)} of {what} on '
    f'held-out rows, and the F of the held-out first-stage index is {f:.1f}, '
    f'below {WEAK_F:.0f}. Estimates are biased towards ordinary regression; '
    'look for a stronger instrument or more rows.'
  )


def strength(
  f: float, threshold: float, *, what: str, linear: bool, conditional: bool
) -> str:
  """Says in short whether the F that decides is large enough.

  Args:
    f: the effective F of linear two-stage least squares, or the F of the
      held-out first-stage index.
    threshold: what it should be above.
    what: names the treatment.
    linear: whether it is the former.
    conditional: whether that is one of several treatments.
  """
  name = (
    'F of the held-out first-stage index'
    if not linear
    else 'conditional F'
    if conditional
    else 'effective F'
  )
  bound = (
    f'the critical value {threshold:.1f} for a bias of at most '
    f'{percent(WORST_BIAS)} of the worst case'
    if linear
    else f'{threshold:.0f}'
  )
  if f < threshold:
    return (
      f'The instruments are weak for {what}: {name} {f:.1f}, below {bound}.'
    )
  return (
    f'The instruments are strong enough for {what}: {name} {f:,.1f}, '
    f'above {bound}.'
  )


def weak_linear(
  f: float,
  critical_values: Mapping[float, float],
  *,
  what: str,
  conditional: bool = False,
) -> str:
  """Says that instruments are weak for two-stage least squares.

  Args:
    f: effective F, or the conditional F of one of several treatments.
    critical_values: of this F, by the share of the worst-case bias; that of
      `WORST_BIAS` among them.
    what: names the treatment.
    conditional: whether there are several treatments.
  """
  excluded = [tau for tau, each in critical_values.items() if f >= each]
  name = (
    f'conditional F (Sanderson-Windmeijer) of {what}'
    if conditional
    else f'effective F (Montiel Olea-Pflueger) of {what}'
  )
  return (
    f'Z is a weak instrument: the {name} is {f:.1f}, below '
    f'{critical_values[WORST_BIAS]:.1f}, so two-stage least squares may keep '
    f'more than {percent(WORST_BIAS)} of the worst-case bias, towards '
    'ordinary regression ('
    + (
      f'more than {percent(min(excluded))} is excluded'
      if excluded
      else f'not even {percent(max(critical_values))} is excluded'
    )
    + ' at the 5 % level). Use fewer and stronger instruments, or more rows.'
  )


def ill_posed(
  share: float, *, instruments: str, outcome: str, low: float = LOW_VALUE
) -> str:
  """Says that part of the outcome lies where stage 1 keeps little.

  Args:
    share: of `lost_share`.
    instruments: names them.
    outcome: names it.
    low: values below this are low.
  """
  return (
    f'{percent(share)} of what {instruments} tell of {outcome} lies along '
    'directions that stage 1 hardly keeps (singular values below '
    f'{low:.2g}), so small errors there become large ones in the answer.'
  )


def weak_values(metrics: Mapping[str, Mapping[str, float]]) -> str:
  """Says of which methods states and actions hardly tell the values.

  Args:
    metrics: of the rows of each method (`evaluation.first_stage`).

  Returns:
    A sentence; empty if there is no such method.
  """
  weak = {
    name: each
    for name, each in metrics.items()
    if each.get('first_stage_r2', math.inf) < WEAK_R2
    or each.get('first_stage_f', math.inf) < WEAK_F
  }
  if not weak:
    return ''
  shares = [
    f'{percent(each["first_stage_r2"])} by {name} (F of the held-out index '
    f'{each["first_stage_f"]:,.0f})'
    for name, each in weak.items()
  ]
  return (
    'Weak first stage: of the discounted next value (s, a) predicts '
    f'{", ".join(shares)} on held-out rows (R2). Either transitions are very '
    'noisy or the state is partially observed: add observations, or trust '
    'the closed forms less.'
  )


def percent(share: float) -> str:
  """Returns a share in per cent, such as '4.2 %'; a negative one is none."""
  value = 100.0 * max(share, 0.0)
  if 0.0 < value < 0.1:
    return 'less than 0.1 %'
  return f'{value:.2g} %' if value < 10.0 else f'{value:.0f} %'
