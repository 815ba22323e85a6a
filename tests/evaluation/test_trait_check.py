"""A trait that nobody recorded, in a log whose states are numbers."""

import numpy as np
import pytest

import dfiv_ope
from dfiv_ope.agents.entries import lstd
from dfiv_ope.evaluation import trait_check
from dfiv_ope.ope import task as task_lib

_EPISODES, _LENGTH = 150, 10


def _log(*, moves):
  """A trait pays where action 1 is taken, and moves it."""
  generator = np.random.default_rng(2)
  rows = _EPISODES * _LENGTH
  trait = np.repeat(generator.standard_normal(_EPISODES), _LENGTH)
  action = (
    generator.random(rows) < 1.0 / (1.0 + np.exp(-moves * trait))
  ).astype(int)
  state = generator.standard_normal((rows, 1))
  log = dfiv_ope.Log.from_arrays(
    state,
    action,
    state[:, 0] + action * trait,
    np.tile(np.arange(_LENGTH) == _LENGTH - 1, _EPISODES),
    discount=1.0,
    next_observations=np.roll(state, -1, axis=0),
  )
  return log, action, trait


def _always(observations):
  return np.tile([0.0, 1.0], (len(observations), 1))


@pytest.mark.parametrize('moves', [1.5, 0.0])
def test_what_a_trait_hides_is_found_where_it_moves_actions(moves):
  log, action, trait = _log(moves=moves)
  found = trait_check.measure(
    task_lib.EvaluationTask(log, task_lib.find_policy(_always, log).policy),
    _LENGTH * action / np.sum(action),
    np.arange(len(action)),
    lstd.Config().settings,
  )
  bias = _LENGTH * (np.mean(trait[action == 1]) - np.mean(trait))
  if moves:
    assert bias > 4.0
    assert found['trait_value'] == pytest.approx(-bias, rel=0.35)
    assert -found['trait_value'] > 5.0 * found['trait_error']
  else:
    assert abs(found['trait_value']) < 2.0 * found['trait_error']
