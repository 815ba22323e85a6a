"""What to tell a user of an error, in a sentence."""

import errno
import re

# What a function of Python raised inside a graph of TensorFlow, whose own words
# are a traceback around it.
_IN_GRAPH = 'Graph execution error'
_RAISED = re.compile(r'^(\w*(?:Error|Exception): .+)$', re.MULTILINE)
_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


def of(error: Exception, *, program: str) -> str | None:
  """Returns what to tell the user, or None if the error is a bug of ours.

  Args:
    error: whatever was raised.
    program: what the command is called.
  """
  words = str(error) or f'{type(error).__name__}, of which no more is known'
  if hasattr(error, 'format_message'):  # Typer's, about options
    context = getattr(error, 'ctx', None)
    path = context.command_path if context else program
    return f'{error.format_message().rstrip(".")}. See: {path} --help'
  if (
    isinstance(error, OSError)
    and error.errno in _FULL
    or 'No space left on device' in words
  ):
    return (
      f'The disk is full ({words}). Result rows and datasets that were '
      'complete are kept; make room and give the same command again.'
    )
  if isinstance(error, MemoryError) or (
    type(error).__name__ == 'ResourceExhaustedError'
  ):  # TensorFlow's
    return (
      f'There is not enough memory: {words}. Ask for less at once: '
      'fewer rows, features or units.'
    )
  if isinstance(error, RecursionError):
    return f'A file or an argument is nested too deeply to be read: {words}.'
  if isinstance(error, UnicodeDecodeError):
    return f'A file is not UTF-8 text: {words}.'
  if isinstance(error, ModuleNotFoundError) and error.name == 'reverb':
    return (
      'Reverb is not installed, and making datasets and training policies '
      'need it: it has wheels for Python 3.11, not for 3.12. Use Python 3.11, '
      'or hold the log in memory with dfiv_ope.Log.from_frame.'
    )
  if isinstance(error, OSError | ValueError):
    return words
  return None


def named(error: Exception) -> str:
  """Returns an error and its kind; of one in a graph, what was raised there."""
  raised = _RAISED.findall(str(error)) if _IN_GRAPH in str(error) else []
  return raised[-1] if raised else f'{type(error).__name__}: {error}'
