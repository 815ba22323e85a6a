"""Keeps a server of this process to the machine that it runs on.

Reverb binds its server to all interfaces and has no option against it. Linux
can tie a listening socket to one interface afterwards: packets that come in
by any other are then answered as if nobody listened.
"""

from collections.abc import Iterator
import contextlib
import os
import pathlib
import socket

_DESCRIPTORS = pathlib.Path('/proc/self/fd')
_LOOPBACK = 1  # the number of the interface `lo` in every network namespace


def confine(port: int) -> None:
  """Lets only this machine reach a port that this process listens on.

  Raises:
    OSError: nothing listens there, or the system cannot confine it.
  """
  found = 0
  for listener in _listeners():
    with listener:
      if listener.getsockname()[1] == port:
        listener.setsockopt(
          socket.SOL_SOCKET,
          socket.SO_BINDTODEVICE,
          socket.if_indextoname(_LOOPBACK).encode() + b'\0',
        )
        found += 1
  if not found:
    raise OSError(f'This process does not listen on port {port}.')


def _listeners() -> Iterator[socket.socket]:
  """Yields duplicates of the sockets that this process listens on."""
  for link in _DESCRIPTORS.iterdir():
    with contextlib.suppress(OSError):
      if not str(link.readlink()).startswith('socket:'):
        continue
      each = socket.socket(fileno=os.dup(int(link.name)))
      if each.family in (socket.AF_INET, socket.AF_INET6) and each.getsockopt(
        socket.SOL_SOCKET, socket.SO_ACCEPTCONN
      ):
        yield each
      else:
        each.close()
