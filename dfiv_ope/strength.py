"""When a first stage is weak, and how to say so.

The same words serve the estimators on arrays and off-policy evaluation. What
the numbers mean is told in docs/diagnostics.md.
"""

from collections.abc import Mapping, Sequence
import math

# Staiger and Stock's rule of thumb: below it, the bias of two-stage least
# squares may be more than a tenth of that of ordinary regression.
WEAK_F = 10.
# Share of what follows that states and actions should explain. On the logs of
# the three tasks it is above 0.6 even where every second action is replaced.
WEAK_R2 = 0.3
# Along a direction of singular value s, an error of the regression on the
# instruments is multiplied by 1 / s: tenfold below this.
LOW_VALUE = 0.1
# A share is known to about a tenth (`spectrum`); at three times that it is no
# chance that part of the outcome lies where stage 1 keeps little.
ILL_POSED_SHARE = 0.3


def lost_share(
    values: Sequence[float], alignment: Sequence[float],
) -> float:
  """Returns how much of the outcome lies along directions of low values.

  Args:
    values: singular values of stage 1, [K].
    alignment: share of the outcome's explained part along each, [K]; nan
      where it is not known.

  Returns:
    A share between 0 and 1, or nan.
  """
  share = sum(each for value, each in zip(values, alignment, strict=True)
              if value < LOW_VALUE)
  return share if math.isnan(share) else min(max(share, 0.), 1.)


def weak_instrument(share: float, f: float, *, what: str) -> str:
  """Says that an instrument hardly moves a treatment.

  Args:
    share: what it explains of it on held-out rows.
    f: its effective F.
    what: names the treatment.
  """
  return (
      f'Z is a weak instrument: it explains {percent(share)} of {what} on '
      f'held-out rows, and its effective F is {f:.1f}, below {WEAK_F:.0f}. '
      'Estimates are biased towards ordinary regression; look for a stronger '
      'instrument or more rows.')


def ill_posed(share: float, *, instruments: str, outcome: str) -> str:
  """Says that part of the outcome lies where stage 1 keeps little.

  Args:
    share: of `lost_share`.
    instruments: names them.
    outcome: names it.
  """
  return (
      f'{percent(share)} of what {instruments} tell of {outcome} lies along '
      'directions that stage 1 hardly keeps (singular values below '
      f'{LOW_VALUE:g}), so small errors there become large ones in the answer.')


def weak_values(metrics: Mapping[str, Mapping[str, float]]) -> str:
  """Says of which methods states and actions hardly tell the values.

  Args:
    metrics: of the rows of each method (`agents.first_stage`).

  Returns:
    A sentence; empty if there is no such method.
  """
  weak = {
      name: each for name, each in metrics.items()
      if each.get('first_stage_r2', math.inf) < WEAK_R2
      or each.get('first_stage_f', math.inf) < WEAK_F}
  if not weak:
    return ''
  shares = [
      f'{percent(each["first_stage_r2"])} by {name} (effective F '
      f'{each["first_stage_f"]:,.0f})' for name, each in weak.items()]
  return (
      f'States and actions explain little of the value that follows: '
      f'{", ".join(shares)}. So what an action leads to is mostly chance, or '
      'not in the observations.')


def percent(share: float) -> str:
  """Returns a share in per cent, such as '3 %'; a negative one is none."""
  value = 100. * max(share, 0.)
  if 0. < value < 0.1:
    return 'less than 0.1 %'
  return f'{value:.1f} %' if 0. < value < 1. else f'{value:.0f} %'
