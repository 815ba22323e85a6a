"""Estimates that weigh the episodes of a log: importance sampling and DR.

With rho_it the product of pi(a|s) / b(a|s) over the steps 0 to t of episode i,
c_it what a reward of that step counts at the start, and E episodes:

    IS      1/E sum_i rho_iT G_i                          (Precup et al., 2000)
    WIS     sum_i rho_iT G_i / sum_i rho_iT
    PDIS    1/E sum_i sum_t c_it rho_it r_it
    WPDIS   sum_t [sum_i c_it rho_it r_it / sum_i rho_it]
    DR      1/E sum_i [v(s_i0) + sum_t c_it rho_it e_it]  (Jiang and Li, 2016)
    WDR     1/E sum_i v(s_i0) + sum_t [sum_i c_it rho_it e_it / sum_i rho_it]
                                                   (Thomas and Brunskill, 2016)

where e = r + gamma d v(s') - q(s, a). This is the recursion of the papers,
written out and summed by parts: with q = 0, DR is PDIS and WDR is WPDIS. An
episode that has ended keeps its last weight in the sums that are divided by.
Weights are products of many ratios, so they stay logs until they are divided.

What an episode adds to the value, to first order, comes with it (`added`), as
`inference.contributions` has it: for a mean, its distance from it; for a ratio
of sums A / B, (a_i - A / B b_i) / B, the delta method.
"""

from typing import NamedTuple

import numpy as np
from scipy import special

from dfiv_ope import types
from dfiv_ope.ope import importance


class Layout(NamedTuple):
  """Where the episodes of a log lie, one after another.

  Attributes:
    starts: first row of each episode, [E].
    lengths: number of steps of each, [E].
    episode: of each row, from 0, [N].
    step: of each row, from 0, [N].
  """

  starts: np.ndarray
  lengths: np.ndarray
  episode: np.ndarray
  step: np.ndarray

  @property
  def ends(self) -> np.ndarray:
    """Last row of each episode, [E]."""
    return self.starts + self.lengths - 1

  @property
  def longest(self) -> int:
    """T, steps of the longest episode."""
    return int(self.lengths.max())

  def total(self, rows: types.FloatArray) -> types.FloatArray:
    """Returns the sum over each episode's rows, [E]."""
    return np.bincount(self.episode, weights=rows, minlength=len(self.starts))


class Weighed(NamedTuple):
  """A value by weights, and what it rests on.

  Attributes:
    value: the estimate.
    added: what each episode adds to it, of mean zero, [E].
    effective_episodes: (sum w)^2 / sum w^2. Where each step has weights of its
      own, the harmonic mean over steps by how much of the value they carry.
    largest_share: share of the largest weight in all, averaged likewise.
    mean_weight: of whole episodes; one if the probabilities are right.
  """

  value: float
  added: types.FloatArray
  effective_episodes: float
  largest_share: float
  mean_weight: float


def layout(episodes: np.ndarray) -> Layout:
  """Returns where episodes lie.

  Args:
    episodes: index of the episode of each row, whole episodes in order, [N].

  Raises:
    ValueError: there are none, or rows of an episode lie apart.
  """
  episodes = np.asarray(episodes)
  if not len(episodes):
    raise ValueError('A log needs at least one transition, got none.')
  starts = np.flatnonzero(np.diff(episodes, prepend=episodes[0] - 1))
  if len(starts) != len(np.unique(episodes)):
    raise ValueError('The rows of an episode must follow each other.')
  lengths = np.diff(starts, append=len(episodes))
  return Layout(
    starts,
    lengths,
    np.repeat(np.arange(len(starts)), lengths),
    np.arange(len(episodes)) - np.repeat(starts, lengths),
  )


def cumulative(
  log_ratios: types.FloatArray, where: Layout, *, cap: float | None = None
) -> types.FloatArray:
  """Returns log rho_it, [N]: -inf from where the target would have left.

  Args:
    log_ratios: log pi(a|s) - log b(a|s) of the logged actions, [N].
    where: the episodes.
    cap: no product counts more than this; None for any.

  Raises:
    ValueError: a ratio is not a number, or infinite.
  """
  logs = np.asarray(log_ratios, np.float64)
  wrong = np.isnan(logs) | (logs == np.inf)
  if logs.shape != where.step.shape or wrong.any():
    raise ValueError(
      f'Ratios of {len(where.step):,} steps must be finite, got '
      f'{int(wrong.sum()):,} that are not among {logs.size:,}.'
    )
  never = np.isneginf(logs)
  first = np.repeat(where.starts, where.lengths)

  def within(rows: np.ndarray) -> np.ndarray:
    sums = np.cumsum(rows)
    return sums - (sums - rows)[first]

  products = within(np.where(never, 0.0, logs))
  # What rounding leaves of a sum over all rows is not in the first ones.
  products[where.starts] = np.where(never, 0.0, logs)[where.starts]
  if cap is not None:
    products = np.minimum(products, np.log(cap))
  return np.where(within(never.astype(np.int64)) > 0, -np.inf, products)


def of_episodes(
  logs: types.FloatArray, returns: types.FloatArray, *, normalised: bool
) -> Weighed:
  """Returns IS, or WIS if `normalised`.

  Args:
    logs: log rho_iT of each episode, [E]; one is above -inf if `normalised`.
    returns: G_i, [E].
    normalised: whether weights are divided by their sum instead of E, which
      may be more than numbers hold; then the value is not finite.
  """
  count, total = len(logs), special.logsumexp(logs)
  with np.errstate(over='ignore', invalid='ignore'):
    weights = np.exp(logs - (total if normalised else np.log(count)))
    value = float(weights @ returns)
    added = (
      weights * (returns - value)
      if normalised
      else weights * returns - value / count
    )
  return Weighed(
    value, added, importance.effective_size(logs), _largest(logs), _mean(logs)
  )


class Steps(NamedTuple):
  """What the weights of each step add up to, over all E episodes.

  Attributes:
    sums: log of sum_i rho_it, [T].
    squares: log of sum_i rho_it^2, [T].
    largest: log of max_i rho_it, [T].
  """

  sums: types.FloatArray
  squares: types.FloatArray
  largest: types.FloatArray


def steps(logs: types.FloatArray, where: Layout) -> Steps:
  """Returns the sums of each step; ended episodes keep their last weight.

  Args:
    logs: log rho_it, [N].
    where: the episodes.
  """
  ended = where.lengths  # An episode of T steps has ended at step T.

  def both(rows: np.ndarray) -> types.FloatArray:
    running = _by_step(rows, where.step, where.longest)
    before = _by_step(rows[where.ends], ended, where.longest + 1)[:-1]
    return np.logaddexp(running, np.logaddexp.accumulate(before))

  largest = np.full(where.longest, -np.inf)
  np.maximum.at(largest, where.step, logs)
  kept = np.full(where.longest + 1, -np.inf)
  np.maximum.at(kept, ended, logs[where.ends])
  return Steps(
    both(logs),
    both(2.0 * logs),
    np.maximum(largest, np.maximum.accumulate(kept[:-1])),
  )


def of_steps(
  logs: types.FloatArray,
  gains: types.FloatArray,
  where: Layout,
  *,
  normalised: bool,
  initial: types.FloatArray | None = None,
  until: int | None = None,
) -> Weighed:
  """Returns PDIS or DR; WPDIS or WDR if `normalised`.

  Args:
    logs: log rho_it, [N].
    gains: c_it r_it, or c_it e_it, [N].
    where: the episodes.
    normalised: whether weights of a step are divided by their sum instead of
      E. A step where all are 0 adds nothing.
    initial: v(s_i0), [E]; zeros if None.
    until: the step before which weighing ends, and the model goes on; None
      for the end.
  """
  count = len(where.starts)
  base = np.zeros(count) if initial is None else np.asarray(initial)
  if until is not None:
    gains = np.where(where.step < until, gains, 0.0)
  found = steps(logs, where)
  divisor = found.sums if normalised else np.full(where.longest, np.log(count))
  divisor = np.where(np.isneginf(found.sums), np.inf, divisor)
  with np.errstate(over='ignore', invalid='ignore'):
    shares = np.exp(logs - divisor[where.step])
    parts = shares * gains
  by_step = np.bincount(where.step, weights=parts, minlength=where.longest)
  if normalised:
    added = where.total(parts - shares * by_step[where.step]) - _after(
      logs[where.ends], by_step, divisor, where.lengths
    )
  else:
    with np.errstate(invalid='ignore'):
      added = where.total(parts) - np.sum(parts) / count
  carried = np.bincount(
    where.step, weights=np.abs(parts), minlength=where.longest
  )
  if not carried.any() or not np.all(np.isfinite(carried)):
    carried = np.bincount(where.step, minlength=where.longest).astype(float)
  with np.errstate(invalid='ignore'):
    sizes = np.exp(2.0 * found.sums - found.squares)
    heaviest = np.exp(found.largest - found.sums)
  carried = carried / carried.sum()
  with np.errstate(invalid='ignore'):
    value = float(np.mean(base) + np.sum(parts))
  return Weighed(
    value,
    added + (base - np.mean(base)) / count,
    _harmonic(np.nan_to_num(sizes), carried),
    float(carried @ np.nan_to_num(heaviest)),
    _mean(logs[where.ends]),
  )


def remaining(
  logs: types.FloatArray, discounts: types.FloatArray, where: Layout
) -> types.FloatArray:
  """Returns the share of discounted steps from each on, [T + 1]: 1 to 0.

  Steps count with the weights of WPDIS, as those of the target would.

  Args:
    logs: log rho_it, [N].
    discounts: c_it, [N].
    where: the episodes.
  """
  sums = steps(logs, where).sums
  sums = np.where(np.isneginf(sums), np.inf, sums)
  mass = np.bincount(
    where.step,
    weights=discounts * np.exp(logs - sums[where.step]),
    minlength=where.longest,
  )
  left = np.append(np.cumsum(mass[::-1])[::-1], 0.0)
  return left / left[0] if left[0] else np.append(np.ones(len(mass)), 0.0)


def _after(
  last: types.FloatArray,
  by_step: types.FloatArray,
  divisor: types.FloatArray,
  lengths: np.ndarray,
) -> types.FloatArray:
  """Returns what ended episodes take off later steps, [E].

  It is sum over t >= T_i of R_t rho_iT / B_t, where R_t = A_t / B_t is what
  step t adds to the value.

  Args:
    last: log rho_iT, [E].
    by_step: R_t, [T].
    divisor: log B_t, inf where all weights are 0, [T].
    lengths: T_i, [E].
  """
  # An ended episode is in every later sum, so rho_iT / B_t is at most one;
  # the smallest later B_t keeps each factor within range.
  least = np.append(np.minimum.accumulate(divisor[::-1])[::-1], np.inf)
  tails = np.zeros(len(divisor) + 1)
  for step in range(len(divisor) - 1, -1, -1):
    if np.isfinite(least[step]):
      tails[step] = by_step[step] * np.exp(least[step] - divisor[step])
      if np.isfinite(least[step + 1]):
        tails[step] += tails[step + 1] * np.exp(least[step] - least[step + 1])
  result = np.zeros(len(last))
  some = np.isfinite(least[lengths]) & ~np.isneginf(last)
  result[some] = tails[lengths[some]] * np.exp(
    last[some] - least[lengths[some]]
  )
  return result


def _by_step(
  logs: types.FloatArray, step: np.ndarray, count: int
) -> types.FloatArray:
  """Returns the log of the sum of exp(logs) at each step, [count]."""
  largest = np.full(count, -np.inf)
  np.maximum.at(largest, step, logs)
  shift = np.where(np.isneginf(largest), 0.0, largest)
  with np.errstate(divide='ignore'):
    return shift + np.log(
      np.bincount(step, weights=np.exp(logs - shift[step]), minlength=count)
    )


def _harmonic(sizes: types.FloatArray, shares: types.FloatArray) -> float:
  """Returns the harmonic mean: variances are as 1 / size; 0 if one is 0."""
  some = shares > 0.0
  if np.any(sizes[some] <= 0.0):
    return 0.0
  return float(1.0 / np.sum(shares[some] / sizes[some]))


def _largest(logs: types.FloatArray) -> float:
  if np.all(np.isneginf(logs)):
    return 0.0
  return float(np.exp(np.max(logs) - special.logsumexp(logs)))


def _mean(logs: types.FloatArray) -> float:
  with np.errstate(over='ignore'):
    return float(np.exp(special.logsumexp(logs) - np.log(len(logs))))
