"""Who may import whom: an arrow that is not drawn here fails."""

import ast
import graphlib
import pathlib
import re

import pytest

from dfiv_ope.launch import main

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
  'envs': {'top'},
  'datasets': {'top', 'nn', 'ope', 'policies'},
  'agents': {'top', 'nn', 'iv', 'policies', 'ope'},
  'results': {'top', 'ope'},
  'evaluation': {
    'top',
    'nn',
    'iv',
    'policies',
    'ope',
    'agents',
    'results',
    'envs',
    'cases',
  },
  'benchmarks': {'top', 'nn', 'iv', 'results'},
  'cases': {'top', 'policies', 'ope', 'envs'},
  'launch': {
    'top',
    'nn',
    'iv',
    'policies',
    'ope',
    'envs',
    'datasets',
    'agents',
    'results',
    'evaluation',
    'benchmarks',
    'cases',
  },
  # The front door shows what it found as the command line does.
  'front': {'top', 'ope', 'agents', 'results', 'evaluation', 'launch'},
}

# Neither these modules nor what they import at once may know what is heavy:
# users of closed forms do not wait for it,
_LIGHT = (
  'dfiv_ope',
  'dfiv_ope.iv.estimators',
  'dfiv_ope.iv.regressors',
  *(
    f'dfiv_ope.iv.methods.{name}'
    for name in ('two_sls', 'sieve', 'kiv', 'agmm', 'auto')
  ),
)
# and a plan of an evaluation does not either.
_PLANNING = (
  'dfiv_ope.agents',
  'dfiv_ope.iv.methods',
  'dfiv_ope.benchmarks.settings',
  'dfiv_ope.evaluation.interval_settings',
  'dfiv_ope.policies.identity',
  'dfiv_ope.datasets.spec',
  'dfiv_ope.datasets.log',
  'dfiv_ope.cases.suite',
  'dfiv_ope.results.files',
  'dfiv_ope.evaluation.result_rows',
  'dfiv_ope.evaluation.sweep_spec',
  'dfiv_ope.launch.runner',
  *(
    f'dfiv_ope.launch.experiments.{name}'
    for name in ('plan', 'store', 'inputs', 'scheduler', 'worker')
  ),
  'dfiv_ope.launch.reporting.summary_table',
)
_HEAVY = {'tensorflow', 'sonnet', 'acme', 'reverb', 'bsuite', 'matplotlib'}
# What `dfiv-ope evaluate` and `dfiv_ope.evaluate` of a closed form load, beside
# TensorFlow; and what none of it needs, which took as long as the fit itself.
_EVALUATION = (
  'dfiv_ope.agents.lstd',
  'dfiv_ope.evaluation.estimates',
  'dfiv_ope.front.evaluating',
  'dfiv_ope.launch.runner',
  'dfiv_ope.launch.experiments.ope_run',
  'dfiv_ope.launch.reporting.summary_table',
)
_NEEDLESS = {
  'tensorflow_probability',
  'acme.tf',
  'reverb',
  'bsuite',
  'matplotlib',
  'pandas',
  'sklearn',
  'scipy.stats',
  'scipy.optimize',
  'ray',
}

# Heavy or foreign packages that a room must not know.
_COMMAND_LINE = {'typer', 'rich', 'ray', 'jinja2'}
_FORBIDDEN = {
  'top': {'bsuite', 'reverb', 'acme', *_COMMAND_LINE},
  'nn': {'bsuite', 'reverb', 'acme', 'pandas', *_COMMAND_LINE},
  'iv': {'bsuite', 'reverb', 'acme', 'typer', 'ray', 'jinja2'},
  'policies': {'bsuite', 'reverb', *_COMMAND_LINE},
  'ope': {'bsuite', 'reverb', 'acme', *_COMMAND_LINE},
  'results': {
    'bsuite',
    'reverb',
    'acme',
    'tensorflow',
    'pandas',
    *_COMMAND_LINE,
  },
  'evaluation': {'bsuite', 'reverb', *_COMMAND_LINE},
  'benchmarks': {'bsuite', 'reverb', 'acme', *_COMMAND_LINE},
  'cases': {'bsuite', 'reverb', 'acme', 'tensorflow', *_COMMAND_LINE},
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
  _name(path): path
  for folder in ('dfiv_ope', *_MAPPED)
  for path in sorted((_ROOT / folder).rglob('*.py'))
}


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
      found.add(imported if imported in _FILES else imported.rpartition('.')[0])
  return found - {name}


@pytest.mark.parametrize('name', sorted(set(_FILES) - {'dfiv_ope'}))
def test_imports_follow_the_arrows(name):
  room = _room(name)
  for imported in _modules(name):
    assert _room(imported) in _ARROWS[room] | {room}, (
      f'{name} imports {imported}'
    )
  for imported in _imports(_FILES[name]):
    assert imported.split('.')[0] not in _FORBIDDEN.get(room, ()), (
      f'{name} imports {imported}'
    )


def _commands(app=main.app):
  """Returns the modules whose functions `main` registers as commands."""
  found = {each.callback.__module__ for each in app.registered_commands}
  for group in app.registered_groups:
    found |= _commands(group.typer_instance)
  return found


@pytest.mark.parametrize('name', sorted(set(_FILES) - {'dfiv_ope.launch.main'}))
def test_commands_are_imported_by_main_only(name):
  assert {'dfiv_ope.launch.evaluate', 'dfiv_ope.launch.iv_fit'} <= _commands()
  assert not _modules(name) & _commands()


@pytest.mark.parametrize(
  'folder, others',
  [('experiments', ('reporting', 'console')), ('reporting', ('experiments',))],
)
def test_experiments_and_reports_do_not_know_each_other(folder, others):
  names = [
    name for name in _FILES if name.startswith(f'dfiv_ope.launch.{folder}')
  ]
  assert len(names) > 10
  for name in names:
    for imported in _modules(name):
      assert not imported.startswith(
        tuple(f'dfiv_ope.launch.{other}' for other in others)
      ), f'{name} imports {imported}'


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


def _imported_at_once(names, heavy=frozenset(_HEAVY)):
  """Returns modules of ours that some import; fails where one is heavy."""
  assert set(names) <= set(_FILES)
  seen, waiting = set(), [(name, name) for name in names]
  while waiting:
    name, way = waiting.pop()
    packages = [
      '.'.join(name.split('.')[:end]) for end in range(1, name.count('.') + 2)
    ]
    assert not heavy & set(packages), f'{way}: {name}'
    for each in packages:
      if each in _FILES and each not in seen:
        seen.add(each)
        waiting += [(found, f'{way} > {each}') for found in _at_once(each)]
  return seen


def test_closed_forms_do_not_wait_for_tensorflow():
  seen = _imported_at_once(_LIGHT)
  assert {
    'dfiv_ope.iv.ridge',
    'dfiv_ope.iv.storage',
    'dfiv_ope.nn.scaling',
    'dfiv_ope.iv.diagnostics.fitted_model',
  } <= seen
  assert 'dfiv_ope.iv.differentiable' not in seen


def test_plans_do_not_wait_for_tensorflow():
  entries = {name for name in _FILES if '.entries.' in name}
  assert len(entries) > 12
  seen = _imported_at_once((*_PLANNING, *entries))
  assert {
    'dfiv_ope.nn.layers',
    'dfiv_ope.configs',
    'dfiv_ope.ope.episodes',
    'dfiv_ope.datasets.reading',
    'dfiv_ope.policies.answers',
  } <= seen
  assert 'dfiv_ope.agents.base' not in seen


def test_closed_forms_load_nothing_that_they_do_not_need():
  seen = _imported_at_once(_EVALUATION, frozenset(_NEEDLESS))
  assert {
    'dfiv_ope.agents.base',
    'dfiv_ope.agents.outer_sums',
    'dfiv_ope.ope.nearest_model',
    'dfiv_ope.policies.saved_models',
    'dfiv_ope.launch.reporting.frames',
  } <= seen


def test_no_module_imports_itself_through_others():
  graph = {name: _modules(name) for name in _FILES}
  graphlib.TopologicalSorter(graph).prepare()  # raises CycleError


def test_no_room_leads_back_to_itself():
  graphlib.TopologicalSorter(_ARROWS).prepare()


def test_every_room_has_its_arrows():
  folders = {
    _name(path.parent / '__init__.py').split('.')[1]
    for name, path in _FILES.items()
    if path.name != '__init__.py' and name.count('.') > 1
  }
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
