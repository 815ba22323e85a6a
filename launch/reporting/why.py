"""Why an answer is to be believed or not: a sentence and a chart each."""

from collections.abc import Sequence
import math

from dfiv_ope.evaluation import inference, verdict
from dfiv_ope.evaluation import trust as trust_lib
from dfiv_ope.iv.diagnostics import messages
from dfiv_ope.launch.reporting import (
  charts,
  details,
  figures,
  forest,
  log_results,
  page,
  tables,
)
from dfiv_ope.ope import overlap

# Data errors of a correction that chance explains.
_CHANCE = 2.0
_CHECKS = 'Cross-checks of LSTD-Q'


def sections(
  case: log_results.LogResults, mark: str = ''
) -> list[page.Section]:
  """Returns agreement, overlap, corrections and first stage, as far as known.

  Args:
    case: what was run on one log and policy.
    mark: what sets their names apart.
  """
  return [
    each
    for each in (
      _agreement(case, mark),
      _overlap(case, mark),
      _corrections(case, mark),
      _first_stage(case, mark),
    )
    if each is not None
  ]


def _agreement(case: log_results.LogResults, mark: str) -> page.Section | None:
  """Do unrelated estimators say the same?"""
  medians = details.medians(case.frame)
  best = case.preferred
  checks = inference.checks(best.metrics) if best else {}
  if medians.empty:
    return None
  frame = case.frame[~case.frame.failed]
  lanes = [
    _spread(family, frame.estimate[frame.family == family].tolist(), middle)
    for family, middle in medians.items()
  ]
  if checks:
    lanes.append(_spread(_CHECKS, [*checks.values()], math.nan))
  plot = forest.chart('', case)
  return page.Section(
    name=f'agreement{mark}',
    title='Do estimators agree?',
    text=_agreement_words(case),
    charts=[
      charts.Chart(
        name=f'families{mark}',
        lanes=lanes,
        axis=plot.axis,
        limits=plot.limits,
        references=plot.references,
        caption='Runs of each family of estimators; the bar is their median.'
        + (
          ' Cross-checks are other features, rollouts and doubly '
          'robust estimates of the same value.'
          if checks
          else ''
        ),
      )
    ],
  )


def _spread(label: str, values: Sequence[float], middle: float) -> charts.Lane:
  low, high = min(values), max(values)
  least, most = tables.digits(low), tables.digits(high)
  text = least if least == most else f'{least} to {most}'
  return charts.Lane(
    label=label[0].upper() + label[1:],
    tracks=(
      charts.Track(
        middle=middle, low=low, high=high, points=tuple(values), text=text
      ),
    ),
  )


def _agreement_words(case: log_results.LogResults) -> str:
  found = details.medians(case.frame)
  widest = max(
    (each.width for each in case.methods if each.interval), default=math.nan
  )
  if len(found) < 2:
    return (
      f'Only the family {found.index[0]} was run, so no other family '
      'can contradict it: add one, such as --method fqe.'
    )
  gap = found.max() - found.min()
  words = (
    f'Medians of {len(found)} families differ by {tables.digits(gap)} '
    f'({found.idxmin()} {tables.digits(found.min())}, {found.idxmax()} '
    f'{tables.digits(found.max())})'
  )
  if math.isnan(widest):
    return f'{words}; there is no interval to compare that with.'
  return words + (
    f', more than the widest interval ({tables.digits(widest)}).'
    if gap > widest
    else f', less than the widest interval ({tables.digits(widest)}).'
  )


def _overlap(case: log_results.LogResults, mark: str) -> page.Section | None:
  """Does the log hold what the policy does?"""
  said, share = case.problem.overlap, case.effective_share
  if said is None and math.isnan(share):
    return None
  known = [
    ('Effective sample size', share, True),
    (
      'Agreement with logged actions',
      said.agreement if said else math.nan,
      False,
    ),
    (
      'Support coverage',
      said.coverage.share if said and said.coverage else math.nan,
      False,
    ),
  ]
  limits = (
    []
    if math.isnan(share)
    else [
      charts.Reference(overlap.POOR_SHARE, 'poor below 5 %', charts.LIMIT),
      charts.Reference(overlap.THIN_SHARE, 'thin below 25 %', charts.LIMIT),
    ]
  )
  return page.Section(
    name=f'overlap{mark}',
    title='Does the log hold what the policy does?',
    text=_overlap_words(case),
    charts=[
      charts.Chart(
        name=f'shares{mark}',
        axis='share',
        percent=True,
        limits=(0.0, 1.0),
        references=limits,
        lanes=[
          _single(name, value, tables.percent(value).text, strong=strong)
          for name, value, strong in known
          if not math.isnan(value)
        ],
        caption='Shares of the log’s rows, of the policy’s actions and of '
        'its decisions'
        + (
          '.'
          if math.isnan(share)
          else '; the limits are of the effective sample size.'
        ),
      )
    ],
  )


def _overlap_words(case: log_results.LogResults) -> str:
  """Returns the verdict on the overlap, with the answer's features."""
  said, share = case.problem.overlap, case.effective_share
  grade = overlap.worst(
    said.grade if said else 'good',
    'good' if math.isnan(share) else overlap.share_grade(share),
  )
  return ' '.join(
    [
      overlap.verdict(grade),
      *(verdict.share_words(case.preferred.metrics) if case.preferred else ()),
    ]
  )


def _corrections(
  case: log_results.LogResults, mark: str
) -> page.Section | None:
  """Does the log's own Bellman equation contradict an estimate?"""
  known = [
    each
    for each in case.methods
    if each.interval is not None and each.interval.data_error > 0.0
  ]
  if not known:
    return None
  sizes = {
    each.variant: each.interval.correction / each.interval.data_error
    for each in known
    if each.interval
  }
  wrong = [each.variant for each in known if each.contradicted]
  never = [
    each.variant
    for each in known
    if each.contradicted and case.trust(each).grade == trust_lib.DO_NOT
  ]
  text = (
    'The log’s Bellman equation contradicts '
    f'{", ".join(wrong)}: more is missing than chance explains. '
    + (
      f'Do not trust {", ".join(never)} here.'
      if never
      else 'Intervals reach to what it says.'
    )
    if wrong
    else 'The log’s Bellman equation contradicts no estimate: what it says is '
    'missing is within chance.'
  )
  furthest = max(1.5 * _CHANCE, *(1.1 * abs(each) for each in sizes.values()))
  return page.Section(
    name=f'corrections{mark}',
    title='Does the log contradict a method?',
    text=text,
    charts=[
      charts.Chart(
        name=f'missing{mark}',
        axis='standard errors',
        limits=(-furthest, furthest),
        references=[
          charts.Reference(-_CHANCE, '', charts.LIMIT),
          charts.Reference(_CHANCE, f'chance: ±{_CHANCE:g}', charts.LIMIT),
        ],
        lanes=_by_method(
          case, sizes, {name: f'{size:+.1f}' for name, size in sizes.items()}
        ),
        caption='Correction: what the log says is missing from an estimate, '
        'in standard errors of the estimate.',
      )
    ],
  )


def _first_stage(
  case: log_results.LogResults, mark: str
) -> page.Section | None:
  """Do states and actions tell what follows?"""
  shares = {
    each.variant: max(0.0, each.metrics['first_stage_r2'])
    for each in case.methods
    if 'first_stage_r2' in each.metrics
  }
  if not shares:
    return None
  weak = [name for name, share in shares.items() if share < messages.WEAK_R2]
  least, most = (
    tables.percent(choose(shares.values())).text for choose in (min, max)
  )
  text = (
    'States and actions predict '
    f'{least if least == most else f"{least} to {most}"} of the discounted '
    'next value on held-out rows (R²)'
    + (
      f', which is weak by {", ".join(weak)}: transitions are very noisy or '
      'the state is partially observed.'
      if weak
      else '.'
    )
  )
  return page.Section(
    name=f'stage{mark}',
    title='Do states and actions tell what follows?',
    text=text,
    charts=[
      charts.Chart(
        name=f'first-stage{mark}',
        axis='first-stage R²',
        percent=True,
        limits=(0.0, 1.0),
        references=[
          charts.Reference(
            messages.WEAK_R2,
            f'weak below {100.0 * messages.WEAK_R2:g} %',
            charts.LIMIT,
          )
        ],
        lanes=_by_method(
          case,
          shares,
          {name: tables.percent(share).text for name, share in shares.items()},
        ),
        caption='First stage: share of the variance of the next value that '
        'states and actions explain, by each method’s values.',
      )
    ],
  )


def _by_method(
  case: log_results.LogResults, values: dict[str, float], texts: dict[str, str]
) -> list[charts.Lane]:
  styles = figures.styles(
    [each.variant for each in case.methods],
    {each.variant: each.method for each in case.methods},
  )
  return [
    _single(
      name,
      value,
      texts[name],
      color=styles[name].color,
      strong=bool(case.preferred and case.preferred.variant == name),
    )
    for name, value in values.items()
  ]


def _single(
  label: str,
  value: float,
  text: str,
  *,
  color: str = charts.NEUTRAL,
  strong: bool = False,
) -> charts.Lane:
  return charts.Lane(
    label=label,
    color=color,
    strong=strong,
    tracks=(charts.Track(middle=value, text=text),),
  )
