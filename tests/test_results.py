"""Result rows: keys, round trips, damage."""

import dataclasses
import json

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


# A question of off-policy evaluation, one of a user's log, a choice between
# methods, and an interval of a new log: all that defines each.
OPE = {'name': 'ope', 'digest': 'd1', 'discount': 0.9, 'actions': 3,
       'task': 'catch', 'action_noise': 0.2, 'epsilon': 0.2, 'target': 't1',
       'target_epsilon': 0.}
LOG = {'name': 'log', 'digest': 'd1', 'discount': 0.9, 'actions': 3,
       'target': 't1'}
CHOICE = {**LOG, 'name': 'selection', 'candidates': 'c1',
          'judge': {'rows': 10, 'features': 4}}
COVERAGE = {'name': 'coverage', 'dataset': 'catch', 'discount': 0.9,
            'actions': 3, 'target': 't1', 'log': 0, 'seeds': 3, 'level': 0.95,
            'truth': 1., 'first_seed': 7}
DESCRIPTION = {'dataset': 'shop', 'policy': 'mine', 'transitions': 10,
               'episodes': 2, 'log_return': 1., 'log_standard_error': 0.1,
               'overlap': 0.5, 'truth': 2., 'truth_standard_error': 0.1}


def _key(problem, **fields):
  return results.key(problem, **{
      'method': 'kiv', 'config': {'a': 1}, 'seed': 0, 'version': 1,
      'inference': {'resamples': 200, 'features': {'size': 300}}, **fields})


@pytest.mark.parametrize('problem', [OPE, LOG, CHOICE, COVERAGE])
def test_every_field_that_defines_a_question_is_in_its_key(problem):
  for name in problem:
    assert _key({**problem, name: 'changed'}) != _key(problem), name
  # A field that nobody has thought of yet, such as another treatment of
  # truncated episodes, makes another question.
  assert _key({**problem, 'truncation': 'terminal'}) != _key(problem)


@pytest.mark.parametrize('change', [
    {'method': 'fqe'}, {'config': {'a': 2}}, {'seed': 1}, {'version': 2},
    {'inference': {'resamples': 500, 'features': {'size': 300}}},
    {'inference': {'resamples': 200, 'features': {'size': 100}}}])
def test_all_that_a_row_comes_from_is_in_its_key(change):
  assert _key(OPE, **change) != _key(OPE)


@pytest.mark.parametrize('name', DESCRIPTION)
def test_what_describes_a_question_is_not_in_its_key(name):
  assert _key({**LOG, name: DESCRIPTION[name]}) == _key(LOG)


def test_a_choice_between_methods_has_the_question_of_their_runs():
  assert results.question(CHOICE) == results.question({**LOG, **DESCRIPTION})
  assert results.question({**LOG, 'discount': 0.5}) != results.question(LOG)


def test_a_version_that_is_not_known_is_none_of_those_that_are():
  assert _key(OPE, version=0) != _key(OPE, version=1)


def _of_log(**changes):
  return dataclasses.replace(
      ROW, problem={**LOG, **DESCRIPTION, **changes}, metrics={'estimate': 1.})


def test_the_last_row_of_one_discount_does_not_replace_that_of_another():
  half, most = _of_log(discount=0.5), _of_log(discount=0.9)
  assert results.latest([most, half]) == [most, half]
  again = dataclasses.replace(most, inference={'resamples': 9}, version=2)
  assert results.latest([most, half, again]) == [half, again]


def _write(directory, *rows):
  """Writes data of rows as they are; None takes a field away."""
  directory.mkdir(exist_ok=True)
  with (directory / 'rows.jsonl').open('w') as file:
    for row, changes in rows:
      fields = {**dataclasses.asdict(row), **changes}
      file.write(json.dumps({
          name: value for name, value in fields.items()
          if value is not None}) + '\n')
  return directory


# As the first version wrote them, with a hash of the method's source.
OLD = {'format': None, 'inference': None, 'version': None, 'code': '0a1b2c'}


def test_rows_without_the_discount_in_their_key_are_shown_but_not_reused(
    tmp_path):
  old = _write(tmp_path / 'old', (_of_log(), OLD))
  (row,) = results.read(old)
  assert row.outdated and row.metrics == {'estimate': 1.}
  for use in (results.known, results.keys):
    with pytest.raises(ValueError, match=(
        'older version of dfiv-ope.*none of them is used again. Move .*'
        'rows.jsonl to a directory of its own')):
      use(old)
  both = _write(tmp_path / 'both', (_of_log(), {}), (_of_log(), OLD))
  with pytest.raises(ValueError, match='Line 2 of .* older version .*Move'):
    results.read(both)
  # The key of a benchmark had all of its problem from the start, but nothing
  # of the method's numbers.
  benchmark = _write(tmp_path / 'benchmark', (ROW, OLD))
  assert results.keys(benchmark) == {ROW.key}
  assert dataclasses.replace(ROW, version=1).key != ROW.key


def test_rows_of_a_newer_version_are_refused(tmp_path):
  with pytest.raises(ValueError, match='Line 1 .*its format is 99'):
    results.read(_write(tmp_path, (ROW, {'format': 99})))


NAN, INFINITE = float('nan'), float('inf')


@pytest.mark.parametrize('changes, words', [
    ({'metrics': {'estimate': 'abc'}},
     "its metric estimate must be a finite number, got 'abc'"),
    ({'metrics': {'estimate': NAN}}, 'metric estimate must be a finite number'),
    ({'metrics': {'estimate': INFINITE}}, 'must be a finite number, got inf'),
    ({'metrics': {'estimate': 10 ** 400}}, 'metric estimate must be a finite'),
    ({'metrics': {'estimate': True}}, 'metric estimate must be a finite'),
    ({'metrics': {'estimate': 1., 'data_error': None}}, 'metric data_error'),
    ({'metrics': {}}, 'its metrics lack estimate'),
    ({'metrics': [1]}, 'its metrics must be names and values'),
    ({'resamples': [1., NAN]}, 'resamples must be a list of finite numbers'),
    ({'resamples': ['x']}, 'resamples must be a list of finite numbers'),
    ({'resamples': [1.]}, 'its metrics lack correction'),
    ({'curves': {'estimate': [1., 'x']}}, 'curve estimate must be a list'),
    ({'curves': {'estimate': 3}}, 'curve estimate must be a list'),
    ({'cpu_seconds': 'long'}, 'cpu_seconds must be a finite number'),
    ({'cpu_seconds': -1.}, 'cpu_seconds must not be negative'),
    ({'seed': 1.5}, 'seed must be a whole number'),
    ({'seed': True}, 'seed must be a whole number'),
    ({'version': 'v1'}, 'version must be a whole number'),
    ({'method': 3}, 'method must be a text'),
    ({'failure': 3}, 'failure must be a text'),
    ({'versions': {'python': 3}}, 'version of python must be a text'),
    ({'config': [1]}, 'config must be names and values'),
    ({'problem': {'digest': 'd'}}, 'does not say the name of its problem'),
    ({'problem': {'name': ['ope']}}, 'its name must be a text'),
    ({'problem': {'name': 'log', 'digest': 'd'}},
     'does not say its dataset, target, policy'),
])
def test_a_row_that_a_reader_would_stumble_over_is_refused_by_its_line(
    tmp_path, changes, words):
  directory = _write(tmp_path, (_of_log(), {}), (_of_log(), changes))
  with pytest.raises(ValueError, match='Line 2 of .*rows.jsonl') as refusal:
    results.read(directory)
  assert words in str(refusal.value)
  assert 'Remove the line to go on without it.' in str(refusal.value)


@pytest.mark.parametrize('name, value', [
    ('digest', ['d']), ('discount', '0.9'), ('discount', NAN),
    ('transitions', 'many'), ('log_return', INFINITE), ('truth', 'one'),
    ('truth_standard_error', NAN), ('target_epsilon', [0.]),
    ('overlap', 'good'), ('overlap', NAN), ('overlap', {'warnings': 'none'}),
    ('overlap', {'warnings': [1]}), ('overlap', {'verdict': 3}),
    ('overlap', {'weights': [1]}), ('overlap', {'coverage': {'share': 'x'}}),
    ('overlap', {'unseen': {'1': NAN}}), ('overlap', {'agreement': 'x'}),
    ('later', {'depth': [NAN]})])
def test_a_problem_is_of_texts_and_finite_numbers(tmp_path, name, value):
  problem = {**LOG, **DESCRIPTION, name: value}
  with pytest.raises(ValueError, match=f'Line 1 of .*its {name}'):
    results.read(_write(tmp_path, (_of_log(), {'problem': problem})))


def test_a_divergence_and_gaps_in_curves_are_sound(tmp_path):
  row = dataclasses.replace(
      _of_log(truth=None), metrics={}, failure='diverged: far',
      curves={'estimate': [1., None]})
  results.append(tmp_path, row)
  assert results.read(tmp_path) == [row]


@pytest.mark.parametrize('line', [
    b'3', b'\xff{}', b'[' * 100_000, b'{"problem": 3}'])
def test_a_line_of_something_else_is_named(tmp_path, line):
  (tmp_path / 'rows.jsonl').write_bytes(line + b'\n')
  with pytest.raises(ValueError, match='Line 1 of .*rows.jsonl'):
    results.read(tmp_path)


def test_what_is_written_can_be_read(tmp_path):
  row = dataclasses.replace(
      ROW, metrics={'mse': 1., 'effective_f': INFINITE},
      curves={'watched_mse': [INFINITE, 2.]})
  results.append(tmp_path, row)
  (found,) = results.read(tmp_path)
  assert found.metrics == {'mse': 1.}
  assert found.curves == {'watched_mse': [None, 2.]}
  with pytest.raises(ValueError, match='seed 3 cannot be kept.*lack mse'):
    results.append(tmp_path, dataclasses.replace(ROW, metrics={'mse': NAN}))
  assert results.read(tmp_path) == [found]
