"""`dfiv-ope evaluate` as a user runs it."""

import fcntl
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import time

import pytest

from dfiv_ope import testing
from dfiv_ope.results import files, problems

# DFIV in a few seconds, with enough looks to be killed between them.
_SMALL = (
  '--method',
  'dfiv',
  '--seeds',
  '2',
  '--set',
  'updates=40',
  '--set',
  'checks=20',
  '--set',
  'patience=0',
  '--set',
  'batch_size=128',
)


@pytest.fixture(scope='module')
def whole(command, dataset, tmp_path_factory):
  """An evaluation that was never disturbed."""
  out = tmp_path_factory.mktemp('runs') / 'whole'
  result = command('evaluate', dataset, '--out', out, *_SMALL)
  assert result.returncode == 0, result.stderr
  return out, result


def test_a_table_and_rows_come_of_it(whole, dataset):
  out, result = whole
  record = json.loads((dataset / 'metadata.json').read_text())
  rows = {(row.method, row.seed): row for row in files.read(out)}
  assert set(rows) == {('log', 0), ('dfiv', 0), ('dfiv', 1)}
  row = rows['dfiv', 1]
  assert row.problem.digest == record['digest']
  assert row.problem.truth == record['truth']['mean']
  assert row.custom and row.preset == 'default'
  assert row.config['updates'] == 40
  assert row.curves['updates'] == tuple(range(2, 41, 2))
  assert row.metrics['estimate'] == row.curves['estimate'][-1]
  assert row.metrics['error'] == pytest.approx(
    abs(row.metrics['estimate'] - row.problem.truth)
  )
  assert row.metrics['relative_error'] == pytest.approx(
    row.metrics['error'] / abs(row.problem.truth)
  )
  assert row.cpu_seconds > 0.0
  assert 'tensorflow' in row.versions
  assert '--set updates=40' in row.command and '--seeds 2' in row.command
  naive = rows['log', 0]
  assert naive.metrics['estimate'] == record['behaviour']['mean']
  mean = (rows['dfiv', 0].metrics['estimate'] + row.metrics['estimate']) / 2.0
  assert f'{mean:#.5g}' in result.stdout
  assert '(log)' in result.stdout


@pytest.mark.slow
def test_killed_and_run_again_it_gives_the_same_rows(
  command, dataset, whole, tmp_path
):
  out = tmp_path / 'killed'
  # Killed after the first looks, and after the first row.
  for wanted in ('checkpoints/*/checkpoint-??????????', 'rows.jsonl'):
    process = command.popen('evaluate', dataset, '--out', out, *_SMALL)
    while not list(out.glob(wanted)) and process.poll() is None:
      time.sleep(0.02)
    time.sleep(1.0)
    process.send_signal(signal.SIGKILL)
    process.communicate()
  again = command('evaluate', dataset, '--out', out, *_SMALL)
  assert again.returncode == 0, again.stderr
  assert testing.comparable_rows(out) == testing.comparable_rows(whole[0])
  assert list((out / 'checkpoints').iterdir()) == []


# Runs the command, then says which heavy packages it imported.
_PROBE = """
import sys
from dfiv_ope.launch import main
try:
  main.main()
finally:
  heavy = {'numpy', 'pandas', 'tensorflow'} & set(sys.modules)
  print('imported', *sorted(heavy), file=sys.stderr)
"""


def _imported(*arguments):
  """Runs a command; returns what came of it, and its heavy imports."""
  result = subprocess.run(
    [sys.executable, '-c', _PROBE, *map(str, arguments)],
    text=True,
    capture_output=True,
    env={
      name: value
      for name, value in os.environ.items()
      if name != 'DFIV_OPE_DEBUG'
    },
  )
  *_, last = result.stderr.splitlines()
  said, *packages = last.split()
  assert said == 'imported', result.stderr
  return result, packages


def test_run_again_it_computes_nothing_and_needs_no_tensorflow(dataset, whole):
  out, first = whole
  before = (out / 'rows.jsonl').read_bytes()
  again, imported = _imported('evaluate', dataset, '--out', out, *_SMALL)
  assert again.returncode == 0, again.stderr
  assert '3 of 3 runs have their rows' in again.stderr
  assert again.stdout == first.stdout
  assert (out / 'rows.jsonl').read_bytes() == before
  assert 'numpy' in imported and 'tensorflow' not in imported


@pytest.mark.parametrize(
  'arguments, words',
  [
    (('no-such',), 'There is no dataset no-such'),
    (('DATASET', '--policy', 'unifrom'), "no policy 'unifrom'"),
    (('DATASET', '--method', 'lsdt'), "no method 'lsdt': did you mean lstd"),
  ],
)
def test_a_typo_is_answered_before_anything_heavy_is_imported(
  dataset, tmp_path, arguments, words
):
  out = tmp_path / 'runs'
  result, imported = _imported(
    'evaluate',
    *(dataset if each == 'DATASET' else each for each in arguments),
    '--out',
    out,
  )
  assert result.returncode == 2
  (sentence, _) = result.stderr.splitlines()
  assert sentence.startswith('Error: ') and words in sentence
  assert not imported and not result.stdout and not out.exists()


def test_json_is_all_that_is_printed_and_says_what_the_rows_do(
  command, dataset, whole
):
  out, _ = whole
  result = command(
    'evaluate', dataset, '--out', out, *_SMALL, '--level', '0.9', '--json'
  )
  assert result.returncode == 0, result.stderr
  found = json.loads(result.stdout)
  (answer,) = found['answers']
  rows = {(row.method, row.seed): row for row in files.read(out)}
  problem = rows['dfiv', 0].problem
  assert isinstance(problem, problems.SimulatedTask)
  assert (
    answer['digest'],
    answer['discount'],
    answer['truth'],
    answer['level'],
  ) == (problem.digest, problem.discount, problem.truth, 0.9)
  naive, line = answer['estimates']
  assert (naive['method'], naive['estimate']) == ('log', problem.log_return)
  runs = [rows['dfiv', seed] for seed in (0, 1)]
  assert (line['method'], line['seeds'], line['diverged']) == ('dfiv', 2, 0)
  assert line['settings'] == runs[0].config
  for name in ('estimate', 'error', 'relative_error'):
    assert line[name] == pytest.approx(
      sum(row.metrics[name] for row in runs) / 2.0, rel=1e-12
    )
  assert line['low'] < line['estimate'] < line['high']
  assert found['comparisons'] == found['selections'] == []


def test_two_workers_give_the_rows_and_the_table_of_one(
  command, dataset, whole, tmp_path
):
  out, first = whole
  result = command(
    'evaluate', dataset, '--out', tmp_path, *_SMALL, '--workers', '2'
  )
  assert result.returncode == 0, result.stderr
  assert testing.comparable_rows(tmp_path) == testing.comparable_rows(out)
  assert list((tmp_path / 'checkpoints').iterdir()) == []
  # The last column is the time.
  lines = [
    [
      line.split()
      for line in each.stdout.splitlines()
      if line.split()[:1] == ['dfiv']
    ]
    for each in (result, first)
  ]
  assert len(lines[0]) == 1 and lines[0][0][:-1] == lines[1][0][:-1]


@pytest.mark.slow
def test_two_policies_on_one_log(command, dataset, tmp_path):
  out = tmp_path / 'runs'
  for epsilon in ('0.2', '1'):
    result = command(
      'evaluate',
      dataset,
      '--out',
      out,
      '--method',
      'lstd',
      '--seeds',
      '1',
      '--target-epsilon',
      epsilon,
      '--truth-episodes',
      '4000',
    )
    assert result.returncode == 0, result.stderr
  rows = {
    (row.method, row.problem.target_epsilon): row for row in files.read(out)
  }
  behaviour, uniform = rows['lstd', 0.2], rows['lstd', 1.0]
  assert behaviour.problem.truth > uniform.problem.truth + 0.1
  assert behaviour.metrics['estimate'] > uniform.metrics['estimate']
  # The behaviour policy's value is what the log shows.
  spread = (
    behaviour.problem.log_standard_error**2
    + behaviour.problem.truth_standard_error**2
  ) ** 0.5
  assert behaviour.problem.truth == pytest.approx(
    behaviour.problem.log_return, abs=4.0 * spread
  )
  assert behaviour.metrics['estimate'] == pytest.approx(
    behaviour.problem.log_return, abs=4.0 * spread
  )
  assert behaviour.problem.overlap.agreement > 0.5
  assert uniform.problem.overlap.agreement == pytest.approx(1.0 / 3.0, abs=1e-3)


@pytest.mark.slow
def test_a_divergence_is_recorded_and_in_no_average(command, dataset, tmp_path):
  out = tmp_path / 'runs'
  result = command(
    'evaluate',
    dataset,
    '--out',
    out,
    '--method',
    'fqe',
    '--seeds',
    '1',
    '--set',
    'learning_rate=1e9',
    '--set',
    'updates=50',
    '--set',
    'checks=5',
  )
  assert result.returncode == 1
  (row,) = (row for row in files.read(out) if row.method == 'fqe')
  assert row.outcome == 'diverged' and row.reason
  assert row.metrics == {}
  assert len(row.curves['updates']) < 5
  assert (
    f'fqe seed 0: diverged: {row.reason}; excluded from averages.'
    in ' '.join(result.stdout.split())
  )


@pytest.mark.parametrize(
  'arguments, words',
  [
    (('--method', 'sorcery'), "no method 'sorcery'. Choose from lstd, kiv"),
    (('--method', 'lstd', '--config', 'best'), "no config 'best'"),
    (('--method', 'all', '--set', 'updates=1'), 'config of one method'),
    (('--method', 'lstd', '--set', 'depth=3'), "no setting 'depth'"),
    (('--method', 'lstd', '--set', 'random_features=3'), 'must be even'),
    (
      ('--method', 'lstd', '--workers', '0'),
      '--workers must be at least 1, got 0',
    ),
    (('--method', 'lstd', '--ray', 'somewhere'), 'host:port'),
    (
      ('--method', 'lstd', '--ray', '127.0.0.1:9'),
      'No Ray cluster answers at 127.0.0.1:9',
    ),
  ],
)
def test_what_cannot_be_run_is_said(
  command, dataset, tmp_path, arguments, words
):
  out = tmp_path / 'runs'
  assert words in command.refuses('evaluate', dataset, '--out', out, *arguments)
  assert not out.exists()


def test_rows_of_designs_and_of_logs_do_not_share_a_directory(
  command, dataset, whole, tmp_path
):
  designs = ('iv', 'demand', '--method', 'two_sls', '--n', '60', '--seeds', '1')
  logs = ('evaluate', dataset, '--method', 'lstd')
  assert command(*designs, '--out', tmp_path / 'iv').returncode == 0
  for out, arguments, words in (
    (
      tmp_path / 'iv',
      logs,
      'holds results of instrumental-variable designs, '
      'but these would be of off-policy evaluation',
    ),
    (
      whole[0],
      designs,
      'holds results of off-policy evaluation, but these '
      'would be of instrumental-variable designs',
    ),
  ):
    before = (out / 'rows.jsonl').read_bytes()
    assert words in command.refuses(*arguments, '--out', out)
    assert (out / 'rows.jsonl').read_bytes() == before


def test_what_is_no_dataset_is_refused(command, tmp_path):
  message = command.refuses(
    'evaluate', tmp_path, '--method', 'lstd', '--out', tmp_path / 'runs'
  )
  assert 'dataset' in message


def test_one_run_directory_serves_one_process(command, dataset, tmp_path):
  out = tmp_path / 'runs'
  out.mkdir()
  with (out / '.lock').open('w') as lock:
    fcntl.flock(lock, fcntl.LOCK_EX)
    message = command.refuses(
      'evaluate', dataset, '--method', 'lstd', '--out', out
    )
  assert 'Another process is working in' in message


@pytest.mark.slow
def test_the_example_of_the_page_of_datasets_runs_as_shown(
  dataset, tmp_path, monkeypatch, capsys
):
  page = pathlib.Path(__file__).parents[2] / 'docs' / 'datasets.md'
  block = re.search(r'```python\n(.*?)```', page.read_text(), re.DOTALL).group(
    1
  )
  (tmp_path / 'data').mkdir()
  (tmp_path / 'data' / 'catch').symlink_to(dataset)
  monkeypatch.chdir(tmp_path)
  exec(block, {})
  estimate, low, high, truth, difference = map(
    float, re.findall(r'-?\d+\.\d+', capsys.readouterr().out)
  )
  assert low < estimate < high
  record = json.loads((dataset / 'metadata.json').read_text())
  assert truth == pytest.approx(record['truth']['mean'], abs=5e-4)
  # Rewards are -1 or 1, once, at the end of an episode.
  assert -1.0 < estimate < 1.0
