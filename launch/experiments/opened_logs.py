"""The log that a process has open: experiments often ask for the same one."""

import functools
import pathlib

from dfiv_ope.datasets import log as log_lib


@functools.lru_cache(maxsize=1)
def of(path: pathlib.Path) -> log_lib.Log:
  """Returns the log of a dataset, read once for all that follow each other."""
  return log_lib.Log.open(path)
