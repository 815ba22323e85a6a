"""How far an estimate of a policy's value may be from the truth.

Two things are random: which episodes the log holds, and the training. The
first is resampled by whole episodes. A run need not be fitted again for that:
to first order, an episode changes the value by its contribution

    (Q(s0, pi) - V) / E  +  sum_i w(s_i, a_i) e_i,
    e_i = r_i + gamma d_i Q(s_i', pi) - Q(s_i, a_i),

where w says how much the value rises with the reward of a row
(`evaluation.influence`). For LSTD-Q this is the sandwich formula with clusters,
for any other Q-function the efficient influence function of Kallus and Uehara
(2020). The sum of all w e is the `correction`: what the log's Bellman equation
says is missing from the value. An interval is wide enough to hold it.

Neither shows what all of a method's runs share: bias. So an interval also
reaches from the estimate to what unrelated estimators say of the same value
(`evaluation.cross_checks`).

Few episodes tell their own spread poorly, so that Student's t takes the place
of the normal distribution. Features of more columns than the log has rows fit
any reward, and the errors that are left say nothing. With too few episodes or
rows there is no interval: how few was chosen by how often intervals held
(docs/intervals.md).
"""

from collections.abc import Mapping, Sequence
import math
from typing import NamedTuple

import numpy as np
from scipy import special

from dfiv_ope import types
from dfiv_ope.evaluation import interval_settings

# Fewer episodes give no interval of a policy's value, and fewer than the second
# number none of the average return of the log.
FEWEST_EPISODES, FEWEST_RETURNS = 20, 5
# Effective episodes of a method that weighs them: fewer than the first number
# give no interval, and fewer than the second one that nobody should trust.
_FEWEST_EFFECTIVE, FEW_EFFECTIVE = 2.0, 20.0
# Rows are heavy if the largest thousandth of them, at least one, have more
# than HEAVY of all |w r|: more than on 1,000 ordinary logs of 20 and more
# episodes (docs/intervals.md).
_HEAVY_ROWS, HEAVY = 0.001, 0.3
# Of metrics that are what other estimators say of the same value.
CHECK = 'check_'
# Metric: the share of the rows that these were asked on, where it is not all.
CHECKED = 'checked_share'
# Values that differ by less of their standard error are equal.
_TIE = 1e-4
# Of an estimate: what sums of 32-bit numbers leave unknown of it.
_ROUNDING = 1e-5
# A correction of more data errors is no chance.
_CORRECTIONS = 2.0
# Draws of the training's randomness for each resample.
_TRAINING_DRAWS = 50


class Interval(NamedTuple):
  """An estimate and where the truth may lie.

  Attributes:
    estimate: the mean over runs.
    low: lower end.
    high: upper end.
    data_error: standard error from the episodes that happen to be logged.
    training_error: standard error of the mean over runs; nan for one run.
    correction: the mean over runs.
    reach: how far the lower and the upper end are moved towards what other
      estimators say; both 0 or more.
  """

  estimate: float
  low: float
  high: float
  data_error: float
  training_error: float
  correction: float
  reach: tuple[float, float] = (0.0, 0.0)

  @property
  def data_share(self) -> float:
    """Share of the variance that comes with the data; nan for one run."""
    data, training = self.data_error**2, self.training_error**2
    return data / (data + training) if data + training else float('nan')

  @property
  def contradicted(self) -> bool:
    """Whether the log's own Bellman equation speaks against the estimate."""
    return abs(self.correction) > _CORRECTIONS * self.data_error


def contributions(
  initial_values: types.FloatArray | None,
  weighted_errors: types.FloatArray,
  episodes: types.FloatArray,
) -> types.FloatArray:
  """Returns what each episode adds to the value, [E].

  Args:
    initial_values: Q(s0, pi) of each episode, [E]; None if start states were
      given, which no episode brings about.
    weighted_errors: w e of each transition, [N].
    episodes: index of the episode of each transition, [N].
  """
  count = (
    int(np.max(episodes)) + 1 if initial_values is None else len(initial_values)
  )
  added = np.bincount(episodes, weights=weighted_errors, minlength=count)
  # A sum of no mean: what all episodes share is no chance.
  added -= added.mean()
  if initial_values is None:
    return added
  return added + (initial_values - np.mean(initial_values)) / count


def resample(
  added: types.FloatArray,
  *,
  count: int = interval_settings.RESAMPLES,
  seed: int = 0,
) -> types.FloatArray:
  """Returns changes of the value when episodes are drawn anew, [count].

  Same seed and number of episodes, same draws: runs of one log can be compared
  draw by draw.

  Args:
    added: contributions of the episodes, [E], of mean zero.
    count: how many draws.
    seed: seeds them.
  """
  episodes = len(added)
  generator = np.random.default_rng(seed)
  # Drawn E - 1 at a time, for a variance without bias.
  size = max(episodes - 1, 1)
  drawn = [
    np.sum(added[generator.integers(episodes, size=size)]) for _ in range(count)
  ]
  return np.array(drawn) * (episodes / size)


def degrees(added: types.FloatArray) -> float:
  """Returns the degrees of freedom that the episodes' variance is known with.

  E - 1 if contributions are normal; fewer where some are much larger than the
  rest, because the variance of a variance grows with the kurtosis.

  Args:
    added: contributions of the episodes, [E], of mean zero.
  """
  count, scale = len(added), np.max(np.abs(added), initial=0.0)
  if not scale:
    return float(max(count - 1, 1))
  squares = np.square(np.asarray(added) / scale)
  kurtosis = count * np.sum(np.square(squares)) / np.sum(squares) ** 2
  return float(
    max(1.0, (count - 1) * min(1.0, 2.0 / max(kurtosis - 1.0, 1e-9)))
  )


def heavy_share(weighted: types.FloatArray) -> float:
  """Returns the share of all |w r| that the largest thousandth of rows has.

  Rows without a reward do not count: where most have none, as in a game that
  is won at its end, the others carry the value as they should.

  Args:
    weighted: w r of every row, [N].
  """
  size = np.sort(np.abs(np.asarray(weighted, np.float64)))[::-1]
  total = float(np.sum(size))
  most = heavy_rows(np.count_nonzero(size))
  return float(np.sum(size[:most])) / total if total else 0.0


def heavy_rows(count: int) -> int:
  """Returns how many are the largest thousandth of so many rows."""
  return max(1, math.ceil(_HEAVY_ROWS * count))


def too_few(
  episodes: int, rows: int, columns: int, effective: float = math.inf
) -> str:
  """Returns why there is no interval, in a sentence; empty if there is one.

  Args:
    episodes: of the log.
    rows: of the log.
    columns: of the features that the weights are made of.
    effective: episodes that the log is worth, if the method weighs them.
  """
  if episodes < FEWEST_EPISODES:
    say = 'episode says' if episodes == 1 else 'episodes say'
    return (
      f'No interval: {episodes:,} {say} too little of how much episodes '
      f'differ. Log at least {FEWEST_EPISODES}.'
    )
  if rows < columns:
    return (
      f'No interval: {rows:,} rows cannot show the errors of features '
      f'with {columns:,} columns. Log more, or set fewer '
      'random_features (--set random_features=...).'
    )
  if effective < _FEWEST_EFFECTIVE:
    return (
      f'No interval: the weights of {episodes:,} episodes are worth '
      f'{effective:.1f}. Set a cap (--set cap=100), or use lstd, kiv or '
      'fqe.'
    )
  return ''


def mean_interval(
  mean: float, standard_error: float, count: int, *, level: float
) -> tuple[float, float] | None:
  """Returns the ends of the interval of an average, by Student's t.

  Args:
    mean: the average.
    standard_error: of it.
    count: how many were averaged.
    level: such as 0.95.

  Returns:
    None if fewer than `FEWEST_RETURNS` were.
  """
  if count < FEWEST_RETURNS or not math.isfinite(standard_error):
    return None
  half = standard_error * float(special.stdtrit(count - 1, 0.5 + level / 2.0))
  return mean - half, mean + half


def checks(metrics: Mapping[str, float]) -> dict[str, float]:
  """Returns what other estimators say of the same value, by name."""
  return {
    name.removeprefix(CHECK): value
    for name, value in metrics.items()
    if name.startswith(CHECK)
  }


class Draws(NamedTuple):
  """Estimates of S runs, and their changes by B resamples of the episodes.

  Attributes:
    estimates: [S].
    changes: by the same resamples in every run, [S, B].
    corrections: what the Bellman equation says is missing, [S].
    degrees: of freedom, of `degrees`.
    checks: what other estimators say of the same value, by name; empty if
      none was asked.
  """

  estimates: types.FloatArray
  changes: types.FloatArray
  corrections: types.FloatArray
  degrees: float
  checks: Mapping[str, float] = {}  # noqa: RUF012

  def interval(self, level: float) -> Interval:
    """Returns the confidence interval of the mean of the runs."""
    return interval(
      self.estimates,
      self.changes,
      self.corrections,
      level=level,
      degrees=self.degrees,
      checks=tuple(self.checks.values()),
    )

  def less(self, other: 'Draws') -> 'Draws':
    """Returns the draws of the paired difference to another.

    Both change with the episodes that are drawn, and by the same draws: an
    episode that makes both larger says nothing of the difference. Runs of the
    same seed are paired, too; where the numbers of runs differ, the other's
    mean is taken.

    Raises:
      ValueError: the resamples are not the same ones.
    """
    if self.changes.shape[1] != other.changes.shape[1]:
      raise ValueError(
        f'A paired difference needs the same resamples, got '
        f'{self.changes.shape[1]} and {other.changes.shape[1]}.'
      )
    if len(self.estimates) != len(other.estimates):
      other = Draws(
        np.mean(other.estimates, keepdims=True),
        np.mean(other.changes, axis=0, keepdims=True),
        np.mean(other.corrections, keepdims=True),
        other.degrees,
        other.checks,
      )
    # Where one has no such check, as the average of the log, nothing is known
    # of its bias.
    own, others = (float(np.mean(each.estimates)) for each in (self, other))
    return Draws(
      self.estimates - other.estimates,
      self.changes - other.changes,
      self.corrections - other.corrections,
      min(self.degrees, other.degrees),
      {
        name: self.checks.get(name, own) - other.checks.get(name, others)
        for name in dict.fromkeys((*self.checks, *other.checks))
      },
    )


def interval(
  estimates: Sequence[float] | types.FloatArray,
  changes: types.FloatArray,
  corrections: Sequence[float] | types.FloatArray,
  *,
  level: float,
  degrees: float = math.inf,
  checks: Sequence[float] = (),
) -> Interval:
  """Returns the interval of the mean of several runs.

  Every resample of the episodes is combined with draws of the training's
  randomness: Student's t, because a few runs tell their spread poorly. One run
  tells nothing of it: then the interval is one of the data alone.

  Args:
    estimates: of S runs that differ in their seeds.
    changes: resampled changes of each, [S, B], by the same draws.
    corrections: of each.
    level: such as 0.95.
    degrees: of freedom, of `degrees`: with few, resampled changes are
      stretched as much as Student's t is wider than the normal distribution.
    checks: what other estimators say: the ends are moved by as much as these
      lie below and above the estimate.
  """
  if not 0.0 < level < 1.0:
    raise ValueError(f'An interval needs a level in (0, 1), got {level:g}.')
  estimate, correction = float(np.mean(estimates)), float(np.mean(corrections))
  data = np.mean(changes, axis=0)  # [B]
  runs = len(estimates)
  training = (
    float(np.std(estimates, ddof=1)) / np.sqrt(runs)
    if runs > 1
    else float('nan')
  )
  tail = (1.0 - level) / 2.0
  stretch = float(
    special.stdtrit(degrees, 1.0 - tail) / special.ndtri(1.0 - tail)
  )
  draws = stretch * data[:, None]
  if runs > 1:
    quantiles = (np.arange(_TRAINING_DRAWS) + 0.5) / _TRAINING_DRAWS
    draws = draws + training * special.stdtrit(runs - 1, quantiles)[None, :]
  low, high = np.quantile(draws, [tail, 1.0 - tail])
  # The correction is what one more check says.
  others = (estimate, estimate + correction, *checks)
  below, above = estimate - min(others), max(others) - estimate
  rounding = _ROUNDING * abs(estimate)
  return Interval(
    estimate=estimate,
    low=estimate + min(float(low) - below, -rounding),
    high=estimate + max(float(high) + above, rounding),
    data_error=float(np.std(data)),
    training_error=training,
    correction=correction,
    reach=(below, above),
  )


def probability_of_best(
  candidates: Sequence[Draws], *, seed: int = 0
) -> types.FloatArray:
  """Returns how likely each of several policies has the greatest value, [K].

  The share of resamples, the same for all, in which its value is greatest,
  with a draw of Student's t for the randomness of its training.

  Args:
    candidates: draws of each policy's value.
    seed: seeds the draws of the training.
  """
  generator = np.random.default_rng(seed)
  values = []
  for each in candidates:
    runs = len(each.estimates)
    drawn = np.mean(each.estimates) + np.mean(each.changes, axis=0)
    if runs > 1:
      error = np.std(each.estimates, ddof=1) / np.sqrt(runs)
      drawn = drawn + error * generator.standard_t(runs - 1, size=len(drawn))
    values.append(drawn)
  # Equal policies differ by rounding; of such the first is taken.
  slack = _TIE * float(np.max(np.std(values, axis=1)))
  best = np.argmax(values >= np.max(values, axis=0) - slack, axis=0)  # [B]
  return np.bincount(best, minlength=len(candidates)) / len(best)
