"""The suite of IV designs, which several pages quote.

    dfiv-ope iv suite --method all --out runs --json > iv_suite.json
    python docs/generators/quotes.py --write

Errors are medians over the seeds.
"""

import json
import pathlib
from typing import Any

import markdown_tables

from dfiv_ope.benchmarks import baselines
from dfiv_ope.iv import methods

_KEPT = pathlib.Path(__file__).parents[1] / 'results' / 'iv_suite.json'
_BASELINES = {
  baselines.CONSTANT: 'constant',
  baselines.PLAIN: 'plain regression',
  baselines.PLAIN_DFIV: "plain, DFIV's networks",
  baselines.ORACLE: 'oracle',
}
# What the front page shows, and what the columns are called there.
_FRONT = {
  'sin n=2000': 'sin',
  'linear n=2000': 'line',
  'sum_sin n=2000': 'sin(t + x)',
  'covariates20 n=2000': '20 covariates',
  'noisy_demand n=1000': 'noisy demand',
  'demand n=5000 rho=0.5': 'demand',
}
_FRONT_METHODS = ('auto', 'dfiv', 'kiv', 'agmm', 'sieve', 'two_sls')
_FRONT_BASELINES = (baselines.PLAIN, baselines.ORACLE)
# Designs whose errors were wanted below some number.
_WANTED = {
  'sin n=2000': '.02',
  'abs n=2000': '.03',
  'step n=2000': '.04',
  'linear n=2000': '.005',
  'sum_sin n=2000': '.09; best .05',
  'noisy_demand n=1000': 'best .20',
  'noisy_demand n=5000': 'best .055',
  'noisy_demand n=10000': 'best .035',
  'demand n=1000 rho=0.5': '20',
  'demand n=5000 rho=0.5': '8',
}
_RANGED = ('dfiv', 'kiv', 'agmm', 'auto')
_PARTS = {None: 'all', False: 'development', True: 'set aside'}


def designs() -> str:
  """Returns a table of all errors; the least of the methods is bold."""
  kept = _kept()['designs']
  names = [
    name
    for name in (*_BASELINES, *methods.ENTRIES)
    if any(name in line['errors'] for line in kept)
  ]
  rows = []
  for line in kept:
    cells = []
    for name in names:
      error = line['errors'].get(name)
      told = told_error(error)
      best = name not in _BASELINES and error == line['best']
      cells.append(f'**{told}**' if best else told)
    rows.append([_name(line), *cells])
  return markdown_tables.write(['design', *map(label, names)], rows)


def summary() -> str:
  """Returns a table of what the errors say of each method."""
  rows = [
    [
      label(line['method']),
      _PARTS[line['set_aside']],
      str(line['designs']),
      f'{line["ratio"]:.2f}',
      f'{100.0 * line["close"]:.0f} %',
      f'{line["lost"]} of {line["confounded"]}',
      f'{line["cpu_seconds"]:.2g}',
    ]
    for line in _kept()['methods']
  ]
  return markdown_tables.write(
    [
      'method',
      'part',
      'designs',
      'median error / best',
      'within 1.5x',
      'lost to plain regression',
      'CPU s',
    ],
    rows,
    text=2,
  )


def wanted() -> str:
  """Returns a table of the designs that an error was wanted on."""
  lines = {line['design']: line for line in _kept()['designs']}
  rows = []
  for design, limit in _WANTED.items():
    line = lines[design]
    rows.append(
      [
        _name(line),
        limit,
        *(_ranged(line, name) for name in _RANGED),
        f'{line["cpu_seconds"]["dfiv"]:.1f}',
      ]
    )
  return markdown_tables.write(
    ['design', 'wanted', *map(label, _RANGED), 'CPU s of DFIV'], rows, text=2
  )


def front() -> str:
  """Returns the table of the front page."""
  kept = _kept()
  lines = {line['design']: line for line in kept['designs']}
  ratios = {
    line['method']: f'{line["ratio"]:.2f}'
    for line in kept['methods']
    if line['set_aside'] is None
  }
  rows = [
    [
      label(name),
      *(told_error(lines[design]['errors'].get(name)) for design in _FRONT),
      ratios.get(name, ''),
    ]
    for name in (*_FRONT_METHODS, *_FRONT_BASELINES)
  ]
  return markdown_tables.write(
    ['error', *_FRONT.values(), 'median / best'], rows
  )


def label(name: str) -> str:
  """Returns what tables call a method or a baseline."""
  return _BASELINES.get(name) or methods.ENTRIES[name].style.label


def told_error(error: float | None) -> str:
  """Returns an error in two or three figures."""
  if error is None:
    return ''
  if error >= 100.0:
    return f'{error:,.0f}'
  if error >= 1.0:
    return f'{error:.3g}'
  return f'{error:.4f}'[1:] if error < 0.01 else f'{error:.3f}'.lstrip('0')


def _ranged(line: dict[str, Any], name: str) -> str:
  """Returns a median and, in brackets, the least and the greatest error."""
  if name not in line['errors']:
    return ''
  low, high = line['ranges'][name]
  return (
    f'{told_error(line["errors"][name])} '
    f'({told_error(low)} to {told_error(high)})'
  )


def _name(line: dict[str, Any]) -> str:
  return line['design'] + (' *' if line['set_aside'] else '')


def _kept() -> dict[str, Any]:
  found: dict[str, Any] = json.loads(_KEPT.read_text(encoding='utf-8'))
  return found
