"""Episodes come in the order of their index, whatever their length."""

import numpy as np
import pytest

from dfiv_ope import testing
from dfiv_ope.policies import finite, rollout


def _corridor(seed):
  return testing.Corridor(seed=seed)


def _episodes(copies, **size):
  actor = finite.SamplingActor(finite.Uniform(num_actions=3), copies=copies)
  return list(rollout.episodes(_corridor, actor, seed=4, copies=copies, **size))


def test_the_episodes_do_not_depend_on_how_many_run_side_by_side():
  alone, together = (_episodes(copies, num_episodes=40) for copies in (1, 16))
  assert len(alone) == len(together) == 40
  for one, other in zip(alone, together, strict=True):
    for x, y in zip(one, other, strict=True):
      np.testing.assert_array_equal(x, y)


def test_asking_for_transitions_yields_the_first_episodes_that_reach_them():
  many = _episodes(8, num_episodes=60)
  lengths = [len(episode.actions) for episode in many]
  needed = int(np.searchsorted(np.cumsum(lengths), 100)) + 1
  few = _episodes(8, num_transitions=100)
  assert [len(episode.actions) for episode in few] == lengths[:needed]


def test_short_episodes_are_not_favoured():
  """Corridors have lengths 1..9 with mean 5."""
  lengths = [len(e.actions) for e in _episodes(64, num_transitions=5_000)]
  spread = np.sqrt(80 / 12 / len(lengths))
  np.testing.assert_allclose(np.mean(lengths), 5.0, atol=4 * spread)


def test_an_episode_holds_what_the_environment_said():
  episode = next(iter(_episodes(2, num_episodes=1)))
  length = len(episode.actions)
  np.testing.assert_array_equal(
    episode.observations[:, 0], np.arange(length + 1)
  )
  np.testing.assert_array_equal(episode.rewards, episode.actions)
  np.testing.assert_array_equal(episode.discounts, [1.0] * (length - 1) + [0.0])


def test_the_discounted_return_weighs_by_powers():
  episode = rollout.Episode(
    np.zeros([4, 1]),
    np.zeros(3, np.int32),
    np.array([1.0, 2.0, 4.0], np.float32),
    np.ones(3, np.float32),
  )
  assert episode.discounted_return(0.5) == 1.0 + 1.0 + 1.0


@pytest.mark.parametrize(
  'size', [{}, {'num_episodes': 1, 'num_transitions': 1}]
)
def test_exactly_one_size_must_be_given(size):
  with pytest.raises(ValueError, match='either num_episodes or'):
    _episodes(1, **size)


def test_a_size_of_zero_is_refused():
  with pytest.raises(ValueError, match='got 0'):
    _episodes(1, num_episodes=0)


def test_streams_of_two_purposes_differ():
  assert rollout.stream(0, 'log') != rollout.stream(0, 'truth')
  assert rollout.stream(0, 'log') == rollout.stream(0, 'log')
