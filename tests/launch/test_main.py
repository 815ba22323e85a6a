"""Help is instant because nothing heavy is imported for it."""

import subprocess
import sys

import pytest
import typer

import dfiv_ope
from dfiv_ope.launch import main


def test_help_does_not_load_tensorflow(command):
  code = (
    'import sys\n'
    'from dfiv_ope.launch import main\n'
    'try: main.app(["--help"])\n'
    'except SystemExit: pass\n'
    'heavy = {"tensorflow", "numpy", "reverb", "acme", "sonnet"}\n'
    'print("HEAVY", sorted(heavy & set(sys.modules)))\n'
  )
  result = subprocess.run(
    [sys.executable, '-c', code], capture_output=True, text=True, check=True
  )
  assert 'HEAVY []' in result.stdout
  for name in ('policy', 'dataset'):
    assert name in result.stdout


def _commands(group, path=()):
  """Yields every command of a group with its path."""
  for name, command in group.commands.items():
    if hasattr(command, 'commands'):
      yield from _commands(command, (*path, name))
    else:
      yield ' '.join((*path, name)), command


_COMMANDS = dict(_commands(typer.main.get_command(main.app)))


@pytest.mark.parametrize('path', _COMMANDS)
def test_every_option_is_explained(path):
  asked = {
    each.name: each for each in _COMMANDS[path].params if each.name != 'help'
  }
  words = {name: (each.help or '').strip() for name, each in asked.items()}
  for name, sentence in words.items():
    assert len(sentence.split()) > 1, f'{name} is not explained: {sentence!r}'
    assert not asked[name].hidden
  assert len(set(words.values())) == len(words), 'two options, one sentence'
  assert (_COMMANDS[path].help or '').strip()


def _help(path, name):
  (found,) = (each for each in _COMMANDS[path].params if each.name == name)
  return found.help


def test_methods_that_run_unasked_are_named_and_auto_where_it_is_taken():
  said = {
    path: _help(path, 'method')
    for path, command in _COMMANDS.items()
    if not path.startswith(('iv fit', 'benchmark l', 'benchmark t'))
    and 'method' in [each.name for each in command.params]
  }
  assert [path for path, words in said.items() if 'auto selects' in words] == [
    'evaluate'
  ]
  shown = {
    path: words.partition(' Without it: ')[2].rstrip('.')
    for path, words in said.items()
  }
  assert shown == {
    'evaluate': 'lstd, kiv, fqe',
    'compare': 'lstd',
    'benchmark coverage': 'lstd',
    'iv demand': '',
    'iv dsprites': 'dfiv',
    'iv demand-mnist': 'dfiv',
    'iv mnist': 'dfiv',
    'iv suite': 'two_sls, sieve, kiv, agmm, auto',
  }


def test_help_says_which_logs_and_policies_a_command_takes():
  assert 'CSV file' in _help('evaluate', 'dataset')
  assert 'CSV' not in _help('compare', 'dataset')
  assert _help('evaluate', 'policy').endswith(
    'the target policy of the dataset.'
  )
  assert _help('compare', 'policy').endswith('Two at least are needed.')


def test_help_shows_the_explanations(command):
  text = ' '.join(
    command('dataset', 'make', '--help').stdout.replace('│', ' ').split()
  )
  for option in _COMMANDS['dataset make'].params:
    # The first words: a line may break at a hyphen within the later ones.
    assert ' '.join(option.help.split()[:3]) in text, option.name
  assert '--action-noise' in text


@pytest.mark.parametrize(
  'arguments, option',
  [
    (
      (
        'evaluate',
        'data',
        '--method',
        'lstd',
        '--out',
        'runs',
        '--seeds',
        '1',
        '--seeds',
        '2',
      ),
      '--seeds',
    ),
    (
      ('dataset', 'check', 'data', '--policy=uniform', '--policy=uniform'),
      '--policy',
    ),
    (
      ('sweep', '--tasks', 'catch', '--out', 'runs', '--tasks', 'cartpole'),
      '--tasks',
    ),
    (('report', 'runs', '--out', 'a', '--out', 'b'), '--out'),
  ],
)
def test_an_option_of_one_value_is_taken_once(
  command, tmp_path, arguments, option
):
  message = command.refuses(*arguments, cwd=tmp_path)
  assert message.startswith(
    f'Error: {option} was given 2 times, but takes one value.'
  )
  assert list(tmp_path.iterdir()) == []


def test_an_option_of_several_values_is_taken_as_often_as_it_comes(
  command, tmp_path
):
  message = command.refuses(
    'evaluate',
    'data',
    '--out',
    'runs',
    '--method',
    'lstd',
    '--method',
    'kiv',
    '--set',
    'a=1',
    '--set',
    'b=2',
    cwd=tmp_path,
  )
  assert 'config of one method' in message


def test_the_version_is_that_of_the_package(command):
  result = command('--version')
  assert (result.returncode, result.stdout) == (
    0,
    f'dfiv-ope {dfiv_ope.__version__}\n',
  )


@pytest.mark.parametrize(
  'path',
  [(), ('evaluate',), ('dataset',), ('dataset', 'check'), ('iv', 'demand')],
)
def test_h_is_help(command, path):
  result = command(*path, '-h')
  assert result.returncode == 0
  assert f'Usage: {" ".join(("dfiv-ope", *path))} ' in result.stdout


@pytest.mark.parametrize('path', _COMMANDS)
def test_every_command_can_be_quiet(path):
  names = [name for each in _COMMANDS[path].params for name in each.opts]
  assert {'--quiet', '-q'} <= set(names)


@pytest.mark.parametrize(
  'before, after',
  [((), ('--quiet',)), ((), ('-q',)), (('--quiet',), ()), (('-q',), ())],
)
def test_notes_and_progress_can_be_left_out(command, tmp_path, before, after):
  (tmp_path / 'log.csv').write_text(
    'episode,obs,action,reward,terminated\n0,1,0,1,0\n0,2,1,1,1\n'
  )
  result = command(*before, 'dataset', 'check', tmp_path / 'log.csv', *after)
  assert (result.returncode, result.stderr) == (0, '')
  assert 'is sound: 2 transitions can be imported.' in ' '.join(
    result.stdout.split()
  )


def test_errors_are_said_in_quiet_too(command, tmp_path):
  result = command('-q', 'dataset', 'show', 'nothing', '--quiet', cwd=tmp_path)
  assert result.returncode == 2
  assert result.stderr.startswith('Error: There is no dataset nothing. Make')
  assert result.stderr.count('\n') == 1


@pytest.mark.parametrize(
  'arguments',
  [
    ('benchmark', 'coverage', 'log.csv', '--out', 'runs'),
    ('dataset', 'show', 'log.csv'),
    ('dataset', 'export', 'log.csv', '--out', 'log.parquet'),
    ('dataset', 'serve', 'log.csv'),
  ],
)
def test_a_log_is_answered_with_the_command_that_imports_it(
  command, tmp_path, arguments
):
  (tmp_path / 'log.csv').write_text('episode,obs,action,reward,terminated\n')
  assert command.refuses(*arguments, cwd=tmp_path) == (
    'Error: log.csv is a log, not a dataset. Import it first: dfiv-ope '
    'dataset import log.csv --out log-dataset'
  )
  assert [each.name for each in tmp_path.iterdir()] == ['log.csv']


@pytest.mark.parametrize(
  'arguments',
  [
    ('evaluate', 'cathc', '--method', 'lstd', '--out', 'runs'),
    ('benchmark', 'coverage', 'cathc', '--out', 'runs'),
    ('dataset', 'show', 'cathc'),
    ('dataset', 'check', 'cathc'),
    ('dataset', 'export', 'cathc', '--out', 'log.csv'),
    ('dataset', 'serve', 'cathc'),
  ],
)
def test_a_missing_dataset_is_answered_with_the_nearest(
  command, tmp_path, arguments
):
  (tmp_path / 'catch').mkdir()
  (tmp_path / 'catch' / 'metadata.json').touch()
  assert command.refuses(*arguments, cwd=tmp_path) == (
    'Error: There is no dataset cathc: did you mean catch?'
  )


def test_what_needs_no_work_loads_nothing_heavy(tmp_path):
  code = (
    'import sys\n'
    'from dfiv_ope.launch import main\n'
    'try: main.main()\n'
    'except SystemExit: pass\n'
    'heavy = {"tensorflow", "numpy", "pandas", "reverb", "rich"}\n'
    'print("HEAVY", sorted(heavy & set(sys.modules)))\n'
  )
  for arguments in (
    ('evaluate', 'data', '--method', 'lsdt', '--out', 'runs'),
    ('evaluate', 'data', '--method', 'lstd', '--out', 'runs'),
    ('sweep', '--tasks', 'cathc', '--out', 'runs'),
    ('policy', 'train', 'cathc', '--out', 'runs'),
    ('dataset', 'check', 'data'),
  ):
    shown = subprocess.run(
      [sys.executable, '-c', code, *arguments],
      capture_output=True,
      text=True,
      check=True,
      cwd=tmp_path,
    )
    assert shown.stdout == 'HEAVY []\n', arguments
    assert shown.stderr.startswith('Error: There is no ')


def test_the_check_of_a_csv_log_does_not_load_tensorflow(tmp_path):
  (tmp_path / 'log.csv').write_text(
    'episode,obs,action,reward,terminated\n0,1,0,1,0\n0,2,1,1,1\n'
  )
  code = (
    'import sys\n'
    'from dfiv_ope.launch import main\n'
    'try: main.main()\n'
    'except SystemExit: pass\n'
    'heavy = {"tensorflow", "reverb", "acme", "sonnet"}\n'
    'print("HEAVY", sorted(heavy & set(sys.modules)))\n'
  )
  shown = subprocess.run(
    [sys.executable, '-c', code, 'dataset', 'check', 'log.csv'],
    capture_output=True,
    text=True,
    check=True,
    cwd=tmp_path,
  ).stdout
  assert 'log.csv is sound: 2 transitions can be imported.\nHEAVY []' in shown
