"""A log whose observations are not the whole state is told from one that is."""

import numpy as np
import pytest

import dfiv_ope
from dfiv_ope.evaluation import state_check
from dfiv_ope.ope import task as task_lib

_EPISODES, _LENGTH = 40, 25


def _task(columns):
  """A walk with a wind and a clock; some columns are observed."""
  generator = np.random.default_rng(3)
  place, wind = generator.normal(size=(2, _EPISODES))
  rows = []
  for step in range(_LENGTH):
    action = generator.integers(2, size=_EPISODES)
    after = 0.8 * place + 0.4 * (action - 0.5) + 0.5 * wind
    after = after + 0.1 * generator.normal(size=_EPISODES)
    new_wind = 0.95 * wind + 0.1 * generator.normal(size=_EPISODES)
    now, later = (
      np.stack([*each, np.full(_EPISODES, clock)], axis=1)
      for each, clock in (
        ((place, wind), 0.1 * step),
        ((after, new_wind), 0.1 * (step + 1)),
      )
    )
    rows.append((now, later, action, -(after**2)))
    place, wind = after, new_wind
  now, later, action, reward = (
    np.concatenate(np.stack(each, axis=1)) for each in zip(*rows, strict=True)
  )
  ends = np.arange(len(action)) % _LENGTH == _LENGTH - 1
  log = dfiv_ope.Log.from_arrays(
    now[:, columns],
    action,
    reward,
    np.zeros(len(ends), bool),
    ends,
    discount=0.9,
    next_observations=later[:, columns],
  )
  return task_lib.EvaluationTask(
    log, task_lib.find_policy('uniform', log).policy
  )


@pytest.mark.parametrize('columns', [[0, 1], [0, 1, 2]])
def test_a_whole_state_is_not_doubted_and_the_rounding_of_a_clock_is_none(
  columns,
):
  found = state_check.measure(_task(columns), np.arange(1_000))
  assert found['memory_share'] < 0.01


def test_a_hidden_wind_is_told():
  found = state_check.measure(_task([0]), np.arange(1_000))
  assert found['memory_share'] > 0.05
  assert found['memory_z'] > 4.0


def test_of_a_short_log_nothing_is_told():
  assert state_check.measure(_task([0]), np.arange(400)) == {}
