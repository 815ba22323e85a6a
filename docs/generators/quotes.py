"""Writes the numbers that pages quote, from the results they come from.

    python docs/generators/quotes.py --write

A block of PAGES between `<!-- quoted: NAME -->` and `<!-- end -->` is what
the function NAME here makes of docs/results and of the suite's stored results.
tests/test_readme.py fails where they differ.
"""

import argparse
import csv
import functools
import pathlib
import re
import sys

import demand_errors
import iv_suite
import markdown_tables
import policy_values

from dfiv_ope.iv import methods as iv_methods

ROOT = pathlib.Path(__file__).resolve().parents[2]
_RESULTS = ROOT / 'docs' / 'results'
PAGES = (
  ROOT / 'README.md',
  *(
    _RESULTS / f'{name}.md'
    for name in ('index', 'ope', 'reproduce', 'iv', 'demand')
  ),
)
_SUITE = ROOT / 'dfiv_ope' / 'evaluation' / 'suite_results.csv'
_TASKS = policy_values.TASKS
_NOISE = '0.2'
# In this order.
_IV_METHODS = ('dfiv', 'sieve', 'agmm', 'deepiv', 'kiv', 'deepgmm', 'two_sls')
_SIZES = (1000, 5000)
_BLOCK = re.compile(r'(<!-- quoted: (\w+) -->\n).*?(<!-- end -->)', re.DOTALL)


def suite_lines(method: str) -> dict[str, dict[str, str]]:
  """Returns the suite's results of a method on all cases, by half."""
  with _SUITE.open(encoding='utf-8', newline='') as file:
    return {
      line['half']: line
      for line in csv.DictReader(file)
      if line['group'] == 'all cases' and line['method'] == method
    }


def ope_errors(method: str) -> dict[tuple[str, str], markdown_tables.Line]:
  """Returns the errors in % of a method by task and noise ('log': naive)."""
  return {
    (task, noise): {
      'in %': f'{found.error:.2f}',
      'CPU s': f'{found.seconds:.1f}',
    }
    for task in _TASKS
    for noise in policy_values.noises()
    if (found := policy_values.cell(method, task, noise)).runs
  }


def ope() -> str:
  """Returns errors of policy values on the paper's tasks."""
  rows = []
  for method in policy_values.METHODS:
    errors = ope_errors(method)
    if not errors:
      continue
    label = policy_values.label(method)
    rows.append(
      [
        label if method == 'log' else f'{label} (`{method}`)',
        *(errors.get((task, _NOISE), {}).get('in %', '') for task in _TASKS),
      ]
    )
  return markdown_tables.write(['error in %', *_TASKS], rows)


def ope_all() -> str:
  """Returns errors of policy values on the paper's tasks at two noises."""
  columns = [(task, noise) for noise in ('0.2', '0.5') for task in _TASKS]
  rows = []
  for method in policy_values.METHODS:
    errors = ope_errors(method)
    if not errors:
      continue
    seconds = sorted(float(line['CPU s']) for line in errors.values())
    rows.append(
      [
        policy_values.label(method),
        *(errors.get(column, {}).get('in %', '') for column in columns),
        '' if method == 'log' else f'{seconds[0]:g}-{seconds[-1]:g}',
      ]
    )
  return markdown_tables.write(
    ['error in %', *(f'{task} {noise}' for task, noise in columns), 'CPU s'],
    rows,
  )


def iv() -> str:
  """Returns errors on the demand design."""
  rows = []
  for method in _IV_METHODS:
    found = {
      cell.n: cell for cell in demand_errors.cells(method) if cell.rho == 0.5
    }
    rows.append(
      [
        f'{iv_methods.ENTRIES[method].style.label} (`{method}`)',
        *(found[n].median for n in _SIZES),
        f'{found[_SIZES[-1]].seconds:.2g}',
      ]
    )
  return markdown_tables.write(
    ['method', *(f'n = {n}' for n in _SIZES), 'CPU s at n = 5000'], rows
  )


def filled(text: str) -> str:
  """Returns a page with its quoted blocks written anew."""
  makers = {
    'ope': ope,
    'ope_all': ope_all,
    'policy_logs': policy_values.policy_logs,
    'policy_errors': policy_values.policy_errors,
    'policy_summary': policy_values.policy_summary,
    'policy_paper': policy_values.policy_paper,
    **{
      f'noise_{task}': functools.partial(policy_values.policy_noise, task)
      for task in _TASKS
    },
    'iv': iv,
    'demand': demand_errors.table,
    'demand_paper': functools.partial(demand_errors.table, 'paper'),
    'iv_suite': iv_suite.front,
    'iv_designs': iv_suite.designs,
    'iv_methods': iv_suite.summary,
    'iv_wanted': iv_suite.wanted,
  }
  return _BLOCK.sub(
    lambda found: found[1] + '\n' + makers[found[2]]() + '\n' + found[3], text
  )


def main() -> None:
  """Writes the pages, or says which are not as they should be."""
  parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
  parser.add_argument('--write', action='store_true', help='mend them')
  parser.add_argument(
    '--check', action='store_true', help='exit with 1 if any differs'
  )
  options = parser.parse_args()
  wrong = [
    page
    for page in PAGES
    if filled(page.read_text(encoding='utf-8'))
    != page.read_text(encoding='utf-8')
  ]
  for page in wrong:
    print(f'{page.relative_to(ROOT)} differs from its results.')
    if options.write:
      page.write_text(
        filled(page.read_text(encoding='utf-8')), encoding='utf-8'
      )
  if wrong and options.check:
    sys.exit(1)


if __name__ == '__main__':
  main()
