"""The first stage of a fitted estimator as lines of its summary."""

import numpy as np

from dfiv_ope import types
from dfiv_ope.iv.diagnostics import messages, strength, weak_instruments

# Singular values that a summary has room for.
_SHOWN = 6


def first_stage(first: strength.FirstStage) -> list[str]:
  """Returns what is known of the first stage, a line each."""
  return [*_linear(first), *held_out(first)]


def held_out(first: strength.FirstStage) -> list[str]:
  """Returns what held-out rows tell of the first stage, a line each."""
  return [
    f'first stage (held out), {_subject(first)}',
    f'  R2                {_numbers(first.r2)}',
    f'  partial R2 of Z   {_numbers(first.partial_r2)}',
    f'  F of the index    {_numbers(first.held_out_index_f)}'
    f'{"  WEAK" if first.weak and not first.linear else ""}',
    *_operator(first),
  ]


def _numbers(values: types.FloatArray) -> str:
  return ' '.join(f'{value:.4g}' for value in values)


def _subject(first: strength.FirstStage) -> str:
  return (
    "of the treatment's effect" if first.of_effect else 'by treatment column'
  )


def _linear(first: strength.FirstStage) -> list[str]:
  """Returns the textbook statistics, where there are any."""
  if not len(first.effective_f):
    return []
  name, critical = 'effective F of Z', first.critical_values[0]
  taus: tuple[float, ...] = weak_instruments.TAUS
  if len(first.effective_f) > 1:
    name, taus = 'conditional F', (messages.WORST_BIAS,)
    critical = first.critical_values[
      :, weak_instruments.TAUS.index(messages.WORST_BIAS)
    ]
  shares = ', '.join(f'{100.0 * tau:.0f}' for tau in taus)
  return [
    f'first stage (linear in Z, all rows), {_subject(first)}',
    f'  partial R2 of Z   {_numbers(first.linear_partial_r2)}',
    f'  robust F of Z     {_numbers(first.robust_f)}',
    f'  {name:<17} {_numbers(first.effective_f)}'
    f'{"  WEAK" if first.weak and first.linear else ""}',
    f'  critical values   {_numbers(critical)} ({shares} % of the worst bias)',
  ]


def _operator(first: strength.FirstStage) -> list[str]:
  """Returns what is known of the stage-1 operator, direction by direction."""
  values, alignment = (
    each[:_SHOWN] for each in (first.singular_values, first.alignment)
  )
  if not len(values):  # Saved by an older version.
    return []
  more = len(first.singular_values) - len(values)
  along = (
    'too little to tell'
    if np.isnan(alignment).any()
    else ' '.join(f'{100.0 * max(each, 0.0):.0f}%' for each in alignment)
  )
  return [
    f'  singular values   {_numbers(values)}'
    f'{f" and {more} more" if more else ""}',
    f'  Y along them      {along}',
    f'  condition of Z    {first.condition:.2g}',
  ]
