"""What stands below the title of a report, and where its rows are from."""

from collections.abc import Mapping, Sequence
import datetime
from typing import Any

from dfiv_ope.launch.reporting import frames, method_labels
from dfiv_ope.results import problems
from dfiv_ope.results import rows as rows_lib

# Names that are listed; of more of them, how many there are.
_FEW = 2


def of_rows(columns: Mapping[str, Any]) -> list[tuple[str, str]]:
  """Returns the columns of weights and clusters of a fit, if there are any."""
  named = (
    ('weights', columns['weights'] or ''),
    ('clusters', ', '.join(columns['clusters'])),
  )
  return [(role, names) for role, names in named if names]


def shown(
  rows: Sequence[rows_lib.Row], date: str = ''
) -> list[tuple[str, str]]:
  """Returns what an answer is about: log, policy, discount, budget, date.

  Args:
    rows: those of the report.
    date: when it is made; empty to leave it out.
  """
  about = [each for row in rows if (each := frames.on_dataset(row.problem))]
  policies = [
    each.policy for each in about if isinstance(each, problems.UserLog)
  ]
  sizes = {
    (each.transitions, each.episodes)
    for each in about
    if each.transitions is not None and each.episodes is not None
  }
  runs = [
    row
    for row in rows
    if method_labels.family(row.method) != method_labels.NAIVE
  ]
  budgets = method_labels.budgets(runs)
  return [
    (name, value)
    for name, value in (
      ('log', _named([each.dataset for each in about if each.dataset], 'logs')),
      ('policy', _named(policies, 'policies')),
      (
        'discount',
        ', '.join(
          f'{each:.10g}' for each in sorted({each.discount for each in about})
        ),
      ),
      (
        'size',
        ' transitions in '.join(f'{each:,}' for each in next(iter(sizes)))
        + ' episodes'
        if len(sizes) == 1
        else '',
      ),
      ('seeds', str(len({row.seed for row in runs})) if runs else ''),
      (
        'budget',
        '; '.join(
          f'{budget} for {", ".join(names)}'
          for budget, names in budgets.items()
        ),
      ),
      (
        'failed',
        str(sum(row.failed for row in rows))
        if any(row.failed for row in rows)
        else '',
      ),
      ('date', date),
    )
    if value
  ]


def today() -> str:
  """Returns the date, as a report says it."""
  return f'{datetime.datetime.now(tz=datetime.UTC):%-d %B %Y}'


def provenance(
  rows: Sequence[rows_lib.Row], source: str
) -> list[tuple[str, str]]:
  """Returns what the report was made of."""
  versions = sorted({row.versions.get('dfiv-ope', '?') for row in rows})
  return [
    ('rows', f'{len(rows):,}'),
    ('dfiv-ope', ', '.join(versions)),
    ('from', source),
  ]


def _named(names: Sequence[str], several: str) -> str:
  different = list(dict.fromkeys(names))
  return (
    ', '.join(different)
    if len(different) <= _FEW
    else f'{len(different):,} {several}'
  )
