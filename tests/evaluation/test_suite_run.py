"""A method on a case: its estimate, interval and ranking, beside the truth."""

import numpy as np
import pytest

from dfiv_ope import agents
from dfiv_ope.cases import suite
from dfiv_ope.evaluation import runs, suite_run
from dfiv_ope.results import problems, rows


def _case(name='graph-short', ranked=False):
  return problems.SuiteCase(
    case=name, log=3, cases=suite.VERSION, seeds=1, level=0.95, ranked=ranked
  )


def _run(method, **case):
  return suite_run.run(
    _case(**case), method, agents.ENTRIES[method].configs['default']
  )


def test_a_row_has_the_estimate_and_the_truth():
  found = _run('wis')
  made = suite.CASES['graph-short'].make(3)
  metrics = found['metrics']
  assert metrics['truth'] == made.truth and metrics['truth_error'] == 0.0
  assert metrics['rows'] == len(made.log) == 1_024
  assert metrics['log_return'] == made.log.average_return.mean
  assert metrics['step_overlap'] == made.overlap
  expected = runs.Evaluator(made.task).run(
    'wis', agents.ENTRIES['wis'].configs['default'], seed=0
  )
  assert metrics['estimate'] == expected.metrics['estimate']
  assert metrics['low'] < metrics['estimate'] < metrics['high']
  assert 'spearman' not in metrics


@pytest.mark.parametrize('method', ['lstd', 'wis'])
def test_further_policies_are_ranked(method):
  metrics = _run(method, ranked=True)['metrics']
  # The five policies lie 20 % of the range and several errors apart.
  assert metrics['spearman'] == pytest.approx(1.0)
  assert metrics['regret'] == 0.0


def test_what_a_method_cannot_answer_is_a_refusal():
  found = _run('wis', name='toy_mountain_car-cut')
  assert found['outcome'] == rows.REFUSED
  assert 'metrics' not in found and found['reason']


def test_ranks_and_regret_are_the_hand_worked_ones():
  truths = np.array([1.0, 2.0, 3.0, 5.0])
  found = suite_run.ranked(np.array([0.0, 1.0, 9.0, 4.0]), truths)
  # One pair of neighbours is swapped: 1 - 6 x 2 / (4 x 15).
  assert found['spearman'] == pytest.approx(0.8)
  assert found['regret'] == pytest.approx(0.5)
  some = suite_run.ranked(np.array([np.nan, 3.0, 2.0, 1.0]), truths)
  assert some == pytest.approx({'spearman': -1.0, 'regret': 0.75})
  assert suite_run.ranked(np.array([np.nan, np.nan, 2.0, 1.0]), truths) == {}
  assert suite_run.ranked(np.ones(4), truths) == {}
