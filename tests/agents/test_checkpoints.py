"""Checkpoints: whole or not there, of this run or none."""

import pathlib

import pytest
import tensorflow as tf

from dfiv_ope.agents import checkpoints


class _Learner:
  def __init__(self, value=0.0):
    self.value = tf.Variable(value)

  @property
  def state(self):
    return {'value': self.value}


def test_the_latest_is_kept_and_found(tmp_path):
  series = checkpoints.Series(tmp_path / 'run', {'seed': (1, 2)})
  assert series.latest is None and series.state == {}
  for number in (9, 10):
    series.save(
      _Learner(float(number)), number=number, state={'number': number}
    )
  assert [path.name for path in (tmp_path / 'run').iterdir()] == [
    'checkpoint-0000000010'
  ]
  again = checkpoints.Series(tmp_path / 'run', {'seed': (1, 2)})
  assert again.state == {'number': 10}
  learner = _Learner()
  again.restore(learner)
  assert float(learner.value) == 10.0


def test_what_a_kill_left_half_written_is_not_taken_up(tmp_path):
  series = checkpoints.Series(tmp_path / 'run', {'seed': 1})
  series.save(_Learner(1.0), number=1, state={})

  def killed(path: pathlib.Path) -> None:
    (path / 'half').touch()
    raise KeyboardInterrupt

  with pytest.raises(KeyboardInterrupt):
    series.save(_Learner(2.0), number=2, state={}, fill=killed)
  again = checkpoints.Series(tmp_path / 'run', {'seed': 1})
  learner = _Learner()
  again.restore(learner)
  assert float(learner.value) == 1.0
  again.save(_Learner(2.0), number=2, state={})
  assert sorted(path.name for path in (tmp_path / 'run').iterdir()) == [
    'checkpoint-0000000002'
  ]


def test_another_run_starts_anew(tmp_path):
  checkpoints.Series(tmp_path / 'run', {'seed': 1}).save(
    _Learner(1.0), number=1, state={}
  )
  other = checkpoints.Series(tmp_path / 'run', {'seed': 2})
  assert other.latest is None
  assert list((tmp_path / 'run').iterdir()) == []


def test_nothing_is_left_when_it_is_removed(tmp_path):
  series = checkpoints.Series(tmp_path / 'run', {})
  series.save(_Learner(), number=1, state={})
  series.remove()
  assert not (tmp_path / 'run').exists()
