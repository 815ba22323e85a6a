"""How much of a curve AutoIV takes in place of a line.

Losses of whole predictions hardly tell a curve where instruments are weak: it
is a small part of what they leave open. What a fit of KIV expects beyond a
line, by rows that it has not seen, either goes with what two-stage least
squares leaves or does not (`linearity`).
"""

import numpy as np

from dfiv_ope import types
from dfiv_ope.iv import fold_curves, fold_fits, kernels, landmarks, linearity
from dfiv_ope.iv.methods import two_sls
from dfiv_ope.iv.methods.entries import kernel_rules

# Of both kernels, as in DFIV's default.
_LANDMARKS = 150
# Of a line; below it, it is left out.
_LEAST_SHARE = 0.01


def t_statistic(first: types.IVBatch, second: types.IVBatch) -> float | None:
  """Returns how clearly there is more than a line.

  Args:
    first: half of the rows.
    second: the other half.

  Returns:
    The statistic; None where there are too few rows or too many columns.
  """
  config = kernel_rules.Kernels(most_landmarks=_LANDMARKS)
  batch = kernels.rows_of(config, first, second)
  rows = kernels.columns(batch)
  middle = len(first.outcome)
  halves = [
    fold_fits.Rows(*(each[half] for each in rows))
    for half in (slice(middle), slice(middle, None))
  ]
  if not fold_curves.possible(halves):
    return None
  # From both halves alike.
  searched = np.linspace(
    0, len(rows.outcome) - 1, min(fold_curves.SEARCH_ROWS, len(rows.outcome))
  ).astype(int)
  widths = kernels.chosen_bandwidths(
    config,
    types.IVBatch(
      *(None if each is None else each[searched] for each in batch)
    ),
  )
  psi, phi = (
    _kernel(columns, width)
    for columns, width in zip(
      (rows.treatment, rows.instrument), widths, strict=True
    )
  )
  line = two_sls.fit(two_sls.Config(), first, second, seed=0).weights
  return fold_curves.t_statistic(
    fold_curves.fit(halves, psi, phi).expected, halves, line
  )


def shares(
  t: float | None, curves: dict[str, float], line: str
) -> dict[str, float]:
  """Returns shares of curves and of a line, which comes last.

  What intervals are made of is the first: where there is any part of a curve
  in the answer, a line's interval would be too sure.

  Args:
    t: of `t_statistic`; None leaves the line alone.
    curves: shares of these among themselves, the largest first.
    line: name of the line.
  """
  part = 0.0 if t is None else linearity.weight(t, fold_curves.LEAST_CURVE)
  if part > 1.0 - _LEAST_SHARE:
    part = 1.0
  found = {name: part * share for name, share in curves.items()}
  found[line] = 1.0 - part
  return {name: share for name, share in found.items() if share > 0.0}


def _kernel(
  columns: types.FloatArray, width: types.FloatArray
) -> landmarks.Landmarks:
  made = landmarks.Landmarks(columns.shape[1])
  made.adapt(columns, width, fold_curves.TOLERANCE, _LANDMARKS)
  return made
