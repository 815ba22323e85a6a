"""The README is short, its Python runs, and its numbers are the results'."""

import hashlib
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
    ('ope.md', r'\| 0.2 \| catch \| lstd \| [^|]* \| (\S+) \|'),
    ('iv.md', r'\| demand n=5000 rho=0.5 \|.*\*\*(.*)\*\*'),
  ):
    (value,) = re.findall(cell, (_ROOT / 'docs/results' / page).read_text())
    assert f'| {value} |' in _README


def _quoted(path):
  """Returns shares, durations, sizes and counts that a page's prose has."""
  text = re.sub(
    r'```.*?```|<!-- quoted.*?<!-- end -->|`[^`]*`|^    .*?$',
    '',
    path.read_text(encoding='utf-8'),
    flags=re.DOTALL | re.MULTILINE,
  )
  number = r'\d[\d,.]*(?<![,.])'
  return [
    *re.findall(rf'(?<![\w.])({number}) %', text),
    *re.findall(
      rf'(?<![\w.])({number}(?:-{number})? (?:CPU seconds|CPU s\b|GB))', text
    ),
    *re.findall(rf'(?<![\w.])({number} of {number})(?![\w,.]*\d)', text),
  ]


@pytest.mark.parametrize(
  'name', ['README.md', 'docs/index.md', 'docs/faq.md', 'docs/start']
)
def test_numbers_in_prose_are_in_the_results(name):
  """Pages that measure nothing say what a page of results says."""
  path = _ROOT / name
  pages = sorted(path.glob('*.md')) if path.is_dir() else [path]
  docs = _ROOT / 'docs'
  measured = [*(docs / 'results').rglob('*.md'), docs / 'trust.md']
  rows = '\n'.join(each.read_text(encoding='utf-8') for each in measured)
  for page in pages:
    for each in set(_quoted(page)) - {'95'}:
      unit = ' %' if each[-1].isdigit() and ' of ' not in each else ''
      assert re.search(
        rf'(?<![\w.,]){re.escape(each)}(?:{unit}|[^.\n|]*{unit})(?!\d)', rows
      ), f'{page.name} says {each}{unit}, no page of results does'


def test_values_of_the_tasks_are_one_everywhere():
  """The page of datasets quotes those of the logs that were made."""
  page = (_ROOT / 'docs/datasets.md').read_text()
  made = (_ROOT / 'docs/results/ope.md').read_text()
  truths = {}
  for task, truth in re.findall(
    r'\| (\w+) \| (?:0|0\.2|0\.5) \| (-?[\d.]+) ± \S+ \| \S+ ± ', made
  ):
    places = 3 if abs(float(truth)) < 1.0 else 1
    truths.setdefault(task, []).append(f'{float(truth):.{places}f}')
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


def test_the_picture_of_the_suite_is_of_its_rows():
  rows = (_ROOT / 'dfiv_ope/evaluation/suite_results.csv').read_bytes()
  drawn = (_ROOT / 'docs/figures/suite.svg').read_text()
  assert hashlib.sha256(rows).hexdigest() in drawn, 'Run docs/figures/suite.py.'
