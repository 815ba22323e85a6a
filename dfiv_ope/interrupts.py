"""Ctrl-C, told apart from what foreign code raises."""

import signal
from typing import Any

# Whether Ctrl-C was pressed since the work under way began.
_pressed = False


class Interrupted(KeyboardInterrupt):
  """Ctrl-C, as opposed to a KeyboardInterrupt that a user's policy raises."""


def tell_apart() -> None:
  """Makes Ctrl-C raise `Interrupted`, unless it is ignored."""
  if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
    signal.signal(signal.SIGINT, _interrupt)


def is_from_the_keyboard(error: BaseException) -> bool:
  """Whether an error is Ctrl-C, as far as it can be told.

  Without `tell_apart`, as in a notebook, every KeyboardInterrupt is taken for
  one.
  """
  if signal.getsignal(signal.SIGINT) is _interrupt:
    return isinstance(error, Interrupted)
  return isinstance(error, KeyboardInterrupt)


def begin() -> None:
  """Begins work that no earlier Ctrl-C is meant for."""
  global _pressed
  _pressed = False


def check() -> None:
  """Raises a Ctrl-C that foreign code has swallowed, as destructors do.

  Raises:
    Interrupted: there was one since `begin`.
  """
  if _pressed:
    raise Interrupted


def _interrupt(*unused: Any) -> None:
  global _pressed
  _pressed = True
  raise Interrupted
