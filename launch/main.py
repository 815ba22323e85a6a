"""The command line: `dfiv-ope --help`.

Nothing heavy is imported here or at the top of a command's module, so that
help and errors in arguments are instant.
"""

import atexit
from collections.abc import Callable
import gc
import os
import sys
from typing import Annotated

import typer

import dfiv_ope
from dfiv_ope import error_sentences, interrupts, limits
from dfiv_ope.launch import (
  accuracy,
  benchmark,
  checking,
  compare,
  console,
  coverage,
  dataset,
  evaluate,
  importing,
  iv,
  iv_fit,
  methods,
  once,
  policy,
  report,
  reproduce,
  runtime,
  sweep,
)

_NAME = 'dfiv-ope'

app = typer.Typer(
  name=_NAME,
  no_args_is_help=True,
  context_settings={'help_option_names': ['-h', '--help']},
  pretty_exceptions_enable=False,
)


def _print_version(wanted: bool) -> None:
  if wanted:
    console.say(f'{_NAME} {dfiv_ope.__version__}')
    raise typer.Exit


@app.callback()
def _start(
  version: Annotated[
    bool,
    typer.Option(
      '--version',
      help='Print the version and exit.',
      is_eager=True,
      callback=_print_version,
    ),
  ] = False,
  quiet: once.Quiet = False,
) -> None:
  """Says what a policy is worth from a log alone."""
  if quiet:
    console.be_quiet()


def _add_group(
  name: str, words: str, commands: dict[str, Callable[..., None]]
) -> None:
  """Adds commands of one kind, under one name."""
  group = typer.Typer(help=words, no_args_is_help=True)
  for each, function in commands.items():
    group.command(each)(function)
  app.add_typer(group, name=name)


app.command()(evaluate.evaluate)
app.command()(compare.compare)
app.command()(sweep.sweep)
app.command()(methods.methods)
app.command()(methods.guide)
_add_group('policy', 'Train target policies.', {'train': policy.train})
_add_group(
  'dataset',
  'Make and inspect offline datasets.',
  {
    'import': importing.import_log,
    'export': importing.export_log,
    'check': checking.check,
    'make': dataset.make,
    'show': dataset.show,
    'serve': dataset.serve,
  },
)
_add_group(
  'iv',
  'Instrumental-variable regression, on your table and on benchmarks.',
  {
    'fit': iv_fit.fit,
    'predict': iv_fit.predict,
    'demand': iv.demand,
    'dsprites': iv.dsprites,
    'demand-mnist': iv.demand_mnist,
    'mnist': iv.mnist,
    'suite': iv.suite,
  },
)
app.command()(report.report)
_add_group(
  'reproduce',
  'Run the experiments of the paper.',
  {
    'ope': reproduce.ope,
    'control': reproduce.control,
    'suite': reproduce.suite,
    'demand': reproduce.demand,
    'dsprites': reproduce.dsprites,
    'demand-mnist': reproduce.demand_mnist,
    'mnist': reproduce.mnist,
    'instability': reproduce.instability,
  },
)
_add_group(
  'benchmark',
  'What learners and commands cost, and whether intervals hold.',
  {
    'coverage': coverage.coverage,
    'invariance': benchmark.invariance,
    'learners': benchmark.learners,
    'scale': benchmark.scale,
    'evaluate': benchmark.evaluate,
    'time-to-accuracy': accuracy.time_to_accuracy,
  },
)
once.require(app)

# Set to see where an error comes from.
_DEBUG = 'DFIV_OPE_DEBUG'
_INTERRUPTED = 130
_HELP_WAS_SHOWN = 'NoArgsIsHelpError'


def main() -> None:
  """Runs a command; wrong input ends with one sentence and exit code 2."""
  runtime.limit_threads()
  console.accept_all_characters()
  interrupts.tell_apart()
  # A process that ends need not be looked through for garbage once more, which
  # takes a quarter of a second.
  atexit.register(gc.freeze)
  try:
    limits.not_empty(sys.argv[1:])
    code = app(prog_name=_NAME, standalone_mode=False)
  except Exception as error:
    if type(error).__name__ == _HELP_WAS_SHOWN:
      sys.exit(2)
    sentence = error_sentences.of(error, program=_NAME)
    if sentence is None or os.environ.get(_DEBUG):
      raise
    console.fail(sentence, details=getattr(error, '__notes__', ()))
    sys.exit(2)
  if code == _INTERRUPTED:  # Typer makes this of Ctrl-C.
    console.fail('Interrupted. The same command goes on where it stopped.')
  sys.exit(code)
