"""`dfiv-ope iv`: run end to end at tiny size."""

import pytest

from dfiv_ope import results

TINY = ('--n', '100', '--seeds', '1')


@pytest.fixture(scope='module')
def run(command, tmp_path_factory):
  out = tmp_path_factory.mktemp('iv') / 'run'
  result = command(
      'iv', 'demand', '--out', out, '--method', 'two_sls', '--method', 'kiv',
      '--n', '100', '--n', '200', '--rho', '0.1', '--rho', '0.5', '--seeds',
      '2', '--figure', 'mse')
  assert result.returncode == 0, result.stderr
  return out


def test_rows_say_what_was_run(run):
  rows = results.read(run)
  assert len(rows) == 2 * 2 * 2 * 2
  row = rows[0]
  assert row.problem == {'name': 'demand', 'n': 100, 'rho': 0.1}
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
  count = len(results.read(run))
  command('iv', 'demand', '--out', run, '--method', 'two_sls', *TINY, '--set',
          'stage1_penalty=0.1')
  rows = results.read(run)
  assert len(rows) == count + 1
  assert rows[-1].config['stage1_penalty'] == 0.1


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
      'iv', 'demand', '--out', run, '--figure', 'joint')


@pytest.mark.slow
def test_the_joint_figure_shows_both_minimisations(command, tmp_path):
  for joint in ('False', 'True'):
    result = command(
        'iv', 'demand', '--out', tmp_path, '--method', 'dfiv', *TINY, '--set',
        'iterations=2', '--set', 'checks=2', '--set', f'joint={joint}')
    assert result.returncode == 0, result.stderr
  command('iv', 'demand', '--out', tmp_path, '--figure', 'joint')
  text = (tmp_path / 'joint.svg').read_text()
  assert 'joint minimisation' in text
  assert 'DFIV' in text


@pytest.mark.parametrize('arguments, message', [
    ((), 'Name a --method to run, or a --figure'),
    (('--method', 'ols'), "no method 'ols'. Choose from two_sls"),
    (('--figure', 'roc'), "no figure 'roc'. Choose one of ate"),
    (('--figure', 'ate'), 'has no result rows'),
    (('--method', 'kiv', '--seeds', '0'), '--seeds must be at least 1'),
    (('--method', 'all', '--set', 'a=1'), '--set changes the config of one'),
    (('--method', 'kiv', '--set', 'a=1'), "no setting 'a'. The settings are"),
    (('--method', 'sieve', '--paper'), 'The paper has no setting'),
    (('--method', 'kiv', '--rho', '2'), 'rho must lie in'),
])
def test_wrong_arguments_are_answered_with_a_sentence(
    command, tmp_path, arguments, message):
  assert message in command.refuses(
      'iv', 'demand', '--out', tmp_path, *arguments)
