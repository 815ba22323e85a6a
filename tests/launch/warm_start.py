"""Runs commands of the tests, each in a process of its own, forked from here.

    python warm_start.py  # Reads a request a line, answers with an exit code.

Loading TensorFlow takes longer than most of these commands, and so does looking
through all that it loaded for what nobody needs, at the end of each process.
So libraries are loaded once and kept from the garbage collector. Of the project
those modules are loaded that read nothing of their surroundings; no thread of
TensorFlow runs before a fork.
"""

import atexit
import gc
import importlib
import json
import os
import sys
import threading

_LIBRARIES = (
  'acme.tf.savers',
  'pandas',
  'reverb',
  'rich.table',
  'scipy.stats',
  'sonnet',
  'tensorflow',
  'typer.main',
  'dfiv_ope.agents.fqe',
  'dfiv_ope.agents.lstd',
  'dfiv_ope.agents.training',
  'dfiv_ope.datasets.importing',
  'dfiv_ope.datasets.making',
  'dfiv_ope.evaluation.runs',
  'dfiv_ope.iv.estimators',
  'dfiv_ope.launch.experiments.ope_run',
  'dfiv_ope.launch.experiments.scheduler',
  'dfiv_ope.launch.reporting.publish',
  'dfiv_ope.launch.reporting.summary_table',
)


def _load():
  gc.disable()
  for name in _LIBRARIES:
    importlib.import_module(name)
  gc.freeze()
  gc.enable()


def _next_command():
  """Returns the arguments of a command in its process; None at the end."""
  for line in sys.stdin:
    request = json.loads(line)
    child = os.fork()
    if not child:
      return _become(**request)
    _, status = os.waitpid(child, 0)
    print(os.waitstatus_to_exitcode(status), flush=True)
  return None


def _become(arguments, folder, environment, files):
  """Makes this process one that was started with these."""
  flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC
  for place, path in enumerate([os.devnull, *files]):
    mode = flags if place else os.O_RDONLY
    os.dup2(os.open(path, mode), place)
  os.chdir(folder)
  os.environ.clear()
  os.environ.update(environment)
  sys.path[0] = ''  # As of `python -c`.
  return arguments


def _end(code):
  """Ends the process without taking every module apart."""
  if threading.active_count() > 1:
    sys.exit(code)
  atexit._run_exitfuncs()
  sys.stdout.flush()
  sys.stderr.flush()
  os._exit(code)


if __name__ == '__main__':
  _load()
  wanted = _next_command()
  if wanted is not None:
    from dfiv_ope.launch import main

    sys.argv = ['-c', *wanted]
    try:
      main.main()
    except SystemExit as end:
      _end(end.code or 0)
