"""Checkpoints written without a server are what Reverb restores."""

import contextlib
import pathlib

import numpy as np
import pytest
import reverb
import tensorflow as tf

from dfiv_ope.datasets import checkpoint, serving, steps, store


def _blocks(lengths):
  generator = np.random.default_rng(0)
  for length in lengths:
    yield steps.Steps(
      observation=generator.normal(size=(length, 2)),
      action=generator.integers(0, 9, length, np.int32),
      reward=generator.normal(size=length),
      discount=np.ones(length, np.float32),
      is_first=np.arange(length) == 0,
      is_last=np.arange(length) == length,
      is_terminal=np.zeros(length, bool),
    )


# Other types than those of datasets: the format is general.
_TABLE = checkpoint.Table(
  'blocks',
  steps.Steps(
    *(
      tf.TensorSpec([None, *array.shape[1:]], array.dtype)
      for array in next(_blocks([1]))
    )
  ),
)


@pytest.mark.parametrize(
  'lengths', [[1], [0, 3], [59, 60, 61, 127, 128], [20_000, 7]]
)
def test_reverb_restores_what_was_written(tmp_path, lengths):
  expected = list(_blocks(lengths))
  writer = checkpoint.Writer(tmp_path / 'one', [_TABLE])
  for block in expected:
    writer.insert(['blocks'], block)
  writer.finish()
  server = reverb.Server(
    [_TABLE.empty()],
    checkpointer=reverb.checkpointers.DefaultCheckpointer(str(tmp_path)),
  )
  samples = []
  client = server.localhost_client()
  for _ in lengths:
    # The first in, which is then removed.
    (sample,) = client.sample(
      'blocks', 1, emit_timesteps=False, unpack_as_table_signature=True
    )
    samples.append(sample.data)
    client.mutate_priorities('blocks', deletes=[sample.info.key])
  server.stop()
  read = list(checkpoint.blocks(tmp_path / 'one', _TABLE))
  for found in (samples, read):
    for block, other in zip(found, expected, strict=True):
      for name, array in block._asdict().items():
        np.testing.assert_array_equal(array, getattr(other, name))
        assert array.dtype == getattr(other, name).dtype, name


def test_the_same_blocks_give_the_same_bytes(tmp_path):
  for name in ('one', 'two'):
    writer = checkpoint.Writer(tmp_path / name, [_TABLE])
    for block in _blocks([5, 6]):
      writer.insert(['blocks'], block)
    writer.finish()
  for file in (checkpoint.CHUNKS, checkpoint.ITEMS, checkpoint.TABLES):
    assert (tmp_path / 'one' / file).read_bytes() == (
      tmp_path / 'two' / file
    ).read_bytes()


def test_a_checkpoint_is_none_before_it_is_finished(tmp_path):
  writer = checkpoint.Writer(tmp_path / 'one', [_TABLE])
  writer.insert(['blocks'], next(_blocks([3])))
  writer.close()
  assert not (tmp_path / 'one' / checkpoint.DONE).exists()


def test_a_checkpoint_of_a_reverb_server_is_told_from_ours(tmp_path):
  server = reverb.Server(
    [_TABLE.empty()],
    checkpointer=reverb.checkpointers.DefaultCheckpointer(str(tmp_path)),
  )
  client = server.localhost_client()
  with client.trajectory_writer(num_keep_alive_refs=1) as writer:
    writer.append(next(_blocks([300])))
    writer.create_item(
      'blocks', 1.0, tf.nest.map_structure(lambda x: x[-1], writer.history)
    )
  written = client.checkpoint()
  server.stop()
  with pytest.raises(ValueError, match='is not one that was written here'):
    list(checkpoint.blocks(pathlib.Path(written), _TABLE))


def test_a_client_of_a_server_cannot_change_the_files(written):
  before = store.file_record(written)
  server = serving.restore(written, num_observations=2)
  client = reverb.Client(f'localhost:{server.port}')
  client.reset(store.TRANSITIONS)
  with contextlib.suppress(RuntimeError):
    client.checkpoint()  # Reverb would keep this one and remove the other.
  server.stop()
  assert store.file_record(written) == before


def test_an_episode_that_is_too_large_for_reverb_is_refused(
  tmp_path, monkeypatch
):
  monkeypatch.setattr(checkpoint, '_MOST_BYTES', 100)
  writer = checkpoint.Writer(tmp_path / 'one', [_TABLE])
  with pytest.raises(ValueError, match='Cut it into shorter episodes'):
    writer.insert(['blocks'], next(_blocks([30])))
  writer.close()
