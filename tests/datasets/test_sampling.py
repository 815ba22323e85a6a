"""Both samplers draw all transitions, and only those."""

import numpy as np
import pytest
import tensorflow as tf

from dfiv_ope.agents import memory
from dfiv_ope.datasets import reading, sampling, serving


def _rows(transition):
  """Transitions as a set of tuples."""
  table = np.concatenate(
    [
      transition.observation,
      transition.next_observation,
      np.stack(
        [transition.action, transition.reward, transition.discount], axis=1
      ),
    ],
    axis=1,
  )
  return set(map(tuple, table))


def _draw(sampler, batches):
  @tf.function
  def draw():
    return sampler.sample()

  return [draw() for _ in range(batches)]


def test_memory_repeats_itself_by_seed(written):
  transitions = reading.open_dataset(written).transitions
  one, two, other = (
    _draw(memory.InMemory(transitions, batch_size=16, seed=seed), 3)
    for seed in (1, 1, 2)
  )
  np.testing.assert_array_equal(
    [x.observation for x in one], [x.observation for x in two]
  )
  assert not np.array_equal(
    [x.observation for x in one], [x.observation for x in other]
  )


def test_memory_draws_uniformly(written):
  transitions = reading.open_dataset(written).transitions
  few = type(transitions)(*(x[:4] for x in transitions))
  few = few._replace(reward=tf.constant([0.0, 1.0, 2.0, 3.0]))
  sampler = memory.InMemory(few, batch_size=4_000, seed=0)
  counts = np.bincount(sampler.sample().reward.numpy().astype(int))
  # Standard deviation of a count is sqrt(4000 * 3/16) = 27.
  np.testing.assert_allclose(counts, 1_000, atol=4 * 27)


def test_a_saved_sampler_goes_on_with_the_same_draws(written, tmp_path):
  transitions = reading.open_dataset(written).transitions
  sampler = memory.InMemory(transitions, batch_size=8, seed=0)
  sampler.sample()
  path = tf.train.Checkpoint(sampler=sampler.sampler).write(
    str(tmp_path / 'state')
  )
  expected = sampler.sample().observation
  other = memory.InMemory(transitions, batch_size=8, seed=99)
  tf.train.Checkpoint(sampler=other.sampler).read(path)
  np.testing.assert_array_equal(other.sample().observation, expected)


def test_parts_are_all_rows_in_order_in_an_even_number():
  for count in (2, 3, 5000, 20_000):
    sampler = memory.InMemory(tf.range(count), batch_size=1, seed=0)
    parts = list(sampler.parts())
    assert len(parts) % 2 == 0
    assert max(map(len, parts)) <= 4096
    np.testing.assert_array_equal(np.concatenate(parts), np.arange(count))


def test_members_that_are_missing_stay_so():
  sampler = memory.InMemory((tf.range(9), None), batch_size=4, seed=0)
  drawn, missing = sampler.sample()
  assert drawn.shape == (4,) and missing is None
  assert [part[1] for part in sampler.parts()] == [None, None]


def test_a_batch_of_none_is_refused(written):
  transitions = reading.open_dataset(written).transitions
  with pytest.raises(ValueError, match='batch_size must be at least 1'):
    memory.InMemory(transitions, batch_size=0, seed=0)


def test_a_stream_draws_all_transitions_and_only_those(written):
  server = serving.restore(written, num_observations=2)
  sampler = sampling.Streaming(
    f'localhost:{server.port}', batch_size=500, shuffle_buffer=2_000
  )
  drawn = set().union(*(_rows(batch) for batch in _draw(sampler, 60)))
  server.stop()
  assert drawn == _rows(reading.open_dataset(written).transitions)


def test_a_stream_transforms_its_batches_and_gives_parts(written):
  server = serving.restore(written, num_observations=2)
  sampler = sampling.Streaming(
    f'localhost:{server.port}',
    batch_size=50,
    shuffle_buffer=200,
    transform=lambda transition: transition.reward + 1000.0,
    part_count=6,
  )
  parts = list(sampler.parts())
  server.stop()
  assert len(parts) == 6
  assert all(
    part.shape == (50,) and part.numpy().min() > 500.0 for part in parts
  )


def test_a_stream_from_nowhere_says_how_to_serve():
  with pytest.raises(TimeoutError, match='dataset serve'):
    sampling.Streaming('localhost:1', batch_size=1, timeout_seconds=1)
