"""Runs commands of the tests, each in a process of its own, forked from here.

    python warm_start.py  # Reads a request a line, answers with an exit code.

Loading TensorFlow takes longer than most of these commands, so it is loaded
once; nothing of the project is, and no thread of TensorFlow runs before a fork.
"""

import json
import os
import sys

import acme.tf.savers  # noqa: F401
import pandas  # noqa: F401
import reverb  # noqa: F401
import scipy.stats  # noqa: F401
import sonnet  # noqa: F401
import tensorflow  # noqa: F401


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


if __name__ == '__main__':
  wanted = _next_command()
  if wanted is not None:
    from dfiv_ope.launch import main

    sys.argv = ['-c', *wanted]
    main.main()
