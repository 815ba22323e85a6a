"""Interval coverage on the page: sentences, a figure and a table."""

from collections.abc import Sequence

import pandas as pd

from dfiv_ope.launch.reporting import (
  caterpillar,
  coverage,
  figures,
  frames,
  page,
  tables,
)
from dfiv_ope.results import rows as rows_lib

TITLE = 'How often confidence intervals hold the true value'
# More studies are not told one by one on top of a page.
_SENTENCES = 3


def headline(found: Sequence[coverage.Study]) -> str:
  """Returns what came out, in a few sentences."""
  if len(found) <= _SENTENCES:
    return ' '.join(sentence(each, found) for each in found)
  least = min(found, key=lambda each: each.share - each.level)
  return (
    f'Coverage of confidence intervals was measured in {len(found)} studies; '
    f'the lowest, against its level: {sentence(least, found)}'
  )


def sentence(study: coverage.Study, beside: Sequence[coverage.Study]) -> str:
  """Returns what came out of a study.

  Args:
    study: which.
    beside: all studies that it has to be told from.
  """
  low, high = study.range
  words = (
    f'{100.0 * study.level:g} % confidence intervals of {study.variant} held '
    f'the true value on {study.held} of {study.logs} logs of '
    f'{coverage.place(study, beside)} '
    f'({tables.percent(study.share).text}; exact binomial range '
    f'{100.0 * low:.0f} to {100.0 * high:.0f} %).'
  )
  without = study.logs - len(study.sound)
  if study.narrow:
    words += ' They are too narrow.'
  if without:
    words += (
      f' {without} log{"s have" if without > 1 else " has"} none: all '
      'runs diverged.'
    )
  return words


def sections(
  found: Sequence[coverage.Study],
) -> tuple[list[page.Section], list[figures.Figure]]:
  """Returns the section of some studies, and its figure."""
  several = len({study.level for study in found}) > 1

  def at(study: coverage.Study) -> str:
    return f', {100.0 * study.level:g} %' if several else ''

  figure = caterpillar.figure(
    'coverage',
    [
      caterpillar.Panel(
        title=f'{study.variant}, {coverage.place(study, found)}{at(study)}',
        truth=study.problem.truth,
        logs=study.logs,
        intervals=[
          caterpillar.Interval(
            row.metrics['estimate'],
            row.metrics['low'],
            row.metrics['high'],
            bool(row.metrics['covered']),
          )
          for row in study.sound
        ],
      )
      for study in found
      if study.sound
    ],
  )
  return [
    page.Section(
      name='coverage',
      title='Interval coverage',
      lead=True,
      text=f'{headline(found)} Logs were drawn anew by simulation, so the true '
      'value is known. Intervals can be trusted on logs like these where '
      'the share that held is near the level.',
      points=[]
      if len(found) <= _SENTENCES
      else [sentence(study, found) for study in found],
      pictures=[page.picture(figure)] if figure.panels else [],
      grids=[table(found)],
    )
  ], [figure] if figure.panels else []


def table(found: Sequence[coverage.Study]) -> tables.Table:
  """Returns the coverage of studies, a line each."""
  extra = coverage.told_by(found)
  return tables.Table(
    name='coverage',
    caption=(
      'Share of logs whose confidence interval held the true value, with '
      'the exact (Clopper-Pearson) 95 % range of that share; a log without '
      'an interval holds nothing.'
    ),
    notes=[
      "paired held: the same for the value less the log's own.",
      'mean error, mean half width: over logs with an interval.',
      'diverged: counts runs of single seeds.',
    ],
    columns=[
      'method',
      'log',
      *extra,
      'level',
      'logs',
      'held',
      'exact range',
      'paired held',
      'mean error',
      'mean half width',
      'diverged',
    ],
    rows=[
      [
        tables.text(study.variant),
        tables.text(study.problem.dataset),
        *(tables.text(study.extra(name)) for name in extra),
        tables.percent(study.level),
        tables.count(study.logs),
        tables.percent(study.share),
        _range(study),
        tables.percent(study.paired),
        tables.number(study.error),
        tables.number(study.half_width),
        tables.count(study.diverged),
      ]
      for study in found
    ],
    links=[
      {'method': study.variant, 'panel': _panel(study, found)}
      for study in found
    ],
  )


def lines(
  found: Sequence[coverage.Study],
) -> tuple[pd.DataFrame, list[rows_lib.Row]]:
  """Returns the columns that the page and the CSV show, and their rows."""
  rows = [row for study in found for row in study.rows]
  return pd.DataFrame(
    [
      {
        'method': study.variant,
        'base_method': row.method,
        'task': study.task,
        'noise': study.problem.action_noise,
        'action_noise': study.problem.action_noise,
        'epsilon': study.problem.epsilon,
        'target': study.problem.target,
        'discount': study.problem.discount,
        'seed': row.seed,
        'estimate': frames.number(row.metrics.get('estimate')),
        'low': frames.number(row.metrics.get('low')),
        'high': frames.number(row.metrics.get('high')),
        'truth': study.problem.truth,
        'error': abs(
          frames.number(row.metrics.get('estimate')) - study.problem.truth
        ),
        'cpu': row.cpu_seconds,
        'cpu_seconds': row.cpu_seconds,
        'outcome': row.outcome,
        'reason': row.reason,
        'problem': (
          f'{study.problem.dataset}, log {coverage.problem_of(row).log}'
        ),
        'panel': _panel(study, found),
      }
      for study in found
      for row in study.rows
    ]
  ), rows


def _range(study: coverage.Study) -> tables.Cell:
  low, high = (100.0 * each for each in study.range)
  return tables.Cell(f'{low:.0f} to {high:.0f} %', low)


def _panel(study: coverage.Study, beside: Sequence[coverage.Study]) -> str:
  """Returns the name of a study among the rows of a page."""
  where = coverage.place(study, beside)
  return f'coverage at {100.0 * study.level:g} %: {where}'
