"""What speaks against an estimate, part by part (docs/trust.md has the rules).

for each in doubts.of('LSTD-Q', answer, support):
  each.grade, each.words
"""

from collections.abc import Iterator, Mapping, Sequence
import math
import statistics

from dfiv_ope import visible_text
from dfiv_ope.evaluation import (
  bearing,
  inference,
  reasons,
  state_doubts,
  verdict,
)
from dfiv_ope.iv.diagnostics import messages
from dfiv_ope.ope import overlap

_number = visible_text.number
# Where unrelated estimators differ by more than chance does, and more than the
# first share of the value, an estimate needs care; where by more than the
# second share and several times chance, none is to be believed.
_NOTED, _GRAVE, _TIMES = 0.03, 0.2, 3.0
# What the log's Bellman equation may say is missing, as a share of the value.
_MISSING = 0.02
# A thin effective sample size of features is no reason from the first share of
# the rows and this number of them, where all checks lie within the second share
# of what chance explains, or the third share of the value. Uniform actions on
# logs of catch, where LSTD-Q is confidently wrong, have 0.11 to 0.12, and on
# one of them checks within half of chance (docs/trust.md).
_LEAST_SHARE, _LEAST_ROWS = 0.15, 500
# The same of a table, which smooths nothing: that few rows tell is known to the
# interval. With 193 of them a log of graph-long-few was wrong.
_LEAST_SHARE_OF_TABLE, _LEAST_ROWS_OF_TABLE = 0.05, 300
_CONFIRMED, _CONFIRMED_VALUE = 2.0 / 3.0, 0.02
# Without these it is not confirmed: smoothing, and what needs no features.
_TABLE, _FREE = 'prior', 'nearest'
_SMOOTHING = ('narrow', _TABLE)
# With it errors of few features would be seen.
_WEIGHED = 'weighed'
# On a smaller share of the rows chance is three times that of the estimate.
_LEAST_CHECKED = 0.1
# Returns that are spread by no more of the value differ by rounding alone.
_ALIKE = 1e-9
# Of features' products: above it, digits are lost in the solve.
CONDITION = 1e8
_CLOSER = (
  'Collect data with a policy closer to this one, or evaluate a policy nearer '
  'to the log.'
)
# Words of the checks.
_CHECKS = {
  'lstd': 'LSTD-Q',
  'narrow': 'LSTD-Q with narrower features',
  'draw': 'LSTD-Q with other random features',
  'prior': 'a table with less prior',
  'nearest': 'rollouts in nearest steps',
  'horizon': 'rollouts of as many steps as the longest episode',
  'step': 'LSTD-Q corrected for the number of the step',
  'trait': 'LSTD-Q with a level of rewards for each episode',
  _WEIGHED: 'LSTD-Q corrected by the weighted mean of its errors',
  'curve': 'a Gaussian process with a length for each column',
  'doubly_robust': 'the doubly robust estimate',
}


def of(
  name: str, answer: verdict.Answer, support: verdict.Support | None
) -> list[reasons.Reason]:
  """Returns what speaks against what a method says.

  Args:
    name: what the method is called.
    answer: what it says.
    support: how far the log holds what the policy does; None if unknown.
  """
  metrics, interval = answer.metrics, answer.interval
  return [
    *_known(answer),
    *_support(metrics, interval, support),
    *(
      reasons.Reason(reasons.CARE, words)
      for words in (support.doubts if support else ())
    ),
    *_weights(metrics),
    *_heavy(name, metrics),
    *_alike(metrics, interval),
    *first_stage(name, metrics, interval),
    *([] if interval is None else _agreement(metrics, interval)),
    *(
      []
      if bearing.weighs_alone(metrics)
      else state_doubts.of(metrics, interval)
    ),
  ]


def between_families(
  answers: Sequence[verdict.Answer],
) -> Iterator[reasons.Reason]:
  """Do families of estimators, of those that may be believed, agree?"""
  values: dict[str, list[float]] = {}
  widest = 0.0
  for each in answers:
    if each.interval is not None and each.family:
      values.setdefault(each.family, []).append(each.interval.estimate)
      widest = max(widest, each.interval.high - each.interval.low)
  medians = [statistics.median(each) for each in values.values()]
  gap = max(medians, default=0.0) - min(medians, default=0.0)
  if gap > widest:
    yield reasons.Reason(
      reasons.DO_NOT,
      f'Families of estimators differ by {_number(gap, 3)}, more than the '
      f'widest interval, {_number(widest, 3)}. Collect more data near the '
      'policy.',
    )


def _known(answer: verdict.Answer) -> Iterator[reasons.Reason]:
  """Is there an interval, and was it checked?"""
  if answer.missing or answer.interval is None:
    yield reasons.Reason(
      reasons.DO_NOT, answer.missing or 'There is no interval.'
    )
  elif bearing.weighs_alone(answer.metrics):
    pass
  elif not inference.checks(answer.metrics):
    yield reasons.Reason(
      reasons.CARE,
      'Unrelated estimators were not asked: evaluate this policy alone.',
    )
  elif answer.metrics.get('unrolled'):
    yield reasons.Reason(
      reasons.CARE,
      'The target policy does not answer in states that the log lacks, so '
      'rollouts could not check the value. Hand in a policy that answers '
      'everywhere.',
    )
  share = answer.metrics.get(inference.CHECKED, 1.0)
  if share < _LEAST_CHECKED and not bearing.weighs_alone(answer.metrics):
    yield reasons.Reason(
      reasons.CARE,
      f'Unrelated estimators were asked on {100.0 * share:.2g} % of the rows, '
      'where chance hides errors as large as this interval. Compare methods '
      'of other families on the whole log, such as kiv and fqe.',
    )
  if answer.metrics.get('few_joint_features') and _WEIGHED not in (
    inference.checks(answer.metrics)
  ):
    yield reasons.Reason(
      reasons.CARE,
      'Episodes have one step, and rows allow few random features of state and '
      'action: the value may be drawn to the average of the log. Log more '
      'episodes, or compare importance sampling where probabilities are '
      'recorded.',
    )
  if answer.interval is not None and answer.untold:
    yield reasons.Reason(
      reasons.CARE,
      f'One run: the interval leaves out {answer.untold}. Run with --seeds 3 '
      '(seeds=3).',
    )


def _support(
  metrics: Mapping[str, float],
  interval: inference.Interval | None,
  support: verdict.Support | None,
) -> Iterator[reasons.Reason]:
  """Does the log hold what the target policy does?"""
  steps = support.grade if support else 'good'
  if steps != 'good':
    yield reasons.Reason(
      reasons.DO_NOT if steps == 'poor' else reasons.CARE,
      f'Overlap of the log and the target policy is {steps}. {_CLOSER}',
    )
  share = metrics.get('effective_share')
  grade = 'good' if share is None else overlap.share_grade(share)
  if share is None or grade == 'good':
    return
  least, rows = (
    (_LEAST_SHARE_OF_TABLE, _LEAST_ROWS_OF_TABLE)
    if _TABLE in inference.checks(metrics)
    else (_LEAST_SHARE, _LEAST_ROWS)
  )
  enough = support is not None and share * support.rows >= rows
  if not (share >= least and enough and _confirmed(metrics, interval)):
    yield reasons.Reason(
      reasons.DO_NOT if grade == 'poor' else reasons.CARE,
      f'The effective sample size is {messages.percent(share)} of the rows of '
      f'the log, which is {grade}. {_CLOSER}',
    )


def _confirmed(
  metrics: Mapping[str, float], interval: inference.Interval | None
) -> bool:
  """Whether unrelated estimators confirm what rests on part of the rows."""
  known = inference.checks(metrics)
  if (
    interval is None
    or _FREE not in known
    or not any(each in known for each in _SMOOTHING)
  ):
    return False
  return max(interval.reach) <= max(
    _CONFIRMED * _chance(interval),
    _CONFIRMED_VALUE * reasons.scale(metrics, interval),
  )


def _chance(interval: inference.Interval) -> float:
  """Returns the half width of an interval without what checks add."""
  return (interval.high - interval.low - sum(interval.reach)) / 2.0


def _weights(metrics: Mapping[str, float]) -> Iterator[reasons.Reason]:
  words = verdict.few_effective('It', metrics)
  if words:
    yield reasons.Reason(reasons.DO_NOT, words)
  words = verdict.mean_weight('the estimate', metrics)
  if words:
    yield reasons.Reason(reasons.CARE, words)


def _heavy(name: str, metrics: Mapping[str, float]) -> Iterator[reasons.Reason]:
  words = verdict.heavy(name, metrics.get('heavy_share', 0.0))
  if words:
    yield reasons.Reason(reasons.CARE, words)


def _alike(
  metrics: Mapping[str, float], interval: inference.Interval | None
) -> Iterator[reasons.Reason]:
  """Does any episode of the log differ from another?"""
  if interval is not None and metrics.get(
    'return_spread', math.inf
  ) <= _ALIKE * abs(interval.estimate):
    yield reasons.Reason(
      reasons.CARE,
      'All episodes of the log have the same return: of rewards that are rare, '
      'or that the behaviour policy never came to, it says nothing, and the '
      'interval leaves them out.',
    )


def first_stage(
  name: str, metrics: Mapping[str, float], interval: inference.Interval | None
) -> Iterator[reasons.Reason]:
  """Do states and actions say what follows?

  Where transitions are noisy they say little, and nothing is wrong with that as
  long as it is known well, and unrelated estimators confirm the value.

  Args:
    name: what the method is called.
    metrics: of its runs.
    interval: of the value; None if there is none.
  """
  known = metrics.get('first_stage_f', math.nan)
  words = (
    messages.weak_values({name: {'first_stage_f': math.nan, **metrics}})
    if 'first_stage_r2' in metrics
    and not (known >= messages.WEAK_F and _confirmed(metrics, interval))
    else ''
  )
  if words:
    yield reasons.Reason(reasons.CARE, words)
  lost = metrics.get('first_stage_lost_share', 0.0)
  if lost > messages.ILL_POSED_SHARE:
    said = messages.ill_posed(
      lost, instruments='states and actions', outcome='the reward'
    )
    yield reasons.Reason(
      reasons.CARE,
      f'{said} Log more episodes, and see if families of estimators agree.',
    )
  if metrics.get('stage1_held_out_r2', math.inf) < messages.WEAK_R2:
    yield reasons.Reason(
      reasons.CARE,
      f'The first stage of {name} is weak. Add observations that tell what '
      'happens next, or more rows.',
    )
  if metrics.get('instrument_condition', 0.0) > CONDITION:
    yield reasons.Reason(
      reasons.CARE,
      f'Features of {name} are nearly the same. Leave out observations that '
      'repeat others.',
    )


def _agreement(
  metrics: Mapping[str, float], interval: inference.Interval
) -> Iterator[reasons.Reason]:
  """Do unrelated estimators say the same?"""
  known = bearing.checks(metrics)
  estimate, scale = interval.estimate, reasons.scale(metrics, interval)
  chance = _chance(interval)
  gap = max(interval.reach)
  if gap <= max(chance, _NOTED * scale):
    missing = interval.correction
    if interval.contradicted and abs(missing) > _MISSING * scale:
      yield reasons.Reason(
        reasons.CARE,
        f'The log says that {_number(missing, 2)} is missing from the estimate '
        f'{_number(estimate)}, whose standard error is '
        f'{_number(interval.data_error, 2)}. The interval reaches there; '
        'another method may be nearer.',
      )
    return
  name, value = max(
    (('correction', estimate + interval.correction), *known.items()),
    key=lambda each: abs(each[1] - estimate),
  )
  said = _CHECKS.get(name, 'the correction by the log')
  yield reasons.Reason(
    reasons.DO_NOT
    if gap > max(_TIMES * chance, _GRAVE * scale)
    else reasons.CARE,
    f'Estimators differ: {_number(value)} by {said}, {_number(gap, 2)} from '
    f'{_number(estimate)}, where chance explains {_number(chance, 2)}. The '
    'interval reaches there.'
    + (
      ' Errors depend on the number of the step: add it to the '
      'observations (time_feature).'
      if name in ('step', 'horizon')
      else ''
    ),
  )
