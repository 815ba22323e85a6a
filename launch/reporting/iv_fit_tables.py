"""What the terminal and the page say of a fit: tables and sentences.

All is made from the summary of `fit_summary`, which is JSON data.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from dfiv_ope.launch.reporting import page, tables

Summary = Mapping[str, Any]
# Digits of an estimate, in tables and in sentences.
_DIGITS, _SPOKEN = 5, 4


def headline(summary: Summary) -> str:
  """Returns the answer: what the treatments do, and whether to trust it."""
  answers = [_answer(each, summary) for each in summary['effects']]
  stages = summary['first_stage']
  weak = [each['verdict'] for each in stages if each['weak']]
  strong = (
    []
    if weak
    else [
      stages[0]['verdict']
      if len(stages) == 1
      else 'The instruments are strong enough for each of them.'
    ]
  )
  # Of a weak instrument this is what matters most.
  return ' '.join([*weak, *answers, *strong, summary['intervals']])


def numbers(summary: Summary) -> list[page.Number]:
  """Returns what is read first: slopes, plain regression, instruments."""
  made = []
  linear = {each['name']: each for each in summary['coefficients']}
  outcome = summary['columns']['outcome']
  for each in summary['effects']:
    name = each['treatment']
    slope, plain = each['average_derivative'], each['plain_average_derivative']
    ends = each['debiased_average_derivative']
    if name in linear:
      slope, plain = linear[name]['value'], linear[name]['plain']
      ends = [slope, *(linear[name].get(end) for end in ('low', 'high'))]
    if slope is None:
      continue
    known = ends is not None and None not in ends
    made += [
      page.Number(
        f'Slope of {outcome} in {name}',
        shown(ends[0] if known else slope),
        f'95 % interval {shown(ends[1])} to {shown(ends[2])}'
        if known
        else 'no interval',
      ),
      page.Number('Plain regression says', shown(plain), 'no instrument'),
    ]
  weak = any(each['weak'] for each in summary['first_stage'])
  strength = [
    each[name]
    for each in summary['first_stage']
    for name in ('effective_f',)
    if each.get(name) is not None
  ]
  return [
    *made,
    page.Number(
      'Instruments',
      'Weak' if weak else 'Strong enough',
      f'effective F {shown(min(strength))}' if strength else '',
      page.GRADES[2 if weak else 0],
    ),
  ]


def _answer(effects: Mapping[str, Any], summary: Summary) -> str:
  low, high = effects['levels'][0], effects['levels'][-1]
  ends = [
    f'{shown(level["value"])}'
    + (
      ''
      if level['quantile'] is None
      else f' ({100.0 * level["quantile"]:.0f} % quantile)'
    )
    for level in (low, high)
  ]
  change, plain = (
    high[name] - low[name] for name in ('outcome', 'plain_outcome')
  )
  words = (
    f'Setting {effects["treatment"]} to {ends[1]} instead of {ends[0]} '
    f'changes {summary["columns"]["outcome"]} by {shown(change)} on average '
    f'({summary["label"]}{_interval(effects["change"])}); plain regression '
    f'says {shown(plain)}.'
  )
  least, greatest = (
    choose(effects['levels'], key=lambda level: level['outcome'])
    for choose in (min, max)
  )
  # The two ends do not tell of a curve that turns in between.
  if {least['value'], greatest['value']} != {low['value'], high['value']}:
    words += (
      ' In between it turns: the average is least, '
      f'{shown(least["outcome"])}, at {shown(least["value"])} and greatest, '
      f'{shown(greatest["outcome"])}, at {shown(greatest["value"])}.'
    )
  return words


def _interval(ends: Sequence[float | None] | None) -> str:
  if ends is None:
    return ''
  low, high = ends
  if low is None or high is None:
    return ', 95 % confidence interval unbounded'
  return f', 95 % confidence interval {shown(low)} to {shown(high)}'


def effects(summary: Summary) -> list[tables.Table]:
  """Returns a table of average outcomes for each treatment."""
  made = []
  outcome = summary['columns']['outcome']
  for place, each in enumerate(summary['effects']):
    few = each['levels'][0]['quantile'] is None
    held = each['change'] is not None
    base = 'lowest value' if few else 'median'
    words = (
      f'Average {outcome}, were all rows given this {each["treatment"]}, and '
      f'its effect against the {base} {shown(each["base"])}'
      + (' with its confidence interval.' if held else '.')
    )
    notes = [
      f'Plain regression ({summary["plain_regression"]}) has no instrument.'
    ]
    if each['average_derivative'] is not None:
      notes.append(
        'Average derivative: '
        f'{shown(each["average_derivative"])} by {summary["label"]}, '
        f'{shown(each["plain_average_derivative"])} by plain regression.'
      )
    made.append(
      tables.Table(
        name=f'effects-{place}',
        caption=words,
        notes=notes,
        columns=[
          each['treatment'],
          *([] if few else ['quantile']),
          f'average {outcome}',
          'effect',
          *(['95 % low', '95 % high'] if held else []),
          'plain average',
          'plain effect',
        ],
        rows=[
          [
            number(level['value']),
            *(
              []
              if few
              else [
                tables.Cell(
                  f'{100.0 * level["quantile"]:.0f} %', level['quantile']
                )
              ]
            ),
            *(
              number(level[name])
              for name in (
                'outcome',
                'effect',
                *(['low', 'high'] if held else []),
                'plain_outcome',
                'plain_effect',
              )
            ),
          ]
          for level in each['levels']
        ],
      )
    )
  return made


def coefficients(summary: Summary) -> tables.Table | None:
  """Returns the coefficients of a linear fit; None for others."""
  if not summary['coefficients']:
    return None
  inner = [
    (name, title)
    for name, title in (
      ('std_error', 'standard error'),
      ('p_value', 'p'),
      ('low', '95 % low'),
      ('high', '95 % high'),
    )
    if name in summary['coefficients'][0]
  ]
  return tables.Table(
    name='coefficients',
    caption=f'Coefficients of {summary["label"]}'
    + (' with confidence intervals' if inner else '')
    + ', and of least squares without an instrument.',
    columns=[
      'column',
      summary['label'],
      *(title for _, title in inner),
      'least squares',
    ],
    rows=[
      [
        tables.text(each['name']),
        number(each['value']),
        *(number(each[name]) for name, _ in inner),
        number(each['plain']),
      ]
      for each in summary['coefficients']
    ],
  )


def tests(summary: Summary) -> list[tables.Table]:
  """Returns the tests of a linear fit, and sets for weak instruments."""
  made = []
  if summary['tests']:
    made.append(
      tables.Table(
        name='tests',
        caption='Tests of the model.',
        columns=['test', 'of', 'statistic', 'degrees of freedom', 'p'],
        rows=[
          [
            tables.text(each['name']),
            tables.text(each['about']),
            number(each['statistic']),
            tables.text(
              f'{each["freedom"]}'
              if each['denominator'] is None
              else f'{each["freedom"]}, {each["denominator"]:g}'
            ),
            number(each['p_value']),
          ]
          for each in summary['tests']
        ],
      )
    )
  if summary['weak_sets']:
    made.append(
      tables.Table(
        name='weak-sets',
        caption='95 % sets of slopes that hold however weak the instruments '
        'are.',
        columns=['treatment', 'test', 'set'],
        rows=[
          [tables.text(each[name]) for name in ('treatment', 'test', 'set')]
          for each in summary['weak_sets']
        ],
      )
    )
  return made


_FIRST_STAGE = (
  ('partial_r2', 'partial R2 of Z'),
  ('robust_f', 'robust F'),
  ('effective_f', 'effective F'),
  ('critical_value', 'critical value'),
  ('held_out_r2', 'held-out R2'),
  ('held_out_partial_r2', 'held-out partial R2'),
  ('held_out_index_f', 'F of the held-out index'),
)


def first_stage(summary: Summary) -> tables.Table:
  """Returns how well the instruments predict each treatment."""
  found = summary['first_stage']
  titles = dict(_FIRST_STAGE)
  if len(found) > 1:
    titles['effective_f'] = 'conditional F'
  return tables.Table(
    name='first-stage',
    caption='First stage: what the instruments (Z) tell of each treatment, '
    'linear in all rows, then held out.',
    notes=[
      f'The critical value is that of the {titles["effective_f"]}, for '
      '10 % of the worst-case bias.'
    ],
    columns=['statistic', *(each['treatment'] for each in found)],
    rows=[
      [tables.text(title), *(tables.number(each[name]) for each in found)]
      for name, title in titles.items()
      if name in found[0]
    ],
  )


def columns(summary: Summary) -> tables.Table:
  """Returns the columns of the fit."""
  return tables.Table(
    name='columns',
    caption=f'Columns, over {summary["rows"]:,} rows.',
    columns=[
      'column',
      'role',
      'mean',
      'standard deviation',
      'least',
      'greatest',
      'distinct values',
    ],
    rows=[
      [
        tables.text(each['name']),
        tables.text(each['role']),
        *(
          number(each[name])
          for name in ('mean', 'standard_deviation', 'least', 'greatest')
        ),
        tables.count(each['distinct']),
      ]
      for each in summary['statistics']
    ],
  )


def settings(summary: Summary) -> tables.Table:
  """Returns the method's settings."""
  found = {
    'method': summary['method'],
    'seed': summary['seed'],
    **summary['settings'],
  }
  found.pop('type')
  if 'n_splits' in found and found['n_splits'] is None:
    found['n_splits'] = f'{summary["splits"]["count"]}, by the number of rows'
  return tables.Table(
    name='settings',
    caption='Settings. Those of the method are changed by --set name=value.',
    columns=['setting', 'value'],
    rows=[
      [tables.text(name), tables.text(_plain(value))]
      for name, value in found.items()
    ],
  )


def versions(summary: Summary) -> tables.Table:
  """Returns what the numbers come from."""
  return tables.Table(
    name='versions',
    caption='Data and versions.',
    columns=['what', 'value'],
    rows=[
      [tables.text(name), tables.text(value)]
      for name, value in (
        ('file', summary['file']),
        ('SHA-256 of the columns', summary['digest']),
        *summary['versions'].items(),
      )
    ],
  )


def splits(summary: Summary) -> str:
  """Says how much random splits of the rows matter; empty for one split."""
  count, spread = summary['splits']['count'], summary['splits']['spread']
  if count < 2 or spread is None:
    return ''
  return (
    f'The fit averages {count} random splits of the rows; predictions of '
    f'one split differ by {100.0 * spread:.2g} % of the standard '
    f'deviation of {summary["columns"]["outcome"]}.'
  )


def shown(value: float | None, digits: int = _SPOKEN) -> str:
  """Returns an estimate as text."""
  return '–' if value is None else f'{value + 0.0:,.{digits}g}'


def number(value: float | None) -> tables.Cell:
  """Returns a cell of an estimate."""
  return tables.Cell(
    shown(value, _DIGITS), float('nan') if value is None else float(value)
  )


def _plain(value: Any) -> str:
  """Returns a setting as people write it."""
  if isinstance(value, Mapping):
    inside = ', '.join(
      f'{name}={_plain(each)}' for name, each in value.items() if name != 'type'
    )
    return f'{value.get("type", "")}({inside})'
  if isinstance(value, list):
    return ', '.join(map(_plain, value)) or 'none'
  if isinstance(value, float):
    return f'{value:.4g}'
  return 'none' if value is None else str(value)
