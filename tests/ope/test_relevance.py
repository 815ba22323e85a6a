"""Columns that can be left out: neither the policy nor the steps need them."""

import warnings

import numpy as np
import pytest
import tensorflow as tf

import dfiv_ope
from dfiv_ope.ope import relevance
from dfiv_ope.ope import task as task_lib


class Column:
  """Takes action 1 where a column is positive."""

  def __init__(self, column):
    self._column = column

  def action_probabilities(self, observation):
    return tf.one_hot(tf.cast(observation[:, self._column] > 0.0, tf.int32), 2)


def _log(*, helps=0.0, noise=0.0, episodes=60, length=25, **options):
  """A walk in column 0 beside a clock; the clock earns `helps` a step."""
  generator = np.random.default_rng(0)
  place, rows = generator.normal(size=episodes), []
  for step in range(length):
    action = generator.integers(0, 2, episodes)
    after = 0.8 * place + action - 0.5 + 0.1 * generator.normal(size=episodes)
    clock = np.full(episodes, step)
    rows.append(
      np.stack(
        [
          np.arange(episodes),
          place,
          clock,
          action,
          np.cos(place)
          + helps * clock / length
          + (noise * generator.normal(size=episodes)),
          after,
          clock + 1,
          np.full(episodes, step == length - 1),
        ],
        axis=1,
      )
    )
    place = after
  rows = np.stack(rows, axis=1).reshape(-1, 8)
  return dfiv_ope.Log.from_arrays(
    rows[:, 1:3],
    rows[:, 3].astype(int),
    rows[:, 4],
    np.zeros(len(rows), bool),
    rows[:, 7].astype(bool),
    discount=0.9,
    next_observations=rows[:, 5:7],
    episode_ids=rows[:, 0].astype(int),
    **options,
  )


def test_a_clock_that_changes_nothing_is_left_out():
  assert relevance.irrelevant(_log(), Column(0)) == (1,)


def test_a_clock_that_earns_something_stays():
  assert relevance.irrelevant(_log(helps=1.0), Column(0)) == ()


@pytest.mark.parametrize('sign', [-1.0, 1.0])
def test_a_clock_that_earns_less_than_chance_stays(sign, monkeypatch):
  log = _log(helps=sign, noise=2.0, episodes=120)
  assert relevance.irrelevant(log, Column(0)) == ()
  assert relevance.irrelevant(_log(noise=2.0, episodes=120), Column(0)) == (1,)
  # Trees alone do not see it.
  monkeypatch.setattr(relevance, '_COVARIANCE', np.inf)
  assert relevance.irrelevant(log, Column(0)) == (1,)


def test_a_column_that_the_policy_looks_at_stays():
  assert relevance.irrelevant(_log(), Column(1)) == ()


def test_a_column_that_one_of_several_policies_looks_at_stays():
  assert relevance.irrelevant(_log(), Column(0), Column(0)) == (1,)
  assert relevance.irrelevant(_log(), Column(0), Column(1)) == ()


def _beside(log_of, count, copies=False):
  """The log with further columns: noise, or the clock again."""
  plain = log_of.transitions
  generator = np.random.default_rng(1)
  if copies:
    more, later = (
      np.tile(rows[:, 1:], (1, count))
      for rows in (plain.observation, plain.next_observation)
    )
  else:
    more = generator.normal(size=(len(plain.reward), count))
    later = np.roll(more, -1, axis=0)
  ends = np.diff(log_of.episodes, append=-1) != 0
  return dfiv_ope.Log.from_arrays(
    np.concatenate([plain.observation, more], axis=1),
    plain.action,
    plain.reward,
    np.zeros(len(ends), bool),
    ends,
    discount=0.9,
    next_observations=np.concatenate([plain.next_observation, later], axis=1),
  )


def test_many_columns_of_noise_go_at_once(monkeypatch):
  log = _beside(_log(), 6)
  asked = []
  evidence = relevance._evidence
  monkeypatch.setattr(
    relevance,
    '_evidence',
    lambda *some: asked.append(some[2]) or evidence(*some),
  )
  assert relevance.irrelevant(log, Column(0)) == tuple(range(1, 8))
  assert len(asked) == 1


def test_of_two_clocks_that_earn_something_one_stays():
  log = _beside(_log(helps=1.0), 1, copies=True)
  assert len(relevance.irrelevant(log, Column(0))) <= 1


def test_a_short_log_keeps_all():
  assert relevance.irrelevant(_log(episodes=10), Column(0)) == ()


def test_categorical_columns_stay():
  log = _log(categorical=[1])
  assert relevance.irrelevant(log, Column(0)) == ()


def test_methods_do_not_see_what_is_left_out_and_the_note_says_so():
  task = task_lib.EvaluationTask(_log(), Column(0))
  assert task.problem.num_observations == 1
  assert task.problem.observations.raw_size == 2
  (note,) = [each for each in task.notes if each.kind == 'irrelevant']
  assert 'Observation observation[1] is left out' in note.sentence
  kept = task_lib.EvaluationTask(_log(), Column(0), dropped=())
  assert kept.problem.num_observations == 2
  assert not [each for each in kept.notes if each.kind == 'irrelevant']


def test_values_of_a_log_without_its_clock_do_not_depend_on_it():
  log = _log()
  result = dfiv_ope.evaluate(log, Column(0), methods='lstd', seeds=1)
  without = dfiv_ope.Log.from_arrays(
    log.transitions.observation[:, :1],
    log.transitions.action,
    log.transitions.reward,
    np.zeros(len(log), bool),
    np.diff(log.episodes, append=-1) != 0,
    discount=0.9,
    next_observations=log.transitions.next_observation[:, :1],
    episode_ids=log.episodes,
  )
  alone = dfiv_ope.evaluate(without, Column(0), methods='lstd', seeds=1)
  assert result.value == pytest.approx(alone.value, rel=1e-9)


def test_a_log_of_single_outcomes_warns_of_nothing():
  generator = np.random.default_rng(0)
  contexts = generator.normal(size=(1_200, 3))
  log = dfiv_ope.Log.bandit(
    contexts, generator.integers(2, size=1_200), contexts[:, 0]
  )
  with warnings.catch_warnings():
    warnings.simplefilter('error')
    assert relevance.irrelevant(log, Column(0)) == (1, 2)
