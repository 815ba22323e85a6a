"""`dfiv-ope dataset import`, `check` and `export`, end to end."""

import json
import pathlib
import re
import shlex

import numpy as np
import pytest

from dfiv_ope.datasets import reading
from dfiv_ope.launch import checking, importing, runtime

_DOCS = pathlib.Path(__file__).parents[2] / 'docs' / 'logs.md'
_BLOCKS = re.findall(r'```(\w+)\n(.*?)```', _DOCS.read_text(), re.DOTALL)
CSV, YAML = (
    next(text for kind, text in _BLOCKS if kind == wanted)
    for wanted in ('csv', 'yaml'))


@pytest.fixture(scope='module')
def folder(tmp_path_factory):
  """The files that the page shows."""
  path = tmp_path_factory.mktemp('logs')
  (path / 'clinic.csv').write_text(CSV)
  (path / 'mapping.yaml').write_text(YAML)
  return path


@pytest.fixture(scope='module')
def outputs(command, folder):
  """Runs the commands of the page, and gives what they print."""
  lines = next(text for kind, text in _BLOCKS if kind == 'sh').splitlines()
  results = [
      command(*shlex.split(line, comments=True)[1:], cwd=folder)
      for line in lines]
  assert [each.returncode for each in results] == [0] * 5, results
  return results


@pytest.fixture
def imported(outputs, folder):
  return folder / 'clinic'


@pytest.mark.slow
def test_the_commands_of_the_page_do_what_it_says(outputs, folder):
  first, of_log, of_dataset, exported, _ = outputs
  assert '1 episode ended without a final observation' in first.stderr
  assert 'clinic.csv (csv; 2 observation entries' in first.stdout
  assert 'true value' not in first.stdout
  for result in (of_log, of_dataset):
    for words in ('horizon', 'low: 3 (50.0 %)', 'behaviour probability',
                  'is sound: 6 transitions'):
      assert words in result.stdout
  assert 'Wrote 6 transitions to clinic.parquet' in exported.stdout
  record, again = (
      json.loads((folder / name / 'metadata.json').read_text())
      for name in ('clinic', 'again'))
  assert again['digest'] == record['digest']


@pytest.mark.slow
def test_the_record_says_where_the_log_comes_from(imported):
  record = json.loads((imported / 'metadata.json').read_text())
  assert record['schema'] == 2
  assert record['spec']['source'] == 'clinic.csv'
  assert record['spec']['format'] == 'csv'
  assert record['spec']['mapping']['episode'] == 'patient'
  assert record['spec']['discount'] == 0.95
  assert record['truth'] is None and record['policy'] is None
  assert record['action_labels'] == ['low', 'none']
  log = reading.open_dataset(imported)
  assert log.policy is None
  np.testing.assert_array_equal(
      log.annotations['behaviour_probability'] > 0., ~log.steps.is_last)


def test_a_failed_import_says_the_row_and_leaves_nothing(
    command, folder, tmp_path):
  (tmp_path / 'log.csv').write_text(CSV.replace('0.9', 'inf', 1))
  message = command.refuses(
      'dataset', 'import', tmp_path / 'log.csv', '--out', tmp_path / 'out',
      '--mapping', folder / 'mapping.yaml')
  assert re.search(r'row \d+ \(episode', message)
  assert [file.name for file in tmp_path.iterdir()] == ['log.csv']


def test_check_lists_all_that_is_wrong_with_a_log(command, folder, tmp_path):
  lines = CSV.splitlines()
  log = tmp_path / 'log.csv'
  log.write_text('\n'.join([
      *lines, 'p9,0,1,inf,low,1,0,0.5', 'p9,2,1,1,low,1,1,-1',
      'p10,0,1,1,low,,1,0.5', 'p10,0,1,1,low,2,1,0.5']))
  result = command('dataset', 'check', log, '--mapping',
                   folder / 'mapping.yaml')
  assert result.returncode == 2
  text = ' '.join(result.stdout.split())
  count = len(lines)
  for words in (
      f'row {count + 1} (episode p9): weight is empty, nan, infinite',
      f'row {count + 2} (episode p9): step 2 follows step 0',
      f'row {count + 2} (episode p9): probability is not in (0, 1]',
      f'row {count + 3} (episode p10): reward is empty or nan',
      f'row {count + 3} (episode p10): died is set, but the episode goes on',
      f'row {count + 4} (episode p10): the same step is there twice',
      'horizon', 'behaviour probability'):
    assert words in text, words
  assert 'is not sound: 2 episodes' in result.stderr


@pytest.mark.slow
def test_a_dataset_takes_no_options_of_logs(imported, monkeypatch):
  monkeypatch.setattr(runtime, 'start', lambda: None)
  with pytest.raises(ValueError, match='The options are for logs'):
    checking.check(imported, ends='truncated')


@pytest.mark.parametrize('options, words', [
    ({'assignments': ['action']}, 'the form NAME=COLUMN'),
    ({'assignments': ['dose=x']}, 'A mapping has no dose'),
    ({'mapping': pathlib.Path('nowhere.yaml')}, 'nowhere.yaml'),
    ({'discount': 1.}, r'discount must lie in \[0, 1\)')])
def test_wrong_options_are_refused(
    folder, tmp_path, monkeypatch, options, words):
  monkeypatch.setattr(runtime, 'start', lambda: None)
  options = {'mapping': folder / 'mapping.yaml', **options}
  with pytest.raises((ValueError, OSError), match=words):
    importing.import_log(folder / 'clinic.csv', tmp_path / 'out', **options)
  assert not (tmp_path / 'out').exists()


@pytest.mark.slow
def test_an_export_whose_name_tells_nothing_is_refused(
    imported, tmp_path, monkeypatch):
  monkeypatch.setattr(runtime, 'start', lambda: None)
  with pytest.raises(ValueError, match='tells no format'):
    importing.export_log(imported, tmp_path / 'log')


@pytest.mark.slow
def test_a_killed_import_does_not_open_and_goes_on(command, tmp_path):
  rows = ''.join(
      f'{i // 50},{i % 3},0.5,1.5,{i},{int(i % 50 == 49)}\n'
      for i in range(400_000))
  log, out = tmp_path / 'log.csv', tmp_path / 'out'
  log.write_text('episode,action,obs_0,obs_1,reward,terminated\n' + rows)
  process = command.popen('dataset', 'import', log, '--out', out)
  while not (out / 'checkpoint').exists():
    assert process.poll() is None, process.stderr.read()
  process.kill()
  process.communicate()
  assert 'no complete dataset' in command.refuses('dataset', 'show', out)
  again = command('dataset', 'import', log, '--out', out)
  assert again.returncode == 0, again.stderr
  assert sorted(file.name for file in out.iterdir()) == [
      'checkpoint', 'metadata.json']


def test_import_takes_categorical_columns_and_says_what_looks_so(
    tmp_path, monkeypatch, capsys):
  monkeypatch.setattr(runtime, 'start', lambda: None)
  generator = np.random.default_rng(0)
  often = generator.exponential(size=64)
  state = generator.choice(64, size=2_000, p=often / often.sum())
  (tmp_path / 'log.csv').write_text(
      'episode,state,action,reward,terminated\n' + ''.join(
          f'{row // 20},{each},{row % 2},1,{int(row % 20 == 19)}\n'
          for row, each in enumerate(state)))
  for name, named in (('plain', None), ('named', ['state'])):
    importing.import_log(
        tmp_path / 'log.csv', tmp_path / name,
        assignments=['observations=state'], categorical=named, discount=0.9)
    shown = capsys.readouterr()
    assert ('--categorical state' in ' '.join(shown.err.split())) == (
        named is None)
  dataset = reading.open_dataset(tmp_path / 'named')
  assert dataset.metadata.categories == {0: tuple(np.unique(state).tolist())}
  checking.check(tmp_path / 'plain')
  assert 'looks categorical' in ' '.join(capsys.readouterr().out.split())
