"""What is built of the repository holds all of it, and nothing else."""

import configparser
import importlib.metadata
import pathlib
import re
import shutil
import subprocess
import sys
import tarfile
import zipfile

import pytest
import yaml

import dfiv_ope
from dfiv_ope import versions

_ROOT = pathlib.Path(__file__).parents[1]
_MAPPED = ('agents', 'envs', 'datasets', 'launch')
_BUILD = """
from setuptools import build_meta
build_meta.build_sdist("out")
build_meta.build_wheel("out")
"""


@pytest.fixture(scope='module')
def built(tmp_path_factory):
  """A directory with a wheel and an sdist of what git would have."""
  copy = tmp_path_factory.mktemp('source')
  ignore = shutil.ignore_patterns('__pycache__', '*.egg-info', 'notebooks')
  for name in ('dfiv_ope', *_MAPPED, 'docs'):
    shutil.copytree(_ROOT / name, copy / name, ignore=ignore)
  (copy / 'tests').mkdir()
  for path in _ROOT.iterdir():
    if path.is_file():
      shutil.copy(path, copy)
  (copy / 'out').mkdir()
  subprocess.run(
    [sys.executable, '-c', _BUILD],
    cwd=copy,
    check=True,
    capture_output=True,
    text=True,
  )
  return copy / 'out'


def _sources():
  """Returns the modules and data of the packages, as they install."""
  found = set()
  for name in ('dfiv_ope', *_MAPPED):
    place = '' if name == 'dfiv_ope' else 'dfiv_ope/'
    found |= {
      place + path.relative_to(_ROOT).as_posix()
      for path in (_ROOT / name).rglob('*')
      if path.is_file()
      and '__pycache__' not in path.parts
      and not any(part.endswith('.egg-info') for part in path.parts)
    }
  return found


def test_the_wheel_holds_all_modules_and_data_inside_dfiv_ope(built):
  (path,) = built.glob('*.whl')
  assert path.name == f'dfiv_ope-{dfiv_ope.__version__}-py3-none-any.whl'
  with zipfile.ZipFile(path) as wheel:
    names = {name for name in wheel.namelist() if '.dist-info/' not in name}
    entry = configparser.ConfigParser()
    (points,) = (
      name for name in wheel.namelist() if name.endswith('entry_points.txt')
    )
    entry.read_string(wheel.read(points).decode())
    (metadata,) = (
      name for name in wheel.namelist() if name.endswith('/METADATA')
    )
    said = wheel.read(metadata).decode()
  assert names == _sources()
  assert entry['console_scripts']['dfiv-ope'] == 'dfiv_ope.launch.main:main'
  assert f'\nVersion: {dfiv_ope.__version__}\n' in said
  assert '\nRequires-Python: <3.13,>=3.11\n' in said
  assert re.search(r'^Requires-Dist: tensorflow ?\(?==2\.15\.1', said, re.M)


def test_the_sdist_can_be_built_and_tested(built):
  (path,) = built.glob('*.tar.gz')
  with tarfile.open(path) as archive:
    names = {name.partition('/')[2] for name in archive.getnames()}
  for name in (
    'setup.py',
    'pyproject.toml',
    'constraints.txt',
    'Makefile',
    'agents/lstd.py',
    'launch/reporting/templates',
    'mkdocs.yml',
    'dfiv_ope/evaluation/suite_results.csv',
    'CITATION.cff',
    'docs/examples/make_log.py',
    'LICENSE',
  ):
    assert name in names, name
  assert not any('__pycache__' in name for name in names)


def test_there_is_one_version():
  cited = yaml.safe_load((_ROOT / 'CITATION.cff').read_text())
  assert cited['version'] == dfiv_ope.__version__
  assert re.fullmatch(r'\d+\.\d+\.\d+', dfiv_ope.__version__)
  for name in ('setup.py', 'pyproject.toml'):
    assert dfiv_ope.__version__ not in (_ROOT / name).read_text()


def test_every_pin_of_the_documentation_is_the_installed_version():
  pins = dict(
    re.findall(
      r'^([\w.-]+)==(\S+)$',
      (_ROOT / 'constraints.txt').read_text(),
      re.MULTILINE,
    )
  )
  wanted = re.search(
    r'^docs = \[(.*?)^\]',
    (_ROOT / 'pyproject.toml').read_text(),
    re.DOTALL | re.MULTILINE,
  )[1]
  asked = re.findall(r'"([\w-]+)(?:\[\w+\])?==([\w.]+)"', wanted)
  assert len(asked) == 3
  for name, version in asked:
    assert pins[name] == version == importlib.metadata.version(name)


def test_workflows_and_templates_are_yaml_that_runs_the_commands():
  for path in (_ROOT / '.github').rglob('*.yml'):
    assert yaml.safe_load(path.read_text()), path
  jobs = yaml.safe_load((_ROOT / '.github/workflows/test.yml').read_text())[
    'jobs'
  ]
  ran = {step.get('run') for job in jobs.values() for step in job['steps']}
  assert ran >= {
    f'make {name}' for name in ('test', 'coverage', 'demo', 'lint', 'site')
  }
  built = '\n'.join(step.get('run', '') for step in jobs['wheel']['steps'])
  assert 'dist/*.whl' in built and 'dist/*.tar.gz' in built
  hooks = yaml.safe_load((_ROOT / '.pre-commit-config.yaml').read_text())
  assert {hook['id'] for repo in hooks['repos'] for hook in repo['hooks']} == {
    'ruff',
    'ruff-format',
    'quotes',
  }


def test_what_the_recipes_name_is_there():
  text = (_ROOT / 'CONTRIBUTING.md').read_text()
  paths = [
    each
    for each in re.findall(r'`([\w./-]+/[\w./-]*)`', text)
    if 'NAME' not in each
  ]
  assert len(paths) > 25
  assert not [each for each in paths if not (_ROOT / each).exists()]
  # Functions and constants, each in the module that the sentence names.
  for name, module in (
    ('_plain', 'envs/tasks.py'),
    ('_maker', 'datasets/formats/__init__.py'),
    ('NAMES', 'datasets/formats/__init__.py'),
    ('kind', 'dfiv_ope/policies/naming.py'),
    ('CHOICES', 'dfiv_ope/policies/naming.py'),
    ('identify', 'dfiv_ope/policies/identity.py'),
    ('_make', 'dfiv_ope/policies/resolve.py'),
    ('from_name', 'dfiv_ope/policies/vector_targets.py'),
  ):
    assert f'`{name}`' in text
    assert re.search(
      rf'^(def {name}\(|{name} = )', (_ROOT / module).read_text(), re.MULTILINE
    ), (name, module)


def test_without_reverb_there_are_versions_of_all_else(monkeypatch):
  every = versions.versions()
  known = importlib.metadata.version

  def without(name):
    if name == 'dm-reverb':
      raise importlib.metadata.PackageNotFoundError(name)
    return known(name)

  monkeypatch.setattr(importlib.metadata, 'version', without)
  found = versions._versions.__wrapped__()
  assert {**found, 'dm-reverb': every['dm-reverb']} == every
