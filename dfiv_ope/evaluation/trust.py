"""How far to trust an estimate: a word, and the reasons for it.

    found = trust.judge(answer, support)
    found.grade, found.reasons

The word is made of measured parts: the overlap, how far rollouts of the target
policy leave the log, what unrelated estimators say of the same value
(`evaluation.cross_checks`), whether Bellman errors depend on the past, the
effective sample size of weights, and the size of the log. An interval may be
wide and trusted: the word says whether it is to be believed.
"""

from collections.abc import Iterator, Mapping, Sequence
import math
from typing import NamedTuple

from dfiv_ope.evaluation import inference, verdict
from dfiv_ope.ope import history, traits

TRUST, CARE, DO_NOT = GRADES = ('trust', 'with care', 'do not')
# Where unrelated estimators differ by more than chance does, and more than the
# first share of the value, an estimate needs care; where by more than the
# second share and several times chance, none is to be believed.
_NOTED, _GRAVE, _TIMES = 0.02, 0.2, 3.0
# Of visits that have no near step of the log.
_FAR = (0.3, 0.6)
# What errors that depend on the past may add to the value, as a share of it,
# if they do by as many standard errors: with care, and do not.
_LASTING = (0.1, 0.3)
# What the step before says of an outcome that (s, a) does not, as a share of
# the outcome's variance, if it does by as many standard errors.
_REMEMBERED, REMEMBERED_Z = (0.01, 0.03), 4.0
OUTCOMES = ("an observation's next value", 'the reward', 'the end')
# What a lasting trait hides of the value, as a share of it: with care, and do
# not. It is seen in part.
_TRAIT = (0.02, 0.05)
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
  'doubly_robust': 'the doubly robust estimate',
}


class Trust(NamedTuple):
  """How far to trust an estimate.

  Attributes:
    grade: of GRADES.
    reasons: sentences against it; none if it is trusted.
  """

  grade: str
  reasons: tuple[str, ...] = ()


class Reason(NamedTuple):
  """What speaks against an estimate.

  Attributes:
    grade: that it leaves.
    words: a sentence or two.
  """

  grade: str
  words: str


def judge(answer: verdict.Answer, support: verdict.Support | None) -> Trust:
  """Returns how far to trust what a method says.

  Args:
    answer: what it says.
    support: how far the log holds what the policy does; None if unknown.
  """
  metrics = answer.metrics
  found = [
    *_known(answer),
    *_support(metrics, support),
    *_weights(metrics),
    *doubts(metrics, answer.interval),
  ]
  worst = max((GRADES.index(each.grade) for each in found), default=0)
  return Trust(
    GRADES[worst],
    tuple(
      each.words
      for each in sorted(found, key=lambda each: -GRADES.index(each.grade))
    ),
  )


def sentences(judged: Mapping[str, Trust]) -> list[str]:
  """Returns the verdict on each method, with its reasons.

  Args:
    judged: of each method, by what it is called.
  """
  same: dict[Trust, list[str]] = {}
  for name, found in judged.items():
    same.setdefault(found, []).append(name)
  return [_sentence(names, found) for found, names in same.items()]


def distrusted(judged: Mapping[str, Trust]) -> list[str]:
  """Returns the methods that are not to be trusted."""
  return [name for name, found in judged.items() if found.grade == DO_NOT]


def _sentence(names: Sequence[str], found: Trust) -> str:
  words = {
    TRUST: 'trust: nothing that was measured speaks against the interval.',
    CARE: 'with care.',
    DO_NOT: 'do not trust.',
  }
  return ' '.join([f'{", ".join(names)}: {words[found.grade]}', *found.reasons])


def doubts(
  metrics: Mapping[str, float], interval: inference.Interval | None
) -> list[Reason]:
  """Returns what checks of a value say against it.

  Args:
    metrics: of a method's runs.
    interval: of its estimate; None if there is none.
  """
  return [
    *_far(metrics),
    *_memory(metrics),
    *(
      []
      if interval is None
      else [
        *_agreement(metrics, interval),
        *_past(metrics, interval),
        *_trait(metrics, interval),
      ]
    ),
  ]


def _known(answer: verdict.Answer) -> Iterator[Reason]:
  """Is there an interval, and was it checked?"""
  if answer.missing or answer.interval is None:
    yield Reason(DO_NOT, answer.missing or 'There is no interval.')
  elif not inference.checks(answer.metrics):
    yield Reason(
      CARE, 'Unrelated estimators were not asked: evaluate this policy alone.'
    )
  elif answer.metrics.get('unrolled'):
    yield Reason(
      CARE,
      'The target policy does not answer in states that the log lacks, so '
      'rollouts could not check the value. Hand in a policy that answers '
      'everywhere.',
    )


def _support(
  metrics: Mapping[str, float], support: verdict.Support | None
) -> Iterator[Reason]:
  grade = verdict.grade(metrics, support)
  if grade != 'good':
    yield Reason(
      DO_NOT if grade == 'poor' else CARE,
      f'Overlap of the log and the target policy is {grade}.',
    )


def _far(metrics: Mapping[str, float]) -> Iterator[Reason]:
  share = metrics.get('beyond_share', 0.0)
  if share > _FAR[0]:
    yield Reason(
      DO_NOT if share > _FAR[1] else CARE,
      f'In some tenth of its discounted steps, {100.0 * share:.0f} % of what '
      'the target policy comes to is far from every step of the log.',
    )


def _weights(metrics: Mapping[str, float]) -> Iterator[Reason]:
  words = verdict.few_effective('It', metrics)
  if words:
    yield Reason(DO_NOT, words)
  words = verdict.mean_weight('the estimate', metrics)
  if words:
    yield Reason(CARE, words)


def _agreement(
  metrics: Mapping[str, float], interval: inference.Interval
) -> Iterator[Reason]:
  """Do unrelated estimators say the same?"""
  known = inference.checks(metrics)
  estimate, scale = interval.estimate, _scale(metrics, interval)
  chance = (interval.high - interval.low - sum(interval.reach)) / 2.0
  gap = max(interval.reach)
  if gap <= max(chance, _NOTED * scale):
    missing = interval.correction
    if interval.contradicted and abs(missing) > _NOTED * scale:
      yield Reason(
        CARE,
        f'The log says that {missing:.2g} is missing from the estimate '
        f'{estimate:.4g}, whose standard error is '
        f'{interval.data_error:.2g}. The interval reaches there; another '
        'method may be nearer.',
      )
    return
  name, value = max(
    (('correction', estimate + interval.correction), *known.items()),
    key=lambda each: abs(each[1] - estimate),
  )
  said = _CHECKS.get(name, 'the correction by the log')
  yield Reason(
    DO_NOT if gap > max(_TIMES * chance, _GRAVE * scale) else CARE,
    f'Estimators differ: {said} says {value:.4g}, {gap:.2g} from '
    f'{estimate:.4g}, where chance explains {chance:.2g}. The interval '
    'reaches there.'
    + (
      ' Errors depend on the number of the step: add it to the '
      'observations (time_feature).'
      if name in ('step', 'horizon')
      else ''
    ),
  )


def _past(
  metrics: Mapping[str, float], interval: inference.Interval
) -> Iterator[Reason]:
  """Is the state all that matters?"""
  share = metrics.get('lagged_value', 0.0) / _scale(metrics, interval)
  if (
    share > _LASTING[0] and abs(metrics.get('lagged_z', 0.0)) > history.CERTAIN
  ):
    yield Reason(
      DO_NOT if share > _LASTING[1] else CARE,
      'Bellman errors go with those one step earlier (correlation '
      f'{metrics["lagged_correlation"]:.2f}): the observations are not the '
      'whole state. Add what lasts, such as earlier observations.',
    )


def _memory(metrics: Mapping[str, float]) -> Iterator[Reason]:
  """Does the step before say more than the state does?"""
  share = metrics.get('memory_share', 0.0)
  if share > _REMEMBERED[0] and metrics.get('memory_z', 0.0) > REMEMBERED_Z:
    yield Reason(
      DO_NOT if share > _REMEMBERED[1] else CARE,
      'The observations are not the whole state: the step before tells '
      f'{100.0 * share:.2g} % of the variance of '
      f'{OUTCOMES[int(metrics["memory_outcome"])]} beyond the state and the '
      'action. Add what lasts to the observations, such as the step before.',
    )


def _trait(
  metrics: Mapping[str, float], interval: inference.Interval
) -> Iterator[Reason]:
  """Does something that is not recorded move actions and rewards?"""
  value, error = (
    metrics.get(f'trait_{name}', 0.0) for name in ('value', 'error')
  )
  share = abs(value) / _scale(metrics, interval)
  if share > _TRAIT[0] and abs(value) > traits.CERTAIN * error:
    yield Reason(
      DO_NOT if share > _TRAIT[1] else CARE,
      'Rewards of an episode stay above or below what states and actions '
      'explain, and the actions go with it: something that lasts and is not '
      f'recorded moves both. It adds at least {-value:.2g} to the estimate '
      f'(standard error {error:.2g}). Add it to the '
      'observations, or log actions that do not depend on it.',
    )


def _scale(metrics: Mapping[str, float], interval: inference.Interval) -> float:
  """Returns what differences are compared with."""
  return max(abs(interval.estimate), metrics.get('return_spread', 0.0)) or (
    math.inf
  )
