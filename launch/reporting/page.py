"""The page: sections of figures and tables, and every row behind them.

All text of the page passes through the template's autoescape; only SVGs made
here, and the style and the script of this package, are put in as they are.
"""

from collections.abc import Sequence
import dataclasses
import json
import math
from typing import Any, NamedTuple

import jinja2
import markupsafe
import pandas as pd

from dfiv_ope.launch.reporting import charts as charts_lib
from dfiv_ope.launch.reporting import figures, frames, method_labels, tables
from dfiv_ope.results import problems
from dfiv_ope.results import rows as rows_lib

# Names and values.
Facts = Sequence[tuple[str, str]]
# Of a number: nothing speaks against it, something does, do not rely on it.
GRADES = ('trust', 'care', 'distrust')
# Columns of the table of rows: name in a frame, heading, kind.
_COLUMNS = (
  ('method', 'method', 'text'),
  ('task', 'task', 'text'),
  ('noise', 'noise', 'number'),
  ('discount', 'discount', 'number'),
  ('n', 'n', 'number'),
  ('rho', 'rho', 'number'),
  ('seed', 'seed', 'number'),
  ('estimate', 'estimate', 'number'),
  ('truth', 'truth', 'number'),
  ('error', 'error', 'number'),
  ('relative', 'relative error', 'percent'),
  ('mse', 'MSE', 'number'),
  ('cpu', 'CPU s', 'number'),
  ('outcome', 'outcome', 'text'),
  ('problem', 'problem', 'text'),
)


class Number(NamedTuple):
  """A number that is read first.

  Attributes:
    name: what it is.
    value: the number, or a word.
    note: what belongs to it, such as its interval.
    grade: how far to trust it, of `GRADES`; empty if that is not its point.
  """

  name: str
  value: str
  note: str = ''
  grade: str = ''


@dataclasses.dataclass(frozen=True, kw_only=True)
class Picture:
  """SVGs that belong together.

  Attributes:
    caption: what they show.
    drawings: the SVGs.
    styles: for the legend.
    wide: whether they scroll sideways on a narrow screen.
    narrow: what takes their place on a narrow screen; then the drawings are as
      wide as the page.
  """

  caption: str
  drawings: list[markupsafe.Markup]
  styles: list[figures.Style] = dataclasses.field(default_factory=list)
  wide: bool = False
  narrow: list[markupsafe.Markup] = dataclasses.field(default_factory=list)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Section:
  """A part of the page: numbers, words, a list, charts, pictures, tables.

  Attributes:
    name: its name in addresses.
    title: its heading.
    text: what it says, in a few sentences.
    points: a list of sentences.
    numbers: those that are read first.
    charts: drawn by the page.
    pictures: drawn by matplotlib.
    grids: tables.
    lead: whether it is the answer, which the page begins with.
    folded: whether a reader has to open it.
  """

  name: str
  title: str
  text: str = ''
  points: list[str] = dataclasses.field(default_factory=list)
  numbers: list[Number] = dataclasses.field(default_factory=list)
  charts: list[charts_lib.Chart] = dataclasses.field(default_factory=list)
  pictures: list[Picture] = dataclasses.field(default_factory=list)
  grids: list[tables.Table] = dataclasses.field(default_factory=list)
  lead: bool = False
  folded: bool = False


def picture(
  figure: figures.Figure, narrow: figures.Figure | None = None
) -> Picture:
  """Returns a figure for the page.

  Args:
    figure: the figure.
    narrow: what takes its place on a narrow screen, under another name.
  """
  return Picture(
    caption=figure.caption,
    styles=figure.styles,
    drawings=[markupsafe.Markup(each) for each in figure.inline()],
    narrow=[
      markupsafe.Markup(each) for each in (narrow.inline() if narrow else ())
    ],
  )


def data(
  parts: list[tuple[pd.DataFrame, list[rows_lib.Row]]],
) -> dict[str, Any]:
  """Returns all rows as compact JSON data: what repeats is stored once.

  Args:
    parts: frames with the columns of `_COLUMNS` they have, and their rows.
  """
  pools: dict[str, dict[str, int]] = {
    'problems': {},
    'configs': {},
    'versions': {},
  }

  def place(pool: str, value: Any) -> int:
    text = json.dumps(_clean(value), sort_keys=True)
    return pools[pool].setdefault(text, len(pools[pool]))

  discounts = {
    value
    for frame, _ in parts
    if 'discount' in frame
    for value in frame.discount.dropna()
  }
  present = [
    column
    for column in _COLUMNS
    if any(
      column[0] in frame and frame[column[0]].notna().any()
      for frame, _ in parts
    )
    and (column[0] != 'discount' or len(discounts) > 1)
  ]
  lines = []
  for frame, rows in parts:
    values = {
      name: frame[name].tolist() if name in frame else [None] * len(frame)
      for name, _, _ in present
    }
    panels = frame['panel'].tolist() if 'panel' in frame else [''] * len(frame)
    for index, row in enumerate(rows):
      lines.append(
        [
          *(_clean(values[name][index]) for name, _, _ in present),
          panels[index],
          place('problems', problems.encode(row.problem)),
          place('configs', dict(row.config)),
          place('versions', dict(row.versions)),
          row.key,
          method_labels.preset(row),
          row.command,
          row.reason,
          _clean(frames.diagnostics(row.metrics)),
        ]
      )
  return {
    'columns': [list(column) for column in present],
    'rows': lines,
    **{
      name: [json.loads(text) for text in pool] for name, pool in pools.items()
    },
  }


def render(
  *,
  title: str,
  facts: Facts,
  sections: list[Section],
  rows: dict[str, Any] | None,
  footer: str,
  provenance: Facts = (),
) -> str:
  """Returns the page.

  Args:
    title: of the page.
    facts: names and values below the title.
    sections: what the page shows, the answer first.
    rows: the rows of `data`; None for a page that is not of result rows.
    footer: the last line.
    provenance: names and values of where it is from, above that line.
  """
  environment = jinja2.Environment(
    loader=jinja2.PackageLoader('dfiv_ope.launch.reporting'),
    autoescape=True,
    trim_blocks=True,
    lstrip_blocks=True,
    undefined=jinja2.StrictUndefined,
  )

  def source(name: str) -> markupsafe.Markup:
    assert environment.loader is not None
    text, _, _ = environment.loader.get_source(environment, name)
    return markupsafe.Markup(text)

  environment.policies['json.dumps_kwargs'] = {
    'separators': (',', ':'),
    'allow_nan': False,
  }
  template = environment.get_template('report.html.j2')
  return template.render(
    title=title,
    facts=facts,
    sections=sections,
    rows=rows,
    footer=footer,
    provenance=provenance,
    source=source,
    anchor=charts_lib.anchor,
  )


def _clean(value: Any) -> Any:
  """Returns JSON data without nan and inf, which no browser reads."""
  if isinstance(value, dict):
    return {str(name): _clean(each) for name, each in value.items()}
  if isinstance(value, list | tuple):
    return [_clean(each) for each in value]
  if isinstance(value, float):
    if math.isnan(value):
      return None
    # The CSV has all digits.
    return str(value) if math.isinf(value) else float(f'{value:.7g}')
  return value
