"""What a person should make of an estimate: rules, each with its remedy."""

from collections.abc import Iterator
import enum
import math
from typing import NamedTuple

from dfiv_ope.evaluation import inference, verdict
from dfiv_ope.evaluation import trust as trust_lib
from dfiv_ope.iv.diagnostics import messages
from dfiv_ope.launch.reporting import (
  details,
  first_stage_words,
  forest,
  log_results,
  tables,
)
from dfiv_ope.ope import overlap
from dfiv_ope.results import problems
from dfiv_ope.results import rows as rows_lib

# Fewer episodes than this say little of how much they differ.
_FEW_EPISODES = 50

_CLOSER = (
  'Collect data with a policy closer to this one, or evaluate a '
  'policy nearer to the log.'
)
# What to make of a method that the log contradicts, by its verdict.
_CONTRADICTED = {
  trust_lib.TRUST: 'That is little beside the value; its interval holds it.',
  trust_lib.CARE: 'Take this method with care: its interval reaches there, and '
  'another method may be nearer.',
  trust_lib.DO_NOT: 'Do not trust this method here.',
}
_TELLING = 'Add observations that tell what happens next, or more rows.'


class Doubt(enum.IntEnum):
  """What a finding does to the answer."""

  NONE = 0  # It is about another method.
  SOME = 1  # The answer is rough.
  GRAVE = 2  # The answer should not be relied on.


class Advice(NamedTuple):
  """Something that speaks against an estimate.

  Attributes:
    doubt: what it does to the answer.
    finding: what was seen.
    remedy: what to do.
  """

  doubt: Doubt
  finding: str
  remedy: str


def collect(case: log_results.LogResults) -> list[Advice]:
  """Returns what the rules say of a case, the gravest first."""
  found = [
    *_support(case),
    *_columns(case),
    *_agreement(case),
    *_checks(case),
    *_methods(case),
    *_first_stage(case),
    *_size(case),
  ]
  return sorted(found, key=lambda each: -each.doubt)


def next_steps(case: log_results.LogResults) -> list[str]:
  """Returns what to do next, a sentence or two each."""
  steps = [f'{each.finding} {each.remedy}'.strip() for each in collect(case)]
  if _doubt(case) == Doubt.NONE and case.preferred:
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
  doubt = _doubt(case)
  if doubt == Doubt.GRAVE:
    order, trusted = '', f'Do not rely on it. {reasons(case)}'
  elif doubt == Doubt.SOME:
    trusted = f'Take it with care. {reasons(case)}'
  else:
    trusted = 'Nothing that can be seen in the log speaks against it.'
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
  """Returns how far an estimate can be trusted, of `trust.GRADES`."""
  return trust_lib.GRADES[_doubt(case)]


def reasons(case: log_results.LogResults) -> str:
  """Returns what speaks against the answer, gravest findings alone."""
  doubt = _doubt(case)
  return (
    ' '.join(each.finding for each in collect(case) if each.doubt == doubt)
    if doubt
    else ''
  )


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


def _doubt(case: log_results.LogResults) -> Doubt:
  return max((each.doubt for each in collect(case)), default=Doubt.NONE)


def _support(case: log_results.LogResults) -> Iterator[Advice]:
  """Does the log hold what the policy does?"""
  grade = case.problem.overlap.grade if case.problem.overlap else ''
  share = case.effective_share
  if share < overlap.THIN_SHARE:
    poor = share < overlap.POOR_SHARE
    yield Advice(
      Doubt.GRAVE if poor or grade == 'poor' else Doubt.SOME,
      f'The effective sample size is {tables.percent(share).text} of the '
      f'rows of the log, which is {"poor" if poor else "thin"}.',
      _CLOSER,
    )
  elif grade in ('thin', 'poor'):
    yield Advice(
      Doubt.GRAVE if grade == 'poor' else Doubt.SOME,
      f'Overlap of the log and the policy is {grade}.',
      _CLOSER,
    )


def _columns(case: log_results.LogResults) -> Iterator[Advice]:
  """Are the observations what they seem?"""
  if isinstance(case.problem, problems.UserLog):
    for note in case.problem.notes:
      if note.doubt:
        yield Advice(Doubt.SOME, note.sentence, '')


def _agreement(case: log_results.LogResults) -> Iterator[Advice]:
  """Do families of estimators say the same?"""
  medians = details.medians(case.frame)
  widest = max(
    (each.width for each in case.methods if each.interval), default=math.inf
  )
  gap = medians.max() - medians.min()
  if len(medians) > 1 and gap > widest:
    yield Advice(
      Doubt.GRAVE,
      f'Families of estimators differ by {tables.digits(gap)}, more '
      f'than the widest interval, {tables.digits(widest)}.',
      'Distrust all of them, and collect more data near the policy.',
    )


def _checks(case: log_results.LogResults) -> Iterator[Advice]:
  """Do unrelated estimators say the same as the answer?"""
  best = case.preferred
  if best is not None:
    if best.interval and not inference.checks(best.metrics):
      yield Advice(
        Doubt.SOME,
        'No unrelated estimator was asked.',
        'Evaluate this policy alone.',
      )
    for each in trust_lib.doubts(best.metrics, best.interval):
      yield Advice(
        Doubt.GRAVE if each.grade == trust_lib.DO_NOT else Doubt.SOME,
        each.words,
        '',
      )


def _methods(case: log_results.LogResults) -> Iterator[Advice]:
  """Is something wrong with a method?"""
  for each in case.methods:
    # What checks say against the answer, they have said (`_checks`).
    told = each is case.preferred and trust_lib.doubts(
      each.metrics, each.interval
    )
    if each.contradicted and each.interval and not told:
      yield Advice(
        Doubt.NONE,
        f'The log says that {tables.digits(each.interval.correction)} is '
        f'missing from the estimate of {each.variant}, whose standard error '
        f'is {tables.digits(each.interval.data_error)}.',
        _CONTRADICTED[case.trust(each).grade],
      )
    refused = [
      row.reason for row in each.rows if row.outcome == rows_lib.REFUSED
    ]
    if refused:
      yield Advice(
        Doubt.NONE, f'{each.variant} cannot answer here.', refused[0]
      )
    if each.failed > len(refused):
      yield Advice(
        Doubt.SOME if each is case.preferred else Doubt.NONE,
        f'{each.failed - len(refused)} of {each.runs} runs of '
        f'{each.variant} diverged.',
        'Do not trust its other runs; prefer another method.',
      )
    words = verdict.few_effective(each.variant, each.metrics)
    if words and each.interval:
      yield Advice(
        Doubt.GRAVE if each is case.preferred else Doubt.NONE, words, ''
      )
    words = verdict.heavy(each.variant, each.metrics.get('heavy_share', 0.0))
    if words:
      yield Advice(
        Doubt.SOME if each is case.preferred else Doubt.NONE,
        words,
        'Evaluate again without these rows to see what they do.',
      )
  best = case.preferred
  alone = [each for each in case.methods if each.hidden_randomness]
  if alone:
    yield Advice(
      Doubt.SOME if best in alone else Doubt.NONE,
      forest.untold(case),
      'Run with --seeds 3.',
    )


def _first_stage(case: log_results.LogResults) -> Iterator[Advice]:
  """Do states and actions say what follows?"""
  named = {each.variant: each.metrics for each in case.methods}
  weak = first_stage_words.weak(named)
  if weak:
    best = case.preferred
    own = best and first_stage_words.weak({best.variant: best.metrics})
    yield Advice(Doubt.SOME if own else Doubt.NONE, weak, '')
  if case.lost_share > messages.ILL_POSED_SHARE:
    yield Advice(
      Doubt.SOME,
      messages.ill_posed(
        case.lost_share, instruments='states and actions', outcome='the reward'
      ),
      'Log more episodes, and see if families of estimators agree.',
    )
  for each in case.methods:
    if each.metrics.get('stage1_held_out_r2', math.inf) < messages.WEAK_R2:
      yield Advice(
        Doubt.SOME if each is case.preferred else Doubt.NONE,
        f'The first stage of {each.variant} is weak.',
        _TELLING,
      )
    if (
      each.metrics.get('instrument_condition', 0.0)
      > first_stage_words.CONDITION
    ):
      yield Advice(
        Doubt.SOME if each is case.preferred else Doubt.NONE,
        f'Features of {each.variant} are nearly the same.',
        'Leave out observations that repeat others.',
      )


def _size(case: log_results.LogResults) -> Iterator[Advice]:
  """Is the log large enough?"""
  episodes = case.problem.episodes
  best = case.preferred
  if best and best.interval is None and best.missing:
    yield Advice(Doubt.GRAVE, best.missing, 'The estimate may be far off.')
  elif episodes is not None and episodes < _FEW_EPISODES:
    yield Advice(
      Doubt.SOME,
      f'The log has {episodes:,} episodes, so the interval is rough.',
      f'Log at least {_FEW_EPISODES}.',
    )


def signed(value: float) -> str:
  """Returns a number with its sign."""
  return ('+' if value > 0.0 else '') + tables.digits(value)
