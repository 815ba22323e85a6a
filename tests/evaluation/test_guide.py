"""The guide is what the stored results of the suite say."""

import dataclasses
import math

from dfiv_ope import agents
from dfiv_ope.cases import case
from dfiv_ope.evaluation import guide, suite_tables


def _line(method, half, error, **changes):
  values = {
    'group': suite_tables.ALL,
    'half': half,
    'method': method,
    'logs': 4,
    'answered': 4,
    'median_error': error,
    'rmse': error,
    'coverage': 0.75,
    'intervals': 4,
    'half_width': 0.1,
    'near_top': 0.5,
    'spearman': 1.0,
    'regret': 0.0,
    'cpu_seconds': 1.0,
  }
  return suite_tables.Line(**values | changes)


_LINES = [
  _line('lstd', case.DEVELOPMENT, 0.02),
  _line('wis', case.DEVELOPMENT, 0.05),
  _line('dr', case.DEVELOPMENT, 0.01, answered=2),
  _line('lstd', case.HELD_OUT, 0.04),
  _line('wis', case.HELD_OUT, 0.03),
]


def test_the_least_error_of_the_development_half_is_advised():
  (advice,) = guide.advise(_LINES)
  assert advice.chosen == _LINES[0]  # dr refuses half of the cases
  assert advice.held_out == _LINES[3] and advice.best == _LINES[4]


def test_what_was_not_measured_is_not_claimed():
  (advice,) = guide.advise(_LINES[:1])
  assert advice.held_out is None and advice.best is None
  assert guide.advise([dataclasses.replace(_LINES[0], logs=1)]) == []
  assert (
    guide.advise([dataclasses.replace(_LINES[0], median_error=math.nan)]) == []
  )


def test_families_are_no_situations_but_hidden_states_are():
  family, hidden = (
    dataclasses.replace(_LINES[0], group=f'family {name}')
    for name in ('graph', 'graph_hidden')
  )
  assert [each.group for each in guide.advise([family, hidden])] == [
    'hidden state'
  ]


def test_stored_results_are_of_known_methods_and_both_halves():
  lines = guide.stored()
  assert {line.method for line in lines} <= set(agents.NAMES)
  assert {line.half for line in lines} == {case.DEVELOPMENT, case.HELD_OUT}
  assert guide.told(lines) == lines
  for line in lines:
    assert 0 <= line.answered <= line.logs
    assert math.isnan(line.coverage) or 0.0 <= line.coverage <= 1.0
