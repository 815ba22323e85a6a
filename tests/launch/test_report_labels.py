"""What a report calls methods: budgets, presets, settings and variants."""

from dfiv_ope import agents
from dfiv_ope.agents import dfiv
from dfiv_ope.launch.reporting import method_labels, summary_table


def test_methods_are_told_apart_by_preset_and_settings(ope_row):
  rows = [
    ope_row('dfiv', 'catch', config={'type': 'C', 'width': 50, 'a': 1}),
    # Tuned to the task: the same method.
    ope_row('dfiv', 'cartpole', config={'type': 'C', 'width': 99, 'a': 1}),
    ope_row(
      'dfiv', 'catch', config={'type': 'C', 'width': 10, 'a': 1}, preset='paper'
    ),
    ope_row(
      'dfiv', 'catch', config={'type': 'C', 'width': 50, 'a': 2}, custom=True
    ),
  ]
  assert method_labels.variants(rows) == [
    'DFIV',
    'DFIV',
    'DFIV (paper)',
    'DFIV (a=2)',
  ]


def test_a_row_called_dfiv_is_dfiv(ope_row):
  assert set(agents.ENTRIES['dfiv'].variants['solve']) == set(dfiv.SOLVES)
  rows = [
    ope_row('dfiv', config={'type': 'C', 'solve': 'plug-in'}),
    ope_row('dfiv', config={'type': 'C', 'solve': 'moment'}, custom=True),
    ope_row('dfiv', config={'type': 'C', 'solve': 'lstd'}, custom=True),
    ope_row('dfiv', config={'type': 'C', 'solve': 'plug-in'}, preset='paper'),
    ope_row(
      'dfiv',
      config={'type': 'C', 'solve': 'moment'},
      preset='paper',
      custom=True,
    ),
    # Version 0.1.0.
    ope_row('dfiv', 'cartpole', config={'own_instruments': True}),
  ]
  labels = method_labels.variants(rows)
  assert labels == [
    'DFIV (plug-in)',
    'DFIV (moment)',
    'LSTD-Q on DFIV features',
    'DFIV (plug-in, paper)',
    'DFIV (moment, paper)',
    'LSTD-Q on DFIV features',
  ]
  assert [(label.base, label.notes) for label in labels[2:5]] == [
    ('LSTD-Q on DFIV features', ()),
    ('DFIV (plug-in)', ('paper',)),
    ('DFIV (moment)', ('paper',)),
  ]
  assert method_labels.order(['FQE', 'LSTD-Q', *labels]) == [
    'LSTD-Q',
    'DFIV (plug-in)',
    'DFIV (plug-in, paper)',
    'DFIV (moment)',
    'DFIV (moment, paper)',
    'LSTD-Q on DFIV features',
    'FQE',
  ]


def test_the_quick_budget_is_named_instead_of_its_settings(ope_row):
  quick = {'type': 'C', 'updates': 4000, 'checks': 4, 'width': 50}
  rows = [
    ope_row('fqe', config={**quick, 'updates': 20_000, 'checks': 10}),
    ope_row('fqe', config=quick, custom=True),
    ope_row('fqe', config={**quick, 'width': 9}, custom=True),
    ope_row('fqe', config={**quick, 'checks': 2}, custom=True),
    # A default that happens to have these numbers is the default.
    ope_row('fqe', 'cartpole', config=quick),
  ]
  labels = method_labels.variants(rows)
  assert labels == [
    'FQE',
    'FQE (quick, width=50)',
    'FQE (quick, width=9)',
    'FQE (checks=2, updates=4000, width=50)',
    'FQE',
  ]
  assert method_labels.variants(rows[1:2]) == ['FQE (quick)']
  assert labels[1].base == 'FQE' and labels[1].notes == ('quick', 'width=50')


def test_the_printed_table_names_what_is_not_dfiv(ope_row, capsys):
  summary_table.print_table(
    [
      ope_row(
        'dfiv',
        custom=custom,
        config={'type': 'C', 'solve': solve, 'updates': updates, 'checks': 2},
      )
      for solve, updates, custom in (
        ('plug-in', 900, False),
        ('plug-in', 40, True),
        ('lstd', 900, True),
      )
    ]
  )
  printed = capsys.readouterr().out
  assert 'dfiv    default ' in printed
  assert 'dfiv    quick ' in printed
  assert 'dfiv    LSTD-Q on ' in printed


def test_changes_that_all_rows_share_are_no_part_of_a_name(ope_row):
  rows = [
    ope_row(
      'dfiv', config={'type': 'C', 'updates': 9, 'width': 5}, custom=True
    ),
    ope_row(
      'dfiv',
      config={'type': 'C', 'updates': 9, 'width': 1},
      preset='paper',
      custom=True,
    ),
  ]
  assert method_labels.variants(rows) == ['DFIV', 'DFIV (paper)']
