"""Who may import whom: an arrow that is not drawn here fails."""

import ast
import graphlib
import pathlib
import re

import pytest

_ROOT = pathlib.Path(__file__).parents[1]
_MAPPED = ('agents', 'envs', 'datasets', 'launch')

# Room -> rooms it may import from, besides itself. Modules of dfiv_ope that
# belong to no room are 'top': what every room may speak of.
_ARROWS = {
    'top': set(),
    'nn': {'top'},
    'iv': {'top', 'nn'},
    'policies': {'top', 'nn'},
    'ope': {'top', 'nn', 'iv', 'policies'},
    'envs': set(),
    'datasets': {'top', 'nn', 'ope', 'policies'},
    'agents': {'top', 'nn', 'iv', 'policies', 'ope'},
    'evaluation': {'top', 'nn', 'iv', 'policies', 'ope', 'agents'},
    'benchmarks': {'top', 'nn', 'iv'},
    'launch': {'top', 'nn', 'iv', 'policies', 'ope', 'envs', 'datasets',
               'agents', 'evaluation', 'benchmarks'},
    # The front door shows what it found as the command line does.
    'front': {'top', 'ope', 'agents', 'evaluation', 'launch'},
}

# Users of closed forms do not wait for these: neither the modules here nor
# what they import at once may know them.
_LIGHT = (
    'dfiv_ope', 'dfiv_ope.iv.estimators', 'dfiv_ope.iv.regressors',
    *(f'dfiv_ope.iv.methods.{name}' for name in ('two_sls', 'sieve', 'kiv')))
_HEAVY = {'tensorflow', 'sonnet', 'acme', 'reverb', 'bsuite', 'matplotlib'}

# Heavy or foreign packages that a room must not know.
_COMMAND_LINE = {'typer', 'rich', 'ray', 'jinja2'}
_FORBIDDEN = {
    'top': {'bsuite', 'reverb', 'acme', *_COMMAND_LINE},
    'nn': {'bsuite', 'reverb', 'acme', 'pandas', *_COMMAND_LINE},
    'iv': {'bsuite', 'reverb', 'acme', 'typer', 'ray', 'jinja2'},
    'policies': {'bsuite', 'reverb', *_COMMAND_LINE},
    'ope': {'bsuite', 'reverb', 'acme', *_COMMAND_LINE},
    'evaluation': {'bsuite', 'reverb', *_COMMAND_LINE},
    'benchmarks': {'bsuite', 'reverb', 'acme', *_COMMAND_LINE},
    'envs': {'tensorflow', 'reverb', 'acme', *_COMMAND_LINE},
    'agents': {'bsuite', *_COMMAND_LINE},
    'datasets': {'bsuite', 'acme', *_COMMAND_LINE},
}


def _name(path):
  """Returns the dotted name that a file is imported by."""
  parts = path.relative_to(_ROOT).with_suffix('').parts
  parts = parts[:-1] if parts[-1] == '__init__' else parts
  return '.'.join(parts if parts[0] == 'dfiv_ope' else ('dfiv_ope', *parts))


_FILES = {
    _name(path): path for folder in ('dfiv_ope', *_MAPPED)
    for path in sorted((_ROOT / folder).rglob('*.py'))}


def _room(name):
  """Returns the room of a dotted name of ours."""
  parts = name.split('.')
  return parts[1] if len(parts) > 1 and parts[1] in _ARROWS else 'top'


def _imports(path):
  """Yields dotted names of everything a file imports, anywhere in it."""
  for node in ast.walk(ast.parse(path.read_text(encoding='utf-8'))):
    if isinstance(node, ast.Import):
      yield from (alias.name for alias in node.names)
    elif isinstance(node, ast.ImportFrom):
      assert node.level == 0, f'{path} has a relative import'
      yield from (f'{node.module}.{alias.name}' for alias in node.names)


def _modules(name):
  """Returns the modules of ours that one imports, lazy imports counted."""
  found = set()
  for imported in _imports(_FILES[name]):
    if imported.split('.')[0] == 'dfiv_ope':
      # The name may be one inside a module.
      found.add(imported if imported in _FILES
                else imported.rpartition('.')[0])
  return found - {name}


@pytest.mark.parametrize('name', sorted(set(_FILES) - {'dfiv_ope'}))
def test_imports_follow_the_arrows(name):
  room = _room(name)
  for imported in _modules(name):
    assert _room(imported) in _ARROWS[room] | {room}, (
        f'{name} imports {imported}')
  for imported in _imports(_FILES[name]):
    assert imported.split('.')[0] not in _FORBIDDEN.get(room, ()), (
        f'{name} imports {imported}')


def _at_once(name):
  """Yields what importing a module imports, outside of its functions."""
  waiting = ast.parse(_FILES[name].read_text(encoding='utf-8')).body[:]
  while waiting:
    node = waiting.pop()
    if isinstance(node, ast.Import):
      yield from (alias.name for alias in node.names)
    elif isinstance(node, ast.ImportFrom):
      yield from (f'{node.module}.{alias.name}' for alias in node.names)
    elif isinstance(node, ast.If) and ast.unparse(node.test) == 'TYPE_CHECKING':
      waiting += node.orelse
    elif not isinstance(node, ast.FunctionDef | ast.Lambda):
      waiting += ast.iter_child_nodes(node)


def test_closed_forms_do_not_wait_for_tensorflow():
  seen, waiting = set(), [(name, name) for name in _LIGHT]
  while waiting:
    name, way = waiting.pop()
    assert name.split('.')[0] not in _HEAVY, f'{way}: {name}'
    packages = ['.'.join(name.split('.')[:end])
                for end in range(1, name.count('.') + 2)]
    for each in packages:
      if each in _FILES and each not in seen:
        seen.add(each)
        waiting += [(found, f'{way} > {each}') for found in _at_once(each)]
  assert {'dfiv_ope.iv.ridge', 'dfiv_ope.iv.storage', 'dfiv_ope.nn.scaling',
          'dfiv_ope.iv.diagnostics.fitted_model'} <= seen
  assert 'dfiv_ope.iv.differentiable' not in seen


def test_no_module_imports_itself_through_others():
  graph = {name: _modules(name) for name in _FILES}
  graphlib.TopologicalSorter(graph).prepare()  # raises CycleError


def test_no_room_leads_back_to_itself():
  graphlib.TopologicalSorter(_ARROWS).prepare()


def test_every_room_has_its_arrows():
  folders = {_name(path.parent / '__init__.py').split('.')[1]
             for name, path in _FILES.items()
             if path.name != '__init__.py' and name.count('.') > 1}
  assert folders == set(_ARROWS) - {'top'}


def test_the_map_draws_the_same_arrows():
  page = (_ROOT / 'docs/architecture.md').read_text(encoding='utf-8')
  (block,) = re.findall(r'```\n(top: .*?)```', page, re.DOTALL)
  drawn = {}
  for line in block.splitlines():
    room, _, others = line.partition(': ')
    drawn[room] = set(others.split(', ')) - {'nothing'}
  assert drawn == _ARROWS


def test_files_stay_small():
  for path in _FILES.values():
    lines = len(path.read_text(encoding='utf-8').splitlines())
    assert lines <= 400, f'{path} has {lines} lines; split it'
