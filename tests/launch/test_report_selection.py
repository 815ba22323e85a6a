"""The choice of a method on the page of a simulated dataset."""

import dataclasses
import io

import pandas as pd
import pytest

from dfiv_ope.launch.reporting import build, selection_table
from dfiv_ope.results import problems


def test_a_selection_on_a_simulated_dataset_needs_no_policy(
  ope_row, selection_row
):
  rows = [ope_row('kiv'), ope_row('log')]
  for method, scores in (('kiv', (0.2, 0.1, 1.0)), ('fqe', (0.3, 0.2, 0.0))):
    rows.append(selection_row(ope_row(method), *scores))
  files = build.files(rows, 'runs')
  table = files['tables/log-selection-of-1.md'].decode()
  kiv, fqe = (
    next(line for line in table.splitlines() if name in line)
    for name in ('KIV', 'FQE')
  )
  assert '**0.2**' in kiv
  assert 'no' in fqe
  page = files['index.html'].decode()
  assert 'Choice of the method: catch-noise-0.2' in page
  assert '<h1>What a policy is worth</h1>' in page
  assert len(pd.read_csv(io.BytesIO(files['results.csv']))) == 4
  # FQE was not run, so nobody knows what the choice cost.
  assert 'relative error of the whole log' in table
  assert 'tables/selection-regret.md' not in files


def _selection(ope_row, selection_row, task, scores, **fields):
  """Rows of a choice: tournament, projected error and relative error."""
  best = min(scores, key=lambda name: scores[name][0])
  rows = []
  for (method, width), (tournament, projected, relative) in scores.items():
    config = {'type': 'Config', 'width': width}
    rows += [
      ope_row(
        method,
        task,
        seed=seed,
        relative=relative * factor,
        config=config,
        custom=width != 50,
        **fields,
      )
      for seed, factor in ((0, 0.5), (1, 1.5))
    ]
    rows.append(
      selection_row(
        ope_row(method, task, config=config, custom=width != 50, **fields),
        tournament,
        projected,
        float((method, width) == best),
      )
    )
  return rows


def _cells(files, name):
  lines = files[f'tables/{name}.md'].decode().splitlines()
  return [
    [cell.strip() for cell in line.strip('|').split('|')]
    for line in lines
    if line.startswith('|')
  ][2:]


def test_the_cost_of_choices_is_told_where_the_truth_is_known(
  ope_row, selection_row
):
  rows = _selection(
    ope_row,
    selection_row,
    'catch',
    {
      ('kiv', 50): (0.1, 0.3, 0.05),
      ('kiv', 70): (0.2, 0.1, 0.02),
      ('fqe', 50): (0.3, 0.2, 0.11),
    },
  )
  rows += _selection(
    ope_row,
    selection_row,
    'cartpole',
    {('kiv', 50): (0.4, 0.3, 0.04), ('fqe', 50): (0.1, 0.2, 0.01)},
  )
  lines = _cells(build.files(rows, 'runs'), 'selection-regret')
  catch, cartpole, mean = lines
  assert catch[1:] == [
    '3 %',
    '0 %',
    '4 %',
    'KIV',
    '5 %',
    'KIV (width=70)',
    '2 %',
    'KIV (width=70)',
    '2 %',
  ]
  assert cartpole[1:] == [
    '0 %',
    '0 %',
    '1.5 %',
    'FQE',
    '1 %',
    'FQE',
    '1 %',
    'FQE',
    '1 %',
  ]
  assert mean[:4] == ['mean', '1.5 %', '0 %', '2.75 %']


def test_a_choice_among_other_candidates_is_another_choice(
  ope_row, selection_row
):
  def scored(method, candidates, chosen):
    return selection_row(
      ope_row(method), 1.0 - chosen, 0.1, chosen, candidates=candidates
    )

  rows = [
    scored('kiv', 'a', 1.0),
    scored('fqe', 'a', 0.0),
    scored('kiv', 'b', 0.0),
    scored('dfiv', 'b', 1.0),
  ]
  files = build.files(rows, 'runs')
  for number, names in ((1, ['KIV', 'FQE']), (2, ['DFIV', 'KIV'])):
    lines = _cells(files, f'log-selection-of-{number}')
    assert [line[0] for line in lines] == names
    assert [line[-1] for line in lines] == ['yes', 'no']


@pytest.mark.parametrize(
  'broken, cost',
  [(['fqe'], ['0 %', '0 %', '0 %', 'KIV', '5 %']), (['kiv', 'fqe'], None)],
)
def test_candidates_that_diverged_on_the_whole_log_have_no_error(
  ope_row, selection_row, broken, cost
):
  rows = [
    dataclasses.replace(row, outcome='diverged', reason='far', metrics={})
    if row.method in broken and isinstance(row.problem, problems.SimulatedTask)
    else row
    for row in _selection(
      ope_row,
      selection_row,
      'catch',
      {('kiv', 50): (0.1, 0.2, 0.05), ('fqe', 50): (0.3, 0.3, 0.11)},
    )
  ]
  files = build.files(rows, 'runs')
  if cost is None:
    assert 'tables/selection-regret.md' not in files
  else:
    assert _cells(files, 'selection-regret')[0][1:6] == cost


def test_costs_at_two_discounts_are_not_averaged(ope_row, selection_row):
  rows = []
  for discount, relative in ((0.99, 0.05), (0.5, 0.09)):
    for task in ('catch', 'cartpole'):
      rows += _selection(
        ope_row,
        selection_row,
        task,
        {('kiv', 50): (0.1, 0.1, relative), ('fqe', 50): (0.3, 0.2, 0.01)},
        problem={'discount': discount},
      )
  lines = _cells(build.files(rows, 'runs'), 'selection-regret')
  assert [(line[0].split(', ')[-1], line[1]) for line in lines] == [
    ('discount 0.99', '4 %'),
    ('discount 0.99', '4 %'),
    ('discount 0.99', '4 %'),
    ('discount 0.5', '8 %'),
    ('discount 0.5', '8 %'),
    ('discount 0.5', '8 %'),
  ]
  assert lines[2][0] == 'mean, discount 0.99'


def test_the_terminal_shows_the_scores_and_the_choice(
  ope_row, selection_row, capsys
):
  rows = [
    selection_row(ope_row('fqe'), 0.3, 0.25, 0.0),
    selection_row(ope_row('kiv'), 0.2, 0.125, 1.0),
    dataclasses.replace(
      selection_row(ope_row('dfiv')),
      metrics={},
      outcome='diverged',
      reason='far',
    ),
  ]
  selection_table.show(rows)
  lines = capsys.readouterr().out.splitlines()
  cells = [line.split() for line in lines]
  assert ['KIV', '0.2', '0.125', '2.0'] in cells
  assert (
    cells.index(['KIV', '0.2', '0.125', '2.0'])
    < cells.index(['FQE', '0.3', '0.25', '2.0'])
    < cells.index(['DFIV', 'diverged', '-', '2.0'])
  )
  assert lines[-1].startswith('Selected KIV: lowest held-out correlation')
