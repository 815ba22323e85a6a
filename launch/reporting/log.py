"""Policies on users' logs: one answer, or several on a common plot."""

from collections.abc import Sequence

import pandas as pd

from dfiv_ope.launch.reporting import (
  advice,
  charts,
  figures,
  forest,
  log_results,
  log_tables,
  method_labels,
  page,
  policy_comparison,
  question,
)
from dfiv_ope.results import problems
from dfiv_ope.results import rows as rows_lib

# Policies of a plot, and policies that have a part of their own.
_MOST_LINES, _MOST_PARTS = 40, 20


def sections(
  found: list[log_results.LogResults], coverage: Sequence[rows_lib.Row] = ()
) -> list[page.Section]:
  """Returns the parts of the page for all policies, the answer first.

  Args:
    found: of `log_results.collect`.
    coverage: rows of studies of interval coverage, of which those of the same
      methods are told.
  """
  if len(found) == 1:
    return question.sections(found[0], coverage)
  if not found:
    return []
  return [
    page.Section(
      name='answer',
      title='All policies',
      lead=True,
      text=_headline(found),
      charts=common(found),
      grids=[log_tables.answers(found)],
    ),
    *_differences(found),
    *(
      question.folded(
        case,
        f'Policy: {case.frame.panel.iloc[0]}',
        coverage,
        f'-{index + 1}' if index else '',
      )
      for index, case in enumerate(found[:_MOST_PARTS])
    ),
  ]


def common(found: list[log_results.LogResults]) -> list[charts.Chart]:
  """Returns a chart for each log and discount, a line a policy."""
  logs: dict[tuple[str, float], list[log_results.LogResults]] = {}
  for case in found:
    logs.setdefault((case.problem.digest, case.problem.discount), []).append(
      case
    )
  several = len(logs) > 1
  return [
    _common(
      f'policies-{index + 1}',
      group,
      f'{group[0].problem.dataset}, discount {group[0].problem.discount:.10g}'
      if several
      else '',
    )
    for index, group in enumerate(logs.values())
  ]


def _common(
  name: str, group: list[log_results.LogResults], title: str
) -> charts.Chart:
  """Returns the policies of one log, the greatest estimate first."""
  best = [(case, case.preferred) for case in group if case.preferred]
  best.sort(key=lambda each: -each[1].estimate)
  styles = figures.styles(
    [method.variant for _, method in best],
    {method.variant: method.method for _, method in best},
  )
  kinds = list(dict.fromkeys(method.variant for _, method in best))
  lanes = [
    charts.Lane(
      label=forest.heading(case),
      color=styles[method.variant].color,
      strong=index == 0,
      note=advice.trust(case),
      tracks=(
        charts.Track(
          middle=method.estimate,
          low=method.ends[0],
          high=method.ends[1],
          text=charts.interval_text(method.estimate, *method.ends),
        ),
      ),
    )
    for index, (case, method) in enumerate(best[:_MOST_LINES])
  ]
  cut = (
    f' The first {_MOST_LINES} of {len(best)} are shown.'
    if len(best) > _MOST_LINES
    else ''
  )
  return charts.Chart(
    name=name,
    title=title,
    lanes=lanes,
    axis='value: discounted return',
    references=[
      each for each in forest.references(group[0]) if each.kind == charts.LOG
    ],
    caption=f'Value of each policy by {", ".join(kinds)}, with 95 % '
    f'confidence intervals and verdicts.{cut}',
  )


def _differences(found: list[log_results.LogResults]) -> list[page.Section]:
  """Returns paired differences to the policy of the greatest estimate."""
  rows = [row for case in found for each in case.methods for row in each.rows]
  drawn = []
  for index, entry in enumerate(
    policy_comparison.data(rows, level=log_results.LEVEL)
  ):
    lines = [
      line for line in entry['policies'] if line['difference'] is not None
    ]
    if lines:
      drawn.append(_paired(f'paired-{index + 1}', entry, lines))
  return (
    [
      page.Section(
        name='paired',
        title='Which policy is better?',
        charts=drawn,
        text='The interval of a paired difference comes from the same '
        'resampled episodes: policies whose interval holds 0 cannot be told '
        'from the best one.',
      )
    ]
    if drawn
    else []
  )


def _paired(
  name: str,
  entry: policy_comparison.Entry,
  lines: Sequence[policy_comparison.Entry],
) -> charts.Chart:
  first = entry['policies'][0]['policy']
  look = method_labels.style(entry['method'])
  return charts.Chart(
    name=name,
    axis='paired difference',
    title='',
    references=[charts.Reference(0.0, 'no difference', charts.LIMIT)],
    caption=f'Value less that of {first}, which has the greatest estimate '
    f'by {look.label if look else entry["method"]}, with 95 % '
    'confidence intervals.',
    lanes=[
      charts.Lane(
        label=line['policy'],
        color=look.color if look else charts.NEUTRAL,
        tracks=(
          charts.Track(
            middle=line['difference'],
            low=line['low'],
            high=line['high'],
            text=charts.interval_text(
              line['difference'], line['low'], line['high']
            ),
          ),
        ),
      )
      for line in lines[:_MOST_LINES]
    ],
  )


def _headline(found: list[log_results.LogResults]) -> str:
  """Returns which policy has the greatest estimate, if that can be said."""
  known = [(case.preferred.estimate, case) for case in found if case.preferred]
  if len({(case.problem.digest, case.problem.discount) for case in found}) > 1:
    return (
      f'{len(found)} questions on several logs or discounts were asked; '
      'values of different ones cannot be compared.'
    )
  if not known:
    return f'None of {len(found)} policies has an estimate.'
  _, best = max(known, key=lambda each: each[0])
  return (
    f'Of {len(found)} policies, {best.policy} has the greatest estimate. '
    + advice.headline(best)
  )


def lines(frame: pd.DataFrame) -> pd.DataFrame:
  """Returns the frame with the columns that the page and the CSV show."""
  return frame.assign(
    problem=frame.panel,
    base_method=frame.method,
    method=frame.variant,
    cpu=frame.cpu_seconds,
    outcome=frame.outcome.mask(
      frame.kind == problems.Selection.kind, problems.Selection.kind
    ),
  )
