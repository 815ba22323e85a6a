"""The stage-1 operator, E[psi(X) | z] on features, and what it keeps.

Its singular values are the correlations of the best pairs of a treatment and
an instrument feature, each of unit variance. Where they fall fast, stage 1
forgets most of the treatment, and the structural function can only be told
along the first few directions.

With n rows and d features, noise alone makes values of about sqrt(d / n) in the
rows that the pairs are found in. So pairs are found in one half of the rows and
their correlations are measured in the other, then the reverse.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from dfiv_ope import types
from dfiv_ope.iv import ridge
from dfiv_ope.iv.diagnostics import messages

# Directions of the treatment that are looked at: those of the largest variance,
# and of no less than this share of the largest. What varies less changes the
# structural function little.
_MAX_RANK = 200
_LEAST_VARIANCE = 1e-3
# Of these, what controls leave less of than this is a function of them: shrunk
# a little, it is not quite removed.
_LEAST_LEFT = 0.05
# Directions of the instrument of less variance than this share of the largest
# are rounding.
_ROUNDING = 1e-10
# Candidates of the penalties of stage 1 and of the controls.
_PENALTIES = tuple(float(x) for x in 10.0 ** np.arange(-9.0, 1.0, 2.0))
# The alignment is known if the outcome's explained part is as many times the
# standard error that noise gives it: a share is then known to about a tenth.
_KNOWN = 10.0


class Spectrum(NamedTuple):
  """What the stage-1 operator does along its singular directions.

  Attributes:
    values: held-out singular values in the order of the rows that the
      directions were found in, so they need not fall; in [0, 1], [K].
    alignment: share of the part of the outcome that the instruments explain
      along each direction, [K]; sums to one, and noise may make some slightly
      negative. All nan where the instruments explain too little to tell.
  """

  values: types.FloatArray
  alignment: types.FloatArray

  def descending(self) -> 'Spectrum':
    """Returns it with the largest held-out value first."""
    order = np.argsort(-self.values, kind='stable')
    return Spectrum(self.values[order], self.alignment[order])

  @property
  def rank(self) -> float:
    """Directions that stage 1 keeps: the sum of squares of the values."""
    return float(np.sum(np.square(self.values)))

  @property
  def lost_share(self) -> float:
    """Share of the outcome's explained part along low values, or nan."""
    return messages.lost_share(self.values.tolist(), self.alignment.tolist())


class Moments(NamedTuple):
  """Sums over rows of features phi and psi and the outcome y.

  Attributes:
    instrument: sum of phi phi', [D2, D2].
    cross: sum of phi psi', [D2, D1].
    treatment: sum of psi psi', [D1, D1].
    outcome: sum of phi y, [D2].
    square: sum of y^2.
    rows: number of rows.
    whole: sum of psi psi' before controls were removed, [D1, D1]; None where
      there are none.
    noise: the part of `instrument` that is known to be noise, if any.
  """

  instrument: types.FloatArray
  cross: types.FloatArray
  treatment: types.FloatArray
  outcome: types.FloatArray
  square: float
  rows: float
  whole: types.FloatArray | None = None
  noise: types.FloatArray | None = None


def from_moments(
  first: Moments, second: Moments, *, penalty: float | None = None
) -> Spectrum:
  """Returns the spectrum from sums over two halves of the rows.

  Nothing is centred: a constant is a feature like any other.

  Args:
    first: of one half.
    second: of the other.
    penalty: of stage 1; chosen held out if None.
  """
  return _combine([(first, second), (second, first)], penalty)


def from_rows(
  first: types.IVBatch,
  second: types.IVBatch,
  *,
  noise: Sequence[types.FloatArray] = (),
  swap: bool = True,
) -> Spectrum:
  """Returns the spectrum of two halves of the rows, controls removed.

  Args:
    first: features of one half: psi [B, D1], phi [B, D2], outcome [B, 1], and
      as covariates what is controlled for, [B, D3] or None, besides the
      constant.
    second: the same of the other half.
    noise: of each half, what varies as much as noise that is known to be in
      phi, [B, D2]; values are those without it.
    swap: whether halves change places; otherwise directions are those of the
      first half.
  """
  joint = [_joint(half) for half in (first, second)]
  sizes = first.instrument.shape[1], first.treatment.shape[1]
  controls = 1 if first.covariate is None else first.covariate.shape[1] + 1
  pairs = []
  for fitted, judge in ((0, 1), (1, 0))[: 2 if swap else 1]:
    given = [_columns(joint[half], controls) for half in (fitted, judge)]
    weights = _control(*given)
    found, other = (
      _without(joint[half], weights, sizes) for half in (fitted, judge)
    )
    if noise:
      other = other._replace(
        noise=ridge.sums(noise[judge], noise[judge][:, :1]).gram
      )
    means = np.zeros_like(weights)
    means[-1] = given[0].moment[-1] / given[0].count
    whole = _without(joint[fitted], means, sizes).treatment
    pairs.append((found._replace(whole=whole), other))
  return _combine(pairs)


def condition(gram: types.FloatArray) -> float:
  """Returns the condition number of a Gram matrix of features, at most 1e10.

  It is the largest over the smallest variance of the directions of most
  variance, without those that vary by rounding only.
  """
  variances, _ = _directions(np.asarray(gram), _ROUNDING, _MAX_RANK)
  return float(variances[0] / variances[-1])


def _joint(half: types.IVBatch) -> ridge.Sums:
  """Returns the sums of controls, constant, phi, psi and y together."""
  constant = np.ones_like(half.outcome)
  controls = [] if half.covariate is None else [half.covariate]
  columns = np.concatenate(
    [*controls, constant, half.instrument, half.treatment, half.outcome], axis=1
  )
  return ridge.sums(columns, columns[:, -1:])


def _columns(total: ridge.Sums, count: int) -> ridge.Sums:
  """Returns the sums of the first columns, with the others as targets."""
  return total._replace(
    gram=total.gram[:count, :count],
    moment=total.gram[:count, count:],
    square=np.diag(total.gram)[count:],
  )


def _control(fitted: ridge.Sums, judge: ridge.Sums) -> types.FloatArray:
  """Returns weights of the controls, with the penalty other rows prefer."""
  spread = judge.square - np.square(judge.moment[-1]) / judge.count
  grid = ridge.solve_grid(fitted, _PENALTIES, intercept=True)
  errors = []
  for weights in grid:
    fit = judge.gram @ weights
    left = judge.square - np.sum(weights * (2.0 * judge.moment - fit), axis=0)
    errors.append(np.sum(_ratio(left, spread)))
  return grid[int(np.argmin(errors))]


def _without(
  total: ridge.Sums, weights: types.FloatArray, sizes: tuple[int, int]
) -> Moments:
  """Returns the moments of what controls with some weights leave."""
  left = ridge.project(
    total, np.concatenate([-weights, np.eye(sum(sizes) + 1)])
  )
  gram = left.gram
  phi, psi = np.split(np.arange(sum(sizes)), sizes[:1])
  return Moments(
    instrument=gram[np.ix_(phi, phi)],
    cross=gram[np.ix_(phi, psi)],
    treatment=gram[np.ix_(psi, psi)],
    outcome=gram[phi, -1],
    square=float(gram[-1, -1]),
    rows=float(total.count),
  )


def _combine(
  pairs: Sequence[tuple[Moments, Moments]], penalty: float | None = None
) -> Spectrum:
  """Returns the mean of what several pairs of fitted and judge give."""
  values, explained = zip(
    *(_judge(*pair, penalty or _penalty(*pair)) for pair in pairs), strict=True
  )
  rank = min(map(len, values))
  value = np.mean([each[:rank] for each in values], axis=0)
  part = np.mean([each[:rank] for each in explained], axis=0)
  # Squared correlations with noise have a variance of 2 / n^2.
  noise = np.sqrt(2.0 * rank / len(pairs)) / min(
    judge.rows for _, judge in pairs
  )
  known = np.sum(part) > _KNOWN * noise
  return Spectrum(
    values=np.clip(value, 0.0, 1.0),
    alignment=part / np.sum(part) if known else np.full(rank, np.nan),
  )


def _judge(
  fitted: Moments, judge: Moments, penalty: float
) -> tuple[types.FloatArray, types.FloatArray]:
  """Finds directions in some rows, and looks at them in others.

  Returns:
    Correlations of the pairs, [K]; share of the outcome's variance that each
    instrument direction explains beyond those before it, less what noise
    does, [K].
  """
  variances, rotation = _directions(fitted.instrument, _ROUNDING, None)
  left = rotation / np.sqrt(variances + penalty * fitted.rows)
  right = _treatment_directions(fitted)
  rotated, _, back = np.linalg.svd(
    left.T @ fitted.cross @ right, full_matrices=False
  )
  phi, psi = left @ rotated, right @ back.T  # [D2, K], [D1, K]
  inner = phi.T @ judge.instrument @ phi
  # What a few rows of the fitted decide may not vary in others at all.
  size = np.maximum(np.diag(inner), 0.0)
  if judge.noise is not None:
    # Of a direction that is mostly noise, not all may be known.
    size = np.maximum(
      size - np.sum(phi * (judge.noise @ phi), axis=0), size / 4.0
    )
  values = _ratio(
    np.sum(phi * (judge.cross @ psi), axis=0),
    np.sqrt(
      size * np.maximum(np.sum(psi * (judge.treatment @ psi), axis=0), 0.0)
    ),
  )
  return values, _explained(inner, phi.T @ judge.outcome, judge)


def _treatment_directions(fitted: Moments) -> types.FloatArray:
  """Returns W [D1, K] with W' treatment W = I."""
  whole = fitted.treatment if fitted.whole is None else fitted.whole
  spread, rotation = _directions(whole, _LEAST_VARIANCE, _MAX_RANK)
  whitening = rotation / np.sqrt(spread)
  left, rotation = _directions(
    whitening.T @ fitted.treatment @ whitening, 0.0, None
  )
  kept = left >= min(_LEAST_LEFT, left[0])
  return whitening @ rotation[:, kept] / np.sqrt(left[kept])


def _explained(
  inner: types.FloatArray, outcome: types.FloatArray, judge: Moments
) -> types.FloatArray:
  """Returns adjusted shares of the outcome, direction after direction."""
  # Orthogonal in the fitted rows, directions are not quite so in others.
  varies = np.diag(inner) > 0.0
  scale = np.sqrt(np.where(varies, np.diag(inner), 1.0))
  inner = np.where(np.outer(varies, varies), inner, np.eye(len(inner)))
  inner, outcome = (
    inner / np.outer(scale, scale),
    np.where(varies, outcome, 0.0),
  )
  # Where little varies, rounding may leave it indefinite.
  lift = _ROUNDING + max(0.0, -float(np.linalg.eigvalsh(inner)[0]))
  factor = np.linalg.cholesky(inner + lift * np.eye(len(inner)))
  part = np.square(np.linalg.solve(factor, outcome / scale))
  part = _ratio(part, np.full(len(part), judge.square))
  return part - (1.0 - np.sum(part)) / judge.rows


def _penalty(fitted: Moments, judge: Moments) -> float:
  """Returns the penalty of stage 1 that the other rows prefer."""
  sums = [
    ridge.Sums(
      gram=each.instrument,
      moment=each.cross,
      square=np.diag(each.treatment),
      count=np.float64(each.rows),
    )
    for each in (fitted, judge)
  ]
  losses = [
    ridge.mean_squared_error(sums[1], weights)
    for weights in ridge.solve_grid(sums[0], _PENALTIES)
  ]
  return _PENALTIES[int(np.argmin(losses))]


def _directions(
  gram: types.FloatArray, least: float, most: int | None
) -> tuple[types.FloatArray, types.FloatArray]:
  """Returns variances, falling, and directions [D, K] of a Gram matrix."""
  values, vectors = np.linalg.eigh(gram)
  values, vectors = values[::-1][:most], vectors[:, ::-1][:, :most]
  kept = values > least * values[0]
  kept[0] = True
  return np.maximum(values[kept], np.finfo(float).tiny), vectors[:, kept]


def _ratio(
  above: types.FloatArray, below: types.FloatArray
) -> types.FloatArray:
  """Returns above / below, 0 where there is nothing below."""
  return np.divide(above, below, out=np.zeros_like(above), where=below > 0.0)
