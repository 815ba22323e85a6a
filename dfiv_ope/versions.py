"""The versions of the programs a result comes from, to be written beside it."""

import contextlib
import functools
import platform

_PACKAGES = (
  'dfiv-ope',
  'numpy',
  'scipy',
  'tensorflow',
  'dm-sonnet',
  'dm-acme',
  'bsuite',
)
_REVERB = 'dm-reverb'


def versions() -> dict[str, str]:
  """Returns versions by name, of Python and of what the numbers come from."""
  return dict(_versions())


@functools.lru_cache(maxsize=1)
def _versions() -> dict[str, str]:
  from importlib import metadata  # only where they are written down

  found = {
    'python': platform.python_version(),
    **{name: metadata.version(name) for name in _PACKAGES},
  }
  with contextlib.suppress(metadata.PackageNotFoundError):  # Not on 3.12.
    found[_REVERB] = metadata.version(_REVERB)
  return found
