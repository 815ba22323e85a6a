"""Help is instant because nothing heavy is imported for it."""

import subprocess
import sys

import pytest
import typer

from dfiv_ope.launch import main


def test_help_does_not_load_tensorflow(command):
  code = (
      'import sys\n'
      'from dfiv_ope.launch import main\n'
      'try: main.app(["--help"])\n'
      'except SystemExit: pass\n'
      'heavy = {"tensorflow", "numpy", "reverb", "acme", "sonnet"}\n'
      'print("HEAVY", sorted(heavy & set(sys.modules)))\n')
  result = subprocess.run(
      [sys.executable, '-c', code], capture_output=True, text=True,
      check=True)
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
  asked = {each.name: each for each in _COMMANDS[path].params
           if each.name != 'help'}
  words = {name: (each.help or '').strip() for name, each in asked.items()}
  for name, sentence in words.items():
    assert len(sentence.split()) > 1, f'{name} is not explained: {sentence!r}'
    assert not asked[name].hidden
  assert len(set(words.values())) == len(words), 'two options, one sentence'
  assert (_COMMANDS[path].help or '').strip()


def test_help_shows_the_explanations(command):
  text = ' '.join(
      command('dataset', 'make', '--help').stdout.replace('│', ' ').split())
  for option in _COMMANDS['dataset make'].params:
    # The first words: a line may break at a hyphen within the later ones.
    assert ' '.join(option.help.split()[:3]) in text, option.name
  assert '--action-noise' in text


@pytest.mark.parametrize('arguments, option', [
    (('evaluate', 'data', '--method', 'lstd', '--out', 'runs', '--policy',
      'uniform', '--policy', 'columns'), '--policy'),
    (('dataset', 'check', 'data', '--policy=uniform', '--policy=uniform'),
     '--policy'),
    (('sweep', '--tasks', 'catch', '--out', 'runs', '--tasks', 'cartpole'),
     '--tasks'),
    (('report', 'runs', '--out', 'a', '--out', 'b'), '--out')])
def test_an_option_of_one_value_is_taken_once(
    command, tmp_path, arguments, option):
  message = command.refuses(*arguments, cwd=tmp_path)
  assert message.startswith(
      f'Error: {option} was given 2 times, but takes one value.')
  assert list(tmp_path.iterdir()) == []


def test_an_option_of_several_values_is_taken_as_often_as_it_comes(
    command, tmp_path):
  message = command.refuses(
      'evaluate', 'data', '--out', 'runs', '--method', 'lstd', '--method',
      'kiv', '--set', 'a=1', '--set', 'b=2', cwd=tmp_path)
  assert 'config of one method' in message
