"""The versions a result depends on; the one place that says which."""

import ast
from collections.abc import Iterator
import functools
import hashlib
from importlib import metadata, util
import pathlib
import platform

_PACKAGES = (
    'dfiv-ope', 'numpy', 'scipy', 'tensorflow', 'dm-sonnet', 'dm-acme',
    'dm-reverb', 'bsuite')

# How policies are simulated and errors summed up is not part of a method.
_NOT_OF_A_METHOD = frozenset({
    'dfiv_ope.policies.rollout', 'dfiv_ope.policies.episode_returns'})


def versions() -> dict[str, str]:
  """Returns versions by name, of Python and of what the numbers come from."""
  return dict(_versions())


@functools.lru_cache(maxsize=1)
def _versions() -> dict[str, str]:
  return {
      'python': platform.python_version(),
      **{name: metadata.version(name) for name in _PACKAGES}}


@functools.lru_cache(maxsize=64)
def code(*modules: str) -> str:
  """Returns a hash of the source of modules and of all they import of ours.

  Comments, docstrings and layout do not count.

  Args:
    *modules: dotted names inside dfiv_ope.

  Raises:
    ModuleNotFoundError: there is no such module.
  """
  sources: dict[str, str] = {}
  waiting = list(modules)
  while waiting:
    name = waiting.pop()
    if name in sources or name in _NOT_OF_A_METHOD:
      continue
    path = _file(name)
    if path is None and '.' not in name:
      raise ModuleNotFoundError(f'There is no module of ours in {modules}.')
    if path is None:  # A name inside a module.
      waiting.append(name.rpartition('.')[0])
    else:
      tree = ast.parse(path.read_text(encoding='utf-8'))
      waiting += _imports(tree)
      sources[name] = ast.dump(_without_docstrings(tree))
  text = repr(sorted(sources.items()))
  return hashlib.sha256(text.encode()).hexdigest()[:12]


def _file(name: str) -> pathlib.Path | None:
  """Returns the file of a module, None if the name is not a module's."""
  try:
    found = util.find_spec(name)
  except ModuleNotFoundError:
    return None
  return pathlib.Path(found.origin) if found and found.origin else None


def _imports(tree: ast.Module) -> Iterator[str]:
  """Yields names of ours that a module imports, anywhere in it."""
  for node in ast.walk(tree):
    if isinstance(node, ast.Import):
      names = [alias.name for alias in node.names]
    elif isinstance(node, ast.ImportFrom):
      names = [f'{node.module}.{alias.name}' for alias in node.names]
    else:
      continue
    yield from (name for name in names if name.startswith('dfiv_ope.'))


def _without_docstrings(tree: ast.Module) -> ast.Module:
  for node in ast.walk(tree):
    if isinstance(
        node, ast.Module | ast.ClassDef | ast.FunctionDef) and (
            ast.get_docstring(node, clean=False) is not None):
      node.body = node.body[1:]
  return tree
