"""`dfiv-ope report`: one page, tables and figures from result rows."""

import pathlib
from typing import Annotated

import typer

from dfiv_ope.launch import console


def report(
    runs: Annotated[pathlib.Path, typer.Argument(
        help='Directory of result rows: the --out of an evaluation, a sweep or '
             'an IV benchmark.')],
    out: Annotated[pathlib.Path, typer.Option(
        help='Directory of the report; new, empty, or an older report, which '
             'is replaced.')],
) -> None:
  """Writes index.html, results.csv, tables and figures from result rows."""
  from dfiv_ope import results
  from dfiv_ope.launch.reporting import publish
  publish.claimed(out)  # Refuses what is no report, before anything is read.
  rows = results.read(runs)
  if not rows:
    raise ValueError(
        f'{runs} has no complete result row yet. Wait for the first run to '
        'end, or name another directory.')
  if any(row.outdated for row in rows):
    console.note(
        f'The rows in {runs} were written by an older version of dfiv-ope, '
        'which could go on from a run at another discount. If runs at several '
        'discounts or policies share the directory, evaluate again into a new '
        'one.')
  console.say(publish.publish(rows, runs, out))
