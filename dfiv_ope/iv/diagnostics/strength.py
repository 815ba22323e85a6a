"""First-stage diagnostics: does the instrument move the treatment?"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from dfiv_ope import types
from dfiv_ope.iv import ridge, two_stage
from dfiv_ope.iv.diagnostics import messages, weak_instruments

# Numbers of the columns of a picture would say nothing one by one. Where the
# treatment has more columns than this, what is to be explained is its effect.
MOST_COLUMNS = 20

# Pairs of draws of other rows' instruments, and columns of features at which
# they are fewer, because many columns are slow. The draws add noise to what an
# instrument tells, about an eighth of its variance, which is taken out again.
_PAIRS, _WIDE = 4, 1200
# Rows whose features are made together: quick, and not too large.
_TOGETHER = 20_000

# Features of rows, [B, D] -> [B, K].
FeatureMap = Callable[[types.FloatArray], types.FloatArray]

_PENALTIES = tuple(float(x) for x in 10.0 ** np.arange(-9.0, 1.0, 2.0))
# Small enough for ordinary least squares on standardised columns.
_NO_PENALTY = 1e-12
# Variance of a column that is rounding, such as that of a black pixel.
_FLAT = 1e-12


class FirstStageWarning(UserWarning):
  """The first stage is not what a method needs."""


class WeakInstrumentWarning(FirstStageWarning):
  """The instrument hardly moves the treatment."""


class IllPosedWarning(FirstStageWarning):
  """The outcome lies where stage 1 keeps little of the treatment."""


class FirstStage(NamedTuple):
  """How well the instrument predicts the treatment.

  Those of size D have an entry for each column of the treatment; nan for one
  that does not vary. Where columns are more than `MOST_COLUMNS`, there is one
  entry: of the fitted structural function f(x) at the rows, the one column that
  matters to the answer.

  Attributes:
    r2: share of the treatment's variance that instrument and covariates
      predict on held-out rows, [D].
    partial_r2: what the instrument's part of the held-out prediction explains,
      as a share of that and of what the whole prediction leaves, [D].
    held_out_index_f: F of the held-out first-stage index: robust F statistic
      of the instrument's part of the held-out prediction as one instrument,
      covariates controlled for, [D]. However many weak instruments are in
      the index, it is only one: the bias of two-stage least squares on all of
      them is told by `effective_f`.
    of_effect: whether the one entry is that of f(x).
    singular_values: held-out correlations of pairs of features of treatment
      and instrument, covariates controlled for (`spectrum.Spectrum`), [K].
    alignment: share of the outcome's explained part along each, [K].
    condition: condition number of the instrument's features.
    low_value: singular values below this are low; none where it is 0.
    linear: whether the method is linear two-stage least squares. Then the
      effective F decides whether Z is weak; otherwise the index does.
    linear_partial_r2: of the linear first stage, all rows in it
      (`weak_instruments.LinearFirstStage`), [D]; this and the next three are
      empty where there are too many columns.
    robust_f: likewise, [D].
    effective_f: likewise; of several treatments, conditional, [D].
    critical_values: likewise, [D, 4].
  """

  r2: types.FloatArray
  partial_r2: types.FloatArray
  held_out_index_f: types.FloatArray
  of_effect: bool = False
  singular_values: types.FloatArray = np.zeros(0)
  alignment: types.FloatArray = np.zeros(0)
  condition: float = np.nan
  low_value: float = messages.LOW_VALUE
  linear: bool = False
  linear_partial_r2: types.FloatArray = np.zeros(0)
  robust_f: types.FloatArray = np.zeros(0)
  effective_f: types.FloatArray = np.zeros(0)
  critical_values: types.FloatArray = np.zeros([0, len(weak_instruments.TAUS)])

  @property
  def weak(self) -> bool:
    """Whether the F that decides is below what it should be."""
    return bool(np.any(self.shortfall < 1.0))

  @property
  def shortfall(self) -> types.FloatArray:
    """The F that decides over what it should be, [D]."""
    if not self.linear:
      return self.held_out_index_f / messages.WEAK_F
    tau = weak_instruments.TAUS.index(messages.WORST_BIAS)
    return self.effective_f / self.critical_values[:, tau]

  @property
  def lost_share(self) -> float:
    """Share of the outcome along directions of low values; nan if unknown."""
    return messages.lost_share(
      self.singular_values.tolist(), self.alignment.tolist(), self.low_value
    )

  def warnings(self) -> list[UserWarning]:
    """Returns what speaks against the fit, in plain words."""
    found: list[UserWarning] = []
    if self.weak:
      found.append(
        WeakInstrumentWarning(
          self._weak_words(int(np.nanargmin(self.shortfall)))
        )
      )
    if self.lost_share > messages.ILL_POSED_SHARE:
      found.append(
        IllPosedWarning(
          messages.ill_posed(
            self.lost_share,
            instruments='the instruments',
            outcome='the outcome',
            low=self.low_value,
          )
        )
      )
    return found

  def _weak_words(self, column: int) -> str:
    """Says that the instrument is weak for a column of the treatment."""
    what = 'the treatment'
    if self.of_effect:
      what = "the treatment's effect"
    elif len(self.r2) > 1:
      what = f'column {column} of the treatment'
    if not self.linear:
      return messages.weak_instrument(
        float(self.partial_r2[column]),
        float(self.held_out_index_f[column]),
        what=what,
      )
    return messages.weak_linear(
      float(self.effective_f[column]),
      dict(
        zip(
          weak_instruments.TAUS,
          self.critical_values[column].tolist(),
          strict=True,
        )
      ),
      what=what,
      conditional=len(self.r2) > 1,
    )


class Half(NamedTuple):
  """Half of the rows, as the diagnostics want them.

  The last three are None without covariates.

  Attributes:
    treatment: what is to be explained, [B, D].
    instrument: phi(z, o), [B, d2].
    moved: phi(z, o) less its mean over some draws of other rows' z, so that
      nothing of the covariates alone is in it, [B, d2].
    noise: varies as much as that mean does with the draws, [B, d2].
    shuffled: phi(z, o) at one more draw, for a control, [B, d2].
    controls: functions of the covariates, [B, d3].
  """

  treatment: types.FloatArray
  instrument: types.FloatArray
  moved: types.FloatArray
  noise: types.FloatArray | None = None
  shuffled: types.FloatArray | None = None
  controls: types.FloatArray | None = None


def prepare(
  rows: types.IVBatch,
  instrument_features: FeatureMap,
  covariate_features: FeatureMap | None = None,
  *,
  generator: np.random.Generator,
) -> Half:
  """Returns rows for the diagnostics.

  Args:
    rows: standardised; the covariates are the last columns of the instrument.
    instrument_features: phi, [B, D] -> [B, d2].
    covariate_features: what is controlled for besides the covariates
      themselves, [B, D] -> [B, d].
    generator: draws the shuffles.
  """
  treatment, instrument = (
    np.asarray(each, np.float64) for each in (rows.treatment, rows.instrument)
  )
  phi = np.asarray(instrument_features(instrument), np.float64)
  if rows.covariate is None:
    return Half(treatment, phi, phi)
  covariate = np.asarray(rows.covariate, np.float64)
  own = instrument[:, : -covariate.shape[1]]

  def mean(count: int) -> types.FloatArray:
    """Returns the mean of phi over some draws, [B, d2]."""
    total = np.zeros_like(phi)
    once = max(1, _TOGETHER // len(own))
    for start in range(0, count, once):
      draws = min(once, count - start)
      drawn = np.concatenate([generator.permutation(own) for _ in range(draws)])
      total += np.sum(
        np.reshape(
          instrument_features(
            np.concatenate([drawn, np.tile(covariate, (draws, 1))], axis=1)
          ),
          (draws, *phi.shape),
        ),
        axis=0,
      )
    return total / count

  pairs = max(1, min(_PAIRS, _WIDE // phi.shape[1]))
  if instrument.shape[1] > MOST_COLUMNS:  # Pictures are slow as well.
    pairs = 1
  one, other = mean(pairs), mean(pairs)
  more = [] if covariate_features is None else [covariate_features(covariate)]
  return Half(
    treatment,
    phi,
    moved=phi - (one + other) / 2.0,
    noise=(one - other) / 2.0,
    shuffled=mean(1),
    controls=np.concatenate([covariate, *more], axis=1),
  )


def first_stage(first: Half, second: Half, *, swap: bool = True) -> FirstStage:
  """Returns R2 and the F of the held-out index of instrument features.

  A ridge regression of the treatment on phi(z, o) in one half of the rows
  makes one generated instrument for the other half: what it predicts there
  beyond its mean over other rows' z, so that functions of the covariates are
  not in it. The instrument is a single one and made out of sample, so its
  heteroskedasticity-robust F has nothing of the bias of many instruments. It
  says whether the index moves the treatment, not how biased a method is that
  uses all features in the rows that it fits them to. The t statistics of both
  halves are added up.

  Args:
    first: of `prepare`.
    second: likewise, of other rows.
    swap: whether each half is held out in turn; otherwise the second is.
  """
  halves = [first, second]
  sums = [
    two_stage.stage1_sums(
      types.IVBatch(half.treatment, half.instrument, half.treatment)
    )
    for half in halves
  ]
  fits = []
  for held_out, fitted in ((1, 0), (0, 1))[: 2 if swap else 1]:
    grid, losses = two_stage.held_out_losses(
      sums[fitted], sums[held_out], _PENALTIES
    )
    fits.append(_compare(halves[held_out], grid[int(np.argmin(losses))]))
  total = _Fit(*np.sum(fits, axis=0))
  gain = np.maximum(total.gain, 0.0)
  varies = np.where(total.variation > _FLAT * len(first.treatment), 1.0, np.nan)
  return FirstStage(
    r2=varies * _ratio(total.variation - total.error, total.variation),
    partial_r2=varies * _ratio(gain, gain + total.error),
    held_out_index_f=varies * combined_f(total.statistic, len(fits)),
  )


def combined_f(statistic: types.FloatArray, count: int) -> types.FloatArray:
  """Returns the F of a sum of independent t statistics; 0 for a negative."""
  return np.square(np.maximum(statistic, 0.0)) / count


def robust_t(
  outcome: types.FloatArray,
  regressor: types.FloatArray,
  clusters: types.FloatArray | None = None,
) -> float:
  """Returns the robust t statistic of a slope; both are without their mean.

  Args:
    outcome: [B].
    regressor: [B].
    clusters: which rows may depend on each other, small integers, [B]; none
      do if None.
  """
  size = np.sum(np.square(regressor))
  if size == 0.0:
    return 0.0
  slope = np.sum(regressor * outcome) / size
  score = regressor * (outcome - slope * regressor)
  if clusters is not None:
    score = np.bincount(clusters, weights=score)
  deviation = np.sqrt(np.sum(np.square(score))) / size
  return float(slope / deviation) if deviation else np.inf


class _Fit(NamedTuple):
  """Sums of squares and t statistics of a half, [D] each."""

  error: types.FloatArray
  variation: types.FloatArray
  gain: types.FloatArray
  statistic: types.FloatArray


def _compare(half: Half, weights: types.FloatArray) -> _Fit:
  """Returns how well stage-1 weights [d2 + 1, D] explain a half."""
  treatment = half.treatment
  predicted = two_stage.predict_treatment(half.instrument, weights)
  moved = half.moved @ weights[:-1]
  columns = []
  given = None if half.controls is None else _leading(half.controls)
  for column in range(treatment.shape[1]):
    controls = None
    if given is not None and half.shuffled is not None:
      controls = np.concatenate(
        [given, half.shuffled @ weights[:-1, [column]]], axis=1
      )
    columns.append(
      _partial(
        np.stack([treatment[:, column], moved[:, column]], axis=1), controls
      )
    )
  gain, size, statistic = np.array(columns).T
  if half.noise is not None:
    # Noise of the draws makes the slope smaller than it is.
    noise = np.sum(np.square(half.noise @ weights[:-1]), axis=0)
    statistic *= np.sqrt(_ratio(size, np.maximum(size - noise, size / 4.0)))
  return _Fit(
    error=np.sum(np.square(treatment - predicted), axis=0),
    variation=np.sum(np.square(treatment - treatment.mean(axis=0)), axis=0),
    gain=gain,
    statistic=statistic,
  )


def _partial(
  both: types.FloatArray, controls: types.FloatArray | None
) -> tuple[float, float, float]:
  """Returns the product of treatment and instrument [B, 2], size and t."""
  left = both - both.mean(axis=0)
  if controls is not None:
    controls = ridge.append_intercept(controls)
    left = both - controls @ ridge.solve_sums(
      ridge.sums(controls, both), _NO_PENALTY, intercept=True
    )
  outcome, regressor = left.T
  return (
    float(np.sum(outcome * regressor)),
    float(np.sum(np.square(regressor))),
    robust_t(outcome, regressor),
  )


def _leading(controls: types.FloatArray) -> types.FloatArray:
  """Returns the directions of most variance, one for every ten rows."""
  most = max(1, len(controls) // 10)
  if controls.shape[1] <= most:
    return controls
  centred = controls - controls.mean(axis=0)
  gram = ridge.sums(centred, centred[:, :1]).gram
  return controls @ np.linalg.eigh(gram)[1][:, -most:]


def _ratio(
  above: types.FloatArray, below: types.FloatArray
) -> types.FloatArray:
  """Returns above / below, 0 where there is nothing below."""
  return np.divide(above, below, out=np.zeros_like(above), where=below > 0.0)
