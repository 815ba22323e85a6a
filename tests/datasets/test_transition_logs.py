"""Transitions without episodes: pieces that chain, by hand."""

import math
import re

import numpy as np
import pandas as pd
import pytest

import dfiv_ope
from dfiv_ope.datasets import log as log_lib
from dfiv_ope.datasets import logs, transition_logs
from dfiv_ope.datasets import steps as steps_lib

# Rows 0 and 1 chain, row 2 ends an episode, row 3 starts where it ended.
_NOW = np.array([[0.0], [1.0], [5.0], [7.0], [9.0]])
_NEXT = np.array([[1.0], [2.0], [7.0], [8.0], [4.0]])
_DONE = np.array([False, False, True, False, True])


def test_rows_chain_where_the_next_observation_is_the_one_that_follows():
  np.testing.assert_array_equal(
    transition_logs.piece_ends([_NOW], [_NEXT], _DONE),
    [False, True, True, True, True],
  )


def test_pieces_stand_for_episodes():
  log = dfiv_ope.Log.from_transitions(
    _NOW,
    [0, 1, 0, 1, 1],
    [1.0, 2.0, 3.0, 4.0, 5.0],
    _NEXT,
    _DONE,
    initial_observations=[[0.0], [5.0]],
    discount=0.9,
  )
  np.testing.assert_array_equal(log.episodes, [0, 0, 1, 2, 3])
  np.testing.assert_array_equal(log.transitions.observation, _NOW)
  np.testing.assert_array_equal(
    log.transitions.next_observation[~_DONE], _NEXT[~_DONE]
  )
  np.testing.assert_array_equal(log.transitions.discount, [1, 1, 0, 1, 0])
  assert log.truncated == 2
  np.testing.assert_array_equal(log.start_states, [[0.0], [5.0]])
  assert 'intervals resample pieces' in log.notes[0].sentence


def test_start_states_may_be_marked_rows():
  log = dfiv_ope.Log.from_transitions(
    _NOW,
    [0, 1, 0, 1, 1],
    np.ones(5),
    _NEXT,
    _DONE,
    initial_observations=np.array([True, False, True, False, False]),
    discount=0.9,
  )
  np.testing.assert_array_equal(log.start_states, [[0.0], [5.0]])


def _chain(rows=3_000, seed=0):
  """Returns shuffled transitions of s' = s / 2 + a + noise, r = s."""
  generator = np.random.default_rng(seed)
  states = generator.uniform(-1.0, 3.0, (rows, 1))
  actions = generator.integers(2, size=rows)
  following = (
    0.5 * states + actions[:, None] + generator.normal(0.0, 0.1, (rows, 1))
  )
  return states, actions, states[:, 0], following


def test_the_value_is_that_of_the_chain():
  states, actions, rewards, following = _chain()
  log = dfiv_ope.Log.from_transitions(
    states,
    actions,
    rewards,
    following,
    np.zeros(len(actions), bool),
    initial_observations=[[1.0]],
    discount=0.8,
  )
  found = dfiv_ope.evaluate(
    log,
    lambda s: np.ones(len(s), int),
    methods=('lstd', 'wis'),
    seeds=1,
    configs={'lstd': {'random_features': 40}},
  )
  # s_t = 2 - 2^-t from 1, with action 1: 2 / 0.2 - 1 / (1 - 0.4).
  assert found.value == pytest.approx(10.0 - 1.0 / 0.6, rel=0.01)
  said = ' '.join(found.warnings)
  assert (
    'wis weighs whole episodes from their own start states, but the log '
    'is of transitions without episodes' in said
  )
  assert math.isnan(found.estimates['wis'].value)
  assert 'transitions without episodes: intervals resample pieces' in said


@pytest.mark.parametrize(
  'changes, words',
  [
    ({'next_observations': _NEXT[:, [0, 0]]}, 'They must be the same'),
    ({'terminals': [0, 0, 2, 0, 1]}, 'should be true or false'),
    ({'horizon': 3}, 'Transitions without episodes have no horizon'),
    ({'initial_observations': [[math.nan]]}, 'Start state 0 has nan'),
  ],
)
def test_arrays_that_do_not_fit_are_refused(changes, words):
  arrays = {
    'observations': _NOW,
    'actions': [0, 1, 0, 1, 1],
    'rewards': np.ones(5),
    'next_observations': _NEXT,
    'terminals': _DONE,
    'initial_observations': [[0.0]],
    'discount': 0.9,
  }
  with pytest.raises(ValueError, match=re.escape(words)):
    dfiv_ope.Log.from_transitions(**{**arrays, **changes})


def _frame(**changes):
  return pd.DataFrame(
    {
      'obs_x': _NOW[:, 0],
      'next_obs_x': _NEXT[:, 0],
      'action': [0, 1, 0, 1, 1],
      'reward': np.arange(5.0),
      'terminated': _DONE.astype(int),
      **changes,
    }
  )


def test_files_are_read_as_arrays_are(tmp_path):
  _frame().to_csv(tmp_path / 'a.csv', index=False)
  reader = logs.open_mapped(tmp_path / 'a.csv', transitions=True)
  steps = steps_lib.concatenate(
    block.steps for block in reader.blocks(progress=lambda _: None)
  )
  same = log_lib.Log.from_transitions(
    _NOW,
    [0, 1, 0, 1, 1],
    np.arange(5.0),
    _NEXT,
    _DONE,
    initial_observations=[[0.0]],
    discount=0.9,
  )
  for found, wanted in zip(steps, same.steps, strict=True):
    np.testing.assert_array_equal(found, wanted)
  assert reader.mapping['transitions'] is True
  assert 'intervals resample pieces' in reader.notes()[0]


@pytest.mark.parametrize(
  'frame, words',
  [
    (_frame().drop(columns='next_obs_x'), "no column 'next_obs_x'"),
    (_frame().drop(columns='terminated'), "no column 'terminated'"),
    (_frame(terminated=['no', '0', '1', '0', '1']), "has 'no' in terminated"),
    (_frame(episode=0), 'so its rows belong to episodes'),
  ],
)
def test_files_that_are_none_are_refused(tmp_path, frame, words):
  frame.to_csv(tmp_path / 'a.csv', index=False)
  with pytest.raises(ValueError, match=re.escape(words)):
    list(
      logs.open_mapped(tmp_path / 'a.csv', transitions=True).blocks(
        progress=lambda _: None
      )
    )


def test_what_only_episodes_have_is_refused(tmp_path):
  _frame().to_csv(tmp_path / 'a.csv', index=False)
  with pytest.raises(ValueError, match='horizon cannot go with them'):
    logs.open_mapped(tmp_path / 'a.csv', transitions=True, horizon=3)
