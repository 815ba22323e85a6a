"""Runs of methods on the instrumental-variable benchmarks."""

import collections
from collections.abc import Mapping, Sequence
import math
import pathlib
import statistics
import time
from typing import Any, NamedTuple
import warnings

from dfiv_ope import configs, results
from dfiv_ope.benchmarks import dsprites, settings, trials
from dfiv_ope.iv import methods
from dfiv_ope.iv.diagnostics import strength
from dfiv_ope.launch import console, overrides, workspace

# A quadratic in the number of lit pixels, by two-stage least squares.
LIT_PIXELS = 'lit_pixels'
# Of its numbers: raised when they change, see `registry.Entry`.
LIT_PIXELS_VERSION = 1


class Cell(NamedTuple):
  """One run.

  Attributes:
    design: the problem.
    method: one of `methods.NAMES`, or LIT_PIXELS.
    config: its config; None for LIT_PIXELS.
    preset: where the config is from.
    seed: seeds the sample and the fit.
    watch: whether the error is measured during the training too.
  """
  design: trials.Design
  method: str
  config: Any
  preset: str
  seed: int
  watch: bool = False

  @property
  def encoded(self) -> dict[str, Any]:
    """The config as the row has it."""
    if self.config is None:
      return {'features': 'lit pixels and their square'}
    encoded: dict[str, Any] = configs.encode(self.config)
    return encoded

  @property
  def version(self) -> int:
    """Of the method's numbers."""
    if self.method == LIT_PIXELS:
      return LIT_PIXELS_VERSION
    return methods.ENTRIES[self.method].version

  @property
  def key(self) -> str:
    """The key of the row that the run makes."""
    return results.key(
        self.design.problem, self.method, self.encoded, self.seed,
        version=self.version)

  @property
  def note(self) -> str:
    """The run in a few words."""
    return f'{self.method} {describe(self.design.problem)} seed={self.seed}'


def describe(problem: Mapping[str, Any]) -> str:
  """Returns a design in a few words: its numbers, without its name."""
  return ' '.join(
      f'{name}={value:g}' if isinstance(value, float) else f'{name}={value}'
      for name, value in problem.items() if name != 'name')


def cells(
    designs: Sequence[trials.Design],
    method: str,
    *,
    seeds: int,
    paper: bool = False,
    changes: Sequence[str] = (),
    watch: bool = False,
) -> list[Cell]:
  """Returns the runs of a method on designs, with the baseline of pictures.

  Args:
    designs: the problems.
    method: one of `methods.NAMES`.
    seeds: runs on each design.
    paper: whether the paper's config is wanted instead of ours.
    changes: name=value of the config.
    watch: whether errors are measured during the training too.
  """
  preset = 'custom' if changes else 'paper' if paper else 'default'
  made = []
  for design in designs:
    config = overrides.apply(
        settings.config(design.problem, method, paper=paper), changes)
    for seed in range(seeds):
      if isinstance(design, dsprites.DSprites):
        made.append(Cell(design, LIT_PIXELS, None, 'default', seed))
      made.append(Cell(design, method, config, preset, seed, watch))
  return made


def carry_out(
    asked: Sequence[Cell], out: pathlib.Path,
) -> list[results.ResultRow]:
  """Runs what has no row yet; returns the rows of all that was asked for."""
  wanted = {cell.key: cell for cell in asked}
  with workspace.exclusive(out):
    have = {row.key: row for row in results.known(out)}
    missing = [
        cell for key, cell in wanted.items() if key not in have
        or cell.watch and 'watched_mse' not in have[key].curves]
    console.note_known(len(wanted) - len(missing), len(wanted), out)
    with console.progress('Runs', len(missing)) as update:
      for done, cell in enumerate(missing):
        update(done, cell.note)
        with warnings.catch_warnings(record=True) as caught:
          warnings.simplefilter('always', strength.FirstStageWarning)
          row = _compute(
              cell, lambda step, steps, _, done=done, note=cell.note: update(
                  done + step / steps, note))
        results.append(out, row)
        for each in caught:
          console.note(f'{cell.note}: {each.message}')
        update(done + 1, cell.note)
    return [row for row in results.latest(results.read(out))
            if row.key in wanted]


def _compute(cell: Cell, progress: Any) -> results.ResultRow:
  if cell.config is None:
    start = time.process_time()
    predict = dsprites.lit_pixels_baseline(cell.design.sample(cell.seed))
    return trials.row(
        cell.design, cell.method, cell.encoded, predict,
        version=cell.version, seed=cell.seed,
        cpu_seconds=time.process_time() - start)
  return trials.run(
      cell.design, cell.method, cell.config, seed=cell.seed,
      preset=cell.preset, watch=cell.watch, progress=progress)


def print_table(rows: Sequence[results.ResultRow]) -> None:
  """Prints the median error and time of each setting over its seeds."""
  by_setting = collections.defaultdict(list)
  for row in rows:
    by_setting[row.problem['name'], describe(row.problem), row.method,
               row.preset, repr(row.config)].append(row)
  table = console.Table('Mean squared error against the truth')
  for column in (
      'design', 'method', 'config', 'seeds', 'median', 'least', 'most',
      'CPU s'):
    table.add_column(column, justify=(
        'left' if column in ('design', 'method', 'config') else 'right'))
  for (name, design, method, preset, _), group in by_setting.items():
    errors = [row.metrics.get('mse', math.inf) for row in group]
    table.add_row(
        f'{name} {design}', method, preset, str(len(group)),
        *(f'{each:.4g}' for each in (
            statistics.median(errors), min(errors), max(errors))),
        f'{statistics.median(row.cpu_seconds for row in group):.2f}')
  table.show()
