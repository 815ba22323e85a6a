"""Makes all files of a report from result rows."""

import dataclasses

import pandas as pd

from dfiv_ope.evaluation import suite_tables
from dfiv_ope.launch.reporting import (
  chart_figure,
  facts,
  frames,
  log,
  log_results,
  method_labels,
  page,
  selection_table,
  simulated,
  spreadsheet,
  tables,
)
from dfiv_ope.results import problems
from dfiv_ope.results import rows as rows_lib

Rows = list[rows_lib.Row]
_FOOTER = (
  'Made by dfiv-ope report from result rows alone. Tables for papers '
  'are in tables/, figures in figures/.'
)


@dataclasses.dataclass
class _Report:
  """What kinds of rows add to a report, in the order of the page.

  Attributes:
    titles: of the page; the first one counts.
    sections: parts of the page, of which leading ones come first.
    files: figures, by their path inside the report.
    parts: frames with columns that the page and the CSV show, and their rows.
  """

  titles: list[str] = dataclasses.field(default_factory=list)
  sections: list[page.Section] = dataclasses.field(default_factory=list)
  files: dict[str, bytes] = dataclasses.field(default_factory=dict)
  parts: list[tuple[pd.DataFrame, Rows]] = dataclasses.field(
    default_factory=list
  )


def files(rows: Rows, source: str, date: str = '') -> dict[str, bytes]:
  """Returns the files of the report by their path inside it.

  Args:
    rows: result rows of any kind, of which the last with the same key counts.
    source: where they are from, to say so.
    date: when the report is made, to say so.

  Raises:
    ValueError: a row is of a design that no report knows.
  """
  rows = rows_lib.latest(rows)
  coverage = _of(rows, problems.Coverage)
  report = _Report()
  _add_simulated(report, _of(rows, problems.SimulatedTask), coverage=coverage)
  _add_logs(
    report,
    _of(rows, problems.UserLog, problems.Selection),
    simulated_rows=_of(rows, problems.SimulatedTask),
    coverage=coverage,
  )
  _add_designs(report, _of(rows, problems.IVDesign), source)
  _add_coverage(report, coverage)
  _add_suite(report, _of(rows, problems.SuiteCase))
  content = report.files
  for section in report.sections:
    for table in section.grids:
      stem = _unused(f'tables/{table.name}', content)
      content[f'{stem}.md'] = tables.markdown(table).encode()
      content[f'{stem}.tex'] = tables.latex(table).encode()
  content['results.csv'] = spreadsheet.csv(report.parts)
  content['index.html'] = page.render(
    title=report.titles[0] if report.titles else 'Result rows',
    facts=facts.shown(rows, date),
    provenance=facts.provenance(rows, source),
    sections=sorted(report.sections, key=lambda each: not each.lead),
    rows=page.data(report.parts),
    footer=_FOOTER,
  ).encode()
  return content


def _of(rows: Rows, *kinds: type[problems.Problem]) -> Rows:
  """Returns the rows of some kinds of problems."""
  return [row for row in rows if isinstance(row.problem, kinds)]


def _add_simulated(report: _Report, rows: Rows, *, coverage: Rows) -> None:
  """Adds simulated tasks."""
  if not rows:
    return
  # A sweep ends its runs in any order; what is read first does not depend on
  # that.
  rows = sorted(rows, key=lambda row: method_labels.rank(row.method))
  frame = frames.ope(rows)
  ends, asked = [], []
  # Errors at two discounts are those of two problems: nothing averages them.
  for number, (label, part) in enumerate(
    frame.groupby(frames.discounts(frame)), start=1
  ):
    lines = part.reset_index(drop=True)
    ours = [rows[index] for index in part.index]
    found = log_results.collect(lines, ours)
    ends.append(log_results.ends(found, lines.index).set_axis(part.index))
    made, drawn = simulated.sections(
      lines,
      ours,
      found,
      coverage=coverage,
      label=label,
      mark=f'-at-{number}' if label else '',
    )
    report.sections += made
    report.files.update(drawn)
    asked += found
  report.titles.append(simulated.title(asked))
  report.parts.append((simulated.lines(frame).join(pd.concat(ends)), rows))


def _add_logs(
  report: _Report, rows: Rows, *, simulated_rows: Rows, coverage: Rows
) -> None:
  """Adds users' logs, and selections on any dataset."""
  if not rows:
    return
  frame = frames.log(rows)
  found = log_results.collect(frame, rows)
  made = log.sections(found, coverage)
  report.sections += made + selection_table.sections(
    frame, rows, found, simulated_rows
  )
  if made:
    report.files.update(chart_figure.files('log', made[0].charts))
  report.titles.append('What a policy is worth')
  report.parts.append(
    (log.lines(frame).join(log_results.ends(found, frame.index)), rows)
  )


def _add_designs(report: _Report, rows: Rows, source: str) -> None:
  """Adds designs of instrumental-variable regression."""
  if not rows:
    return
  from dfiv_ope.launch.reporting import benchmarks, designs

  by_name: dict[str, Rows] = {name: [] for name in designs.DESIGNS}
  for row in rows:
    assert isinstance(row.problem, problems.IVDesign)
    if row.problem.name not in by_name:
      raise ValueError(
        f'{source} holds rows of the design {row.problem.name!r}, which no '
        f'report knows. Known are {", ".join(by_name)}.'
      )
    by_name[row.problem.name].append(row)
  present = {name: part for name, part in by_name.items() if part}
  for name, part in present.items():
    frame = designs.frame(name, part)
    made, drawn = benchmarks.sections(name, frame, part)
    report.sections += made
    report.files.update(drawn)
    report.parts.append((benchmarks.shown_lines(name, frame), part))
  report.titles.append(benchmarks.title(present))


def _add_coverage(report: _Report, rows: Rows) -> None:
  """Adds studies of interval coverage."""
  if not rows:
    return
  from dfiv_ope.launch.reporting import coverage, coverage_page

  studies = coverage.studies(rows)
  made, drawn = coverage_page.sections(studies)
  report.sections += made
  for figure in drawn:
    report.files.update(figure.files())
  report.titles.append(coverage_page.TITLE)
  report.parts.append(coverage_page.lines(studies))


def _add_suite(report: _Report, rows: Rows) -> None:
  """Adds cases of the suite."""
  if not rows:
    return
  from dfiv_ope.launch.reporting import suite_page

  found = suite_tables.answers(rows)
  lines = suite_tables.summary(found)
  report.sections += suite_page.sections(lines)
  report.files.update(suite_page.files(found, lines))
  report.titles.append(suite_page.TITLE)
  report.parts.append((suite_page.shown(rows), rows))


def _unused(stem: str, content: dict[str, bytes]) -> str:
  """Returns the stem, with a number if another table has it."""
  number, free = 1, stem
  while f'{free}.md' in content:
    number += 1
    free = f'{stem}-{number}'
  return free
