"""What to beware of in the answers of a log, in sentences.

The command line, the report and the library say the same: they hand in what
each method found and get sentences back.
"""

from collections.abc import Collection, Mapping, Sequence
import math
from typing import NamedTuple

from dfiv_ope import agents, registry, visible_text
from dfiv_ope.evaluation import inference
from dfiv_ope.ope import log_notes, overlap

# Weights of episodes average one if they are right, and if none is missing.
_MEAN_WEIGHTS = (0.8, 1.25)
# What an estimate may lie beyond all returns by: of their range, and of their
# size where they are nearly the same.
_SLACK, _ROUNDING = 0.01, 1e-3
# Of visits in a tenth of them, counted with their discounts. Where methods were
# confidently wrong, more than half were far, elsewhere less than 0.28 (30 logs,
# tenths of the steps).
_FAR = 0.3


class Answer(NamedTuple):
  """What a method says of a policy's value.

  Attributes:
    metrics: medians over its runs.
    difference: interval of the value less the behaviour policy's, paired by
      resampled episodes; None if there is none.
    missing: why it has no confidence interval; empty if it has one.
    interval: of the value; None if there is none.
    family: of estimators that it belongs to; empty if that is not known.
    untold: what of its own randomness its runs do not show, of
      `hidden_randomness`.
  """

  metrics: Mapping[str, float]
  difference: inference.Interval | None = None
  missing: str = ''
  interval: inference.Interval | None = None
  family: str = ''
  untold: str = ''


class Support(NamedTuple):
  """How far the log holds what the policy does, before any method.

  Attributes:
    grade: good, thin or poor.
    warnings: sentences.
    doubts: sentences on columns of the log that speak against any answer.
    rows: of the log; 0 if that is not known.
  """

  grade: str
  warnings: Sequence[str] = ()
  doubts: Sequence[str] = ()
  rows: int = 0


def hidden_randomness(
  method: str, runs: int, metrics: Mapping[str, float]
) -> str:
  """Returns what of its randomness a method's runs hide; empty if nothing.

  Args:
    method: its name.
    runs: how many there are.
    metrics: of them.
  """
  entry = agents.ENTRIES.get(method)
  if runs > 1:
    return ''
  if entry is None or entry.trained:
    return 'the training'
  # Intervals reach to LSTD-Q with other random features, where it was run; a
  # table, whose check is its prior, has none.
  if entry.style.family == registry.IMPORTANCE_SAMPLING or any(
    f'{inference.CHECK}{name}' in metrics for name in ('draw', 'prior')
  ):
    return ''
  return 'the draw of random features'


def support(
  found: overlap.Overlap,
  labels: Sequence[str] = (),
  notes: Sequence[log_notes.Note] = (),
) -> Support:
  """Returns what is known of a log and a policy before any method.

  Args:
    found: their overlap.
    labels: of the actions, which are numbers without them.
    notes: on the columns of the log.
  """
  return Support(
    found.grade,
    found.warnings(labels),
    [note.sentence for note in notes if note.doubt],
    found.steps,
  )


def collect(
  answers: Mapping[str, Answer],
  *,
  support: Support | None,
  level: float,
  notes: Sequence[str] = (),
  distrusted: Collection[str] = (),
) -> list[str]:
  """Returns what a person should know of the answers on a log.

  What speaks against an interval is said with its verdict (`trust`).

  Args:
    answers: of each method, by what it is called.
    support: None if the log was simulated with the policy.
    level: of the intervals.
    notes: on the columns of the log.
    distrusted: methods of which nothing is concluded.
  """
  few = dict.fromkeys(
    answer.missing for answer in answers.values() if answer.missing
  )
  return [
    *few,
    *filter(None, map(beyond, answers, answers.values())),
    *filter(
      None, (far(name, answer.metrics) for name, answer in answers.items())
    ),
    *_differences(answers, support, level, distrusted),
    *_overlap(answers, support),
    *notes,
  ]


def comparison(found: inference.Interval) -> str:
  """Returns which policy is better, by their paired difference."""
  if found.low > 0.0:
    return 'The target policy does better than the behaviour policy.'
  if found.high < 0.0:
    return 'The target policy does worse than the behaviour policy.'
  return 'The log does not tell which of the two policies is better.'


def beyond(name: str, answer: Answer) -> str:
  """Returns that no episode of the log earned an estimate; empty if one did.

  Args:
    name: of the method.
    answer: what it says.
  """
  metrics = answer.metrics
  if not {'estimate', 'lowest_return', 'highest_return'} <= set(metrics):
    return ''
  low, high = metrics['lowest_return'], metrics['highest_return']
  slack = max(_SLACK * (high - low), _ROUNDING * max(abs(low), abs(high)))
  if low - slack <= metrics['estimate'] <= high + slack:
    return ''
  return (
    f'The estimate of {name}, {visible_text.number(metrics["estimate"])}, lies '
    'beyond the return of every episode of the log '
    f'({visible_text.number(low)} to {visible_text.number(high)}): it is '
    'extrapolation, and its interval does not show how wrong it may be. '
    'Compare methods of another family, such as kiv and fqe.'
  )


def heavy(name: str, share: float) -> str:
  """Returns that a value rests on few rows; empty if it does not.

  Args:
    name: of the method.
    share: of `inference.heavy_share`.
  """
  if not share > inference.HEAVY:
    return ''
  return (
    f'{100.0 * share:.0f} % of the estimate of {name} rests on its largest '
    '0.1 % of rows with a reward (by weight times reward): see if these are '
    'right, and evaluate again without them to see what they do.'
  )


def few_effective(name: str, metrics: Mapping[str, float]) -> str:
  """Returns that weights leave few episodes; empty if they leave enough.

  Args:
    name: of the method.
    metrics: with the effective sample size, if it weighs episodes.
  """
  effective = metrics.get('effective_episodes', math.inf)
  if effective >= inference.FEW_EFFECTIVE:
    return ''
  return (
    f'{name} rests on the equivalent of {visible_text.number(effective, 2)} '
    'episodes (effective sample size of their weights): its interval is not '
    'to be trusted. Compare lstd, kiv or fqe, which weigh no episodes.'
  )


def far(name: str, metrics: Mapping[str, float]) -> str:
  """Returns that the target policy leaves the log; empty if it does not.

  Args:
    name: of the method.
    metrics: with the share of visits that have no near step of the log, in the
      tenth of the discounted steps where it is largest, if it rolls out.
  """
  share = metrics.get('beyond_share', 0.0)
  if share <= _FAR:
    return ''
  return (
    f'{100.0 * share:.0f} % of the states and actions that the target policy '
    'comes to in some tenth of its discounted steps are far from every step '
    f'of the log (rollouts of {name}): there all methods extrapolate, and '
    'their intervals do not show it. Log more of what the target policy '
    'does.'
  )


def mean_weight(name: str, metrics: Mapping[str, float]) -> str:
  """Returns that weights of episodes do not average one; empty if they do.

  Args:
    name: of the method.
    metrics: with the mean weight, if it weighs episodes.
  """
  mean = metrics.get('mean_weight', 1.0)
  low, high = _MEAN_WEIGHTS
  if low <= mean <= high:
    return ''
  return (
    f'The weights of episodes in {name} average {mean:.2g} instead of 1: '
    'episodes that the target policy would often have are missing from the '
    'log, or the probabilities are wrong. No interval shows that.'
  )


def share_words(metrics: Mapping[str, float]) -> list[str]:
  """Returns the effective sample size of a method, if its metrics have it."""
  if not {'effective_share', 'overlap_features'} <= set(metrics):
    return []
  return [
    overlap.share_words(
      metrics['effective_share'],
      features=metrics['overlap_features'],
      bandwidth_scale=metrics['overlap_bandwidth_scale'],
      reduced=bool(metrics['overlap_reduced']),
      cells=metrics.get('overlap_cells', 0),
      together=bool(metrics.get('overlap_joint', 0.0)),
      one_step=bool(metrics.get('overlap_one_step', 0.0)),
    )
  ]


def grade(metrics: Mapping[str, float], support: Support | None) -> str:
  """Returns the grade of the overlap, with a method's features."""
  share = metrics.get('effective_share')
  return overlap.worst(
    support.grade if support else 'good',
    'good' if share is None else overlap.share_grade(share),
  )


def _differences(
  answers: Mapping[str, Answer],
  support: Support | None,
  level: float,
  distrusted: Collection[str],
) -> list[str]:
  """Returns the value of each method less the average return of the log."""
  if support is None:
    return []
  return [
    f'Paired difference to the behaviour policy by {name}: '
    f'{found.estimate:+.3g} ({100 * level:g} % confidence interval '
    f'{found.low:+.3g} to {found.high:+.3g}, from the same resampled '
    'episodes).'
    + (
      f' {comparison(found)}'
      if name not in distrusted and grade(answer.metrics, support) != 'poor'
      else ''
    )
    for name, answer in answers.items()
    if (found := answer.difference)
  ]


def _overlap(
  answers: Mapping[str, Answer], support: Support | None
) -> list[str]:
  """Returns the verdict on the overlap, for each kind of features."""
  if support is None:
    return []
  verdicts: dict[str, list[str]] = {}
  for name, answer in answers.items():
    verdicts.setdefault(
      ' '.join(
        [
          overlap.verdict(grade(answer.metrics, support)),
          *share_words(answer.metrics),
        ]
      ),
      [],
    ).append(name)
  return [
    *(
      words if len(verdicts) == 1 else f'{", ".join(names)}: {words}'
      for words, names in verdicts.items()
    ),
    *support.warnings,
  ]
