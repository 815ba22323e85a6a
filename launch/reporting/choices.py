"""The choice between methods by held-out episodes, `--method auto`."""

import pandas as pd

from dfiv_ope import results
from dfiv_ope.launch.reporting import cases, frames, page, tables


def table(rows: list[results.ResultRow], mark: str = '') -> tables.Table:
  """Returns the scores of the methods that could be chosen."""
  return tables.Table(
      name=f'log-selection{mark}',
      caption=(
          'Methods fitted on half of the episodes and judged on the other '
          'half; less is better. The tournament decides.'),
      columns=['method', 'tournament', 'projected Bellman error', 'chosen'],
      rows=[[
          tables.text(frames.LABELS.get(name, name)),
          *(tables.number(line[column], best=bool(line.chosen))
            for column in ('tournament', 'projected_bellman_error')),
          tables.text('yes' if line.chosen else 'no')]
          for name, line in cases.scores(rows).iterrows()])


def sections(
    frame: pd.DataFrame, rows: list[results.ResultRow],
    found: list[cases.Case],
) -> list[page.Section]:
  """Returns the selections that are part of no case.

  They are those on simulated datasets, whose estimates stand elsewhere, and
  those that were ended before any method ran.
  """
  shown = {id(row) for case in found for row in case.selection}
  rest = frame[[row.problem['name'] == 'selection' and id(row) not in shown
                for row in rows]]
  return [
      page.Section(
          name=f'choice-{index}', title=f'Choice of the method: {panel}',
          grids=[table(
              [rows[each] for each in part.index], f'-of-{index}')])
      for index, ((panel, _), part) in enumerate(
          rest.groupby(['panel', 'digest'], sort=False), start=1)]
