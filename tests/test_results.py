"""Result rows: keys, round trips, damage."""

import dataclasses

import pytest

from dfiv_ope import results

ROW = results.ResultRow(
    problem={'name': 'demand', 'n': 100, 'rho': 0.5}, method='kiv',
    config={'type': 'Config', 'tolerance': 1e-8}, seed=3,
    metrics={'mse': 12.5}, curves={'ate': [1., 2.]}, cpu_seconds=0.5,
    versions={'python': '3.11'})


def test_rows_come_back_in_order(tmp_path):
  other = dataclasses.replace(ROW, seed=4)
  results.append(tmp_path / 'run', ROW)
  results.append(tmp_path / 'run', other)
  assert results.read(tmp_path / 'run') == [ROW, other]
  assert results.keys(tmp_path / 'run') == {ROW.key, other.key}


def test_the_key_is_the_experiment_and_not_its_outcome():
  assert dataclasses.replace(ROW, metrics={'mse': 0.}).key == ROW.key
  for change in ({'seed': 4}, {'method': 'dfiv'}, {'problem': {'n': 1}},
                 {'config': {'tolerance': 1.}}):
    assert dataclasses.replace(ROW, **change).key != ROW.key


def test_a_line_cut_off_by_a_kill_is_dropped(tmp_path):
  results.append(tmp_path, ROW)
  with (tmp_path / 'rows.jsonl').open('a') as file:
    file.write('{"problem": {"na')
  assert results.read(tmp_path) == [ROW]
  results.append(tmp_path, dataclasses.replace(ROW, seed=9))
  assert [row.seed for row in results.read(tmp_path)] == [3, 9]


def test_a_broken_line_is_named(tmp_path):
  results.append(tmp_path, ROW)
  with (tmp_path / 'rows.jsonl').open('a') as file:
    file.write('nonsense\n')
  with pytest.raises(ValueError, match='Line 2 of .*rows.jsonl'):
    results.read(tmp_path)


def test_a_directory_without_rows_is_refused_but_has_no_keys(tmp_path):
  with pytest.raises(FileNotFoundError, match='has no result rows'):
    results.read(tmp_path)
  assert results.keys(tmp_path) == set()


@pytest.mark.parametrize('name', ['problem', 'config', 'versions'])
def test_a_row_that_does_not_say_what_it_is_is_refused(name):
  with pytest.raises(ValueError, match=f'must say its {name}'):
    dataclasses.replace(ROW, **{name: {}})
