"""Keys of stored results, in copies of the source that were edited.

Run as a program, this prints the keys of the source that it imports.
"""

import ast
import json
import os
import pathlib
import shutil
import subprocess
import sys

import pytest

from dfiv_ope import agents, overrides
from dfiv_ope.agents import configured, memory
from dfiv_ope.benchmarks import demand, dsprites
from dfiv_ope.datasets import spec as spec_lib
from dfiv_ope.evaluation import (
  inference,
  influence,
  interval_settings,
  selection,
  sweep_spec,
)
from dfiv_ope.iv import methods, ridge
from dfiv_ope.launch.experiments import inputs, jobs, plan, store
from dfiv_ope.nn import descent
from dfiv_ope.policies import episode_returns
from dfiv_ope.results import rows

_ROOT = pathlib.Path(__file__).parents[1]
_PATH = pathlib.Path('data')
_MOMENTS = episode_returns.MonteCarlo(
  mean=0.5, standard_error=0.1, episodes=9, mean_length=9.0
)
_METADATA = spec_lib.Metadata(
  spec=spec_lib.Spec(
    task='catch',
    action_noise=0.2,
    epsilon=0.2,
    discount=0.9,
    seed=0,
    transitions=1000,
  ),
  num_observations=50,
  num_actions=3,
  transitions=1007,
  episodes=9,
  truncated=0,
  digest='a digest',
  files={},
  truth=_MOMENTS,
  behaviour=_MOMENTS,
  policy={'dqn': {'hidden': [50]}},
  versions={},
)


def keys() -> dict[str, str]:
  """Returns keys of all kinds of rows, and the file of a truth."""
  swept = plan.sweep(
    sweep_spec.parse(
      {'tasks': 'catch', 'noises': 0.2, 'configs': 'default,paper'}
    )
  )
  found = {
    f'{job.method} {job.preset} {job.seed}': job.key(
      job.problem.problem(_METADATA)
    )
    for job in swept
  }
  wanted = [overrides.Wanted(name, ()) for name in methods.NAMES]
  kiv = [each for each in wanted if each.method == 'kiv']
  for job in (
    *plan.designs([demand.Demand(n=100)], wanted, seeds=1),
    *plan.designs([dsprites.DSprites(n=100)], kiv, seeds=1),
  ):
    found[job.label] = job.key(job.problem.design.problem)
  simulated = inputs.Simulated(dataset=_PATH, target_epsilon=0.2)
  drawn = inputs.NewLog(dataset=_PATH, epsilon=0.2, log=0, seeds=3, level=0.95)
  configs = [configured.configure(name) for name in agents.NAMES]
  for each in configs:
    job = jobs.Experiment(problem=drawn, seed=0, **each._asdict())
    found[f'coverage {job.method}'] = job.key(drawn.problem(_METADATA))
  choice = plan.choice(
    simulated, [each for each in configs if each.method in agents.LEARNERS]
  )
  for candidate in choice.candidates:
    found[f'selection {candidate.method}'] = choice.key(
      simulated.problem(_METADATA), candidate
    )
  named = inputs.OnLog(
    dataset=_PATH, policy='uniform', target='t', directory=_PATH
  )
  job = jobs.Experiment(problem=named, seed=0, **configs[0]._asdict())
  return {
    **found,
    'own policy': job.key(named.problem(_METADATA)),
    'truth': store.Places(_PATH).truth(simulated, _METADATA).name,
  }


@pytest.fixture
def copy(tmp_path):
  """A copy of the source, with the rooms where an installation has them."""
  shutil.copytree(_ROOT / 'dfiv_ope', tmp_path / 'dfiv_ope')
  for room in ('agents', 'datasets', 'envs', 'launch'):
    shutil.copytree(_ROOT / room, tmp_path / 'dfiv_ope' / room)
  return tmp_path


def _run(copy, program, *arguments):
  """Runs a program with the copy instead of what is installed."""
  return subprocess.run(
    [sys.executable, program, *arguments],
    capture_output=True,
    text=True,
    cwd=copy,
    env={**os.environ, 'PYTHONPATH': str(copy)},
  )


class _Rewrite(ast.NodeTransformer):
  """Says everything otherwise, and imports some modules from elsewhere."""

  def __init__(self, moved):
    self._moved = moved

  def visit_ImportFrom(self, node):  # noqa: N802
    stay = [
      alias
      for alias in node.names
      if f'{node.module}.{alias.name}' not in self._moved
    ]
    go = [alias for alias in node.names if alias not in stay]
    return [
      *([ast.ImportFrom(node.module, stay, 0)] if stay else []),
      *([ast.ImportFrom('dfiv_ope.moved', go, 0)] if go else []),
    ]

  def visit_Raise(self, node):  # noqa: N802
    if isinstance(node.exc, ast.Call):
      node.exc.args = [ast.Constant('Said otherwise.')]
      node.exc.keywords = []
    return node

  def visit_Expr(self, node):  # noqa: N802
    if isinstance(node.value, ast.Constant):
      node.value = ast.Constant('Explained otherwise.')
    return node


def _rewrite(copy, moved):
  """Moves modules, rewords what is said and drops comments everywhere."""
  package = copy / 'dfiv_ope'
  for path in package.rglob('*.py'):
    tree = _Rewrite(moved).visit(ast.parse(path.read_text()))
    path.write_text(ast.unparse(ast.fix_missing_locations(tree)))
  (package / 'moved').mkdir()
  (package / 'moved' / '__init__.py').touch()
  for name in moved:
    source = copy.joinpath(*name.split('.')).with_suffix('.py')
    source.rename(package / 'moved' / source.name)


def test_keys_survive_a_move_and_other_words(copy):
  _rewrite(
    copy,
    [
      module.__name__
      for module in (ridge, inference, influence, memory, descent)
    ],
  )
  ended = _run(copy, __file__)
  assert ended.returncode == 0, ended.stderr
  elsewhere, found = ended.stdout.splitlines()[-2:]
  assert pathlib.Path(elsewhere).is_relative_to(copy)
  here = keys()
  assert len(here) == len(set(here.values())) > 50
  assert json.loads(found) == here


# A number in the body of something, another, and whose version it belongs to.
_CHANGES = [
  (
    'return 0.5 * tf.reduce_mean(tf.square(self(decision) - target))',
    'return 0.6 * tf.reduce_mean(tf.square(self(decision) - target))',
    'agents/fqe',
    f"{agents.__name__}.ENTRIES['fqe'].version",
  ),
  (
    '_TRAINING_DRAWS = 50',
    '_TRAINING_DRAWS = 40',
    'intervals',
    f'{interval_settings.__name__}.VERSION',
  ),
  (
    '/ len(values)  # [C, C + 1]',
    '/ (len(values) - 1)  # [C, C + 1]',
    'selection',
    f'{selection.__name__}.VERSION',
  ),
  (
    '- tf.reduce_mean(weighting) / 4.',
    '- tf.reduce_mean(weighting) / 5.',
    'methods/deepgmm',
    f"{methods.__name__}.ENTRIES['deepgmm'].version",
  ),
]


def _replace(copy, before, after):
  """Replaces a piece of text that one file has, wherever that is."""
  (path,) = [
    path
    for path in (copy / 'dfiv_ope').rglob('*.py')
    if before in path.read_text()
  ]
  path.write_text(path.read_text().replace(before, after))


def test_another_number_needs_another_version_which_cannot_be_forgotten(copy):
  for before, after, *_ in _CHANGES:
    _replace(copy, before, after)
  (copy / 'tests').mkdir()
  for name in ('test_fingerprints.py', 'fingerprints.json'):
    shutil.copy(_ROOT / 'tests' / name, copy / 'tests')
  ended = _run(
    copy,
    copy / 'tests' / 'test_fingerprints.py',
    '--write',
    'log',
    *(name for *_, name, _ in _CHANGES),
  )
  assert ended.returncode == 1, ended.stderr
  said = sorted(ended.stdout.splitlines())
  assert len(said) == len(_CHANGES), ended.stdout
  for line, (*_, name, place) in zip(
    said, sorted(_CHANGES, key=lambda each: each[2]), strict=True
  ):
    assert line.startswith(f'The numbers of {name} have changed (')
    assert f'Raise {place} to ' in line
  # They were not written.
  assert (copy / 'tests' / 'fingerprints.json').read_text() == (
    _ROOT / 'tests' / 'fingerprints.json'
  ).read_text()


if __name__ == '__main__':
  print(rows.__file__)
  print(json.dumps(keys()))
