"""The command line: `dfiv-ope --help`.

Nothing heavy is imported here or at the top of a command's module, so that
help and errors in arguments are instant.
"""

import os
import sys

import typer

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


def main() -> None:
  """Runs a command; wrong input ends with one sentence and exit code 2."""
  try:
    app()
  except SystemExit as end:
    if end.code == _INTERRUPTED:  # Typer makes this of Ctrl-C.
      console.fail('Interrupted. The same command goes on where it stopped.')
    raise
  except Exception as error:
    sentence = _sentence(error)
    if sentence is None or os.environ.get(_DEBUG):
      raise
    console.fail(sentence)
    sys.exit(2)


def _sentence(error: Exception) -> str | None:
  """Returns what to tell the user, or None if the error is a bug of ours."""
  if 'No space left on device' in str(error):
    return f'The disk is full; what was begun has been removed. ({error})'
  if isinstance(error, OSError | ValueError):
    return str(error)
  return None
