"""The demand design on the page: errors by setting, and its pictures."""

import math
import pathlib
import tempfile

import pandas as pd

from dfiv_ope import methods, results
from dfiv_ope.launch.reporting import frames, svg, tables

_CAPTIONS = {
    'ate': 'Mean sales at a set price: the truth, the mean of each method over '
           'its seeds, and a band from the least to the largest.',
    'cate': 'Sales over the year at a set price: the truth, the mean of each '
            'method over its seeds, and a band from the least to the largest.',
    'mse': 'Mean squared error of every seed by confounding; bars are '
           'medians.'}


def frame(rows: list[results.ResultRow]) -> pd.DataFrame:
  """Returns rows of the demand design as a frame.

  Raises:
    ValueError: a row does not say its size and confounding.
  """
  lines = []
  for row, variant in zip(rows, frames.variants(rows), strict=True):
    missing = [name for name in ('n', 'rho') if name not in row.problem]
    if missing:
      raise ValueError(
          f'A row of {row.method} on the demand design does not say its '
          f'{", ".join(missing)}, so it was written by another version. Run '
          'it again into a new directory.')
    mse = frames.number(row.metrics.get('mse'))
    failure = row.failure or (
        '' if math.isfinite(mse) else 'The row has no finite error.')
    lines.append({
        'variant': variant, 'method': row.method, 'preset': row.preset,
        'n': int(row.problem['n']), 'rho': float(row.problem['rho']),
        'seed': row.seed, 'mse': math.inf if failure else mse,
        'failed': bool(failure), 'failure': failure,
        'cpu_seconds': frames.number(row.cpu_seconds)})
  return pd.DataFrame(lines)


def errors(lines: pd.DataFrame) -> tables.Table:
  """Returns the errors by method, n and rho."""
  groups = {
      key: part for key, part in lines.groupby(['n', 'rho', 'variant'])}
  medians = lines.groupby(['n', 'rho', 'variant']).mse.median()
  least = medians.groupby(['n', 'rho']).min()
  made: list[list[tables.Cell]] = []
  links: list[tables.Link] = []
  for n, rho in least.index:
    for variant in frames.order(
        name for a, b, name in groups if (a, b) == (n, rho)):
      part = groups[n, rho, variant]
      middle = part.mse.median()
      made.append([
          tables.text(variant), tables.count(n), tables.number(rho),
          tables.count(len(part)), tables.count(part.failed.sum()),
          tables.number(middle, best=middle == least[n, rho]),
          tables.number(part.mse.min()), tables.number(part.mse.max()),
          tables.number(part.cpu_seconds.median())])
      links.append({'method': variant, 'n': int(n), 'rho': float(rho)})
  return tables.Table(
      name='demand',
      caption=(
          'Mean squared error on the grid of the demand design, over seeds. '
          'A failed run counts as an infinite error; the smallest median of '
          'each setting is marked.'),
      columns=['method', 'n', 'rho', 'seeds', 'failed', 'median', 'least',
               'most', 'CPU s (median)'],
      rows=made, links=links)


def pictures(
    rows: list[results.ResultRow],
) -> tuple[list[tuple[str, str]], dict[str, bytes]]:
  """Returns SVGs with captions for the page, and the files of the figures.

  Draws what the rows allow: those of methods that failed, or without curves,
  are left out.
  """
  rows = [
      row for row in rows
      if not row.failure and row.method in methods.NAMES
      and math.isfinite(frames.number(row.metrics.get('mse')))]
  if not rows:
    return [], {}
  from dfiv_ope.launch import iv_figures
  shown, files = [], {}
  with tempfile.TemporaryDirectory() as scratch:
    for name, caption in _CAPTIONS.items():
      usable = rows if name == 'mse' else [
          row for row in rows if len(row.curves.get(name, ())) == 20]
      if not usable:
        continue
      for path in iv_figures.draw(name, usable, pathlib.Path(scratch)):
        files[f'figures/demand-{path.name}'] = path.read_bytes()
      text = files[f'figures/demand-{name}.svg'].decode()
      shown.append((svg.inline(text, f'demand{name}', caption), caption))
  return shown, files
