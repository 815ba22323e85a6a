"""What a shell offers, asked for as the scripts of the shells do."""

import json
import os
import subprocess
import sys

import pytest

from dfiv_ope import agents
from dfiv_ope.launch import completion, main

_RUN = 'from dfiv_ope.launch import main; main.main()'
_RUN_AND_LIST = (
  'import json, sys\n'
  'from dfiv_ope.launch import main\n'
  'try: main.main()\n'
  'finally: print(json.dumps(sorted(sys.modules)), file=sys.stderr)\n'
)


def _words(line):
  """Returns what bash tells of a line, whose last word is to be completed."""
  return {
    '_DFIV_OPE_COMPLETE': 'complete_bash',
    'COMP_WORDS': line,
    'COMP_CWORD': str(len(line.split(' ')) - 1),
  }


@pytest.fixture
def ask(monkeypatch, capsys):
  """Returns what prints what a shell is offered, in this process."""

  def shown(words):
    for name, value in words.items():
      monkeypatch.setenv(name, value)
    with pytest.raises(SystemExit) as end:
      main.app(args=[], prog_name='dfiv-ope')
    assert end.value.code == 0
    return capsys.readouterr().out

  return shown


@pytest.mark.parametrize(
  'line, offered',
  [
    ('dfiv-ope evaluate data --method ls', ['lstd']),
    ('dfiv-ope evaluate data --method ', [*agents.NAMES, 'all', 'auto']),
    ('dfiv-ope evaluate data --config p', ['paper']),
    (
      'dfiv-ope evaluate data --method lstd --method d',
      [name for name in agents.NAMES if name.startswith('d')],
    ),
    ('dfiv-ope iv demand --method s', ['sieve']),
    ('dfiv-ope iv demand --figure c', ['cate']),
    ('dfiv-ope sweep --tasks catch,m', ['catch,mountain_car']),
    ('dfiv-ope sweep --methods ki', ['kiv']),
    ('dfiv-ope sweep --budget q', ['quick']),
    ('dfiv-ope reproduce ope --budget f', ['full']),
    ('dfiv-ope benchmark coverage data --method f', ['fqe']),
    ('dfiv-ope benchmark learners --method k', ['kiv']),
    ('dfiv-ope policy train ca', ['catch', 'cartpole']),
    ('dfiv-ope dataset make m', ['mountain_car']),
    (
      'dfiv-ope policy train g',
      ['gym:Pendulum-v1', 'gym:MountainCarContinuous-v0', 'gym:FrozenLake-v1'],
    ),
    ('dfiv-ope dataset import log --format r', ['rlds', 'rl_unplugged']),
    ('dfiv-ope dataset import log --ends tr', ['truncated']),
    ('dfiv-ope dataset export data --format p', ['parquet']),
    ('dfiv-ope dataset check data --policy be', ['behaviour-clone']),
    ('dfiv-ope dataset s', ['show', 'serve']),
    ('dfiv-ope evaluate --trust', ['--trust-policy']),
    ('dfiv-ope evaluate data --qu', ['--quiet']),
    ('dfiv-ope eva', ['evaluate']),
  ],
)
def test_bash_is_offered_names(line, offered, ask):
  assert ask(_words(line)).split() == offered


def test_zsh_is_offered_names(ask):
  shown = ask(
    {
      '_DFIV_OPE_COMPLETE': 'complete_zsh',
      '_TYPER_COMPLETE_ARGS': 'dfiv-ope evaluate data --method ls',
    }
  )
  assert '"lstd"' in shown
  assert 'kiv' not in shown


def test_policies_are_names_files_and_directories(tmp_path, ask, monkeypatch):
  monkeypatch.chdir(tmp_path)
  (tmp_path / 'uncertain.onnx').touch()
  (tmp_path / 'models').mkdir()
  (tmp_path / 'models' / 'catch').mkdir()
  line = 'dfiv-ope evaluate data --policy '
  assert ask(_words(line)).split() == [
    'uniform',
    'behaviour-clone',
    'columns',
    'models/',
    'uncertain.onnx',
  ]
  assert ask(_words(f'{line}u')).split() == ['uniform', 'uncertain.onnx']
  # The shell completes paths by itself where nothing is offered.
  assert ask(_words(f'{line}models/c')).split() == []


def test_a_policy_may_have_a_name_of_its_own(tmp_path, monkeypatch):
  monkeypatch.chdir(tmp_path)
  (tmp_path / 'models').mkdir()
  (tmp_path / 'models' / 'catch').mkdir()
  assert completion.policy('mine=un') == ['mine=uniform']
  assert completion.policy('mine=models/') == ['mine=models/catch/']
  assert completion.policy('mine=nowhere/') == []


def test_lists_are_completed_at_their_end_and_name_nothing_twice():
  complete = completion.among(['catch', 'cartpole'], commas=True)
  assert complete('') == ['catch', 'cartpole']
  assert complete('catch,c') == ['catch,cartpole']
  assert completion.among(['catch'])('catch,c') == []


@pytest.mark.parametrize(
  'line, offered',
  [
    ('dfiv-ope evaluate data --method ls', 'lstd'),
    ('dfiv-ope policy train cat', 'catch'),
    ('dfiv-ope iv demand --figure c', 'cate'),
    ('dfiv-ope dataset import x --format rld', 'rlds'),
  ],
)
def test_nothing_heavy_is_imported_for_a_completion(line, offered):
  done = subprocess.run(
    [sys.executable, '-c', _RUN_AND_LIST],
    capture_output=True,
    text=True,
    check=True,
    env={**os.environ, **_words(line)},
  )
  assert done.stdout.split() == [offered]
  loaded = json.loads(done.stderr)
  assert 'typer' in loaded
  assert not {'tensorflow', 'numpy', 'pandas', 'rich', 'dm_env'} & set(loaded)


def test_the_script_of_a_shell_asks_for_completions():
  shown = subprocess.run(
    [sys.executable, '-c', _RUN, '--show-completion'],
    capture_output=True,
    text=True,
    env={**os.environ, '_TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION': '1'},
    check=False,
  )
  assert shown.returncode == 2  # then it takes the name of a shell
  script = subprocess.run(
    [sys.executable, '-c', _RUN, '--show-completion', 'bash'],
    capture_output=True,
    text=True,
    check=True,
    env={**os.environ, '_TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION': '1'},
  )
  assert '_DFIV_OPE_COMPLETE=complete_bash' in script.stdout
  assert script.stdout.rstrip().endswith(
    'complete -o default -F _dfiv_ope_completion dfiv-ope'
  )
