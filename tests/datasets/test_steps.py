"""Episodes to rows to transitions, by hand."""

import numpy as np

from dfiv_ope.datasets import steps
from dfiv_ope.policies import rollout


def _episode(start, last_discount):
  return rollout.Episode(
    observations=np.array([[start], [start + 1], [start + 2]], np.float32),
    actions=np.array([2, 1], np.int32),
    rewards=np.array([0.5, -0.5], np.float32),
    discounts=np.array([1.0, last_discount], np.float32),
  )


def _rows():
  return steps.concatenate(
    [
      steps.from_episode(_episode(0, last_discount=0.0)),
      steps.from_episode(_episode(10, last_discount=1.0)),
    ]
  )


def test_an_episode_of_two_transitions_has_three_rows():
  rows = _rows()
  np.testing.assert_array_equal(rows.action, [2, 1, 0, 2, 1, 0])
  np.testing.assert_array_equal(rows.is_first, [1, 0, 0, 1, 0, 0])
  np.testing.assert_array_equal(rows.is_last, [0, 0, 1, 0, 0, 1])


def test_termination_and_truncation_are_told_apart():
  np.testing.assert_array_equal(_rows().is_terminal, [0, 0, 1, 0, 0, 0])


def test_transitions_do_not_cross_episodes():
  rows = steps.transitions(_rows())
  np.testing.assert_array_equal(rows.observation[:, 0], [0, 1, 10, 11])
  np.testing.assert_array_equal(rows.next_observation[:, 0], [1, 2, 11, 12])
  np.testing.assert_array_equal(rows.action, [2, 1, 2, 1])
  np.testing.assert_array_equal(rows.reward, [0.5, -0.5, 0.5, -0.5])
  np.testing.assert_array_equal(rows.discount, [1.0, 0.0, 1.0, 1.0])


def _digest(*blocks):
  digest = steps.Digest()
  for block in blocks:
    digest.update(block)
  return digest.hexdigest()


def test_the_digest_sees_every_field():
  rows = _rows()
  same = _digest(rows)
  assert _digest(_rows()) == same
  for name in steps.Steps._fields:
    array = getattr(rows, name).copy()
    array.flat[1] = ~array.flat[1] if array.dtype == bool else 7
    assert _digest(rows._replace(**{name: array})) != same, name
