"""Tables of the suite are what its rows say."""

import math

import numpy as np
import pytest

from dfiv_ope.cases import case, suite
from dfiv_ope.evaluation import suite_tables
from dfiv_ope.results import problems
from dfiv_ope.results import rows as rows_lib


def _row(name, method, estimate, *, log=0, seconds=1.0, **fields):
  ends = fields.pop('ends', (8.0, 12.0))
  metrics = (
    {}
    if estimate is None
    else {
      'estimate': estimate,
      'truth': -10.0,
      'rows': 100.0,
      **({'low': -ends[1], 'high': -ends[0]} if ends else {}),
      **fields.pop('metrics', {}),
    }
  )
  return rows_lib.Row(
    **{
      'problem': problems.SuiteCase(
        case=name, log=log, cases=1, seeds=1, level=0.95, ranked=False
      ),
      'method': method,
      'config': {'type': 'Config'},
      'seed': 0,
      'version': 1,
      'versions': {'python': '3.11'},
      'metrics': metrics,
      'cpu_seconds': seconds,
      'outcome': rows_lib.FINISHED if metrics else rows_lib.REFUSED,
      **fields,
    }
  )


_ROWS = [
  _row('graph-long', 'lstd', -11.0, metrics={'spearman': 1.0, 'regret': 0.0}),
  _row(
    'graph-long',
    'wis',
    -13.0,
    ends=(12.0, 14.0),
    seconds=3.0,
    metrics={'spearman': 0.5, 'regret': 0.2},
  ),
  _row('graph-long-few', 'lstd', -7.0, ends=None),
  _row('graph-long-few', 'wis', -12.9),
  _row('queue-far', 'lstd', -10.5, seconds=4.0),
  _row('queue-far', 'wis', None),
]


def _line(found, group, half, method):
  (line,) = [
    each
    for each in suite_tables.summary(found)
    if (each.group, each.half, each.method) == (group, half, method)
  ]
  return line


def test_errors_are_shares_of_the_truth():
  found = suite_tables.answers(_ROWS)
  assert [each.error for each in found[:4]] == pytest.approx(
    [-0.1, -0.3, 0.3, -0.29]
  )
  assert [each.covered for each in found[:2]] == [1.0, 0.0]
  assert math.isnan(found[2].covered) and math.isnan(found[5].error)
  assert found[1].half_width == pytest.approx(0.1)
  assert found[5].outcome == 'refused'


def test_lines_are_the_hand_worked_ones():
  found = suite_tables.answers(_ROWS)
  lstd = _line(found, suite_tables.ALL, suite_tables.BOTH, 'lstd')
  assert (lstd.logs, lstd.answered, lstd.intervals) == (3, 3, 2)
  assert lstd.median_error == pytest.approx(0.1)
  assert lstd.rmse == pytest.approx(np.sqrt((0.01 + 0.09 + 0.0025) / 3.0))
  assert lstd.coverage == 1.0 and lstd.cpu_seconds == pytest.approx(2.0)
  # On the second case wis is nearer, but by less than a tenth.
  assert lstd.near_top == 1.0
  wis = _line(found, suite_tables.ALL, suite_tables.BOTH, 'wis')
  assert (wis.logs, wis.answered, wis.near_top) == (3, 2, 1.0 / 3.0)
  assert wis.coverage == 0.5 and wis.regret == pytest.approx(0.2)
  numbers = _line(found, 'numbers as states', suite_tables.BOTH, 'lstd')
  assert numbers.answered == 1 and numbers.median_error == pytest.approx(0.05)


def test_halves_are_told_apart():
  found = suite_tables.answers(_ROWS)
  lines = [
    each
    for each in suite_tables.summary(found)
    if each.group == suite_tables.ALL and each.method == 'lstd'
  ]
  assert [each.half for each in lines] == [
    case.DEVELOPMENT,
    case.HELD_OUT,
    suite_tables.BOTH,
  ]
  for each in lines[:2]:
    assert each.logs == sum(
      suite.CASES[row.problem.case].half == each.half for row in _ROWS[::2]
    )


def test_the_last_row_counts_and_others_are_left_out():
  again = _row('graph-long', 'lstd', -20.0)
  broken = _row('graph-long', 'wis', None, outcome=rows_lib.ERROR)
  found = suite_tables.answers([*_ROWS, again, broken])
  assert len(found) == len(_ROWS) and found[0].estimate == -20.0
  assert found[1].estimate == -13.0


def test_csv_comes_back():
  lines = suite_tables.summary(suite_tables.answers(_ROWS))
  again = suite_tables.from_csv(suite_tables.as_csv(lines))
  assert suite_tables.as_csv(again) == suite_tables.as_csv(lines)
  assert again[0].group == lines[0].group and again[0].logs == lines[0].logs


def test_groups_are_those_of_the_facts():
  assert suite_tables.groups('graph_hidden-poor', 4_096.0) == [
    'all cases',
    'family graph_hidden',
    'names as states',
    'overlap poor',
    'horizon up to 25',
    'rows below 5,000',
    'behaviour unknown',
    'transitions stochastic',
  ]
  assert suite_tables.groups('pendulum-vectors-far', 10_000.0)[2:] == [
    'vectors as actions',
    'overlap poor',
    'horizon above 25',
    'rows from 5,000',
    'behaviour unknown',
    'transitions deterministic',
  ]
