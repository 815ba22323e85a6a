"""What a person should make of an estimate: findings, each with its remedy.

The verdict is that of `evaluation.trust`, as everywhere; what else is worth
knowing is said beside it and changes no verdict.
"""

from collections.abc import Iterator
import math
from typing import NamedTuple

from dfiv_ope.evaluation import doubts, verdict
from dfiv_ope.evaluation import trust as trust_lib
from dfiv_ope.launch.reporting import forest, log_results, tables
from dfiv_ope.results import rows as rows_lib

# Fewer episodes than this say little of how much they differ.
_FEW_EPISODES = 50

# What to make of a method that the log contradicts, by its verdict.
_CONTRADICTED = {
  trust_lib.TRUST: 'That is little beside the value; its interval holds it.',
  trust_lib.CARE: 'Take this method with care: its interval reaches there, and '
  'another method may be nearer.',
  trust_lib.DO_NOT: 'Do not trust this method here.',
}


class Advice(NamedTuple):
  """Something that a person should know.

  Attributes:
    own: whether it is about the answer, rather than another method.
    finding: what was seen.
    remedy: what to do.
  """

  own: bool
  finding: str
  remedy: str


def collect(case: log_results.LogResults) -> list[Advice]:
  """Returns what is to be known of a case: first of the answer, then others."""
  found = [*_verdict(case), *_methods(case), *_first_stage(case), *_size(case)]
  return sorted(found, key=lambda each: not each.own)


def next_steps(case: log_results.LogResults) -> list[str]:
  """Returns what to do next, a sentence or two each."""
  found = collect(case)
  steps = [f'{each.finding} {each.remedy}'.strip() for each in found]
  if case.preferred and not any(each.own for each in found):
    steps.append(
      _narrower(case.preferred)
      if _open(case)
      else (
        'Nothing that can be seen in the log speaks against the answer. Try '
        'the policy on a small share of decisions before it takes all.'
      )
    )
  return steps


def headline(case: log_results.LogResults) -> str:
  """Returns the answer, what to compare it with, and how far to trust it."""
  policy, best = case.policy, case.preferred
  mean, low, high = case.log
  naive = f'the average return of the log, {tables.digits(mean)}'
  if not math.isnan(low + high):
    naive += f' ({tables.digits(low)} to {tables.digits(high)})'
  if best is None:
    return (
      f'There is no estimate of the value of {policy} with an interval '
      f'yet, only {naive}.'
    )
  found, order = best.interval, ''
  if best.difference:
    order = (
      f'The difference is {signed(best.difference.estimate)} '
      f'({signed(best.difference.low)} to {signed(best.difference.high)}, '
      'from the same resampled episodes). '
      + verdict.comparison(best.difference)
    )
  grade = trust(case)
  if grade == trust_lib.DO_NOT:
    order, trusted = '', f'Do not rely on it. {reasons(case)}'
  elif grade == trust_lib.CARE:
    trusted = f'Take it with care. {reasons(case)}'
  else:
    trusted = 'Nothing that was measured speaks against the interval.'
  return ' '.join(
    words
    for words in (
      f'The value of {policy} is estimated at {tables.digits(best.estimate)} '
      + (
        f'(95 % interval {tables.digits(found.low)} to '
        f'{tables.digits(found.high)}, by {best.variant})'
        if found
        else f'(without an interval, by {best.variant})'
      )
      + f', against {naive}.',
      order,
      trusted,
    )
    if words
  )


def trust(case: log_results.LogResults) -> str:
  """Returns how far to trust the answer, of `trust.GRADES`."""
  best = case.preferred
  return trust_lib.DO_NOT if best is None else case.trust(best).grade


def reasons(case: log_results.LogResults) -> str:
  """Returns what speaks against the answer, the gravest first."""
  best = case.preferred
  return '' if best is None else ' '.join(case.trust(best).reasons)


def _open(case: log_results.LogResults) -> bool:
  """Whether the log does not tell which of policy and log is better."""
  found = case.preferred and case.preferred.difference
  return not found or found.low <= 0.0 <= found.high


def _narrower(result: log_results.MethodResult) -> str:
  """Returns what makes an interval narrower."""
  share = result.interval.data_share if result.interval else math.nan
  return 'The interval of the difference of policy and log holds 0. ' + (
    'Most of the width comes with the training: run more --seeds.'
    if share < 0.5
    else 'To tell them apart, log more episodes: four times as many halve the '
    'interval.'
  )


def _verdict(case: log_results.LogResults) -> Iterator[Advice]:
  """What speaks against the answer?"""
  if case.preferred is not None:
    for words in case.trust(case.preferred).reasons:
      yield Advice(True, words, '')


def _methods(case: log_results.LogResults) -> Iterator[Advice]:
  """Is something wrong with a method?"""
  for each in case.methods:
    own = each is case.preferred
    told = own and case.trust(each).grade != trust_lib.TRUST
    if each.contradicted and each.interval and not told:
      yield Advice(
        False,
        f'The log says that {tables.digits(each.interval.correction)} is '
        f'missing from the estimate of {each.variant}, whose standard error '
        f'is {tables.digits(each.interval.data_error)}.',
        _CONTRADICTED[case.trust(each).grade],
      )
    refused = [
      row.reason for row in each.rows if row.outcome == rows_lib.REFUSED
    ]
    if refused:
      yield Advice(False, f'{each.variant} cannot answer here.', refused[0])
    if each.failed > len(refused):
      yield Advice(
        own,
        f'{each.failed - len(refused)} of {each.runs} runs of '
        f'{each.variant} diverged.',
        'Do not trust its other runs; prefer another method.',
      )
    words = verdict.few_effective(each.variant, each.metrics)
    if words and each.interval and not own:
      yield Advice(False, words, '')
    words = verdict.heavy(each.variant, each.metrics.get('heavy_share', 0.0))
    if words and not own:
      yield Advice(False, words, '')
  alone = [
    each
    for each in case.methods
    if each.hidden_randomness and each is not case.preferred
  ]
  if alone:
    yield Advice(False, forest.untold(alone), 'Run with --seeds 3.')


def _first_stage(case: log_results.LogResults) -> Iterator[Advice]:
  """Do states and actions say what follows, of other methods?"""
  for each in case.methods:
    if each is not case.preferred:
      for reason in doubts.first_stage(
        each.variant, each.metrics, each.interval
      ):
        yield Advice(False, reason.words, '')


def _size(case: log_results.LogResults) -> Iterator[Advice]:
  """Is the log large enough?"""
  episodes = case.problem.episodes
  if episodes is not None and episodes < _FEW_EPISODES:
    yield Advice(
      True,
      f'The log has {episodes:,} episodes, so the interval is rough.',
      f'Log at least {_FEW_EPISODES}.',
    )


def signed(value: float) -> str:
  """Returns a number with its sign."""
  return ('+' if value > 0.0 else '') + tables.digits(value)
