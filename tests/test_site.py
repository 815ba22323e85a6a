"""The site builds without warnings, and what its pages show runs."""

import html.parser
import json
import os
import pathlib
import re
import subprocess
import sys

import pytest
import typer

from dfiv_ope import agents
from dfiv_ope.iv import estimators, methods

_ROOT = pathlib.Path(__file__).parents[1]
_DOCS = _ROOT / 'docs'
_ROOMS = {'ope': agents.ENTRIES, 'iv': methods.ENTRIES}
# What people come for, and where it is told.
_TASKS = {
  'tutorial.html': 'dfiv-ope dataset import log.csv',
  'python.html': 'dfiv_ope.compare',
  'estimators.html': 'dfiv-ope iv fit',
  'contributing.html': 'An estimator of policy values',
  'report.html': 'How to read a report',
}


def _blocks(page):
  return re.findall(
    r'```python\n(.*?)```', (_DOCS / page).read_text(), re.DOTALL
  )


def _run(page, capsys):
  """Returns what the Python of a page prints, and its names."""
  space = {}
  for block in _blocks(page):
    exec(block, space)
  return capsys.readouterr().out, space


def test_the_quickstart_of_a_log_finds_the_value(capsys):
  printed, space = _run('start/log.md', capsys)
  low, high = space['result'].interval(0.95)
  # Visits are Poisson(2), E[visits; visits >= 2] = 2 - 2 exp(-2).
  weeks = sum(0.9**week for week in range(4))
  truth = weeks * (2.0 + 0.5 * (2.0 - 2.0 * 2.718281828**-2))
  assert low < truth < high
  assert float(printed.split()[-1]) > 0.0
  assert 'value' in printed and 'more than today' in printed


def test_the_quickstart_of_researchers_compares_with_the_truth(capsys):
  printed, space = _run('start/rl.md', capsys)
  frame = space['result'].to_frame()
  assert list(frame.index) == ['log_average', 'lstd', 'wis', 'dr']
  assert (frame.low < frame.truth).all() and frame.error['lstd'] < (
    frame.error['log_average']
  )
  assert 'truth' in printed


@pytest.mark.filterwarnings('ignore')
def test_the_quickstart_of_econometricians_has_the_textbooks_line(capsys):
  """The figure is the one linearmodels gives for the same columns."""
  printed, space = _run('start/econometrics.md', capsys)
  from linearmodels import iv

  fit = iv.IV2SLS.from_formula(
    'lwage ~ 1 + exper + expersq + black + south + smsa + [educ ~ nearc4]',
    space['rows'],
  ).fit()
  line, curve = printed.splitlines()
  assert float(line.split()[-1]) == pytest.approx(fit.params['educ'], abs=5e-4)
  estimate, low, high = map(float, re.findall(r'-?\d+\.\d+', curve))
  assert low < 1.683 < high and low < estimate < high


@pytest.mark.slow
def test_the_example_with_pictures_learns(capsys):
  printed, _ = _run('pictures.md', capsys)
  assert float(printed.split()[-1]) < 12.0  # A constant has 24.


@pytest.mark.slow
@pytest.mark.filterwarnings('ignore')
def test_notebooks_run_and_find_the_truth(monkeypatch):
  monkeypatch.syspath_prepend(_DOCS / 'generators')
  import run_notebooks

  printed = {}
  for path in run_notebooks.NOTEBOOKS:
    notebook = json.loads(path.read_text())
    with run_notebooks.workplace():
      done = run_notebooks.run(notebook)
    assert done['cells'] and all(
      cell['outputs']
      for cell in notebook['cells']
      if cell['cell_type'] == 'code'
    ), f'Run {path.name} and store it.'
    printed[path.stem] = [
      ''.join(output.get('text') or [*output['data'].values()][-1])
      for cell in done['cells']
      for output in cell.get('outputs', ())
    ]
  lake = list(
    map(
      float,
      re.findall(r'\d\.\d+', printed['gymnasium_log'][-1].replace('0.95', '')),
    )
  )
  estimate, low, high, truth, _ = lake
  assert low < truth < high and low < estimate < high
  assert '<svg' in printed['gymnasium_log'][1]
  difference, low, high = map(
    float, re.findall(r'-?\d+\.\d+', printed['own_csv'][-1])
  )
  # Coupons to all cost 0.6 a week more where there are 0, 1 or 2 visits.
  assert 0.0 < low < difference < high
  effect = re.search(r'AGMM (\S+) \[(\S+), (\S+)\]', printed['card'][-1])
  assert float(effect[2]) < 1.683 < float(effect[3])
  _, curve, *figures = printed['paper_figures']
  errors = dict(re.findall(r"'(\w+)': ([\d.]+)", curve))
  assert float(errors['AGMM']) < 20.0 < 80.0 < float(errors['2SLS'])
  assert len(figures) == 4
  for words, figure in zip(
    ('sales at a price of 25', 'DeepIV', 'orientation', 'mountain_car'),
    figures,
    strict=True,
  ):
    assert figure.count('<path') > 20 and f'>{words}<' in figure


@pytest.mark.parametrize('room', _ROOMS)
def test_every_method_has_a_page_with_places_for_what_is_made(room):
  pages = {
    path.stem: path.read_text()
    for path in (_DOCS / 'methods' / room).glob('*.md')
  }
  assert set(pages) == set(_ROOMS[room])
  for name, text in pages.items():
    assert re.findall(r'<!-- (\w+) -->', text) == [
      'when',
      'config',
      'measured',
    ], name
    assert text.count('$$') == 2 and '## Paper\n\n' in text
    if room == 'ope':
      assert f'methods="{name}"' in text
    else:
      (called,) = re.findall(r'estimators\.(\w+)\(\)', text)
      assert getattr(estimators, called) is estimators.ESTIMATORS[name]


def _anchors(page):
  """Returns where a page's headings are found, as repositories show it."""
  text = re.sub(r'```.*?```', '', page.read_text(), flags=re.DOTALL)
  return {
    re.sub(r'[^\w\- ]', '', heading.strip().lower()).replace(' ', '-')
    for heading in re.findall(r'^#+ (.*)$', text, re.MULTILINE)
  }


def test_links_between_pages_lead_somewhere_in_a_checkout():
  pages = [*_DOCS.rglob('*.md'), *_ROOT.glob('*.md')]
  dead = []
  for page in pages:
    text = re.sub(r'```.*?```', '', page.read_text(), flags=re.DOTALL)
    for path, anchor in re.findall(r'\]\(([^)#\s]*)#?([^)\s]*)\)', text):
      target = (page.parent / path).resolve() if path else page
      if ':' in path or (
        target.exists()
        and (not anchor or target.suffix != '.md' or anchor in _anchors(target))
      ):
        continue
      dead.append(f'{page.relative_to(_ROOT)}: {path}#{anchor}')
  assert not dead and len(pages) > 40


class _Assets(html.parser.HTMLParser):
  """What a page loads, and where its links go."""

  def __init__(self):
    """Initialises them, empty."""
    super().__init__()
    self.loaded, self.links = [], []

  def handle_starttag(self, tag, attrs):
    found = dict(attrs)
    if tag == 'a':
      self.links.append(found.get('href', ''))
    elif tag in ('script', 'img', 'iframe', 'source'):
      self.loaded.append(found.get('src') or '')
    elif tag == 'link' and found.get('rel') in ('stylesheet', 'preconnect'):
      self.loaded.append(found.get('href') or '')


@pytest.mark.slow
def test_the_site_builds_strictly_and_needs_no_network(tmp_path):
  pytest.importorskip('mkdocs')
  site = tmp_path / 'site'
  done = subprocess.run(
    [sys.executable, '-m', 'mkdocs', 'build', '--strict', '--site-dir', site],
    cwd=_ROOT,
    env={**os.environ, 'NO_MKDOCS_2_WARNING': '1'},
    capture_output=True,
    text=True,
    check=False,
  )
  assert done.returncode == 0, done.stderr
  pages = {
    path.relative_to(site).as_posix(): path.read_text()
    for path in site.rglob('*.html')
  }
  for name, text in pages.items():
    assets = _Assets()
    assets.feed(text)
    assert not [each for each in assets.loaded if '//' in each], name
  front = _Assets()
  front.feed(pages['index.html'])
  reached = {each.partition('#')[0] for each in front.links}
  for name, words in _TASKS.items():
    assert name in reached and words in re.sub(r'<[^>]+>', '', pages[name])
  lstd = pages['methods/ope/lstd.html']
  assert agents.ENTRIES['lstd'].when.split(':')[0] in lstd
  assert 'prior_rows' in lstd and '<math' in lstd and '2.46' in lstd
  assert not re.search(r'<!-- (when|config|measured) -->', lstd)
  index = json.loads((site / 'search/search_index.json').read_text())
  assert any('effective sample size' in each['text'] for each in index['docs'])
  from dfiv_ope.launch import main

  for name in typer.main.get_command(main.app).commands:
    assert f'dfiv-ope {name}' in pages['commands.html']
  assert (
    'from_arrays' in pages['api.html'] and 'versus_log' in (pages['api.html'])
  )
