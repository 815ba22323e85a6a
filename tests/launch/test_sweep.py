"""`dfiv-ope sweep` as a user runs it: kills, failures, a real Ray cluster."""

import fcntl
import json
import pathlib
import random
import re
import shutil
import signal
import time

import pytest

from dfiv_ope import agents, testing
from dfiv_ope.results import files
from dfiv_ope.results import rows as rows_lib

_GRID = """
tasks: catch
noises: [0.2]
methods: [lstd, dfiv]
seeds: 2
policy: {transitions: 2000, trial_episodes: 4}
transitions: 1000
truth_episodes: 200
settings:
  lstd: {random_features: 4}
  dfiv: {updates: 40, checks: 20, batch_size: 32}
"""
_ROWS = {('log', 0), ('lstd', 0), ('lstd', 1), ('dfiv', 0), ('dfiv', 1)}


@pytest.fixture(scope='module')
def grid(tmp_path_factory):
  path = tmp_path_factory.mktemp('grids') / 'grid.yaml'
  path.write_text(_GRID)
  return path


@pytest.fixture(scope='module')
def whole(command, grid, tmp_path_factory):
  """A sweep that was never disturbed."""
  out = tmp_path_factory.mktemp('runs') / 'whole'
  result = command('sweep', grid, '--out', out, '--workers', '1')
  assert result.returncode == 0, result.stderr
  return out, result


@pytest.fixture
def begun(whole, tmp_path):
  """A sweep that has its policy and dataset, but no rows."""
  out = tmp_path / 'begun'
  shutil.copytree(whole[0], out)
  (out / 'rows.jsonl').unlink()
  return out


def test_rows_of_all_cells_come_of_it(whole):
  out, result = whole
  rows = {(row.method, row.seed): row for row in files.read(out)}
  assert set(rows) == _ROWS
  (dataset,) = (out / 'datasets').iterdir()
  record = json.loads((dataset / 'metadata.json').read_text())
  row = rows['dfiv', 1]
  assert row.problem.digest == record['digest']
  assert row.config['updates'] == 40 and row.custom
  assert row.version == agents.ENTRIES['dfiv'].version
  assert row.metrics['error'] >= 0.0
  assert row.command == (
    f'dfiv-ope evaluate {dataset} --out {out} --method dfiv --config default '
    '--set updates=40 --set batch_size=32 --set checks=20 --seeds 2'
  )
  assert list((out / 'checkpoints').iterdir()) == []
  assert '7 jobs done' in result.stdout
  assert 'Sweeping: 100 %' in result.stderr


def test_the_command_of_a_row_finds_that_row(whole, command):
  out, _ = whole
  before = (out / 'rows.jsonl').read_bytes()
  (row,) = (
    row for row in files.read(out) if (row.method, row.seed) == ('lstd', 1)
  )
  again = command(*row.command.split()[1:])
  assert again.returncode == 0, again.stderr
  assert '3 of 3 runs have their rows' in again.stderr
  assert (out / 'rows.jsonl').read_bytes() == before


def test_run_again_it_computes_nothing(whole, grid, command):
  out, _ = whole
  before = (out / 'rows.jsonl').read_bytes()
  again = command('sweep', grid, '--out', out)
  assert again.returncode == 0, again.stderr
  assert '5 of 5 runs have their rows' in again.stderr
  assert (out / 'rows.jsonl').read_bytes() == before


def test_rows_that_evaluate_made_of_a_made_dataset_are_found(
  command, grid, whole, tmp_path
):
  dataset = tmp_path / 'datasets' / 'any-name'
  made = command(
    'dataset',
    'make',
    'catch',
    '--action-noise',
    '0.2',
    '--transitions',
    '1000',
    '--truth-episodes',
    '200',
    '--set',
    'transitions=2000',
    '--set',
    'trial_episodes=4',
    '--out',
    dataset,
  )
  assert made.returncode == 0, made.stderr
  evaluated = command(
    'evaluate',
    dataset,
    '--method',
    'lstd:random_features=4',
    '--seeds',
    '2',
    '--out',
    tmp_path,
  )
  assert evaluated.returncode == 0, evaluated.stderr
  before = (tmp_path / 'rows.jsonl').read_bytes()
  planned = command('sweep', grid, '--out', tmp_path, '--dry-run')
  assert planned.returncode == 0, planned.stderr
  for kind, words in (
    ('policies', '0 of 1'),
    ('datasets', '0 of 1'),
    ('log returns', '0 of 1'),
    ('experiments', '2 of 4'),
  ):
    assert f'{kind}: {words} to run' in planned.stdout
  file = tmp_path / 'lstd.yaml'
  file.write_text(
    _GRID.replace('lstd, dfiv', 'lstd').replace(
      '  dfiv: {updates: 40, checks: 20, batch_size: 32}\n', ''
    )
  )
  swept = command('sweep', file, '--out', tmp_path)
  assert swept.returncode == 0, swept.stderr
  assert '3 of 3 runs have their rows' in swept.stderr
  assert (tmp_path / 'rows.jsonl').read_bytes() == before
  assert not (tmp_path / 'policies').exists()
  assert [each.name for each in dataset.parent.iterdir()] == ['any-name']
  # A sweep that makes the dataset itself has rows of the same keys.
  keys = {row.key for row in files.read(whole[0]) if row.method != 'dfiv'}
  assert keys == {row.key for row in files.read(tmp_path)}


def test_a_dry_run_lists_what_is_there_and_what_is_not(
  whole, grid, command, tmp_path
):
  fresh = tmp_path / 'fresh'
  nothing = command('sweep', grid, '--out', fresh, '--dry-run')
  assert 'experiments: 4 of 4 to run' in nothing.stdout
  assert not fresh.exists()
  more = command(
    'sweep',
    grid,
    '--out',
    whole[0],
    '--dry-run',
    '--noises',
    '0,0.2',
    '--seeds',
    '3',
  )
  assert more.returncode == 0
  lines = [line.split() for line in more.stdout.splitlines()]
  assert ['catch', '0.2', 'policy', '1', '0', '0.0'] in lines
  assert ['catch', '0.2', 'dfiv', 'default,', 'custom', '2', '1'] in [
    line[:-1] for line in lines
  ]
  assert ['catch', '0', 'dfiv', 'default,', 'custom', '0', '3'] in [
    line[:-1] for line in lines
  ]
  assert 'CPU hours in all: 9 of 11 jobs as long as the median' in more.stdout
  assert 'experiments: 8 of 12 to run, 4 cached' in more.stdout


def test_a_sweep_at_another_discount_has_its_own_logs_truths_and_tables(
  command, grid, begun, whole, tmp_path
):
  shutil.copy(whole[0] / 'rows.jsonl', begun)
  file = tmp_path / 'half.yaml'
  file.write_text(
    grid.read_text()
    .replace('lstd, dfiv', 'lstd')
    .replace('  dfiv: {updates: 40, checks: 20, batch_size: 32}\n', '')
    + 'discount: 0.5\n'
  )
  result = command('sweep', file, '--out', begun, '--workers', '1')
  assert result.returncode == 0, result.stderr
  assert len(list((begun / 'datasets').iterdir())) == 2
  rows = [row for row in files.read(begun) if row.method != 'dfiv']
  truths = {row.problem.discount: row.problem.truth for row in rows}
  # The reward comes at the ninth step.
  assert truths[0.5] == pytest.approx(truths[0.99] * (0.5 / 0.99) ** 8, rel=0.5)
  assert len({row.key for row in rows}) == 6
  text = ' '.join(result.stdout.split())
  tables = text.split('Value of the target policy on ')[1:]
  # What this sweep asked for, and nothing else of the directory.
  (table,) = tables
  assert re.search(r', discount ([\d.]+) ', table)[1] == '0.5'
  mean = (
    sum(
      row.metrics['estimate']
      for row in rows
      if (row.method, row.problem.discount) == ('lstd', 0.5)
    )
    / 2.0
  )
  assert f'lstd custom 2 {mean:#.5g} ' in table


@pytest.mark.slow
def test_killed_at_random_moments_it_gives_the_same_rows(
  command, grid, whole, tmp_path
):
  out = tmp_path / 'killed'
  moments = random.Random(1)
  # One kill anywhere, one after the first look, one after the first rows.
  for wanted in ('.lock', 'checkpoints/*/checkpoint-??????????', 'rows.jsonl'):
    process = command.popen('sweep', grid, '--out', out, '--workers', '2')
    while not list(out.glob(wanted)) and process.poll() is None:
      time.sleep(0.02)
    time.sleep(moments.uniform(0.0, 3.0))
    workers = _children(process.pid)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    _expect_end(workers)
  again = command('sweep', grid, '--out', out, '--workers', '2')
  assert again.returncode == 0, again.stderr
  assert testing.comparable_rows(out) == testing.comparable_rows(whole[0])
  assert list((out / 'checkpoints').iterdir()) == []


def _children(pid):
  try:
    text = pathlib.Path(f'/proc/{pid}/task/{pid}/children').read_text()
  except FileNotFoundError:
    return []
  return [int(child) for child in text.split()]


def _expect_end(pids):
  """Nobody may write behind the next driver's back."""
  limit = time.monotonic() + 10.0
  while any(pathlib.Path(f'/proc/{pid}/exe').exists() for pid in pids):
    assert time.monotonic() < limit
    time.sleep(0.05)


@pytest.mark.slow
def test_interrupted_it_says_how_to_go_on(command, grid, begun):
  # Shells let what they run in the background ignore Ctrl-C.
  process = command.popen(
    'sweep',
    grid,
    '--out',
    begun,
    '--workers',
    '1',
    preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
  )
  while not list(begun.glob('checkpoints/*')) and process.poll() is None:
    time.sleep(0.02)
  process.send_signal(signal.SIGINT)
  _, errors = process.communicate(timeout=1200)
  assert process.returncode == 130
  assert 'The same command goes on' in errors
  assert 'Traceback' not in errors


@pytest.mark.slow
def test_failed_cells_are_recorded_and_tried_again(command, grid, begun, whole):
  (damaged, *_) = sorted(begun.glob('datasets/*/checkpoint/**/*.tfrecord'))
  sound = damaged.read_bytes()
  damaged.write_bytes(sound[:-1])
  failed = command('sweep', grid, '--out', begun, '--workers', '1')
  assert failed.returncode == 1
  assert '5 jobs failed or were skipped' in failed.stdout
  rows = files.read(begun)
  assert {(row.method, row.seed) for row in rows} == _ROWS
  for row in rows:
    assert row.outcome == 'error' and row.reason.startswith('ValueError: ')
    assert 'is damaged' in row.reason and row.metrics == {}
  lines = (begun / 'failures.jsonl').read_text().splitlines()
  assert len(lines) == 5 and 'Traceback' in json.loads(lines[0])['trace']

  damaged.write_bytes(sound)
  again = command('sweep', grid, '--out', begun, '--workers', '1')
  assert again.returncode == 0, again.stderr
  assert not (begun / 'failures.jsonl').exists()
  rows = rows_lib.latest(files.read(begun))
  assert [row.outcome for row in rows] == ['finished'] * 5
  assert {row.key for row in rows} == {row.key for row in files.read(whole[0])}


def test_what_needs_a_failed_job_is_skipped(command, grid, begun):
  shutil.rmtree(begun / 'datasets')
  (record,) = begun.glob('policies/*/policy.json')
  record.write_text('{"schema": 99}')
  failed = command('sweep', grid, '--out', begun, '--workers', '1')
  assert failed.returncode == 1
  lines = (begun / 'failures.jsonl').read_text().splitlines()
  errors = [json.loads(line)['error'] for line in lines]
  assert 'has schema version 99' in errors[0]
  assert len(errors) == 6
  assert all('Skipped, because dataset' in error for error in errors[1:])
  assert not (begun / 'rows.jsonl').exists()


def test_one_run_directory_serves_one_sweep(command, grid, tmp_path):
  out = tmp_path / 'runs'
  out.mkdir()
  with (out / '.lock').open('w') as lock:
    fcntl.flock(lock, fcntl.LOCK_EX)
    message = command.refuses('sweep', grid, '--out', out)
  assert 'Another process is working in' in message


@pytest.mark.slow
def test_a_cluster_that_loses_a_node_gives_the_same_rows(
  command, grid, begun, whole
):
  cluster_utils = pytest.importorskip('ray.cluster_utils')
  cluster = cluster_utils.Cluster(
    initialize_head=True,
    head_node_args={'num_cpus': 1, 'include_dashboard': False},
  )
  try:
    node = cluster.add_node(num_cpus=1)
    cluster.wait_for_nodes()
    process = command.popen(
      'sweep', grid, '--out', begun, '--ray', cluster.address
    )
    (raylet,) = node.all_processes['raylet']
    # The node is in the middle of a run.
    while process.poll() is None and not (
      _runs_a_job(raylet.process.pid)
      and list(begun.glob('checkpoints/*/checkpoint-??????????'))
    ):
      time.sleep(0.02)
    cluster.remove_node(node, allow_graceful=False)  # by SIGKILL
    assert process.poll() is None
    output, errors = process.communicate(timeout=1200)
    assert process.returncode == 0, errors + output
  finally:
    cluster.shutdown()
  assert testing.comparable_rows(begun) == testing.comparable_rows(whole[0])
  assert list((begun / 'checkpoints').iterdir()) == []
  assert not (begun / 'locks').exists()


def _runs_a_job(raylet):
  """Whether a worker of a node is at work, as Ray titles its processes."""
  titles = [
    pathlib.Path(f'/proc/{pid}/cmdline').read_text()
    for pid in _children(raylet)
  ]
  return any('_attempt' in title for title in titles)
