"""`dfiv-ope iv`: run end to end at tiny size."""

import json
import statistics

import pytest

from dfiv_ope import testing
from dfiv_ope.results import files, problems

TINY = ('--n', '100', '--seeds', '1')


@pytest.fixture(scope='module')
def run(command, tmp_path_factory):
  out = tmp_path_factory.mktemp('iv') / 'run'
  result = command(
    'iv',
    'demand',
    '--out',
    out,
    '--method',
    'two_sls',
    '--method',
    'kiv',
    '--n',
    '100',
    '--n',
    '200',
    '--rho',
    '0.1',
    '--rho',
    '0.5',
    '--seeds',
    '2',
    '--figure',
    'mse',
  )
  assert result.returncode == 0, result.stderr
  return out


def test_rows_say_what_was_run(run):
  rows = files.read(run)
  assert len(rows) == 2 * 2 * 2 * 2
  row = rows[0]
  assert row.problem == problems.IVDesign(
    name='demand', parameters={'n': 100, 'rho': 0.1}
  )
  assert row.method == 'two_sls'
  assert row.config['stage1_penalty'] == 1e-12
  assert row.metrics['mse'] > 0
  assert len(row.curves['ate']) == len(row.curves['cate']) == 20
  assert 'tensorflow' in row.versions
  assert row.cpu_seconds > 0


def test_what_has_a_row_is_not_run_again(command, run):
  before = (run / 'rows.jsonl').read_bytes()
  result = command('iv', 'demand', '--out', run, '--method', 'two_sls', *TINY)
  assert (run / 'rows.jsonl').read_bytes() == before
  assert 'two_sls' in result.stdout
  assert '1 of 1 runs have their rows' in result.stderr


def test_another_setting_is_another_run(command, run):
  count = len(files.read(run))
  command(
    'iv',
    'demand',
    '--out',
    run,
    '--method',
    'two_sls',
    *TINY,
    '--set',
    'stage1_penalty=0.1',
  )
  rows = files.read(run)
  assert len(rows) == count + 1
  assert rows[-1].config['stage1_penalty'] == 0.1


def test_two_workers_give_the_rows_of_one(command, run, tmp_path):
  rows = [
    row
    for row in testing.comparable_rows(run)
    if row['config'].get('stage1_penalty') != 0.1
  ]
  result = command(
    'iv',
    'demand',
    '--out',
    tmp_path,
    '--method',
    'two_sls',
    '--method',
    'kiv',
    '--n',
    '100',
    '--n',
    '200',
    '--rho',
    '0.1',
    '--rho',
    '0.5',
    '--seeds',
    '2',
    '--workers',
    '2',
  )
  assert result.returncode == 0, result.stderr
  assert testing.comparable_rows(tmp_path) == rows


def test_json_is_all_that_is_printed_and_says_what_the_rows_do(command, run):
  result = command(
    'iv',
    'demand',
    '--out',
    run,
    '--method',
    'kiv',
    '--n',
    '100',
    '--rho',
    '0.1',
    '--rho',
    '0.5',
    '--seeds',
    '2',
    '--json',
  )
  assert result.returncode == 0, result.stderr
  found = json.loads(result.stdout)
  assert [
    (line['design'], line['method'], line['seeds'], line['failed'])
    for line in found
  ] == [
    ('demand n=100 rho=0.1', 'kiv', 2, 0),
    ('demand n=100 rho=0.5', 'kiv', 2, 0),
  ]
  for line, rho in zip(found, (0.1, 0.5), strict=True):
    rows = [
      row
      for row in files.read(run)
      if (row.method, row.problem.parameters) == ('kiv', {'n': 100, 'rho': rho})
    ]
    errors = [row.metrics['mse'] for row in rows]
    assert line['median'] == statistics.median(errors)
    assert (line['least'], line['most']) == (min(errors), max(errors))
    assert line['config'] == rows[0].config


@pytest.mark.parametrize('figure', ['ate', 'cate', 'mse'])
def test_figures_are_drawn_from_rows(command, run, figure):
  if figure != 'mse':  # That one was drawn with the run.
    command('iv', 'demand', '--out', run, '--figure', figure)
  assert (run / f'{figure}.png').read_bytes().startswith(b'\x89PNG')
  text = (run / f'{figure}.svg').read_text()
  assert '<svg' in text
  assert 'KIV' in text


def test_the_joint_figure_says_what_it_lacks(command, run):
  assert '--set joint=True' in command.refuses(
    'iv', 'demand', '--out', run, '--figure', 'joint'
  )


@pytest.mark.slow
def test_the_joint_figure_shows_both_minimisations(command, tmp_path):
  for joint in ('False', 'True'):
    result = command(
      'iv',
      'demand',
      '--out',
      tmp_path,
      '--method',
      'dfiv',
      *TINY,
      '--set',
      'iterations=2',
      '--set',
      'checks=2',
      '--set',
      f'joint={joint}',
    )
    assert result.returncode == 0, result.stderr
  command('iv', 'demand', '--out', tmp_path, '--figure', 'joint')
  text = (tmp_path / 'joint.svg').read_text()
  assert 'joint minimisation' in text
  assert 'DFIV' in text


@pytest.mark.parametrize(
  'arguments, message',
  [
    ((), 'Name a --method to run, or a --figure'),
    (('--method', 'ols'), "no method 'ols': did you mean two_sls"),
    (('--figure', 'roc'), "no figure 'roc'. Choose from ate"),
    (('--figure', 'ate'), 'has no result rows'),
    (('--method', 'kiv', '--seeds', '0'), '--seeds must be at least 1'),
    (('--method', 'all', '--set', 'a=1'), '--set changes the config of one'),
    (('--method', 'kiv', '--set', 'a=1'), "no setting 'a'. Choose from"),
    (('--method', 'sieve', '--paper'), 'The paper has no setting'),
    (('--method', 'kiv', '--rho', '2'), 'rho must lie in'),
  ],
)
def test_wrong_arguments_are_answered_with_a_sentence(
  command, tmp_path, arguments, message
):
  assert message in command.refuses(
    'iv', 'demand', '--out', tmp_path, *arguments
  )


def test_pictures_have_rows_and_the_trivial_one_beside_them(command, tmp_path):
  result = command(
    'iv',
    'dsprites',
    '--out',
    tmp_path,
    '--method',
    'kiv',
    '--n',
    '200',
    '--seeds',
    '1',
    '--outcome',
    'area',
    '--outcome',
    'orientation',
    '--set',
    'random_features=20',
  )
  assert result.returncode == 0, result.stderr
  rows = files.read(tmp_path)
  assert [(row.problem.parameters['outcome'], row.method) for row in rows] == [
    ('area', 'lit_pixels'),
    ('area', 'kiv'),
    ('orientation', 'lit_pixels'),
    ('orientation', 'kiv'),
  ]
  # A quadratic in the lit pixels says it all on one, nothing on the other.
  assert rows[0].metrics['mse'] < 5.0
  assert rows[2].metrics['mse'] > 20.0
  assert rows[1].custom and rows[1].preset == 'default'
  again = command(
    'iv',
    'dsprites',
    '--out',
    tmp_path,
    '--method',
    'kiv',
    '--n',
    '200',
    '--seeds',
    '1',
    '--set',
    'random_features=20',
  )
  assert '2 of 2 runs have their rows' in again.stderr


def test_a_watched_training_has_its_curve_even_if_it_ran_before(
  command, tmp_path
):
  arguments = (
    'iv',
    'dsprites',
    '--out',
    tmp_path,
    '--method',
    'dfiv',
    '--n',
    '100',
    '--seeds',
    '1',
    '--set',
    'iterations=2',
    '--set',
    'checks=2',
  )
  assert command(*arguments).returncode == 0
  result = command(*arguments, '--watch')
  assert result.returncode == 0, result.stderr
  first, last = (row for row in files.read(tmp_path) if row.method == 'dfiv')
  assert 'watched_mse' not in first.curves
  assert len(last.curves['watched_mse']) == 2
  assert first.metrics['mse'] == last.metrics['mse']


@pytest.mark.parametrize(
  'arguments, message',
  [
    (('dsprites', '--method', 'sieve'), "no setting for 'sieve' on 'dsprites'"),
    (('dsprites', '--outcome', 'colour'), "got 'colour'"),
    (('dsprites', '--dsprites', 'none.npz'), 'none.npz'),
    (
      ('dsprites', '--method', 'kiv', '--watch', '--n', '50'),
      'KIV cannot be watched',
    ),
    (('demand-mnist', '--mnist', 'nowhere'), 'nowhere'),
    (('demand-mnist', '--mnist', 'nowhere', '--rho', '2'), 'rho must lie in'),
    (('mnist', '--scenario', 'y'), "no scenario 'y'. Choose one of x, z, xz"),
    (('mnist', '--method', 'kiv'), "no setting for 'kiv' on 'mnist'"),
    (('mnist', '--paper'), "no setting for 'dfiv' on 'mnist'"),
  ],
)
def test_wrong_arguments_for_pictures_are_answered_with_a_sentence(
  command, tmp_path, arguments, message
):
  out = tmp_path / 'runs'
  assert message in command.refuses('iv', *arguments, '--out', out)
  # What is found out in a run leaves a row that says so, and is tried again.
  assert all(row.retry for row in files.known(out))


@pytest.mark.parametrize('name', ['demand', 'dsprites'])
def test_a_benchmark_starts_at_the_first_seed(command, tmp_path, name):
  result = command(
    *('iv', name, '--out', tmp_path, '--method', 'two_sls', '--n', '50'),
    *('--seeds', '2', '--first-seed', '100'),
  )
  assert result.returncode == 0, result.stderr
  assert {row.seed for row in files.read(tmp_path)} == {100, 101}


def test_the_suite_has_one_table_of_errors_relative_to_the_best(
  command, tmp_path
):
  arguments = (
    'iv',
    'suite',
    '--out',
    tmp_path,
    '--design',
    'linear',
    '--design',
    'irrelevant',
    '--method',
    'two_sls',
    '--seeds',
    '2',
    '--first-seed',
    '7',
  )
  result = command(*arguments)
  assert result.returncode == 0, result.stderr
  assert 'lost to plain' in result.stdout
  rows = files.read(tmp_path)
  assert {row.seed for row in rows} == {7, 8}
  assert {row.method for row in rows} == {
    'constant',
    'plain_kiv',
    'oracle',
    'two_sls',
  }
  found = json.loads(command(*arguments, '--json').stdout)
  lines = {line['design']: line for line in found['designs']}
  errors = [
    row.metrics['mse']
    for row in rows
    if (row.method == 'two_sls' and row.problem.parameters['law'] == 'linear')
  ]
  assert lines['linear n=2000']['errors']['two_sls'] == statistics.median(
    errors
  )
  assert lines['linear n=2000']['ranges']['two_sls'] == sorted(errors)
  assert lines['linear n=2000']['confounded']
  # A design whose instruments move nothing counts in no share.
  assert not lines['irrelevant n=2000']['identified']
  assert found['methods'][0] == {
    'set_aside': None,
    'method': 'two_sls',
    'designs': 1,
    'ratio': 1.0,
    'close': 1.0,
    'confounded': 1,
    'lost': 0,
    'cpu_seconds': found['methods'][0]['cpu_seconds'],
  }


@pytest.mark.parametrize(
  'arguments, message',
  [
    (('--design', 'cosine'), "There is no design 'cosine'"),
    (('--part', 'test'), "There is no part 'test'"),
    (('--method', 'ols'), "no method 'ols'"),
  ],
)
def test_wrong_arguments_of_the_suite_are_answered_with_a_sentence(
  command, tmp_path, arguments, message
):
  assert message in command.refuses(
    'iv', 'suite', '--out', tmp_path, *arguments
  )
