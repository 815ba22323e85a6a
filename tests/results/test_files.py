"""The file of rows: order, damage, other versions, two writers."""

import dataclasses
import json
import multiprocessing

import pytest

from dfiv_ope.results import files, rows


def _write(directory, *lines):
  (directory / files.NAME).write_bytes(b''.join(line + b'\n' for line in lines))
  return directory


def _line(row, **changes):
  return json.dumps({**rows.encode(row), **changes}).encode()


def test_rows_come_back_in_order(tmp_path, make_row):
  first, second = make_row(seed=4), make_row(seed=3)
  for row in (first, second):
    files.append(tmp_path / 'a' / 'run', row)
  assert files.read(tmp_path / 'a' / 'run') == [first, second]
  assert files.known(tmp_path / 'a' / 'run') == [first, second]


def test_rows_of_all_kinds_lie_in_one_file(tmp_path, kinds, make_row):
  found = [make_row(problem) for problem in kinds.values()]
  for row in found:
    files.append(tmp_path, row)
  assert files.read(tmp_path) == found


def test_a_directory_without_rows_is_refused_but_nothing_is_known_of_it(
  tmp_path,
):
  with pytest.raises(
    FileNotFoundError,
    match=(
      r'has no result rows \(rows.jsonl\). Name the --out of a finished run.'
    ),
  ):
    files.read(tmp_path)
  assert files.known(tmp_path) == []


@pytest.mark.parametrize('torn', [b'{"problem": {"na', b'\xff\xfe', b'x' * 9])
def test_a_line_cut_off_by_a_kill_is_dropped_and_cut_off(
  tmp_path, make_row, torn
):
  row, other = make_row(), make_row(seed=9)
  files.append(tmp_path, row)
  path = tmp_path / files.NAME
  whole = path.read_bytes()
  path.write_bytes(whole + torn)
  assert files.read(tmp_path) == [row]
  assert path.read_bytes() == whole + torn  # A reader changes nothing.
  files.append(tmp_path, other)
  assert path.read_bytes().startswith(whole) and torn not in path.read_bytes()
  assert files.read(tmp_path) == [row, other]


def test_a_first_line_cut_off_by_a_kill_leaves_nothing(tmp_path, make_row):
  (tmp_path / files.NAME).write_bytes(b'{"format": 3, "prob')
  assert files.read(tmp_path) == []
  files.append(tmp_path, make_row())
  assert files.read(tmp_path) == [make_row()]


@pytest.mark.parametrize(
  'changes, words',
  [
    ({'format': 2}, 'an older one: format 2 instead of 3'),
    ({'format': 99}, 'a newer one: format 99 instead of 3'),
  ],
)
def test_rows_of_another_version_are_refused(
  tmp_path, make_row, changes, words
):
  row = make_row()
  with pytest.raises(ValueError) as refusal:
    files.read(_write(tmp_path, _line(row), _line(row, **changes)))
  assert str(refusal.value) == (
    f'Line 2 of {tmp_path / files.NAME} was written by another version of '
    f'dfiv-ope ({words}). Read it with that version, or name a new directory '
    'and run again.'
  )


def test_rows_of_the_first_version_had_no_format(tmp_path):
  old = {
    'problem': {'name': 'demand', 'n': 9},
    'method': 'kiv',
    'code': '0a1b',
    'metrics': {'mse': 1.0},
  }
  with pytest.raises(
    ValueError, match=(r'Line 1 of .* \(an older one: format 1 instead of 3\)')
  ):
    files.known(_write(tmp_path, json.dumps(old).encode()))


@pytest.mark.parametrize(
  'line, words',
  [
    (b'nonsense', 'Expecting value'),
    (b'', 'Expecting value'),
    (b'3', 'it is 3, not names and values'),
    (b'\x00\xff\xfe{}', 'decode'),
    (b'[' * 100_000, 'recursion'),
    (b'{"format": 3}', "it misses a field or has one too many: 'problem'"),
    (b'{"format": "3"}', 'its format is 3'),
    (b'{"format": 3, "problem": 3}', 'has one too many'),
  ],
)
def test_a_line_that_is_no_row_is_named(tmp_path, make_row, line, words):
  row = make_row()
  with pytest.raises(ValueError) as refusal:
    files.read(_write(tmp_path, _line(row), line, _line(row)))
  text = str(refusal.value)
  assert text.startswith(
    f'Line 2 of {tmp_path / files.NAME} is not a result row of this version ('
  )
  assert words in text
  assert text.endswith('Remove the line to go on without it.')


def test_a_row_that_is_not_sound_is_not_written(tmp_path, make_row):
  files.append(tmp_path, make_row())
  with pytest.raises(ValueError, match='cannot be kept: its metrics lack mse'):
    files.append(tmp_path, make_row(metrics={}))
  with pytest.raises(ValueError, match='cannot be kept'):
    files.append(tmp_path / 'new', make_row(metrics={}))
  assert files.read(tmp_path) == [make_row()]
  assert not (tmp_path / 'new').exists()


def _append_many(directory, row, seeds):
  for seed in seeds:
    files.append(directory, dataclasses.replace(row, seed=seed))


def test_two_processes_that_append_lose_nothing(tmp_path, make_row):
  # Rows longer than a pipe's or a file's buffer, so that halves would mix.
  row = make_row(curves={'loss': tuple(float(step) for step in range(4_000))})
  context = multiprocessing.get_context('fork')
  writers = [
    context.Process(target=_append_many, args=(tmp_path, row, seeds))
    for seeds in (range(25), range(100, 125))
  ]
  for writer in writers:
    writer.start()
  for writer in writers:
    writer.join()
    assert writer.exitcode == 0
  found = [each.seed for each in files.read(tmp_path)]
  assert sorted(found) == [*range(25), *range(100, 125)]
  # Each writer's own order is kept.
  assert [seed for seed in found if seed < 25] == [*range(25)]
