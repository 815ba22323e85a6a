"""Who may import whom: an arrow that is not drawn here fails."""

import ast
import pathlib

import pytest

_ROOT = pathlib.Path(__file__).parents[1]
_ROOMS = ('agents', 'envs', 'datasets', 'launch')

# Room -> rooms it may import from ('core' is dfiv_ope itself).
_ARROWS = {
    'envs': {'envs'},
    'agents': {'agents', 'core'},
    'datasets': {'datasets', 'core'},
    'launch': {'launch', 'agents', 'datasets', 'envs', 'core'},
    'core': {'core'},
}

# Core module -> what it may import of the core, besides its own package.
_CORE_ARROWS = {
    'types': set(),
    'versions': set(),
    'optimizers': set(),
    'rollout': set(),
    'testing': {'types'},
    'policies': {'types'},
    'statistics': set(),
    'evaluation': {'types', 'policies', 'rollout', 'statistics'},
}

# Heavy or foreign packages that a room must not know.
_FORBIDDEN = {
    'core': {'bsuite', 'reverb', 'typer', 'acme', 'ray'},
    'envs': {'tensorflow', 'reverb', 'typer', 'rich', 'acme'},
    'agents': {'bsuite', 'typer', 'rich'},
    'datasets': {'bsuite', 'typer', 'rich', 'acme'},
}


def _files():
  for folder in ('dfiv_ope', *_ROOMS):
    yield from sorted((_ROOT / folder).rglob('*.py'))


def _room(path):
  folder = path.relative_to(_ROOT).parts[0]
  return 'core' if folder == 'dfiv_ope' else folder


def _imports(path):
  """Yields dotted names of everything a file imports."""
  for node in ast.walk(ast.parse(path.read_text(encoding='utf-8'))):
    if isinstance(node, ast.Import):
      yield from (alias.name for alias in node.names)
    elif isinstance(node, ast.ImportFrom):
      assert node.level == 0, f'{path} has a relative import'
      yield from (f'{node.module}.{alias.name}' for alias in node.names)


def _target(name):
  """Returns the room of an import of ours, else None."""
  parts = name.split('.')
  if parts[0] != 'dfiv_ope':
    return None
  return parts[1] if len(parts) > 1 and parts[1] in _ROOMS else 'core'


@pytest.mark.parametrize(
    'path', list(_files()), ids=lambda p: str(p.relative_to(_ROOT)))
def test_imports_follow_the_arrows(path):
  room = _room(path)
  for name in _imports(path):
    target = _target(name)
    if target is not None:
      assert target in _ARROWS[room], f'{path} imports {name}'
    assert name.split('.')[0] not in _FORBIDDEN.get(room, ()), (
        f'{path} imports {name}')


@pytest.mark.parametrize('module', sorted(_CORE_ARROWS))
def test_the_core_points_in_one_direction(module):
  for name in _imports(_ROOT / 'dfiv_ope' / f'{module}.py'):
    if _target(name) == 'core':
      imported = name.split('.')[1]
      assert imported in _CORE_ARROWS[module], f'{module} imports {name}'


def test_files_stay_small():
  for path in _files():
    lines = len(path.read_text(encoding='utf-8').splitlines())
    assert lines <= 400, f'{path} has {lines} lines; split it'
