"""Makes all files of a report from result rows."""

import dataclasses
import math
import pathlib

import pandas as pd

from dfiv_ope import results
from dfiv_ope.launch.reporting import (
  benchmarks,
  cases,
  choices,
  designs,
  details,
  figures,
  frames,
  log,
  page,
  plots,
  ranking,
  spreadsheet,
  tables,
)

# Problems that a report can show.
PROBLEMS = ('ope', 'log', 'selection', *designs.DESIGNS)

Rows = list[results.ResultRow]


def files(rows: Rows, runs: pathlib.Path | str) -> dict[str, bytes]:
  """Returns the files of the report by their path inside it.

  Args:
    rows: result rows, of which the last with the same key counts.
    runs: where they are from, to say so.

  Raises:
    ValueError: a row is of a problem that no report knows.
  """
  rows = results.latest(rows)
  unknown = sorted({
      repr(row.problem.get('name')) for row in rows
      if row.problem.get('name') not in PROBLEMS})
  if unknown:
    raise ValueError(
        f'{runs} holds rows of the problem {", ".join(unknown)}, which no '
        f'report knows. Known are {", ".join(PROBLEMS)}.')
  content: dict[str, bytes] = {}
  sections: list[page.Section] = []
  headlines: list[str] = []
  parts: list[tuple[pd.DataFrame, Rows]] = []
  ope = [row for row in rows if row.problem['name'] == 'ope']
  if ope:
    frame = frames.ope(ope)
    # Errors at two discounts are those of two problems: nothing averages them.
    for number, (label, part) in enumerate(
        frame.groupby(frames.discounts(frame)), start=1):
      ours = [ope[index] for index in part.index]
      made = _ope_sections(
          part.reset_index(drop=True), ours, content, label=label,
          mark=f'-at-{number}' if label else '')
      headlines.append(_headline(part, made, label))
      sections += made
    parts.append((_ope_lines(frame), ope))
  asked = [row for row in rows if row.problem['name'] in ('log', 'selection')]
  if asked:
    frame = frames.log(asked)
    found = cases.collect(frame, asked)
    answered, drawn = log.sections(found)
    sections += answered + choices.sections(frame, asked, found, ope)
    for figure in drawn:
      content.update(figure.files())
    headlines.append(log.headline(found))
    parts.append((log.lines(frame), asked))
  present = [name for name in designs.DESIGNS if any(
      row.problem['name'] == name for row in rows)]
  for name in present:
    iv = [row for row in rows if row.problem['name'] == name]
    frame = designs.frame(name, iv)
    made, files_of_figures = benchmarks.sections(name, frame, iv)
    sections += made
    content.update(files_of_figures)
    headlines.append(benchmarks.headline(name, frame))
    parts.append((benchmarks.shown_lines(name, frame), iv))
  for section in sections:
    for table in section.grids:
      stem = _unused(f'tables/{table.name}', content)
      content[f'{stem}.md'] = tables.markdown(table).encode()
      content[f'{stem}.tex'] = tables.latex(table).encode()
  content['results.csv'] = spreadsheet.csv(parts)
  content['index.html'] = page.render(
      title='Off-policy evaluation: which estimator to trust' if ope
      else 'What a policy is worth' if asked
      else benchmarks.title(present),
      facts=_facts(rows, runs), headline=' '.join(headlines),
      sections=sections, rows=page.data(parts)).encode()
  return content


def _ope_sections(
    frame: pd.DataFrame, rows: Rows, content: dict[str, bytes], *,
    label: str, mark: str,
) -> list[page.Section]:
  """Returns the sections of one discount; adds the files of figures.

  Args:
    frame: of `frames.ope`.
    rows: those it was made of.
    content: files of the report.
    label: what tells the discount from others, if there are others.
    mark: the same, for names.
  """
  styles = figures.styles(
      frame.variant, dict(zip(frame.variant, frame.method, strict=True)))
  sections = []

  def add(
      name: str, title: str, text: str,
      drawn: list[figures.Figure | None], made: list[tables.Table | None],
  ) -> None:
    shown = [dataclasses.replace(figure, name=f'{figure.name}{mark}')
             for figure in drawn if figure and figure.panels]
    for figure in shown:
      content.update(figure.files())
    sections.append(page.Section(
        name=f'{name}{mark}', title=f'{title}{label}', text=text,
        pictures=[page.picture(figure) for figure in shown],
        grids=[_marked(table, frame, label=label, mark=mark)
               for table in made if table]))

  if frame.relative_error.notna().any():
    add('summary', 'Summary',
        'Errors are made comparable by the absolute true value. An estimator '
        'earns its place where it beats the average return of the log.', [],
        [ranking.best(frame), ranking.methods(frame)])
    add('error', 'Error against action noise', '',
        [plots.error_figure(frame, styles, relative=False)],
        [*details.errors(frame, relative=False)])
    add('relative', 'Relative error', '',
        [plots.error_figure(frame, styles, relative=True)],
        [*details.errors(frame, relative=True)])
    add('improvement', 'Probability of improvement', '', [],
        [ranking.improvement(frame)])
  policies = ranking.policies(frame)
  if policies:
    add('policies', 'Ranking of policies', '', [], [policies])
  if (frame.relative_error.notna() & (frame.cpu_seconds > 0.)).any():
    add('time', 'CPU time', '', [plots.time_figure(frame, styles)], [])
  curves = plots.curves_figure(frame, rows, styles)
  if curves:
    add('curves', 'Learning curves', '', [curves], [])
  add('families', 'Agreement of families', '', [], [details.families(frame)])
  add('datasets', 'Datasets and diagnostics', '', [],
      [details.datasets(frame), details.held_out(frame, rows)])
  failed = details.divergences(frame, rows)
  add('divergences', 'Divergences',
      '' if failed.rows else f'None of the {len(frame)} runs diverged.', [],
      [failed if failed.rows else None])
  return sections


def _marked(
    table: tables.Table, frame: pd.DataFrame, *, label: str, mark: str,
) -> tables.Table:
  """Returns a table that says its discount, if there are others."""
  if not label:
    return table
  discount = frame.discount.iloc[0]
  return dataclasses.replace(
      table, name=f'{table.name}{mark}',
      caption=f'{label.removeprefix(", ").capitalize()}. {table.caption}',
      links=[link and (link if math.isnan(discount) else
                       {**link, 'discount': discount})
             for link in table.links])


def _headline(
    frame: pd.DataFrame, sections: list[page.Section], label: str) -> str:
  failed = int(frame.failed.sum())
  ending = (f'{failed} of {len(frame)} runs diverged.' if failed
            else f'None of {len(frame)} runs diverged.')
  best = [table for section in sections for table in section.grids
          if table.name.startswith('best')]
  if not best:
    return (
        f'No true value is known{label}, so there are estimates but no errors: '
        f'see whether the families of estimators agree. {ending}')
  scope, first, error, _, _, _, log = [
      cell.text for cell in best[0].rows[-1]]
  naive = '' if log == '–' else f', where the log itself is off by {log}'
  return (
      f'Smallest relative error on {scope}{label}: {first}, {error} '
      f'(interquartile mean{", 95 % interval" * ("[" in error)}){naive}. '
      f'{ending}')


def _facts(rows: Rows, runs: pathlib.Path | str) -> list[tuple[str, str]]:
  versions = sorted({row.versions.get('dfiv-ope', '?') for row in rows})
  digests = {
      str(row.problem['digest']) for row in rows if 'digest' in row.problem}
  discounts = sorted({
      frames.number(row.problem.get('discount')) for row in rows
      if row.problem.get('discount') is not None})
  facts = [
      ('rows', f'{len(rows):,}'),
      ('datasets', f'{len(digests):,}'),
      *([('discounts', ', '.join(f'{each:.10g}' for each in discounts))]
        if len(discounts) > 1 else []),
      ('methods', str(len({row.method for row in rows}))),
      ('seeds', str(len({row.seed for row in rows}))),
      ('failed', str(sum(bool(row.failure) for row in rows))),
      ('dfiv-ope', ', '.join(map(str, versions))), ('from', str(runs))]
  return [fact for fact in facts if fact != ('datasets', '0')]


def _ope_lines(frame: pd.DataFrame) -> pd.DataFrame:
  """Returns the frame with the columns that the page and the CSV show."""
  return frame.assign(
      problem=frame.dataset, noise=frame.action_noise,
      base_method=frame.method, method=frame.variant,
      relative=frame.relative_error.replace(math.inf, math.nan),
      error=frame.error.replace(math.inf, math.nan), cpu=frame.cpu_seconds,
      outcome=frame.failed.map({True: 'diverged', False: 'finished'}))


def _unused(stem: str, content: dict[str, bytes]) -> str:
  """Returns the stem, with a number if another table has it."""
  number, free = 1, stem
  while f'{free}.md' in content:
    number += 1
    free = f'{stem}-{number}'
  return free
