"""The versions a result depends on; the one place that says which."""

from importlib import metadata
import platform

_PACKAGES = (
    'dfiv-ope', 'numpy', 'scipy', 'tensorflow', 'dm-sonnet', 'dm-acme',
    'dm-reverb', 'bsuite')


def versions() -> dict[str, str]:
  """Returns versions by name, of Python and of what the numbers come from."""
  return {
      'python': platform.python_version(),
      **{name: metadata.version(name) for name in _PACKAGES}}
