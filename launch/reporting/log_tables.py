"""Tables of one policy on one log of a user."""

from collections.abc import Sequence
import math
import statistics

from dfiv_ope.evaluation import inference
from dfiv_ope.launch.reporting import (
  advice,
  details,
  forest,
  frames,
  log_results,
  measured_coverage,
  method_labels,
  tables,
)
from dfiv_ope.ope import overlap
from dfiv_ope.results import problems
from dfiv_ope.results import rows as rows_lib


def answers(found: list[log_results.LogResults]) -> tables.Table:
  """Returns one line a policy: the answer and whether to trust it."""
  lines = []
  for case in found:
    best = case.preferred
    line = case.frame.iloc[0]
    ends = (best.estimate, *best.ends) if best else (None, None, None)
    lines.append(
      [
        tables.text(case.policy),
        tables.text(line.dataset),
        tables.text(best.variant if best else '–'),
        *map(tables.number, ends),
        tables.number(case.log[0]),
        _difference(best.difference if best else None),
        tables.text(advice.trust(case)),
      ]
    )
  return tables.Table(
    name='answers',
    cards=True,
    caption=(
      'Each policy by the method that is preferred for it, with its 95 % '
      'interval, its paired difference to the log, and whether to trust '
      'the answer.'
    ),
    columns=[
      'policy',
      'log',
      'method',
      'estimate',
      'low',
      'high',
      'log’s average',
      'paired difference',
      'trust',
    ],
    rows=lines,
    links=[
      {'panel': case.frame.panel.iloc[0], 'digest': case.frame.digest.iloc[0]}
      for case in found
    ],
  )


_NOTES = {
  'trust': 'how far to trust the interval (docs/trust.md); it reaches to '
  'what unrelated estimators say',
  'paired difference': 'the estimate less the average return of the log, '
  'with an interval from the same resampled episodes',
  'data error': 'standard error from the episodes that happen to be logged',
  'training error': 'standard error over seeds',
  'share of data': 'of the variance, what comes with the episodes: more data '
  'narrows it, more seeds the rest',
  'correction': 'what the log says is missing from the estimate; the '
  'interval holds it',
}


def methods(
  case: log_results.LogResults,
  mark: str = '',
  coverage: Sequence[rows_lib.Row] = (),
) -> tables.Table:
  """Returns what each method says, and where its uncertainty comes from.

  Errors are there where the true value is known.

  Args:
    case: what was run on one log and policy.
    mark: what sets the name of the table apart.
    coverage: rows of studies of interval coverage, of which those of the same
      methods are told.
  """
  mean, low, high = case.log
  truth = frames.number(case.problem.truth)
  known = not math.isnan(truth)
  lines = [
    [
      tables.text(forest.LOG_LABEL),
      tables.text('–'),
      *map(tables.number, (mean, low, high)),
      *(_errors([mean], truth) if known else ()),
      *[tables.text('–')] * 2,
      tables.number(case.problem.log_standard_error),
      *[tables.number(None)] * 5,
    ]
  ]
  for each in case.methods:
    found = each.interval
    numbers = (
      [
        found.estimate,
        found.low,
        found.high,
        found.data_error,
        found.training_error,
      ]
      if found
      else [each.estimate, *[None] * 4]
    )
    lines.append(
      [
        tables.text(each.variant),
        tables.count(each.runs),
        tables.number(numbers[0], best=each is case.preferred),
        *map(tables.number, numbers[1:3]),
        *(
          _errors(
            [
              frames.number(row.metrics.get('estimate'))
              for row in each.rows
              if not row.failed
            ],
            truth,
          )
          if known
          else ()
        ),
        tables.text(
          case.trust(each).grade if math.isfinite(each.estimate) else '–'
        ),
        _difference(each.difference),
        *map(tables.number, numbers[3:]),
        tables.percent(found.data_share if found else None),
        tables.number(found.correction if found else None),
        tables.count(each.failed),
        tables.number(each.cpu_seconds),
      ]
    )
  return tables.Table(
    name=f'estimates{mark}',
    cards=True,
    caption='Estimates over seeds with 95 % confidence intervals (low, '
    'high)'
    + (
      f' and errors against the true value {tables.digits(truth)} '
      '± '
      + tables.digits(frames.number(case.problem.truth_standard_error))
      + '.'
      if known
      else '.'
    )
    + ' The answer is marked.',
    notes=[
      *(f'{name}: {words}.' for name, words in _NOTES.items()),
      *measured_coverage.sentences(case.methods, coverage),
    ],
    columns=[
      'method',
      'seeds',
      'estimate',
      'low',
      'high',
      *(['error', 'relative error'] if known else []),
      'trust',
      'paired difference',
      'data error',
      'training error',
      'share of data',
      'correction',
      'diverged',
      'CPU s',
    ],
    rows=lines,
    links=[
      _link(case, None),
      *(_link(case, each.variant) for each in case.methods),
    ],
  )


def _errors(estimates: Sequence[float], truth: float) -> list[tables.Cell]:
  """Returns the mean error of runs, and that as a share of the truth."""
  known = [abs(each - truth) for each in estimates if math.isfinite(each)]
  error = statistics.fmean(known) if known else None
  return [
    tables.number(error),
    tables.percent(error / abs(truth) if error is not None and truth else None),
  ]


def support(
  case: log_results.LogResults, said: overlap.Overlap, mark: str = ''
) -> tables.Table:
  """Returns how far the log holds what the policy does, in numbers."""
  weights, labels = said.weights, action_labels(case)
  origin = (
    'estimated from the log'
    if weights and weights.estimated
    else 'as the log says'
  )
  weighed = case.frame.effective_episodes.notna().any()
  lines = [
    (
      'effective sample size',
      tables.percent(case.effective_share),
      'of the rows, with the features of the answer; below '
      f'{100 * overlap.THIN_SHARE:g} % is thin, below '
      f'{100 * overlap.POOR_SHARE:g} % poor',
    ),
    (
      'agreement',
      tables.percent(said.agreement),
      'how likely the policy takes the logged action',
    ),
    (
      'support coverage',
      tables.percent(said.coverage.share if said.coverage else None),
      'of decisions, those that the log took in a near state; about 95 % '
      'for a policy that acts as the log does',
    ),
    (
      'effective steps',
      tables.count(weights.effective_steps if weights else None),
      f'of {said.steps:,}, by importance weights with probabilities {origin}',
    ),
    (
      'effective episodes',
      tables.number(weights.effective_episodes if weights else None),
      f'of {tables.count(case.problem.episodes).text}, where whole episodes '
      f'are weighted{"" if weighed else "; no method here does"}',
    ),
    (
      'largest weight',
      tables.number(weights.largest if weights else None),
      'of one step',
    ),
    (
      'actions never logged',
      tables.count(len(said.unseen)),
      ', '.join(
        f'{labels[action] if labels else action} in '
        f'{tables.percent(share).text} of decisions'
        for action, share in said.unseen.items()
      )
      or 'of those the policy takes',
    ),
  ]
  return tables.Table(
    name=f'log-overlap{mark}',
    caption='How far the log holds what the policy does.',
    columns=['quantity', 'value', 'what it is'],
    rows=[
      [tables.text(name), cell, tables.text(words)]
      for name, cell, words in lines
      if cell.value == cell.value
    ],
  )


def first_stage(case: log_results.LogResults, mark: str = '') -> tables.Table:
  """Returns how well states and actions tell what follows, in numbers."""
  names = {
    'R² of the value that follows': 'first_stage_r2',
    'F of the held-out index': 'first_stage_f',
    'R² of next features': 'stage1_held_out_r2',
    'condition': 'instrument_condition',
  }
  values = [
    (place, case.median(f'first_stage_value_{place}')) for place in (1, 10, 40)
  ]
  known = ', '.join(
    f'{tables.number(value).text} ({place})'
    for place, value in values
    if value == value
  )
  return tables.Table(
    name=f'log-stage{mark}',
    caption=' '.join(
      [
        'The first stage on held-out rows, by the values of each method; '
        'an F below 10 is weak.',
        *(
          [
            f'Singular values of stage 1, by their place: {known}; it keeps '
            f'{case.median("first_stage_rank"):.0f} directions.'
          ]
          if known
          else []
        ),
      ]
    ),
    columns=['method', *names],
    rows=[
      [
        tables.text(each.variant),
        *(tables.number(each.metrics.get(name)) for name in names.values()),
      ]
      for each in case.methods
    ],
    links=[_link(case, each.variant) for each in case.methods],
  )


def families(case: log_results.LogResults, mark: str = '') -> tables.Table:
  """Returns whether families of estimators agree on a case."""
  found = details.medians(case.frame)
  widest = max(
    (each.width for each in case.methods if each.interval), default=None
  )
  return tables.Table(
    name=f'log-families{mark}',
    caption=(
      'Median estimate of each family of estimators. A gap wider than the '
      'widest interval is a reason to distrust all of them.'
    ),
    columns=[
      'statistic',
      *found.index,
      'gap',
      'relative gap',
      'widest interval',
    ],
    rows=[
      [
        tables.text('median estimate'),
        *map(tables.number, found),
        tables.number(found.max() - found.min() if len(found) > 1 else None),
        tables.percent(details.gap(found)),
        tables.number(widest),
      ]
    ],
  )


def action_labels(case: log_results.LogResults) -> tuple[str, ...]:
  """Returns the names of the actions, if they have any."""
  problem = case.problem
  return problem.action_labels if isinstance(problem, problems.UserLog) else ()


def _difference(found: inference.Interval | None) -> tables.Cell:
  if found is None:
    return tables.text('–')
  return tables.interval(found.estimate, found.low, found.high)


def _link(case: log_results.LogResults, variant: str | None) -> tables.Link:
  first = case.frame.iloc[0]
  return {
    'panel': first.panel,
    'digest': first.digest,
    'method': variant or method_labels.NAIVE_LABEL,
  }
