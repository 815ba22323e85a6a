"""Logs in Parquet and CSV files that are read in parts."""

import dataclasses
import gzip

import numpy as np
import pandas as pd
import pyarrow as pa
from pyarrow import parquet
import pytest

from dfiv_ope.datasets import columns as columns_lib
from dfiv_ope.datasets import episode_sample, formats, log_fields, streams
from dfiv_ope.datasets import log as log_lib
from dfiv_ope.datasets.formats import parquet_folder, source
from dfiv_ope.nn import running_moments, scaling

# Steps of episodes; borders of files and batches fall into them.
_LENGTHS = (3, 1, 9, 4, 17, 2, 6, 8)


def _table():
  generator = np.random.default_rng(0)
  count = sum(_LENGTHS)
  ends = np.cumsum(_LENGTHS) - 1
  terminated = np.zeros(count, bool)
  terminated[ends] = True
  return {
    'episode': np.repeat([f'e{each}' for each in range(8)], _LENGTHS),
    'obs_0': generator.normal(size=count) + 1e6,
    'obs_1': generator.normal(size=count).astype(np.float32),
    'action': generator.integers(2, size=count),
    'reward': generator.normal(size=count),
    'terminated': terminated,
  }


def _write(folder, table, marks=(0, 11, 12, 40, 50)):
  folder.mkdir()
  for place, (start, end) in enumerate(zip(marks, marks[1:], strict=False)):
    # part-10 comes after part-2, so names are not compared as text.
    parquet.write_table(
      pa.table({name: each[start:end] for name, each in table.items()}),
      folder / f'part-{place * 5}.parquet',
      row_group_size=7,
    )
  return folder


def _stream(folder, **columns):
  return streams.Stream(
    path=folder,
    columns=columns_lib.parse({'actions': 2, **columns}),
    discount=0.9,
  )


def _write_csv(folder, table, marks=(0, 11, 12, 40, 50)):
  """Writes the same log as text, one of the files compressed."""
  folder.mkdir()
  frame = pd.DataFrame(table)
  for place, (start, end) in enumerate(zip(marks, marks[1:], strict=False)):
    text = frame[start:end].to_csv(index=False, float_format='%.17g')
    path = folder / f'part-{place * 5}.csv'
    path.write_text(text)
    if place == 2:
      path.with_suffix('.csv.gz').write_bytes(gzip.compress(path.read_bytes()))
      path.unlink()
  return folder


@pytest.fixture
def folder(tmp_path):
  return _write(tmp_path / 'log', _table())


@pytest.mark.parametrize('write', [_write, _write_csv])
@pytest.mark.parametrize('batch', [1, 7, 1000])
def test_parts_are_the_log_whatever_the_batches(
  tmp_path, monkeypatch, batch, write
):
  whole = _stream(_write(tmp_path / 'parquet', _table())).in_memory()
  monkeypatch.setattr(source, 'CHUNK_ROWS', batch)
  stream = _stream(write(tmp_path / 'log', _table()))
  assert stream.in_memory().digest == whole.digest
  survey = stream.survey(copy=tmp_path / 'copy' if stream.copied else None)
  marks = [4, 4, 13, 30, len(whole)]
  parts = list(stream.parts(survey)(marks))
  for part, start, end in zip(parts, marks, marks[1:], strict=False):
    for ours, theirs in zip(part.transitions, whole.transitions, strict=True):
      np.testing.assert_array_equal(ours, theirs[start:end])
    np.testing.assert_array_equal(part.episodes, whole.episodes[start:end])
  starts = np.concatenate([part.starts for part in parts])
  # The second episode begins before the first mark.
  np.testing.assert_array_equal(starts, whole.initial_observations[2:])


@pytest.mark.parametrize('batch', [1, 7, 1000])
def test_a_survey_says_what_all_rows_say(folder, monkeypatch, batch):
  whole = _stream(folder).in_memory()
  digest = _stream(folder).survey().digest
  monkeypatch.setattr(source, 'CHUNK_ROWS', batch)
  found = _stream(folder).survey()
  np.testing.assert_array_equal(found.returns, whole.returns)
  assert found.average_return == whole.average_return
  assert (found.transitions, found.episodes) == (len(whole), 8)
  assert (found.longest, found.truncated, found.complete) == (17, 0, True)
  assert found.lowest == whole.transitions.reward.min()
  assert found.digest == digest
  np.testing.assert_allclose(
    found.scales.apply(whole.transitions.observation),
    scaling.fit_standardiser(whole.transitions.observation).apply(
      whole.transitions.observation
    ),
    rtol=0,
    atol=1e-13,
  )
  for ours, theirs in zip(
    found.sample.transitions, whole.transitions, strict=True
  ):
    np.testing.assert_array_equal(ours, theirs)


def test_the_digest_knows_content_and_meaning(folder, tmp_path):
  table = _table()
  table['reward'][17] += 1e-9
  digests = {
    _stream(folder).survey().digest,
    _stream(_write(tmp_path / 'other', table)).survey().digest,
    _stream(folder, observations='obs_0').survey().digest,
    _stream(_write(tmp_path / 'same', _table(), (0, 50))).survey().digest,
  }
  assert len(digests) == 3


@pytest.mark.parametrize('most, least', [(1, 1), (30, 2), (50, 8)])
def test_a_sample_is_the_same_whatever_the_batches(
  folder, monkeypatch, most, least
):
  found = []
  for batch in (1, 7, 1000):
    monkeypatch.setattr(source, 'CHUNK_ROWS', batch)
    sample = _stream(folder).survey(sampled=most).sample
    found.append(sample.transitions.reward.tolist())
    assert sample.num_episodes >= least
    assert len(sample) <= most or sample.num_episodes == 1
  assert found[0] == found[1] == found[2]
  notes = [each.kind for each in sample.notes]
  assert ('sampled' in notes) == (most < 50)


def test_keys_of_episodes_are_even_and_depend_on_the_seed():
  found = episode_sample.keys(np.arange(100_000), 0) / 2.0**64
  assert abs(found.mean() - 0.5) < 0.005
  assert abs(found.var() - 1 / 12) < 0.002
  assert abs(np.corrcoef(found[1:], found[:-1])[0, 1]) < 0.02
  other = episode_sample.keys(np.arange(100_000), 1)
  assert abs(np.corrcoef(found, other)[0, 1]) < 0.02


def test_moments_of_blocks_are_those_of_all_rows():
  generator = np.random.default_rng(0)
  x = generator.normal(size=(1000, 4)) * [1.0, 1e-8, 1e150, 0.0]
  x += [1e12, 0.0, 1e150, 3.0]
  moments = running_moments.Moments()
  for start, end in ((0, 1), (1, 1), (1, 700), (700, 1000)):
    moments.add(x[start:end])
  found, wanted = moments.standardiser(), scaling.fit_standardiser(x)
  np.testing.assert_allclose(found.scale, wanted.scale, rtol=1e-13)
  np.testing.assert_allclose(
    found.apply(x), wanted.apply(x), rtol=0, atol=1e-12
  )
  assert found.scale[3] == 1.0 and found.mean[3] == 3.0


def test_text_says_what_parquet_says_of_labels_too(tmp_path):
  table = _table()
  table['obs_2'] = np.where(table['obs_0'] > 1e6, 'far', ' near')
  table['action'] = np.where(table['action'] == 1, 'go, now', 'stay')
  found, same = (
    _stream(
      write(tmp_path / write.__name__, table),
      actions=['go, now', 'stay'],
      categorical='obs_2',
    ).survey(copy=tmp_path / 'copy')
    for write in (_write_csv, _write)
  )
  assert found.digest == same.digest
  assert found.known == same.known
  assert found.known['actions'] == ('go, now', 'stay')
  np.testing.assert_array_equal(found.returns, same.returns)


def test_a_copy_is_there_whole_or_not_at_all(folder, tmp_path):
  bad = _table()
  bad['reward'][45] = np.nan
  text = _write_csv(tmp_path / 'text', bad)
  copy = tmp_path / 'copies' / 'log'
  _stream(folder).survey(copy=copy)
  before = {each.name for each in copy.iterdir()}
  assert 'next_observation.npy' in before
  with pytest.raises(
    ValueError, match=r'part-15.csv, row 7 \(episode e7\): re'
  ):
    _stream(text).survey(copy=copy)
  assert not list(copy.parent.iterdir())
  with pytest.raises(ValueError, match='CSV: say where a copy of it may lie'):
    _stream(text).survey()


def test_how_long_text_is_needs_no_reading_of_it(tmp_path, monkeypatch):
  stream = _stream(_write_csv(tmp_path / 'text', _table()))
  for most, longer in ((49, True), (50, False)):
    monkeypatch.setattr(streams, 'IN_MEMORY', most)
    assert stream.long == longer
  last = tmp_path / 'text' / 'part-15.csv'
  last.write_text(last.read_text().rstrip('\n'))
  assert not stream.long
  monkeypatch.setattr(streams, 'IN_MEMORY', 49)
  assert stream.long


@pytest.mark.parametrize(
  'line, words',
  [
    ('e8,1.0,2.0,1,0.5,False,9', 'is not CSV'),
    ('e8,"1.0,2.0,1,0.5,False', 'is not CSV'),
    ('e8,1.0,x,1,0.5,False', "part-15.csv, row 12 (episode e8): obs_1 is 'x'"),
    ('e8,1.0,1.0,1,0.5,maybe', 'part-15.csv, row 12 (episode e8): terminated'),
    ('e0,1.0,1.0,1,0.5,False', 'part-15.csv, row 12 (episode e0): the episo'),
    (',1.0,1.0,1,0.5,False', 'part-15.csv, row 12: episode is empty'),
    ('e8,1.0,1.0,5,0.5,False', 'part-15.csv, row 12 (episode e8): action is'),
    ('e8,1.0,\xff,1,0.5,False', 'part-15.csv, row 12: there is a byte'),
  ],
)
def test_text_is_refused_as_an_import_refuses_it(tmp_path, line, words):
  folder = _write_csv(tmp_path / 'log', _table())
  with (folder / 'part-15.csv').open('a', encoding='latin1') as file:
    file.write(f'{line}\n')
  found = []
  for read in (
    lambda: _stream(folder).survey(copy=tmp_path / 'copy'),
    _stream(folder).in_memory,
  ):
    with pytest.raises(ValueError) as error:
      read()
    found.append(str(error.value))
  assert words in found[0]
  assert found[0].split('.')[0] == found[1].split('.')[0]


def test_text_files_need_the_same_columns(tmp_path):
  folder = _write_csv(tmp_path / 'log', _table())
  (folder / 'part-15.csv').write_text('episode,obs_0\ne7,1.0\n')
  with pytest.raises(
    ValueError, match="part-15.csv has no column 'action', which part-0.csv"
  ):
    _stream(folder).survey(copy=tmp_path / 'copy')


def _bad(name, row, value):
  def change(table):
    table[name][row] = value

  return change


@pytest.mark.parametrize(
  'change, words',
  [
    # Row 44 of all is the fifth of the last file, which begins with row 40.
    (_bad('reward', 44, np.nan), 'part-15.parquet, row 5 (episode e7): reward'),
    (_bad('obs_0', 45, np.inf), 'part-15.parquet, row 6 (episode e7): obs_0'),
    (_bad('episode', 49, 'e0'), 'part-15.parquet, row 10 (episode e0): the ep'),
  ],
)
def test_what_is_wrong_is_named_by_file_and_row(tmp_path, change, words):
  table = _table()
  change(table)
  with pytest.raises(ValueError) as error:
    _stream(_write(tmp_path / 'log', table)).survey()
  assert words in str(error.value)


def test_files_that_are_not_alike_are_named(tmp_path):
  table = _table()
  folder = _write(tmp_path / 'log', table)
  third = {name: each[12:40] for name, each in table.items()}
  parquet.write_table(
    pa.table({**third, 'reward': third['reward'].astype(str)}),
    folder / 'part-10.parquet',
  )
  with pytest.raises(
    ValueError, match=r'part-10.parquet, row 1: reward holds '
  ):
    _stream(folder).survey()
  del third['reward']
  parquet.write_table(pa.table(third), folder / 'part-10.parquet')
  with pytest.raises(
    ValueError, match="part-10.parquet has no column 'reward', which part-0"
  ):
    _stream(folder).survey()


def test_a_folder_is_imported_like_one_file(folder, tmp_path):
  one = _write(tmp_path / 'one', _table(), (0, 50)) / 'part-0.parquet'
  columns = columns_lib.parse({})
  found = [
    log_fields.read(
      path, columns, discount=0.9, name='log', format_name='parquet'
    )
    for path in (folder, one)
  ]
  assert found[0]['digest'] == found[1]['digest']
  assert parquet_folder.ParquetFolder(folder).place(13) == (
    'part-10.parquet',
    1,
  )
  assert log_lib.Log(**found[0]).num_episodes == 8


def test_what_cannot_be_streamed_is_refused(folder):
  with pytest.raises(ValueError, match='vectors; only logs of finitely many'):
    dataclasses.replace(
      _stream(folder),
      columns=columns_lib.parse(
        {'action': 'reward', 'reward': 'obs_0', 'continuous': True}
      ),
    ).survey()
  with pytest.raises(ValueError, match='transitions without episodes'):
    dataclasses.replace(
      _stream(folder), columns=columns_lib.parse({'transitions': True})
    )


@pytest.fixture
def lists(tmp_path):
  """Writes files of lists whose type does not say how long they are."""

  def write(name, observations, first=0):
    count = len(observations)
    table = pa.table(
      {
        'episode': np.arange(first, first + count) // 4,
        'observation': pa.array(observations, pa.list_(pa.float64())),
        'action': np.arange(count) % 2,
        'reward': np.arange(count) / 10.0,
        'terminated': np.arange(count) % 4 == 3,
      }
    )
    parquet.write_table(table, tmp_path / name, row_group_size=6)

  return write


def test_lists_are_read_where_all_are_as_long(lists, tmp_path):
  observations = np.random.default_rng(0).normal(size=(16, 2))
  lists('a.parquet', list(observations[:8]))
  lists('b.parquet', list(observations[8:]), first=8)
  lists('c.parquet', [])
  file = parquet_folder.ParquetFolder(tmp_path)
  read = [
    chunk.columns['observation'] for chunk in file.chunks(['observation'])
  ]
  np.testing.assert_array_equal(np.concatenate(read), observations)


def test_lists_that_are_not_as_long_are_named(lists, tmp_path):
  pairs = [[1.0, 2.0]] * 8
  lists('a.parquet', [*pairs[:7], [1.0, 2.0, 3.0]])
  file = parquet_folder.ParquetFolder(tmp_path)
  words = 'a.parquet, row 8: observation has 3 numbers, but 2 in row 1'
  with pytest.raises(ValueError, match=words):
    list(file.chunks(['observation']))
  lists('a.parquet', pairs)
  lists('b.parquet', [[1.0]] * 8, first=8)
  file = parquet_folder.ParquetFolder(tmp_path)
  words = 'b.parquet, row 1: observation holds lists of 1, but lists of 2 in a'
  with pytest.raises(ValueError, match=words):
    list(file.chunks(['observation']))


def test_a_folder_of_two_formats_is_no_log(lists, tmp_path):
  lists('a.parquet', [[1.0, 2.0]] * 8)
  (tmp_path / 'b.csv').write_text('episode,obs\n')
  with pytest.raises(ValueError, match='several formats: parquet, csv. Keep'):
    formats.detect(tmp_path)
