"""A fit on the terminal: its card, its tables, its sentences."""

from collections.abc import Mapping
from typing import Any

from dfiv_ope.iv import methods
from dfiv_ope.launch import console
from dfiv_ope.launch.reporting import facts, iv_fit_tables, tables


def show(summary: Mapping[str, Any]) -> None:
  """Prints a fit, from the summary of `fit_summary`."""
  others = ', '.join(
    name for name in methods.NAMES if name != summary['method']
  )
  columns = summary['columns']
  console.card(
    f'{summary["label"]} fitted to {summary["rows"]:,} rows',
    [
      ('outcome (Y)', columns['outcome']),
      *(
        (f'{role} ({letter})', ', '.join(columns[role]) or 'none')
        for role, letter in (
          ('treatment', 'T'),
          ('instrument', 'Z'),
          ('covariate', 'X'),
        )
      ),
      *facts.of_rows(columns),
      ('method', f'{summary["method"]} (--method has also {others})'),
    ],
  )
  made = [
    *iv_fit_tables.effects(summary),
    iv_fit_tables.coefficients(summary),
    iv_fit_tables.first_stage(summary),
    *iv_fit_tables.tests(summary),
  ]
  for table in made:
    if table is not None:
      _show_table(table)
  console.say(iv_fit_tables.headline(summary))
  for sentence in summary['checks']:
    console.say(sentence)
  if iv_fit_tables.splits(summary):
    console.say(iv_fit_tables.splits(summary))
  for sentence in summary['warnings']:
    console.say(f'Warning: {sentence}')


def _show_table(table: tables.Table) -> None:
  console.say(' '.join([table.caption, *table.notes]))
  shown = console.Table(boxed=False)
  for place, name in enumerate(table.columns):
    shown.add_column(name, justify='right' if place else 'left')
  for row in table.rows:
    shown.add_row(*(cell.text for cell in row))
  shown.show()
