"""One policy on one log of a user: the answer, and how far to trust it."""

from collections.abc import Mapping
import math
from typing import Any

import pandas as pd

from dfiv_ope import agents
from dfiv_ope.evaluation import inference, verdict
from dfiv_ope.launch.reporting import (
  advice,
  cases,
  choices,
  details,
  figures,
  forest,
  frames,
  page,
  tables,
)
from dfiv_ope.ope import overlap

# How often intervals held the truth on simulated logs (`dfiv-ope benchmark
# coverage`): for each method or variant, the task, the share and the number of
# logs. Of version 0.1.0, whose intervals did not widen with few or uneven
# episodes, and whose DFIV solved as LSTD-Q does.
MEASURED_COVERAGE: dict[str, list[tuple[str, float, int]]] = {
    'lstd': [
        ('catch', 0.95, 40),
        ('mountain_car', 1.0, 40),
        ('cartpole', 0.98, 40),
    ],
    'kiv': [
        ('catch', 0.95, 40),
        ('mountain_car', 0.9, 40),
        ('cartpole', 1.0, 40),
    ],
    # Trained for 300 updates only.
    agents.ENTRIES['dfiv'].variants['solve']['lstd']: [
        ('catch', 0.95, 40),
        ('mountain_car', 1.0, 40),
        ('cartpole', 1.0, 40),
    ],
}

# Sentences on the top of the page.
_MOST_HEADLINES = 3

_COVERS = (
    'The interval covers which episodes happen to be in the log, and the seeds '
    'of the training. It does not cover what a method cannot express, nor '
    'causes of actions and rewards that the log does not record.')


def sections(
    found: list[cases.Case],
) -> tuple[list[page.Section], list[figures.Figure]]:
  """Returns the parts of the page for all cases, and their figures."""
  made: list[page.Section] = []
  drawn = []
  if len(found) > 1:
    made.append(page.Section(
        name='answers', title='All policies', grids=[answers(found)]))
  for index, case in enumerate(found):
    mark = f'-{index + 1}' if index else ''
    title = f': {case.frame.panel.iloc[0]}' if len(found) > 1 else ''
    drawn.append(forest.figure(f'log{mark}', case))
    made += _sections(case, drawn[-1], mark, title)
  return made, drawn


def headline(found: list[cases.Case]) -> str:
  """Returns the answers in a few sentences."""
  if len(found) > _MOST_HEADLINES:
    return f'{len(found)} policies were evaluated; the first table has them.'
  return ' '.join(map(advice.headline, found))


def _sections(
    case: cases.Case, drawn: figures.Figure, mark: str, title: str,
) -> list[page.Section]:
  said = case.problem.get('overlap')
  said = said if isinstance(said, Mapping) else {}
  stage = advice.first_stage(case)
  made = [
      page.Section(
          name=f'value{mark}', title=f'Value of the policy{title}',
          text=' '.join([*([advice.headline(case)] if title else []), _COVERS]),
          pictures=[page.picture(drawn)], grids=[methods(case, mark)]),
      page.Section(
          name=f'next{mark}', title=f'What to do next{title}',
          points=advice.next_steps(case)),
      page.Section(
          name=f'overlap{mark}', title=f'Overlap of log and policy{title}',
          text=_verdict(case, said),
          points=[str(each) for each in said.get('warnings', ())],
          grids=[support(case, said, mark)]),
      page.Section(
          name=f'families{mark}', title=f'Agreement of families{title}',
          grids=[families(case, mark)])]
  if stage:
    made.append(page.Section(
        name=f'stage{mark}', title=f'First stage{title}', points=stage,
        grids=[first_stage(case, mark)]))
  if len(case.selection):
    made.append(page.Section(
        name=f'selection{mark}', title=f'Choice of the method{title}',
        grids=[choices.table(case.selection, mark)]))
  return made


def _verdict(case: cases.Case, said: Mapping[str, Any]) -> str:
  """Returns the verdict on the overlap, with the answer's features."""
  if 'grade' not in said:
    return str(said.get('verdict', 'The rows do not say.'))
  share = case.effective_share
  grade = overlap.worst(
      str(said['grade']),
      'good' if math.isnan(share) else overlap.share_grade(share))
  return ' '.join([overlap.verdict(grade), *(
      verdict.share_words(case.preferred.metrics) if case.preferred else ())])


def _difference(found: inference.Interval | None) -> tables.Cell:
  if found is None:
    return tables.text('–')
  return tables.interval(found.estimate, found.low, found.high)


def answers(found: list[cases.Case]) -> tables.Table:
  """Returns one line a policy: the answer and whether to trust it."""
  lines = []
  for case in found:
    best = case.preferred
    line = case.frame.iloc[0]
    ends = (best.interval[:3] if best and best.interval
            else (best.estimate if best else None, None, None))
    lines.append([
        tables.text(case.policy), tables.text(line.dataset),
        tables.text(best.variant if best else '–'),
        *map(tables.number, ends), tables.number(case.log[0]),
        tables.text(advice.trust(case))])
  return tables.Table(
      name='answers',
      caption=(
          'Each policy by the method that is preferred for it, with its 95 % '
          'interval, and whether to trust the answer.'),
      columns=['policy', 'log', 'method', 'estimate', 'low', 'high',
               'return of the log', 'trust'],
      rows=lines,
      links=[{'panel': case.frame.panel.iloc[0],
              'digest': case.frame.digest.iloc[0]} for case in found])


def methods(case: cases.Case, mark: str = '') -> tables.Table:
  """Returns what each method says, and where its uncertainty comes from."""
  mean, low, high = case.log
  lines = [[
      tables.text('Log (average return)'), tables.text('–'),
      *map(tables.number, (mean, low, high)), tables.text('–'),
      tables.number(case.problem.get('log_standard_error')),
      *[tables.number(None)] * 5]]
  for each in case.methods:
    found = each.interval
    numbers = (
        [found.estimate, found.low, found.high, found.data_error,
         found.training_error] if found
        else [each.estimate, *[None] * 4])
    lines.append([
        tables.text(each.variant), tables.count(each.runs),
        tables.number(numbers[0], best=each is case.preferred),
        *map(tables.number, numbers[1:3]), _difference(each.difference),
        *map(tables.number, numbers[3:]),
        tables.percent(found.data_share if found else None),
        tables.number(found.correction if found else None),
        tables.count(each.failed), tables.number(each.cpu_seconds)])
  return tables.Table(
      name=f'log-methods{mark}',
      caption=' '.join([
          'Estimates over seeds with 95 % confidence intervals. Paired '
          'difference: the estimate less the average return of the log, with '
          'an interval from the same resampled episodes. Data error: standard '
          'error from the episodes that happen to be logged. Training error: '
          'standard error over seeds. Share of data: of the variance, what '
          'comes with the episodes; more data narrows it, more seeds the '
          'rest. Correction: what the log says is missing from the estimate; '
          'the interval holds it. The answer is marked.', *_measured(case)]),
      columns=['method', 'seeds', 'estimate', 'low', 'high',
               'paired difference', 'data error',
               'training error', 'share of data', 'correction', 'diverged',
               'CPU s'],
      rows=lines, links=[_link(case, None), *(
          _link(case, each.variant) for each in case.methods)])


def support(
    case: cases.Case, said: Mapping[str, Any], mark: str = '') -> tables.Table:
  """Returns how far the log holds what the policy does, in numbers."""
  weights, coverage = said.get('weights') or {}, said.get('coverage') or {}
  unseen = said.get('unseen') or {}
  origin = ('estimated from the log' if weights.get('estimated')
            else 'as the log says')
  lines = [
      ('effective sample size', tables.percent(case.effective_share),
       'of the rows, with the features of the answer; below '
       f'{100 * overlap.THIN_SHARE:g} % is thin, below '
       f'{100 * overlap.POOR_SHARE:g} % poor'),
      ('agreement', tables.percent(said.get('agreement')),
       'how likely the policy takes the logged action'),
      ('support coverage', tables.percent(coverage.get('share')),
       'of decisions, those that the log took in a near state; about 95 % '
       'for a policy that acts as the log does'),
      ('effective steps', tables.count(weights.get('effective_steps')),
       f'of {tables.count(said.get("steps")).text}, by importance weights '
       f'with probabilities {origin}'),
      ('effective episodes', tables.number(weights.get('effective_episodes')),
       f'of {tables.count(case.problem.get("episodes")).text}, if whole '
       'episodes were weighted; no method here does'),
      ('largest weight', tables.number(weights.get('largest')), 'of one step'),
      ('actions never logged', tables.count(len(unseen)), ', '.join(
          f'{name} in {tables.percent(share).text} of decisions'
          for name, share in unseen.items()) or 'of those the policy takes')]
  return tables.Table(
      name=f'log-overlap{mark}',
      caption='How far the log holds what the policy does.',
      columns=['quantity', 'value', 'what it is'],
      rows=[[tables.text(name), cell, tables.text(words)]
            for name, cell, words in lines])


def first_stage(case: cases.Case, mark: str = '') -> tables.Table:
  """Returns how well states and actions tell what follows, in numbers."""
  names = {
      'R² of the value that follows': 'first_stage_r2',
      'F of the held-out index': 'first_stage_f',
      'R² of next features': 'stage1_held_out_r2',
      'condition': 'instrument_condition'}
  values = [(place, case.median(f'first_stage_value_{place}'))
            for place in (1, 10, 40)]
  known = ', '.join(
      f'{tables.number(value).text} ({place})' for place, value in values
      if value == value)
  return tables.Table(
      name=f'log-stage{mark}',
      caption=' '.join([
          'The first stage on held-out rows: how much states and actions '
          'explain of the discounted value of the next state, by the values '
          'of each method, and its F, robust to episodes (below 10 is weak).',
          *([f'Singular values of stage 1, by their place: {known}; it keeps '
             f'{case.median("first_stage_rank"):.0f} directions.']
            if known else [])]),
      columns=['method', *names],
      rows=[[tables.text(each.variant), *(
          tables.number(each.metrics.get(name)) for name in names.values())]
          for each in case.methods],
      links=[_link(case, each.variant) for each in case.methods])


def families(case: cases.Case, mark: str = '') -> tables.Table:
  """Returns whether families of estimators agree on a case."""
  found = details.medians(case.frame)
  widest = max((each.width for each in case.methods if each.interval),
               default=None)
  return tables.Table(
      name=f'log-families{mark}',
      caption=(
          'Median estimate of each family of estimators. A gap wider than the '
          'widest interval is a reason to distrust all of them.'),
      columns=['statistic', *found.index, 'gap', 'relative gap',
               'widest interval'],
      rows=[[
          tables.text('median estimate'), *map(tables.number, found),
          tables.number(found.max() - found.min() if len(found) > 1 else None),
          tables.percent(details.gap(found)), tables.number(widest)]])


def lines(frame: pd.DataFrame) -> pd.DataFrame:
  """Returns the frame with the columns that the page and the CSV show."""
  return frame.assign(
      problem=frame.panel, base_method=frame.method, method=frame.variant,
      cpu=frame.cpu_seconds, outcome=frame.kind.where(
          frame.kind == 'selection',
          frame.failed.map({True: 'diverged', False: 'finished'})))


def _link(case: cases.Case, variant: str | None) -> tables.Link:
  first = case.frame.iloc[0]
  return {'panel': first.panel, 'digest': first.digest,
          'method': variant or frames.NAIVE_LABEL}


def _measured(case: cases.Case) -> list[str]:
  """Returns how often intervals held the truth where that is known."""
  return [
      f'On simulated logs of {task}, the 95 % interval of {each.variant} held '
      f'the truth in {tables.percent(share).text} of {logs} logs (version '
      '0.1.0).'
      for each in case.methods for name in (each.method, each.variant)
      for task, share, logs in MEASURED_COVERAGE.get(name, ())]
