"""Lines of the summaries of fitted estimators."""

from collections.abc import Mapping, Sequence
import math

from dfiv_ope import types
from dfiv_ope.iv import frames, methods
from dfiv_ope.iv.linear import covariances, results
from dfiv_ope.iv.methods.entries import auto

# Names that a summary has room for.
_SHOWN = 6


def columns(scales: types.IVBatch, names: types.IVBatch) -> list[str]:
  """Returns how many columns each member has, and what they are called."""
  return [
    f'{member} columns'.ljust(20)
    + f'{0 if scale is None else len(scale.mean)}'
    + frames.shown(each, _SHOWN)
    for member, scale, each in zip(
      types.IVBatch._fields, scales, names, strict=True
    )
    if member != 'outcome'
  ]


def losses(history: Mapping[str, Sequence[float]]) -> list[str]:
  """Returns the chosen penalties and the least losses."""
  return [
    *(
      f'{name:<19} {values[-1]:.6g}'
      for name, values in history.items()
      if len(values) == 1
    ),
    *(
      f'least {name:<13} {min(values):.6g}'
      for name, values in history.items()
      if len(values) > 1 and name.endswith('loss')
    ),
  ]


def choice(
  shares: Mapping[str, float], history: Mapping[str, Sequence[float]]
) -> list[str]:
  """Returns which methods were averaged, and how far others were behind.

  Args:
    shares: of each method in the average, the largest first.
    history: of a model that `methods.auto` made.
  """
  losses = {
    name.removeprefix(auto.LOSS): values[-1]
    for name, values in history.items()
    if name.startswith(auto.LOSS)
  }

  def label(name: str) -> str:
    return methods.ENTRIES[name].style.label

  chosen = next(iter(shares))
  if chosen not in losses:
    return [f'{"chosen method":<19} {label(chosen)}, the only candidate']
  head = f'{"chosen method":<19} {label(chosen)}'
  if len(shares) > 1:
    head = f'{"average of":<19} ' + ', '.join(
      f'{label(name)} ({100.0 * share:.0f} %)' for name, share in shares.items()
    )
  behind = [
    f'{label(name)} {100.0 * (loss / losses[chosen] - 1.0):+.2g} %'
    for name, loss in sorted(losses.items(), key=lambda each: each[1])
    if name != chosen
  ]
  of = f' of {label(chosen)}' if len(shares) > 1 else ''
  return [
    f'{head}, held-out loss{of} {losses[chosen]:.4g} of the variance of Y'
    + (f' ({", ".join(behind)})' if behind else '')
  ]


def linear_head(found: results.LinearFit, name: str) -> list[str]:
  """Returns what a linear fit is, before its tables."""
  kind = {
    covariances.UNADJUSTED: 'unadjusted (equal variances)',
    covariances.CLUSTERED: f'clustered ({found.clusters} clusters)',
    covariances.HAC: f'HAC (bandwidth {found.bandwidth:g})',
  }.get(found.covariance_kind, f'robust ({found.covariance_kind})')
  lines = [
    f'{name} fitted to {found.rows} rows',
    f'{"standard errors":<19} {kind}'
    f'{"" if found.debiased else ", no small-sample correction"}',
    f'{"R2":<19} {found.r2:.4g}',
    f'{"residual std. dev.":<19} {found.scale:.4g}',
  ]
  if not math.isnan(found.kappa) and found.estimator != '2SLS':
    lines.append(f'{"kappa":<19} {found.kappa:.6g}')
  if found.absorbed:
    lines.append(f'{"absorbed effects":<19} {found.absorbed}')
  test = found.wald()
  lines.append(
    f'{"all slopes zero":<19} {test.statistic:.4g} (p {test.p_value:.4f})'
  )
  return lines


def set_labels(found: results.LinearFit) -> list[tuple[str, str]]:
  """Returns kinds of weak-instrument-robust sets and what to call them."""
  return [
    (
      results.ANDERSON_RUBIN,
      'Anderson-Rubin'
      + (
        f', {covariances.of_sets(found.covariance_kind)}'
        if found.robust_sets
        else ', equal variances'
      ),
    ),
    (results.CLR, 'conditional LR, equal variances'),
  ]
