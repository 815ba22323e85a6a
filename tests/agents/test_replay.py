"""n-step returns by hand, and a replay whose draws follow from a seed."""

import numpy as np
import pytest

from dfiv_ope import loopback, types
from dfiv_ope.agents import replay
from dfiv_ope.policies import rollout


def _episode(last_discount=0.0):
  return rollout.Episode(
    observations=np.arange(5, dtype=np.float32)[:, None],
    actions=np.array([0, 1, 2, 0], np.int32),
    rewards=np.array([1.0, 2.0, 4.0, 8.0], np.float32),
    discounts=np.array([1.0, 1.0, 1.0, last_discount], np.float32),
  )


def test_one_step_is_the_plain_transition():
  rows = replay.n_step(_episode(), steps=1, discount=0.5)
  np.testing.assert_array_equal(rows.reward, [1.0, 2.0, 4.0, 8.0])
  np.testing.assert_array_equal(rows.discount, [0.5, 0.5, 0.5, 0.0])
  np.testing.assert_array_equal(rows.next_observation[:, 0], [1, 2, 3, 4])


def test_two_steps_by_hand():
  rows = replay.n_step(_episode(), steps=2, discount=0.5)
  np.testing.assert_array_equal(rows.reward, [2.0, 4.0, 8.0, 8.0])
  np.testing.assert_array_equal(rows.discount, [0.25, 0.25, 0.0, 0.0])
  np.testing.assert_array_equal(rows.next_observation[:, 0], [2, 3, 4, 4])


def test_a_truncated_episode_bootstraps_at_its_end():
  rows = replay.n_step(_episode(last_discount=1.0), steps=3, discount=0.5)
  np.testing.assert_array_equal(rows.discount, [0.125, 0.125, 0.25, 0.5])
  np.testing.assert_array_equal(rows.next_observation[:, 0], [3, 4, 4, 4])


def test_more_steps_than_the_episode_has_give_its_whole_return():
  rows = replay.n_step(_episode(), steps=10, discount=0.5)
  np.testing.assert_array_equal(rows.reward[0], 1.0 + 1.0 + 1.0 + 1.0)
  np.testing.assert_array_equal(rows.discount, np.zeros(4))


def _rows(start, count):
  numbers = np.arange(start, start + count)
  return types.Transition(
    observation=numbers[:, None].astype(np.float32),
    action=numbers.astype(np.int32),
    reward=numbers.astype(np.float32),
    discount=np.ones(count, np.float32),
    next_observation=numbers[:, None].astype(np.float32),
  )


def _replay(tmp_path, name, **kwargs):
  return replay.Replay(
    num_observations=1,
    block=4,
    uses=3,
    window=2.0,
    directory=tmp_path / name,
    **kwargs,
  )


def _fill(buffer):
  for time in range(3):
    scheduled = buffer.add(
      _rows(100 * time, 18),
      time=float(time),
      generator=np.random.default_rng(time),
    )
    assert scheduled == 4 * 3  # four blocks; two rows are left over


def test_every_block_is_used_as_often_as_asked(tmp_path):
  buffer = _replay(tmp_path, 'one')
  _fill(buffer)
  actions = buffer.sample(36).action
  buffer.close()
  _, counts = np.unique(actions, return_counts=True)
  np.testing.assert_array_equal(counts, [3] * 48)


def test_same_seed_same_draws_and_old_blocks_before_new(tmp_path):
  draws = []
  for name in ('one', 'two'):
    buffer = _replay(tmp_path, name)
    _fill(buffer)
    draws.append(buffer.sample(36).action)
    buffer.close()
  np.testing.assert_array_equal(draws[0], draws[1])
  assert np.all(draws[0][:4] < 100)  # nothing added at time 2 comes first
  assert np.all(draws[0][-4:] >= 100)


def test_a_restored_replay_goes_on_with_the_same_draws(tmp_path):
  buffer = _replay(tmp_path, 'one')
  _fill(buffer)
  buffer.sample(10)
  buffer.save(tmp_path / 'saved')
  rest = buffer.sample(26).action
  buffer.close()
  restored = _replay(tmp_path, 'two', restore_from=tmp_path / 'saved')
  np.testing.assert_array_equal(restored.sample(26).action, rest)
  restored.close()


def test_saving_twice_keeps_both(tmp_path):
  buffer = _replay(tmp_path, 'one')
  _fill(buffer)
  buffer.save(tmp_path / 'first')
  buffer.save(tmp_path / 'second')
  buffer.close()
  assert len(list((tmp_path / 'first').glob('*/chunks.tfrecord'))) == 1
  with pytest.raises(FileExistsError):
    (tmp_path / 'second').mkdir()


def test_a_replay_is_reached_from_this_machine_only(tmp_path, monkeypatch):
  confined = []
  confine = loopback.confine
  monkeypatch.setattr(
    loopback, 'confine', lambda port: confined.append(confine(port))
  )
  _replay(tmp_path, 'one').close()
  assert len(confined) == 1
