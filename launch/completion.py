"""What a shell offers for a word that is not finished.

`dfiv-ope --install-completion` asks these. They know names only, and nothing
heavy is imported for them.
"""

from collections.abc import Callable, Iterable, Sequence
import pathlib

from dfiv_ope.policies import naming

Complete = Callable[[str], list[str]]


def among(names: Iterable[str], *, commas: bool = False) -> Complete:
  """Returns what completes one of some names.

  Args:
    names: in the order in which they are offered.
    commas: whether several may be given, with commas between them.
  """
  names = tuple(names)

  def complete(incomplete: str) -> list[str]:
    before, comma, last = (
      incomplete.rpartition(',') if commas else ('', '', incomplete)
    )
    taken = before.split(',')
    return [
      f'{before}{comma}{name}'
      for name in names
      if name.startswith(last) and name not in taken
    ]

  return complete


def policy(incomplete: str) -> list[str]:
  """Completes SPEC or NAME=SPEC: the known policies, files and directories.

  What no known policy starts with is left to the shell, which completes paths.
  """
  name, equals, spec = incomplete.rpartition('=')
  offered = [each for each in naming.WORDS if each.startswith(spec)]
  if offered or equals:
    offered += _paths(spec)
  return [f'{name}{equals}{each}' for each in offered]


def _paths(start: str) -> Sequence[str]:
  """Returns files, and directories with a slash, whose paths start so."""
  before, slash, _ = start.rpartition('/')
  folder = pathlib.Path(f'{before}{slash}' or '.')
  try:
    entries = sorted(folder.iterdir())
  except OSError:
    return []
  paths = (
    f'{before}{slash}{each.name}{"/" if each.is_dir() else ""}'
    for each in entries
    if not each.name.startswith('.')
  )
  return [path for path in paths if path.startswith(start)]
