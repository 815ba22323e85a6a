"""Policies that are known in the states of a log alone."""

import dataclasses

import numpy as np
import pytest

from dfiv_ope import agents, types
from dfiv_ope.evaluation import result_rows, runs
from dfiv_ope.ope import elsewhere, episodes, propensities
from dfiv_ope.ope import task as task_lib


def _task(*, written_down):
  """Walks on a line; the policy may be one that looks states up."""
  generator = np.random.default_rng(0)
  count, steps = 30, 6
  states = np.cumsum(generator.normal(size=(count, steps + 1, 1)), axis=1)
  action = generator.integers(2, size=count * steps).astype(np.int32)
  before, after = (
    states[:, part].reshape(-1, 1) for part in (slice(-1), slice(1, None))
  )
  log = episodes.Episodes(
    transitions=types.Transition(
      before,
      action,
      before[:, 0] + action,
      np.ones(len(action), np.float32),
      after,
    ),
    episodes=np.repeat(np.arange(count), steps),
    initial_observations=states[:, 0],
    num_actions=2,
    discount=0.9,
    truncated=count,
  )
  known = {float(each): index % 2 for index, each in enumerate(states.ravel())}

  def look_up(observations):
    return np.eye(2)[[known[float(each)] for each in observations[:, 0]]]

  def anywhere(observations):
    return np.eye(2)[(observations[:, 0] > 0.0).astype(int)]

  found = task_lib.find_policy(look_up if written_down else anywhere, log)
  return task_lib.EvaluationTask(log, found.policy)


def _run(task, name):
  entry = agents.ENTRIES[name]
  config = dataclasses.replace(entry.configs['default'], **entry.tiny)
  return runs.Evaluator(task, checked=False).run(name, config, seed=0)


@pytest.mark.parametrize('name', ['nearest', 'deepiv'])
def test_methods_that_leave_the_log_refuse_them_in_a_sentence(name):
  found = _run(_task(written_down=True), name)
  assert found.refused
  assert result_rows.outcome(found) == 'refused'
  assert found.failure.startswith(
    f'{name} asks the target policy in states that the log does not have, and '
    'there it gives no answer ('
  )
  assert 'KeyError' in found.failure
  assert found.failure.endswith(
    'Use lstd, kiv, cme, fqe or dfiv, which ask it in states of the log alone.'
  )


@pytest.mark.parametrize('name', ['lstd', 'kiv', 'cme', 'fqe', 'dfiv'])
def test_the_others_answer(name):
  found = _run(_task(written_down=True), name)
  assert not found.failure
  assert np.isfinite(found.metrics['estimate'])


def test_a_policy_of_any_state_is_not_refused():
  task = _task(written_down=False)
  elsewhere.require(task, 'deepiv')
  assert not _run(task, 'nearest').failure
  with pytest.raises(propensities.UnanswerableError, match='deepiv asks'):
    elsewhere.require(_task(written_down=True), 'deepiv')


def test_states_of_names_are_those_of_the_log():
  task = _task(written_down=False)
  names = np.arange(180.0)[:, None] % 4
  log = dataclasses.replace(
    task.log,
    transitions=task.log.transitions._replace(
      observation=names, next_observation=names
    ),
    categorical=(0,),
  )

  def look_up(observations):
    return np.eye(2)[
      [{0: 1, 1: 0, 2: 0, 3: 1}[float(x)] for x in observations[:, 0]]
    ]

  found = task_lib.find_policy(look_up, log)
  elsewhere.require(task_lib.EvaluationTask(log, found.policy), 'deepiv')
