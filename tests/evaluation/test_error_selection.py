"""The choice between estimates by their estimated errors."""

import pytest

from dfiv_ope.evaluation import error_selection
from dfiv_ope.results import problems
from dfiv_ope.results import rows as rows_lib


def _row(method, estimate, error, **metrics):
  """A row whose resampled changes have a standard deviation of `error`."""
  return rows_lib.Row(
    problem=problems.SuiteCase(
      case='graph-long', log=0, cases=1, seeds=1, level=0.95, ranked=False
    ),
    method=method,
    config={'type': 'Config'},
    seed=0,
    version=1,
    versions={'dfiv_ope': '0'},
    metrics={'estimate': estimate, **metrics},
    resamples=tuple(
      error * sign * 3.0**0.5 / 2.0
      for sign in ((1, 1, -1, -1) if method == 'lstd' else (1, -1, 1, -1))
    ),
  )


def _judged(*rows):
  found = error_selection.judge(rows)
  (chosen,) = [row.method for row in found if row.metrics['chosen']]
  return chosen, [row.metrics.get('estimated_error') for row in found]


def test_of_estimates_that_agree_the_one_of_least_variance_is_chosen():
  chosen, errors = _judged(_row('lstd', 1.0, 2.0), _row('nearest', 1.5, 1.0))
  assert chosen == 'nearest'
  assert errors == pytest.approx([2.0, 1.0])


def test_a_difference_to_doubly_robust_is_a_bias():
  # They are 10 apart, of which 1.5 x 5^0.5 is chance.
  chosen, errors = _judged(
    _row('lstd', 11.0, 1.0),
    _row('dr', 1.0, 2.0, estimated_propensities=0.0, effective_episodes=30.0),
  )
  assert chosen == 'dr'
  assert errors == pytest.approx(
    [(1.0 + (10.0 - 1.5 * 5.0**0.5) ** 2) ** 0.5, 2.0]
  )


def test_guessed_probabilities_are_not_taken_to_be_right():
  chosen, _ = _judged(
    _row('lstd', 11.0, 1.0),
    _row('dr', 1.0, 2.0, estimated_propensities=1.0, effective_episodes=30.0),
  )
  assert chosen == 'lstd'


def test_weights_of_few_episodes_are_out():
  chosen, errors = _judged(
    _row('lstd', 1.0, 2.0), _row('wis', 1.0, 0.1, effective_episodes=5.0)
  )
  assert chosen == 'lstd' and errors[1] is None


def test_where_none_can_be_chosen_a_sentence_says_what_to_do():
  with pytest.raises(ValueError, match='Name others'):
    error_selection.judge([_row('wis', 1.0, 0.1, effective_episodes=5.0)])
