"""The command line: `dfiv-ope --help`.

Nothing heavy is imported here or at the top of a command's module, so that
help and errors in arguments are instant.
"""

import errno
import os
import sys

import typer

from dfiv_ope import interrupts
from dfiv_ope.launch import (
  benchmark,
  console,
  dataset,
  evaluate,
  iv,
  once,
  policy,
  report,
  reproduce,
  sweep,
)

app = typer.Typer(
    name='dfiv-ope',
    help='Says what a policy is worth from a log alone.',
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False)
app.command()(evaluate.evaluate)
app.command()(sweep.sweep)
app.add_typer(policy.app, name='policy')
app.add_typer(dataset.app, name='dataset')
app.add_typer(iv.app, name='iv')
app.command()(report.report)
app.add_typer(reproduce.app, name='reproduce')
app.add_typer(benchmark.app, name='benchmark')
once.require(app)

# Set to see where an error comes from.
_DEBUG = 'DFIV_OPE_DEBUG'
_INTERRUPTED = 130
_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
_HELP_WAS_SHOWN = 'NoArgsIsHelpError'


def main() -> None:
  """Runs a command; wrong input ends with one sentence and exit code 2."""
  console.accept_all_characters()
  interrupts.tell_apart()
  try:
    _refuse_empty(sys.argv[1:])
    code = app(standalone_mode=False)
  except Exception as error:
    if type(error).__name__ == _HELP_WAS_SHOWN:
      sys.exit(2)
    sentence = _sentence(error)
    if sentence is None or os.environ.get(_DEBUG):
      raise
    console.fail(sentence)
    sys.exit(2)
  if code == _INTERRUPTED:  # Typer makes this of Ctrl-C.
    console.fail('Interrupted. The same command goes on where it stopped.')
  sys.exit(code)


def _refuse_empty(arguments: list[str]) -> None:
  """Refuses empty arguments: a path without a name is the current directory.

  Raises:
    ValueError: an argument or the value of an option is empty.
  """
  for place, argument in enumerate(arguments):
    name, equals, value = argument.partition('=')
    if not argument:
      before = f' after {arguments[place - 1]}' if place else ''
      raise ValueError(
          f'The argument{before} is empty. Is a variable of the shell not set?')
    if name.startswith('--') and equals and not value:
      raise ValueError(
          f'{name} is empty. Is a variable of the shell not set?')


def _sentence(error: Exception) -> str | None:
  """Returns what to tell the user, or None if the error is a bug of ours."""
  words = str(error) or f'{type(error).__name__}, of which no more is known'
  if hasattr(error, 'format_message'):  # Typer's, about options
    context = getattr(error, 'ctx', None)
    path = context.command_path if context else 'dfiv-ope'
    return f'{error.format_message().rstrip(".")}. See: {path} --help'
  if (isinstance(error, OSError) and error.errno in _FULL
      or 'No space left on device' in words):
    return (
        f'The disk is full ({words}). Result rows and datasets that were '
        'complete are kept; make room and give the same command again.')
  if isinstance(error, MemoryError) or (
      type(error).__name__ == 'ResourceExhaustedError'):  # TensorFlow's
    return (f'There is not enough memory: {words}. Ask for less at once: '
            'fewer rows, features or units.')
  if isinstance(error, RecursionError):
    return f'A file or an argument is nested too deeply to be read: {words}.'
  if isinstance(error, UnicodeDecodeError):
    return f'A file is not UTF-8 text: {words}.'
  if isinstance(error, OSError | ValueError):
    return words
  return None
