"""`dfiv-ope evaluate` on files of a log, as a user runs it."""

import json
import tempfile

import pandas as pd
import pytest

import dfiv_ope
from dfiv_ope.agents import configured
from dfiv_ope.datasets import streams
from dfiv_ope.evaluation import cross_checks
from dfiv_ope.launch import command_costs, files, log_options, options, runtime

_TINY = ('--method', 'lstd', '--set', 'random_features=10', '--seeds', '1')


@pytest.fixture(scope='module')
def folder(tmp_path_factory):
  path = tmp_path_factory.mktemp('files') / 'log.parquet'
  command_costs.write_log(1_500, path)
  whole = pd.read_parquet(path / 'part-00000.parquet')
  whole = whole.rename(columns={'reward': 'earned'})
  # An episode goes on from one file to the next.
  whole[:777].to_parquet(path / 'part-00000.parquet')
  whole[777:].to_parquet(path / 'part-00001.parquet')
  return path


def _evaluate(path):
  """Evaluates files as the command does here."""
  return dfiv_ope.evaluate(
    path,
    'uniform',
    methods='lstd',
    seeds=1,
    configs={'lstd': {'random_features': 10}},
    discount=0.9,
    columns={'reward': 'earned'},
  )


def test_a_folder_needs_no_import(command, folder, tmp_path):
  result = command(
    'evaluate',
    folder,
    *('--map', 'reward=earned', '--discount', '0.9', '--policy', 'uniform'),
    *(*_TINY, '--out', tmp_path / 'runs', '--json'),
  )
  assert result.returncode == 0, result.stderr
  (answer,) = json.loads(result.stdout)['answers']
  (line,) = [each for each in answer['estimates'] if each['method'] == 'lstd']
  same = _evaluate(folder)
  assert line['estimate'] == pytest.approx(same.value, rel=1e-12)
  frame = pd.read_parquet(folder)
  log = dfiv_ope.Log.from_frame(frame, discount=0.9, reward='earned')
  assert same.task.log.digest == log.digest
  assert same.survey is None
  rows = (tmp_path / 'runs' / 'rows.jsonl').read_text().splitlines()
  assert len(rows) == 2


def test_long_text_is_copied_into_the_run_directory_and_no_further(
  folder, tmp_path, monkeypatch, capsys
):
  monkeypatch.setattr(cross_checks, 'measure', lambda *args, **kwargs: {})
  text, out = tmp_path / 'text', tmp_path / 'runs'
  text.mkdir()
  for path in folder.iterdir():
    pd.read_parquet(path).to_csv(
      text / f'{path.stem}.csv', index=False, float_format='%.17g'
    )
  whole = _evaluate(text)
  monkeypatch.setattr(runtime, 'start', lambda **_: None)  # TensorFlow runs.
  monkeypatch.setattr(streams, 'IN_MEMORY', 1_000)
  (tmp_path / 'temporary').mkdir()
  monkeypatch.setattr(tempfile, 'tempdir', str(tmp_path / 'temporary'))
  # A killed command has left a part of its copy.
  (out / 'dfiv-ope-copies' / 'transitions.partial').mkdir(parents=True)
  seen = []
  look = streams.Stream.survey

  def survey(self, **options):
    found = look(self, **options)
    seen.append(
      sorted(each.name for each in (out / 'dfiv-ope-copies').iterdir())
    )
    return found

  monkeypatch.setattr(streams.Stream, 'survey', survey)
  files.evaluate(
    text,
    {'uniform': 'uniform'},
    {},
    [
      configured.configure('lstd', settings=['random_features=10']),
      configured.configure('kiv', settings=['random_features=10']),
      configured.configure('cme'),  # Needs the whole log.
    ],
    named=False,
    columns=log_options.OfLog(assignments=['reward=earned']),
    discount=0.9,
    seeds=1,
    preset='default',
    trust_policy=False,
    all_columns=False,
    level=0.95,
    out=out,
    running=options.Running(as_json=True),
  )
  assert seen == [['transitions']]
  said = capsys.readouterr()
  assert 'No --method: running lstd, kiv.' in ' '.join(said.err.split())
  (answer,) = json.loads(said.out)['answers']
  assert [each['method'] for each in answer['estimates']] == [
    *('log', 'lstd', 'kiv')
  ]
  (line,) = [each for each in answer['estimates'] if each['method'] == 'lstd']
  assert line['estimate'] == pytest.approx(whole.value, rel=1e-10)
  assert not (out / 'dfiv-ope-copies').exists()
  assert not list((tmp_path / 'temporary').iterdir())


@pytest.mark.parametrize(
  'arguments, words',
  [
    (('--policy', 'uniform'), "has no column 'reward'"),
    (('--map', 'reward=earned'), 'log.parquet is a log without a target'),
    (
      ('--policy', 'uniform', '--initial', 'states.csv'),
      '--initial need a dataset, but',
    ),
    (
      ('--policy', 'uniform', '--workers', '2'),
      '--workers goes with --ray where a log is in files',
    ),
  ],
)
def test_wrong_input_is_one_sentence(
  command, folder, tmp_path, arguments, words
):
  assert words in command.refuses(
    'evaluate', folder, *_TINY, *arguments, '--out', tmp_path / 'runs'
  )
  assert not (tmp_path / 'runs' / 'rows.jsonl').exists()


def test_a_bad_cell_is_named_by_its_file_and_row(command, folder, tmp_path):
  bad = tmp_path / 'bad.parquet'
  bad.mkdir()
  for path in folder.iterdir():
    (bad / path.name).write_bytes(path.read_bytes())
  frame = pd.read_parquet(bad / 'part-00001.parquet')
  frame.loc[frame.index[4], 'obs_1'] = float('nan')
  frame.to_parquet(bad / 'part-00001.parquet')
  assert 'part-00001.parquet, row 5 (episode 15): obs_1 is empty' in (
    command.refuses(
      'evaluate',
      bad,
      *_TINY,
      *('--policy', 'uniform', '--map', 'reward=earned'),
      *('--out', tmp_path / 'runs'),
    )
  )


def test_phases_of_a_command_are_told(monkeypatch):
  monkeypatch.setattr(runtime, 'start', lambda **_: None)  # TensorFlow runs.
  found = {each.name: each.cpu_seconds for each in command_costs.phases(1_000)}
  assert {'imports', 'fit', 'cross-checks', 'overlap'} <= set(found)
  assert min(found.values()) >= 0.0
  assert found['(bare products of the fit)'] > 0.0


def test_scale_says_cpu_memory_and_ratio(monkeypatch):
  calls = []

  class Used:
    ru_utime, ru_stime, ru_maxrss = 3.0, 1.0, 500_000

  def run(*arguments):
    calls.append([str(each) for each in arguments])
    return Used

  monkeypatch.setattr(command_costs, '_run', run)
  monkeypatch.setattr(command_costs, 'write_log', lambda rows, folder: None)
  (found,) = command_costs.scale([10_000])
  assert (found.rows, found.cpu_seconds, found.gigabytes) == (10_000, 4.0, 0.5)
  assert found.ratio == pytest.approx(4.0 / found.bare_products)
  assert calls[0][0] == 'evaluate' and calls[0][1].endswith('10000.parquet')


def test_python_asks_for_what_files_do_not_say(folder):
  with pytest.raises(ValueError, match='does not say the discount'):
    dfiv_ope.evaluate(folder, 'uniform')
  with pytest.raises(ValueError, match='initial_observations go with a log'):
    dfiv_ope.evaluate(
      folder, 'uniform', discount=0.9, initial_observations=[[0.0]]
    )
  log = dfiv_ope.Log.from_arrays(
    [[0.0], [1.0]], [0, 1], [0, 1], [0, 1], discount=0.9
  )
  with pytest.raises(ValueError, match='are of a log in files'):
    dfiv_ope.evaluate(log, 'uniform', discount=0.9)
