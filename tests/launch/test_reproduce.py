"""`dfiv-ope reproduce`: the experiments of the paper."""

import importlib.util
import subprocess
import sys

import pytest

from dfiv_ope.results import files


@pytest.mark.parametrize(
  'budget, datasets, runs, line',
  [
    ('quick', 9, 234, 'catch, 3 problems dfiv paper, custom 0 6'),
    ('full', 18, 1170, 'catch, 6 problems dfiv paper 0 30'),
  ],
)
def test_both_configs_of_all_methods_on_all_tasks(
  command, tmp_path, budget, datasets, runs, line
):
  result = command(
    'reproduce',
    'ope',
    '--budget',
    budget,
    '--out',
    tmp_path / 'runs',
    '--dry-run',
  )
  assert result.returncode == 0, result.stderr
  assert f'datasets: {datasets} of {datasets} to run' in result.stdout
  assert f'experiments: {runs} of {runs} to run' in result.stdout
  for words in ('dfiv default', 'dfiv paper', 'kiv paper', 'fqe default'):
    assert words in result.stdout
  lines = [line.split() for line in result.stdout.splitlines()]
  assert line.split() in [each[:-1] for each in lines]
  assert not (tmp_path / 'runs').exists()


def test_four_tasks_with_vectors_at_three_levels_of_noise(command, tmp_path):
  arguments = ('reproduce', 'control', '--out', tmp_path / 'runs', '--dry-run')
  if importlib.util.find_spec('dm_control') is None:
    assert "pip install 'dfiv-ope[control]'" in command.refuses(*arguments)
    return
  result = command(*arguments)
  assert result.returncode == 0, result.stderr
  assert 'policies: 12 of 12 to run' in result.stdout
  assert 'datasets: 12 of 12 to run' in result.stdout
  assert 'experiments: 36 of 36 to run' in result.stdout


def test_an_unknown_budget_is_refused(command, tmp_path):
  words = command.refuses(
    'reproduce', 'ope', '--budget', 'tiny', '--out', tmp_path / 'runs'
  )
  assert "no budget 'tiny'. Choose from quick, full." in words


@pytest.mark.parametrize(
  'name', ['demand', 'dsprites', 'demand-mnist', 'mnist', 'instability']
)
def test_each_benchmark_has_its_budgets(command, tmp_path, name):
  words = command.refuses(
    'reproduce', name, '--budget', 'tiny', '--out', tmp_path / 'runs'
  )
  assert "no budget 'tiny'. Choose from quick, full." in words


def test_the_demand_design_has_the_grid_of_the_paper(command, tmp_path):
  asked = ('reproduce', 'demand', '--out', tmp_path / 'runs', '--dry-run')
  quick = command(*asked)
  assert quick.returncode == 0, quick.stderr
  # Five methods, two sizes, three seeds.
  assert 'experiments: 30 of 30 to run' in quick.stdout
  full = command(*asked, '--budget', 'full')
  # Seven methods and four configs of the paper, ten designs, 20 seeds.
  assert 'experiments: 2200 of 2200 to run' in full.stdout


# A smaller plan in a process of its own: threads are set once in a process.
_SMALL = """
import pathlib, sys
from dfiv_ope.benchmarks import reproduction
from dfiv_ope.launch import reproduce
reproduction.IV['dsprites']['quick'] = reproduction.Plan(
    methods=('kiv',), paper=('kiv',), designs=({'n': 100},),
    words='small.')
reproduce.dsprites(pathlib.Path(sys.argv[1]), 'quick')
"""


@pytest.mark.slow
def test_a_benchmark_ends_with_its_report(tmp_path):
  subprocess.run(
    [sys.executable, '-c', _SMALL, str(tmp_path / 'runs')], check=True
  )
  rows = files.read(tmp_path / 'runs')
  # Two at a time, in any order.
  assert sorted((row.method, row.preset) for row in rows) == [
    ('kiv', 'default'),
    ('kiv', 'paper'),
    ('lit_pixels', 'default'),
  ]
  page = (tmp_path / 'runs' / 'report' / 'index.html').read_text()
  assert 'lit pixels' in page
