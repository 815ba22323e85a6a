"""Estimates on one simulated log in numbers: what a forest plot draws."""

from collections.abc import Sequence
import math

from dfiv_ope.launch.reporting import (
  details,
  forest,
  frames,
  log_results,
  measured_coverage,
  tables,
)
from dfiv_ope.results import rows as rows_lib

_MEANS = ', estimates, errors and CPU seconds means over runs'


def table(
    found: log_results.LogResults, coverage: Sequence[rows_lib.Row] = (),
) -> tables.Table:
  """Returns the estimates of the methods and of the log, and their errors.

  Args:
    found: what was run on one log.
    coverage: rows of studies of interval coverage, of which those of the same
      methods are told.
  """
  problem, first = found.problem, found.frame.iloc[0]
  truth = frames.number(problem.truth)
  errors = found.frame[~found.frame.failed].groupby('variant')[
      ['error', 'relative_error']].mean()
  failed = any(each.failed for each in found.methods)
  mean, *ends = found.log
  lines = [[
      tables.text('Log (average return)'),
      *map(tables.number, (mean, *ends)),
      *_errors(abs(mean - truth), abs(mean / truth - 1.) if truth else None),
      tables.text('–'), *[tables.number(None)] * (3 if failed else 2)]]
  for each in found.methods:
    lines.append([
        tables.text(each.variant),
        *map(tables.number, (each.estimate, *each.ends)),
        *_errors(*errors.loc[each.variant] if each.variant in errors.index
                 else (None, None)),
        tables.text(found.trust(each).grade if math.isfinite(each.estimate)
                    else '–'),
        tables.number(each.cpu_seconds), tables.count(each.runs),
        *([tables.count(each.failed)] if failed else [])])
  known = '' if math.isnan(truth) else (
      f'true value {tables.digits(truth)} ± '
      f'{tables.digits(frames.number(problem.truth_standard_error))} (standard '
      'error); ')
  return tables.Table(
      name=f'estimates-{details.stem(forest.title(found), 100)}',
      caption=' '.join([
          f'{forest.title(found)}: {known}low and high are 95 % confidence '
          f'intervals{"" if found.single_runs else _MEANS}.',
          *measured_coverage.sentences(found.methods, coverage)]),
      columns=['method', 'estimate', 'low', 'high', 'error', 'relative error',
               'trust', 'CPU s', 'runs', *(['diverged'] if failed else [])],
      rows=lines, links=[
          {'panel': first.panel, 'digest': first.digest, 'method': name}
          for name in (frames.NAIVE_LABEL, *(
              each.variant for each in found.methods))])


def _errors(
    error: float | None, relative: float | None) -> list[tables.Cell]:
  return [tables.number(error), tables.percent(relative)]
