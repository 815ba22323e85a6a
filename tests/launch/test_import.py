"""`dfiv-ope dataset import`, `check` and `export`, end to end."""

import json
import pathlib
import re
import shlex

import numpy as np
import pytest
import typer

from dfiv_ope.datasets import reading
from dfiv_ope.datasets.formats import source
from dfiv_ope.launch import checking, importing, log_options, main, runtime

_DOCS = pathlib.Path(__file__).parents[2] / 'docs' / 'logs.md'
_BLOCKS = re.findall(r'```(\w+)\n(.*?)```', _DOCS.read_text(), re.DOTALL)
CSV, YAML = (
  next(text for kind, text in _BLOCKS if kind == wanted)
  for wanted in ('csv', 'yaml')
)


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
    command(*shlex.split(line, comments=True)[1:], cwd=folder) for line in lines
  ]
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
    for words in (
      'horizon',
      'low: 3 (50.0 %)',
      'behaviour probability',
      'is sound: 6 transitions',
    ):
      assert words in result.stdout
  assert 'Wrote 6 transitions to clinic.parquet' in exported.stdout
  record, again = (
    json.loads((folder / name / 'metadata.json').read_text())
    for name in ('clinic', 'again')
  )
  assert again['digest'] == record['digest']


def test_the_amounts_of_the_page_are_imported(tmp_path, monkeypatch, capsys):
  monkeypatch.chdir(tmp_path)
  monkeypatch.setattr(runtime, 'start', lambda **_: None)
  text = next(
    text for kind, text in _BLOCKS if kind == 'csv' and 'glucose' in text
  )
  (tmp_path / 'insulin.csv').write_text(text)
  lines = next(
    text for kind, text in _BLOCKS if kind == 'sh' and 'insulin' in text
  ).splitlines()
  shown = []
  for line in lines:
    with pytest.raises(SystemExit) as ended:
      main.app(shlex.split(line)[1:])
    assert not ended.value.code
    shown.append(' '.join(capsys.readouterr().out.split()))
  assert 'action dose 0 to 6 (bounds [0, 10])' in shown[0]
  for words in (
    'action drug fast: 4 (66.7 %), slow: 2 (33.3 %)',
    'action dose 0 to 6 (bounds [0, 10])',
    '2 action entries',
  ):
    assert words in shown[1] and words in shown[2]
  dose, mixed = (
    reading.open_dataset(tmp_path / name) for name in ('dose', 'mixed')
  )
  np.testing.assert_array_equal(
    dose.steps.action[:, 0], [2.5, 4.0, 0.0, 0.0, 6.0, 3.25, 1.0, 0.0]
  )
  np.testing.assert_array_equal(
    mixed.steps.action[:, 0], [0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 1.0, 0.0]
  )
  np.testing.assert_allclose(
    dose.annotations['behaviour_probability'].max(), 1.8
  )

  importing.export_log(tmp_path / 'mixed', tmp_path / 'again.csv')
  asked = ' '.join(capsys.readouterr().err.split())
  assert (
    'import them with --continuous --bounds :,0.0:10.0 --map '
    'categorical_actions=action_0.'
  ) in asked
  importing.import_log(
    tmp_path / 'again.csv',
    tmp_path / 'again',
    log_options.OfLog(
      continuous=True,
      bounds=':,0.0:10.0',
      assignments=['categorical_actions=action_0'],
    ),
  )
  again = reading.open_dataset(tmp_path / 'again')
  assert again.metadata.digest == mixed.metadata.digest

  with pytest.raises(ValueError, match='1 thing is wrong with it'):
    checking.check(
      tmp_path / 'again.csv', columns=log_options.OfLog(bounds=':,0:5')
    )
  assert 'row 6 (episode 1): action_1 is 6, outside its bounds [0, 5]' in (
    ' '.join(capsys.readouterr().out.split())
  )
  with pytest.raises(ValueError, match='The options are for logs'):
    checking.check(
      tmp_path / 'mixed', columns=log_options.OfLog(continuous=True)
    )


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
    log.annotations['behaviour_probability'] > 0.0, ~log.steps.is_last
  )


def test_a_failed_import_says_the_row_and_leaves_nothing(
  command, folder, tmp_path
):
  (tmp_path / 'log.csv').write_text(CSV.replace('0.9', 'inf', 1))
  message = command.refuses(
    'dataset',
    'import',
    tmp_path / 'log.csv',
    '--out',
    tmp_path / 'out',
    '--mapping',
    folder / 'mapping.yaml',
  )
  assert re.search(r'row \d+ \(episode', message)
  assert [file.name for file in tmp_path.iterdir()] == ['log.csv']


def test_check_lists_all_that_is_wrong_with_a_log(command, folder, tmp_path):
  lines = CSV.splitlines()
  log = tmp_path / 'log.csv'
  log.write_text(
    '\n'.join(
      [
        *lines,
        'p9,0,1,inf,low,1,0,0.5',
        'p9,2,1,1,low,1,1,-1',
        'p10,0,1,1,low,,1,0.5',
        'p10,0,1,1,low,2,1,0.5',
      ]
    )
  )
  result = command(
    'dataset', 'check', log, '--mapping', folder / 'mapping.yaml'
  )
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
    'horizon',
    'behaviour probability',
  ):
    assert words in text, words
  assert (
    'is not sound: 6 things are wrong with it, in 2 episodes' in result.stderr
  )


# Row -> episode, step, first observation, reward, where they are wrong.
_FAULTS = {
  7: {'reward': 'high'},
  12: {'obs_0': 'abc'},
  20: {'episode': ''},
  30: {'step': 2},
  40: {'obs_0': 'x' * 500},
}
_FOUND = [
  (7, 1, "reward is 'high', which is not a number"),
  (12, 2, "obs_0 is 'abc', which is not a number"),
  (20, 1, 'episode is empty'),
  (21, 1, 'step 4 follows step 2, but steps must go up by one'),
  (30, 1, 'the same step is there twice'),
]


@pytest.fixture(scope='module')
def faulty(tmp_path_factory):
  """A log whose cells are wrong in five ways, three of them unreadable."""
  lines = ['episode,step,obs_0,obs_1,action,reward,terminated']
  for number in range(50):
    cells = {
      'episode': f'e{number // 5}',
      'step': number % 5,
      'obs_0': number / 8,
      'obs_1': 1.0 - number,
      'action': number % 2,
      'reward': 1.0,
      'terminated': int(number % 5 == 4),
    }
    if number + 2 == 31:
      cells['step'] = 3  # after the same step twice
    lines.append(
      ','.join(map(str, {**cells, **_FAULTS.get(number + 2, {})}.values()))
    )
  path = tmp_path_factory.mktemp('faulty') / 'log.csv'
  path.write_text('\n'.join(lines))
  return path


def test_check_goes_on_after_cells_that_cannot_be_read(
  faulty, monkeypatch, capsys
):
  monkeypatch.setattr(runtime, 'start', lambda **_: None)
  with pytest.raises(
    ValueError,
    match=('is not sound: 5 things are wrong with it, in 5 episodes'),
  ):
    checking.check(faulty)
  shown = [
    line
    for line in capsys.readouterr().out.splitlines()
    if line.startswith('log.csv, row')
  ]
  assert shown == [
    "log.csv, row 7 (episode e1): reward is 'high', which is not a number.",
    "log.csv, row 12 (episode e2): obs_0 is 'abc', which is not a number; so "
    'in 1 more row (40).',
    'log.csv, row 20: episode is empty.',
    'log.csv, row 21 (episode e3): step 4 follows step 2, but steps must go '
    'up by one.',
    'log.csv, row 30 (episode e5): the same step is there twice.',
  ]


def test_check_tells_programs_the_same(faulty, monkeypatch, capsys):
  monkeypatch.setattr(runtime, 'start', lambda **_: None)
  with pytest.raises(typer.Exit) as ended:
    checking.check(faulty, as_json=True)
  assert ended.value.exit_code == 2
  found = json.loads(capsys.readouterr().out)
  assert found['path'] == str(faulty)
  assert found['sound'] is False
  assert [
    (each['rows'][0], each['count'], each['sentence'])
    for each in found['findings']
  ] == _FOUND
  assert found['findings'][1]['rows'] == [12, 40]
  # Episodes with something wrong are in no figure.
  assert found['summary'] == {
    'transitions': 25,
    'episodes': 5,
    'truncated': 0,
    'steps': {'least': 5, 'most': 5, 'median': 5.0},
    'reward': {'least': 1.0, 'most': 1.0, 'mean': 1.0},
    'actions': {'0': 14, '1': 11},
    'behaviour_probability': None,
  }
  assert found['notes'] == []


def test_check_tells_programs_of_sound_logs_and_datasets(
  command, folder, tmp_path
):
  result = command(
    'dataset',
    'check',
    folder / 'clinic.csv',
    '--mapping',
    folder / 'mapping.yaml',
    '--json',
    '--quiet',
  )
  assert (result.returncode, result.stderr) == (0, '')
  found = json.loads(result.stdout)
  assert found['sound'] is True and found['findings'] == []
  assert found['summary']['transitions'] == 6
  assert found['summary']['actions'] == {'low': 3, 'none': 3}
  assert found['summary']['behaviour_probability'] == {
    'least': pytest.approx(0.2),
    'most': pytest.approx(0.8),
  }
  assert found['notes'] == [
    '1 episode ended without a final observation: the last step was dropped.'
  ]


def test_import_names_everything_that_is_wrong(command, faulty, tmp_path):
  result = command(
    'dataset', 'import', faulty, '--out', tmp_path / 'out', '--quiet'
  )
  assert result.returncode == 2
  lines = result.stderr.splitlines()
  assert len(lines) == 6  # no notes, no progress
  for (row, _, words), line in zip(_FOUND, lines, strict=False):
    assert line.startswith(f'log.csv, row {row}')
    assert words in line
  assert lines[5].startswith(
    'Error: log.csv is not sound: 5 things are wrong with it. The first: '
    "log.csv, row 7 (episode e1): reward is 'high', which is not a number."
  )
  assert list(tmp_path.iterdir()) == []


def test_what_stops_the_reading_is_said_after_what_was_found(
  tmp_path, monkeypatch, capsys
):
  monkeypatch.setattr(runtime, 'start', lambda **_: None)
  monkeypatch.setattr(source, 'CHUNK_ROWS', 4)
  log = tmp_path / 'log.csv'
  log.write_text(
    'episode,obs,action,reward,terminated\n'
    + 'a,x,0,1,1\n'
    + ''.join(f'{row},1,1,1,1\n' for row in range(6))
    + 'b,1,1,1,1,7'
  )
  with pytest.raises(typer.Exit):
    checking.check(log, as_json=True)
  first, second = json.loads(capsys.readouterr().out)['findings']
  assert first == {
    'sentence': "obs is 'x', which is not a number",
    'rows': [2],
    'count': 1,
  }
  assert 'log.csv' in second['sentence'] and second['rows'] == []


@pytest.mark.slow
def test_a_dataset_takes_no_options_of_logs(imported, monkeypatch):
  monkeypatch.setattr(runtime, 'start', lambda **_: None)
  with pytest.raises(ValueError, match='The options are for logs'):
    checking.check(imported, columns=log_options.OfLog(ends='truncated'))


def test_a_bandit_log_is_said_to_have_its_own_columns_alone(
  tmp_path, monkeypatch
):
  monkeypatch.setattr(runtime, 'start', lambda **_: None)
  log = tmp_path / 'offers.csv'
  log.write_text('visits,offer,reward\n1,a,0\n2,b,1\n')
  with pytest.raises(ValueError, match="no column 'obs\\*'") as refused:
    importing.import_log(
      log,
      tmp_path / 'made',
      log_options.OfLog(bandit=True, assignments=['action=offer']),
    )
  assert "Its columns are: 'visits', 'offer', 'reward'. " in str(refused.value)


@pytest.mark.parametrize(
  'given, words',
  [
    ({'assignments': ['action']}, 'the form NAME=COLUMN'),
    ({'assignments': ['dose=x']}, 'A mapping has no dose'),
    ({'mapping': pathlib.Path('nowhere.yaml')}, 'nowhere.yaml'),
    ({'discount': 1.5}, r'discount must lie in \[0, 1\], got 1.5'),
    ({'discount': 1.0}, 'all terminate, but 2 episodes were truncated'),
    ({'horizon': 0}, 'horizon must be at least 1, got 0'),
    ({'horizon': 1}, 'after step 1, which was said to be the horizon'),
    (
      {'bandit': True},
      'one step that terminates, so step, terminated, episode '
      'cannot go with it',
    ),
  ],
)
def test_wrong_options_are_refused(folder, tmp_path, monkeypatch, given, words):
  monkeypatch.setattr(runtime, 'start', lambda **_: None)
  given = {'mapping': folder / 'mapping.yaml', **given}
  discount = given.pop('discount', 0.99)
  with pytest.raises((ValueError, OSError), match=words):
    importing.import_log(
      folder / 'clinic.csv',
      tmp_path / 'out',
      log_options.OfLog(**given),
      discount=discount,
    )
  assert not (tmp_path / 'out').exists()


@pytest.mark.slow
def test_an_export_whose_name_tells_nothing_is_refused(
  imported, tmp_path, monkeypatch
):
  monkeypatch.setattr(runtime, 'start', lambda **_: None)
  with pytest.raises(ValueError, match='tells no format'):
    importing.export_log(imported, tmp_path / 'log')


@pytest.mark.slow
def test_a_killed_import_does_not_open_and_goes_on(command, tmp_path):
  rows = ''.join(
    f'{i // 50},{i % 3},0.5,1.5,{i},{int(i % 50 == 49)}\n'
    for i in range(400_000)
  )
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
    'arrays',
    'checkpoint',
    'metadata.json',
  ]


def test_import_takes_categorical_columns_and_says_what_looks_so(
  tmp_path, monkeypatch, capsys
):
  monkeypatch.setattr(runtime, 'start', lambda **_: None)
  generator = np.random.default_rng(0)
  often = generator.exponential(size=64)
  state = generator.choice(64, size=2_000, p=often / often.sum())
  (tmp_path / 'log.csv').write_text(
    'episode,state,action,reward,terminated\n'
    + ''.join(
      f'{row // 20},{each},{row % 2},1,{int(row % 20 == 19)}\n'
      for row, each in enumerate(state)
    )
  )
  for name, named in (('plain', None), ('named', ['state'])):
    importing.import_log(
      tmp_path / 'log.csv',
      tmp_path / name,
      log_options.OfLog(assignments=['observations=state'], categorical=named),
      discount=0.9,
    )
    shown = capsys.readouterr()
    assert ('--categorical state' in ' '.join(shown.err.split())) == (
      named is None
    )
  dataset = reading.open_dataset(tmp_path / 'named')
  assert dataset.metadata.categories == {0: tuple(np.unique(state).tolist())}
  checking.check(tmp_path / 'plain')
  assert 'looks categorical' in ' '.join(capsys.readouterr().out.split())


def test_check_tells_programs_of_overlap_and_of_damage(
  tmp_path, monkeypatch, capsys
):
  monkeypatch.setattr(runtime, 'start', lambda **_: None)
  generator = np.random.default_rng(0)
  (tmp_path / 'log.csv').write_text(
    'episode,obs,action,reward,terminated\n'
    + ''.join(
      f'{row // 6},{generator.random()},{generator.integers(2)},1,'
      f'{int(row % 6 == 5)}\n'
      for row in range(240)
    )
  )
  data = tmp_path / 'data'
  importing.import_log(tmp_path / 'log.csv', data)
  capsys.readouterr()
  checking.check(data, policy='uniform', as_json=True)
  found = json.loads(capsys.readouterr().out)
  assert found['sound'] is True
  assert found['summary']['transitions'] == 240
  assert found['overlap']['agreement'] == 0.5
  assert found['overlap']['episodes'] == 40
  assert found['overlap']['sentences'][0].startswith('Overlap is good')

  with (data / 'arrays' / 'reward.npy').open('ab') as file:
    file.write(b'x')
  with pytest.raises(typer.Exit):
    checking.check(data, as_json=True)
  found = json.loads(capsys.readouterr().out)
  assert found['sound'] is False and found['summary'] == {}
  (finding,) = found['findings']
  assert 'arrays/reward.npy' in finding['sentence']
