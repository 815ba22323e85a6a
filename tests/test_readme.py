"""The README is short, its Python runs, and its numbers are the results'."""

import pathlib
import re
import subprocess
import sys

import pytest

_ROOT = pathlib.Path(__file__).parents[1]
_README = (_ROOT / 'README.md').read_text(encoding='utf-8')
_POLICY, _TREATMENT = re.findall(r'```python\n(.*?)```', _README, re.DOTALL)
_NUMBERS = re.compile(r'-?\d+(?:\.\d+)?')


@pytest.mark.slow
def test_the_first_example_finds_the_value_of_a_policy(capsys):
  exec(_POLICY, {})
  answer, verdict = capsys.readouterr().out.splitlines()
  value, low, high, truth = map(float, _NUMBERS.findall(answer))
  assert low < value < high and low < truth < high
  # Truth 0.657; the average of the log is -0.055, another policy's value.
  assert abs(value - truth) < 0.1
  assert verdict.startswith(('verdict: trust', 'verdict: with care'))
  assert float(verdict.split()[-1]) < low


@pytest.mark.filterwarnings('ignore')
def test_the_second_example_finds_the_effect_of_a_price(capsys):
  exec(_TREATMENT, {})
  answer, summary = capsys.readouterr().out.split('\n', 1)
  _, _, effect, low, high, truth = map(float, _NUMBERS.findall(answer))
  from dfiv_ope.benchmarks import demand

  curve = demand.true_ate()  # a line, at prices from 10 to 25
  assert truth == round(10.0 / 15.0 * (curve[-1] - curve[0]))
  assert low < effect < high and low < truth < high
  assert 'partial R2 of Z' in summary


def test_it_is_short():
  assert len(_README.splitlines()) <= 120
  assert len(_README.split()) <= 1_000


def test_what_it_links_to_is_there():
  targets = re.findall(r'\]\(([^)#]+)[^)]*\)', _README)
  assert len(targets) > 20
  missing = [
    each
    for each in targets
    if '://' not in each and not (_ROOT / each).exists()
  ]
  assert not missing


def test_quoted_numbers_are_those_of_the_results():
  done = subprocess.run(
    [sys.executable, _ROOT / 'docs/generators/quotes.py', '--check'],
    capture_output=True,
    text=True,
    check=False,
  )
  assert done.returncode == 0, (
    f'{done.stdout}{done.stderr} Run docs/generators/quotes.py --write.'
  )
  # The generator reads these; so does this test, another way.
  for page, cell in (
    ('ope.md', r'\| 0.2 \| catch \| lstd \|.*\| (\S+) \| 5 \|'),
    ('iv.md', r'\| demand n=5000 rho=0.5 \|.*\*\*(.*)\*\*'),
  ):
    (value,) = re.findall(cell, (_ROOT / 'docs/results' / page).read_text())
    assert f'| {value} |' in _README


def test_values_of_the_tasks_are_one_everywhere():
  """The page of datasets quotes those of the logs that were made."""
  page = (_ROOT / 'docs/datasets.md').read_text()
  made = (_ROOT / 'docs/results/reproduce/datasets.md').read_text()
  truths = {}
  for task, truth in re.findall(
    r'\| ([a-z_\\]+) \| (?:0|0\.2|0\.5) \|.*?(-?\d+\.\d+) ± \S+ \| \S+ ± ', made
  ):
    truths.setdefault(task.replace('\\', ''), []).append(truth)
  assert len(truths) == 3
  for task, values in truths.items():
    assert f'| {task} | {" / ".join(values)} |' in page


def test_the_picture_is_of_its_rows():
  rows = (_ROOT / 'docs/results/shop.csv').read_text().splitlines()[1:]
  drawn = (_ROOT / 'docs/figures/answer.svg').read_text()
  for row in rows[1:]:
    _, estimate, low, high, *_ = row.split(',')
    assert re.search(
      rf'{float(estimate):.2f}\s+\[{float(low):.2f}, {float(high):.2f}\]', drawn
    )
