"""Known values, and start states that are given."""

import math
import re

import numpy as np
import pytest

import dfiv_ope

_SMALL = {'lstd': {'random_features': 40}}


def _right(observations):
  return (observations[:, 0] > 0.0).astype(int)


def _evaluate(log, **changes):
  return dfiv_ope.evaluate(
    log, _right, **{'methods': 'lstd', 'seeds': 1, 'configs': _SMALL, **changes}
  )


def test_the_value_is_the_mean_over_the_given_states(log, truth):
  # The first reward is |s|, and what follows does not depend on s.
  found = _evaluate(log, initial_observations=[[0.9, 0.0], [-0.5, 0.3]])
  follows = truth - 0.5
  assert found.value == pytest.approx(0.7 + follows, rel=0.03)
  low, high = found.interval()
  assert low < 0.7 + follows < high


def test_the_logs_own_start_states_give_the_same_estimate(log):
  own = _evaluate(log)
  given = _evaluate(log, initial_observations=log.initial_observations)
  assert given.value == pytest.approx(own.value, rel=1e-12)
  assert given.interval() != own.interval()  # Given states are no chance.
  assert given.task.log.digest != own.task.log.digest


def test_policies_are_compared_from_the_given_states(log, policies):
  starts = np.array([[0.9, 0.0], [0.2, 0.2], [-0.1, 0.4]])
  together = dfiv_ope.compare(
    log,
    policies,
    seeds=1,
    configs=_SMALL,
    initial_observations=starts,
    truths={'right': 2.0, 'wrong': -2.0},
  )
  alone = _evaluate(log, initial_observations=starts)
  assert together['right'].value == pytest.approx(alone.value, rel=1e-9)
  assert together['right'].interval() == pytest.approx(
    alone.interval(), rel=1e-6
  )
  assert together.rank_correlation == pytest.approx(1.0)
  assert together.regret() == 0.0 and together.regret(2) == 0.0
  assert together.to_frame().truth['wrong'] == -2.0
  assert math.isnan(together.to_frame().truth['uniform'])
  with pytest.raises(ValueError, match='k from 1 to 2'):
    together.regret(3)


def test_logs_may_have_start_states_of_their_own(log):
  steps = log.transitions
  made = dfiv_ope.Log.from_arrays(
    steps.observation,
    steps.action,
    steps.reward,
    steps.discount == 0.0,
    discount=0.8,
    initial_observations=[[0.9, 0.0]],
  )
  np.testing.assert_allclose(made.start_states, [[0.9, 0.0]])
  assert made.num_episodes == log.num_episodes


@pytest.mark.parametrize(
  'states, words',
  [
    ([[1.0, 2.0, 3.0]], 'shape [M, 2], as the observations of the log are'),
    ([1.0, 2.0], 'shape [M, 2]'),
    (np.zeros((0, 2)), 'shape [M, 2]'),
    ([['a', 'b']], 'should be numbers'),
    ([[0.0, 1.0], [math.nan, 1.0]], 'Start state 1 has nan in column 0'),
  ],
)
def test_states_that_do_not_fit_are_refused(log, states, words):
  with pytest.raises(ValueError, match=re.escape(words)):
    log.starting_from(states)


def test_what_weighs_whole_episodes_refuses_other_start_states(log):
  found = _evaluate(
    log, methods='wis', configs=None, initial_observations=[[0.9, 0.0]]
  )
  assert math.isnan(found.value)
  assert (
    'wis weighs whole episodes from their own start states, but other '
    'start states were given' in ' '.join(found.warnings)
  )


def test_a_known_value_is_shown_with_errors(log, truth):
  found = _evaluate(log, truth=truth)
  frame = found.to_frame()
  assert frame.truth['lstd'] == truth
  assert frame.error['lstd'] == pytest.approx(abs(found.value - truth))
  row = found.rows()[-1]
  assert row.problem.truth == truth
  assert row.metrics['relative_error'] == pytest.approx(
    abs(found.value - truth) / truth
  )
  assert 'true value' in found._repr_html_()


@pytest.mark.parametrize('value', [math.nan, 'much', True])
def test_a_known_value_is_a_number(log, value):
  with pytest.raises(ValueError, match='truth must be a finite number'):
    _evaluate(log, truth=value)


def test_known_values_are_of_the_policies(log, policies):
  with pytest.raises(ValueError, match='truths has left, which is not among'):
    dfiv_ope.compare(log, policies, truths={'left': 1.0})
