"""`dfiv-ope report`: one page, tables and figures from result rows."""

import pathlib
from typing import Annotated

import typer

from dfiv_ope.launch import console


def report(
  runs: Annotated[
    list[pathlib.Path],
    typer.Argument(
      help='Directories of result rows: the --out of evaluations, sweeps or '
      'benchmarks. Of a run that several of them hold, the last one '
      'counts.',
      metavar='RUNS',
    ),
  ],
  out: Annotated[
    pathlib.Path,
    typer.Option(
      help='Directory of the report; new, empty, or an older report, which '
      'is replaced.'
    ),
  ],
) -> None:
  """Writes index.html, results.csv, tables and figures from result rows."""
  from dfiv_ope.launch.reporting import publish
  from dfiv_ope.results import files

  publish.claimed(out)  # Refuses what is no report, before anything is read.
  rows = [row for directory in runs for row in files.read(directory)]
  source = ', '.join(map(str, runs))
  if not rows:
    raise ValueError(
      f'{source} has no complete result row yet. Wait for the first run to '
      'end, or name another directory.'
    )
  console.say(publish.publish(rows, source, out))
