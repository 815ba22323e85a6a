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

# Core module or package -> what it may import of the core, besides itself.
# No arrow leads back: each line names only lines above it.
_CORE_ARROWS = {
    'configs': set(),
    'frames': set(),
    'optimizers': set(),
    'result_checks': set(),
    'results': {'result_checks'},
    'rollout': set(),
    'statistics': set(),
    'strength': set(),
    'types': set(),
    'convergence': set(),
    'versions': set(),
    'weights': set(),
    'networks': {'types', 'weights'},
    'loopback': set(),
    'saved_models': set(),
    'dictionaries': {'types'},
    'features': {'types'},
    'encoding': {'types', 'features'},
    'identification': {'types'},
    'splits': {'types'},
    'foreign': {'types'},
    'neighbours': {'types'},
    'policies': {'types', 'saved_models'},
    'ridge': {'types'},
    'poles': {'ridge'},
    'selection': {'types', 'ridge'},
    'spectrum': {'types', 'ridge', 'strength'},
    'testing': {'types'},
    'uncertainty': {'types'},
    'weak_instruments': {'types'},
    'overlap': {'types', 'neighbours', 'uncertainty'},
    'evaluation': {'types', 'policies', 'rollout', 'statistics'},
    'state_action': {'types', 'networks'},
    'bellman': {'types', 'encoding', 'features', 'ridge', 'state_action'},
    'two_stage': {'types', 'ridge'},
    'arrays': {'types', 'features', 'frames'},
    'effects': {'types', 'arrays', 'frames'},
    'closed_form': {'types', 'ridge', 'two_stage'},
    'diagnostics': {'types', 'ridge', 'strength', 'two_stage',
                    'weak_instruments'},
    'summaries': {'types', 'diagnostics', 'strength', 'weak_instruments'},
    'model_diagnostics': {'types', 'diagnostics', 'features', 'ridge',
                          'spectrum', 'strength', 'two_stage',
                          'weak_instruments'},
    'methods': {'types', 'poles', 'ridge', 'two_stage', 'closed_form',
                'dictionaries', 'features', 'identification', 'networks',
                'optimizers'},
    'storage': {'types', 'configs', 'diagnostics', 'dictionaries', 'features',
                'methods', 'networks', 'versions'},
    'iv_estimator': {'types', 'arrays', 'convergence', 'diagnostics',
                     'effects', 'frames', 'identification', 'methods',
                     'model_diagnostics', 'splits', 'storage', 'summaries'},
    'estimators': {'types', 'identification', 'iv_estimator', 'storage'},
    'regressors': {'types', 'arrays', 'estimators', 'features', 'frames',
                   'iv_estimator', 'two_stage'},
    'benchmarks': {'types', 'configs', 'estimators', 'methods', 'networks',
                   'results', 'versions'},
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


def _core_files(module):
  folder = _ROOT / 'dfiv_ope' / module
  return sorted(folder.rglob('*.py')) if folder.is_dir() else [
      folder.with_suffix('.py')]


@pytest.mark.parametrize('module', sorted(_CORE_ARROWS))
def test_the_core_points_in_one_direction(module):
  for path in _core_files(module):
    for name in _imports(path):
      if _target(name) == 'core':
        imported = name.split('.')[1]
        assert imported in _CORE_ARROWS[module] | {module}, (
            f'{path} imports {name}')


def test_no_arrow_of_the_core_leads_back():
  above = set()
  for module, arrows in _CORE_ARROWS.items():
    assert arrows <= above, f'{module} imports what stands below it'
    above.add(module)


def test_every_module_of_the_core_has_its_arrows():
  modules = {
      path.relative_to(_ROOT / 'dfiv_ope').parts[0].removesuffix('.py')
      for path in (_ROOT / 'dfiv_ope').rglob('*.py')}
  assert modules - {'__init__'} == set(_CORE_ARROWS)


def test_files_stay_small():
  for path in _files():
    lines = len(path.read_text(encoding='utf-8').splitlines())
    assert lines <= 400, f'{path} has {lines} lines; split it'
