"""The page of a report in a real browser: sorting, filtering, its looks.

Chromium is driven over the pipe of its developer protocol, so that nothing
has to be installed beside it.
"""

import dataclasses
import json
import os
import pathlib
import re
import select
import shutil
import subprocess
import time

import pytest

from dfiv_ope import agents
from dfiv_ope.iv import methods
from dfiv_ope.launch.reporting import build
from dfiv_ope.results import problems
from dfiv_ope.results import rows as rows_lib

BINARY = shutil.which('chromium') or shutil.which('chromium-browser')

pytestmark = pytest.mark.skipif(
  BINARY is None, reason='There is no chromium here: apt-get install chromium.'
)

# Seconds; only to end a test that hangs.
_LIMIT = 120


class Chromium:
  """A headless browser with one page."""

  def __init__(self, profile):
    theirs, self._write = os.pipe()
    self._read, out = os.pipe()
    self._process = subprocess.Popen(
      [
        'bash',
        '-c',
        f'exec "$@" 3<&{theirs} 4>&{out}',
        'chromium',
        BINARY,
        '--headless=new',
        '--remote-debugging-pipe',
        '--no-sandbox',
        '--disable-gpu',
        '--disable-dev-shm-usage',
        '--hide-scrollbars',
        '--no-first-run',
        f'--user-data-dir={profile}',
        'about:blank',
      ],
      pass_fds=(theirs, out),
      stdin=subprocess.DEVNULL,
      stdout=subprocess.DEVNULL,
      stderr=subprocess.DEVNULL,
    )
    os.close(theirs)
    os.close(out)
    self._buffer, self._number, self._session = b'', 0, None
    self.requests = []
    self.errors = []
    page = next(
      each
      for each in self('Target.getTargets')['targetInfos']
      if each['type'] == 'page'
    )
    self._session = self(
      'Target.attachToTarget', targetId=page['targetId'], flatten=True
    )['sessionId']
    for domain in ('Page', 'Runtime', 'Network', 'Log'):
      self(f'{domain}.enable')

  def __call__(self, method, **params):
    """Sends a command and returns its answer."""
    self._number += 1
    message = {'id': self._number, 'method': method, 'params': params}
    if self._session:
      message['sessionId'] = self._session
    os.write(self._write, json.dumps(message).encode() + b'\0')
    while True:
      answer = self._receive()
      if answer.get('id') == self._number:
        assert 'error' not in answer, answer
        return answer['result']

  def open(self, path):
    """Opens a file and returns milliseconds to the end of its load event."""
    self.requests, self.errors = [], []
    self('Page.navigate', url=pathlib.Path(path).as_uri())
    deadline = time.monotonic() + _LIMIT
    while time.monotonic() < deadline:
      end = self.run(
        'location.protocol === "file:" && '
        'performance.getEntriesByType("navigation")[0].loadEventEnd'
      )
      if end:
        return end
      time.sleep(0.02)
    raise TimeoutError(path)

  def run(self, expression):
    """Returns the value of an expression in the page."""
    answer = self(
      'Runtime.evaluate',
      expression=expression,
      returnByValue=True,
      awaitPromise=True,
    )
    assert 'exceptionDetails' not in answer, answer
    return answer['result'].get('value')

  def type(self, text):
    """Types into what has the focus."""
    self('Input.insertText', text=text)

  def press(self, key, code):
    """Presses a key, such as Enter (13) or Tab (9)."""
    text = {'text': '\r'} if key == 'Enter' else {}
    for kind in ('keyDown', 'keyUp'):
      self(
        'Input.dispatchKeyEvent',
        type=kind,
        key=key,
        code=key,
        windowsVirtualKeyCode=code,
        **(text if kind == 'keyDown' else {}),
      )

  def look(self, *, width=1280, height=900, dark=False):
    """Sets the width of the screen and the colour scheme."""
    self(
      'Emulation.setDeviceMetricsOverride',
      width=width,
      height=height,
      deviceScaleFactor=1,
      mobile=width < 500,
    )
    self(
      'Emulation.setEmulatedMedia',
      features=[
        {'name': 'prefers-color-scheme', 'value': 'dark' if dark else 'light'}
      ],
    )

  def close(self):
    self._session = None
    self('Browser.close')
    self._process.wait(timeout=_LIMIT)
    os.close(self._write)
    os.close(self._read)

  def _receive(self):
    while b'\0' not in self._buffer:
      ready, _, _ = select.select([self._read], [], [], _LIMIT)
      chunk = os.read(self._read, 1 << 16) if ready else b''
      if not chunk:
        raise TimeoutError('Chromium does not answer.')
      self._buffer += chunk
    line, _, self._buffer = self._buffer.partition(b'\0')
    message = json.loads(line)
    if message.get('method') == 'Network.requestWillBeSent':
      self.requests.append(message['params']['request']['url'])
    if message.get('method') in (
      'Runtime.exceptionThrown',
      'Runtime.consoleAPICalled',
      'Log.entryAdded',
    ):
      self.errors.append(message['params'])
    return message


@pytest.fixture(scope='module')
def chromium(tmp_path_factory):
  browser = Chromium(tmp_path_factory.mktemp('profile'))
  yield browser
  browser.close()


@pytest.fixture(scope='module')
def page(ope_row, tmp_path_factory):
  """A report of 2,700 rows, some of which diverged."""
  rows = [
    ope_row(
      method,
      task,
      noise,
      seed,
      problem={'target_epsilon': epsilon},
      relative=error * (1.0 + noise) * (1 + seed % 7),
      preset=preset,
      curves={'updates': (1.0, 2.0, 3.0), 'estimate': (0.1, 0.2, 0.3)},
      **(
        {'outcome': 'diverged', 'reason': '<b>far</b>'}
        if (method == 'deepiv' and seed == 4)
        else {}
      ),
    )
    for task in ('catch', 'mountain_car', 'cartpole')
    for noise in (0.0, 0.1, 0.2, 0.3, 0.4, 0.5)
    for method, error in (
      ('log', 0.2),
      ('kiv', 0.01),
      ('dfiv', 0.02),
      ('fqe', 0.05),
      ('deepiv', 0.1),
    )
    for preset in ('default', 'paper')
    for epsilon in (0.0, 0.1, 0.2)
    for seed in range(5)
  ]
  assert len(rows) == 2_700
  # A paper's config is another config.
  rows = [
    dataclasses.replace(row, config={**row.config, 'width': 51})
    if row.preset == 'paper'
    else row
    for row in rows
  ]
  path = tmp_path_factory.mktemp('report') / 'index.html'
  path.write_bytes(build.files(rows, 'runs/<i>all</i>')['index.html'])
  return path


@pytest.fixture
def opened(chromium, page):
  chromium.look()
  chromium.open(page)
  chromium.run(_UNFOLD)
  return chromium


# Cells of a column of a table, of the rows that are not hidden.
_COLUMN = """
(id, column) => [...document.getElementById(id).closest('table').tBodies[0]
    .rows].filter((row) => !row.hidden && !row.classList.contains('detail'))
    .map((row) => row.cells[column].textContent)
"""


# Left, right, top and bottom of what is shown of some elements.
_BOXES = """
(selector) => [...document.querySelectorAll(selector)]
    .map((each) => each.getBoundingClientRect())
    .filter((box) => box.width > 0)
    .map(({left, right, top, bottom}) => [left, right, top, bottom])
"""


def _column(browser, identity, column):
  return browser.run(f'({_COLUMN})({json.dumps(identity)}, {column})')


def _click(browser, selector):
  browser.run(f'document.querySelector({json.dumps(selector)}).click()')


def test_a_large_page_opens_without_errors_or_requests(chromium, page):
  chromium.look()
  milliseconds = min(chromium.open(page) for _ in range(3))
  print(f'{page.stat().st_size / 1e6:.1f} MB, {milliseconds:.0f} ms')
  # The aim is 2 s; a test may not hang on how busy a machine is.
  assert milliseconds < 10_000
  assert chromium.requests == [page.as_uri()]
  assert chromium.errors == []
  assert chromium.run('document.getElementById("count").textContent') == (
    '2700 of 2700 rows match; 100 are shown.'
  )


def test_texts_of_rows_are_texts(opened):
  assert opened.run('document.querySelectorAll("main b, header i").length') == 0
  assert 'runs/<i>all</i>' in opened.run('document.body.textContent')


def test_a_heading_sorts_by_value_and_back(opened):
  before = _column(opened, 'table-methods', 0)
  assert before[0] == 'KIV'
  heading = '#table-methods ~ thead th:nth-child(1)'
  _click(opened, f'{heading} button')
  names = _column(opened, 'table-methods', 0)
  assert names[:2] == ['DeepIV', 'DeepIV (paper)']
  sort = f'document.querySelector("{heading}").getAttribute("aria-sort")'
  assert opened.run(sort) == 'ascending'
  _click(opened, f'{heading} button')
  assert _column(opened, 'table-methods', 0) == names[::-1]
  assert opened.run(sort) == 'descending'
  # By number, not by text: 10 % comes after 2 %.
  _click(opened, '#table-methods ~ thead th:nth-child(2) button')
  assert _column(opened, 'table-methods', 0)[0] == 'KIV'
  assert opened.run(sort) is None


def test_all_rows_sort_with_missing_values_last(opened):
  headings = opened.run(
    '[...document.querySelectorAll("#rows-table th")]'
    '.map((each) => each.textContent)'
  )
  column = headings.index('relative error')
  button = f'#rows-table thead th:nth-child({column + 1}) button'
  _click(opened, button)
  assert _column(opened, 'rows-table', column)[0] == '1.00 %'
  _click(opened, button)
  # The log at noise 0.5, five times 20 % times 1.5; not a divergence.
  assert _column(opened, 'rows-table', column)[0] == '150 %'


def test_typing_filters_rows_and_clear_brings_them_back(opened):
  opened.run('document.getElementById("query").focus()')
  opened.type('DeepIV (paper)')
  count = 'document.getElementById("count").textContent'
  assert opened.run(count) == '270 of 2700 rows match; 100 are shown.'
  opened.run(
    'const box = document.getElementById("filter-outcome");'
    'box.value = "diverged"; box.dispatchEvent(new Event("change"))'
  )
  assert opened.run(count) == '54 of 2700 rows match; 54 are shown.'
  assert opened.run('document.getElementById("more").hidden')
  _click(opened, '#filters button[type=reset]')
  opened.run('new Promise((done) => setTimeout(done, 50))')
  assert opened.run(count).startswith('2700 of 2700')


def test_a_table_has_a_filter_of_its_own(opened):
  label = 'document.getElementById("table-datasets").closest(".table")'
  opened.run(f'{label}.querySelector("input").focus()')
  opened.type('catch-noise-0.5')
  names = _column(opened, 'table-datasets', 0)
  assert set(names) == {'catch-noise-0.5-epsilon-0p2-20000-seed-0'}
  assert len(names) == 3  # Target policies.


def test_a_name_leads_to_the_rows_behind_it(opened):
  opened.run('document.querySelector("#rows details").open = false')
  opened.run(
    '[...document.querySelectorAll("#table-best ~ tbody a")]'
    '.find((each) => each.textContent === "catch").click()'
  )
  assert opened.run('document.getElementById("count").textContent') == (
    '90 of 2700 rows match; 90 are shown. Only task catch.'
  )
  assert opened.run('document.getElementById("filter-method").value') == 'KIV'
  assert opened.run('location.hash') == '#rows'
  assert opened.run('document.querySelector("#rows details").open')


def test_the_keyboard_opens_a_row_with_all_that_remakes_it(opened):
  opened.run('document.querySelector("#rows-table .open").focus()')
  opened.press('Enter', 13)
  text = opened.run('document.querySelector(".detail").innerText')
  for words in (
    'dfiv-ope evaluate data/catch --method log',
    'width: 50',
    'seed',
    'dfiv-ope: "0.1.0"',
    'dataset digest',
  ):
    assert words in text
  expanded = 'document.activeElement.getAttribute("aria-expanded")'
  assert opened.run(expanded) == 'true'
  opened.press('Enter', 13)
  assert opened.run(expanded) == 'false'
  assert opened.run('document.querySelectorAll(".detail").length') == 0


def test_the_first_stop_of_the_keyboard_skips_to_the_results(opened):
  opened.press('Tab', 9)
  assert opened.run('document.activeElement.textContent') == (
    'Skip to the results'
  )
  opened.press('Enter', 13)
  assert opened.run('document.activeElement.id') == 'content'


def test_dark_and_light_are_followed(chromium, page):
  colors = (
    '["backgroundColor", "color"].map('
    '(name) => getComputedStyle(document.body)[name])'
  )
  tick = 'getComputedStyle(document.querySelector(".axis text")).fill'
  chromium.look(dark=False)
  chromium.open(page)
  assert chromium.run(colors) == ['rgb(255, 255, 255)', 'rgb(27, 31, 36)']
  assert chromium.run(tick) == 'rgb(87, 96, 106)'
  chromium.look(dark=True)
  assert chromium.run(colors) == ['rgb(20, 23, 27)', 'rgb(230, 233, 237)']
  assert chromium.run(tick) == 'rgb(163, 173, 184)'


@pytest.fixture(scope='module')
def log_page(log_row, tmp_path_factory):
  """A report of one's own log: two methods that agree and a hostile name."""
  problem = {'policy': 'the function <b>offers:generous</b>'}
  rows = [log_row('log', problem=problem, estimate=8.0)] + [
    log_row(
      method,
      problem=problem,
      seed=seed,
      share=0.2,
      estimate=estimate + 0.1 * seed,
    )
    for method, estimate in (('lstd', 10.0), ('fqe', 10.5))
    for seed in range(3)
  ]
  path = tmp_path_factory.mktemp('log') / 'index.html'
  path.write_bytes(build.files(rows, 'runs')['index.html'])
  return path


def test_the_page_of_a_log_shows_the_answer_first(chromium, log_page):
  chromium.look(width=1280, height=800)
  chromium.open(log_page)
  assert chromium.requests == [log_page.as_uri()]
  assert chromium.run('document.querySelector("h1").textContent') == (
    'What a policy is worth'
  )
  # Names and verdicts of rows are texts.
  assert chromium.run('document.querySelectorAll("main b, main i").length') == 0
  assert 'offers:generous</b>' in chromium.run('document.body.textContent')
  titles = chromium.run(
    '[...document.querySelectorAll("main h2")].map((each) => each.textContent)'
  )
  assert titles[:4] == [
    'Answer',
    'What to do next',
    'Do estimators agree?',
    'Does the log hold what the policy does?',
  ]
  # Numbers and the plot are on the first screen.
  for selector in ('.numbers', '#estimates .lanes'):
    ((left, right, top, bottom),) = chromium.run(f'({_BOXES})("{selector}")')
    assert right - left > 1100.0 and 0.0 < top < bottom < 800.0
  assert _column(chromium, 'table-estimates', 2)[1:] == ['10.1', '10.6']


@pytest.fixture(scope='module')
def demo_page(demo, tmp_path_factory):
  """The report of `make demo`, with two more methods: six."""
  more = [
    dataclasses.replace(demo[1], method=method) for method in ('kiv', 'deepgmm')
  ]
  path = tmp_path_factory.mktemp('demo') / 'index.html'
  path.write_bytes(build.files([*demo, *more], 'runs')['index.html'])
  return path


def test_the_first_screen_shows_intervals_beside_the_truth(chromium, demo_page):
  chromium.look(width=1280, height=800)
  chromium.open(demo_page)
  ((left, right, top, bottom),) = chromium.run(
    f'({_BOXES})("#estimates .lanes")'
  )
  assert right - left > 1100.0 and 0.0 < top < bottom < 800.0
  text = chromium.run('document.querySelector("#estimates").innerText')
  for words in (
    'true value 0.5',
    'log’s average 0.6',
    'LSTD-Q',
    'KIV',
    'DFIV (quick)',
    'DeepGMM',
    'DeepIV (quick)',
    'FQE (quick)',
    '0.505 [0.410, 0.600]',
  ):
    assert words in chromium.run(
      'document.querySelector("#estimates").textContent'
    ), words
  assert text.index('LSTD-Q') < text.index('DFIV')
  # The mark of the answer stands where its number is on the axis.
  ticks = chromium.run(
    '[...document.querySelectorAll("#estimates .axis text")].map((each) => '
    '[Number(each.textContent), each.getBoundingClientRect().left'
    ' + each.getBoundingClientRect().width / 2])'
  )
  (low, start), (high, end) = ticks[0], ticks[-1]
  ((first, last, _, _),) = chromium.run(
    f'({_BOXES})("#estimates .strong circle")'
  )
  shown = low + (high - low) * ((first + last) / 2.0 - start) / (end - start)
  assert abs(shown - 0.505) < 0.01


def test_a_phone_shows_the_ends_of_every_interval(chromium, demo_page):
  chromium.look(width=390, height=800)
  chromium.open(demo_page)
  ((_, _, top, bottom),) = chromium.run(
    f'({_BOXES})(".numbers div:first-child")'
  )
  assert 0.0 < top < bottom < 500.0
  boxes = chromium.run(
    f'({_BOXES})("#estimates .lane:not(.head) .name, '
    '#estimates .value, #estimates .axis text")'
  )
  assert len(boxes) > 15
  for place, (left, right, top, bottom) in enumerate(boxes):
    assert left >= 0.0 and right <= 390.0
    for other in boxes[:place]:
      assert (
        left >= other[1]
        or right <= other[0]
        or top >= other[3] - 2.0
        or bottom <= other[2] + 2.0
      )
  # A table of answers is a card for each method.
  chromium.run(_UNFOLD)
  assert (
    chromium.run(
      'getComputedStyle(document.querySelector(".stacked td"), "::before")'
      '.content'
    )
    == '"seeds"'
  )


def test_a_wide_table_says_that_it_scrolls(chromium, page):
  chromium.look(width=390)
  chromium.open(page)
  chromium.run(_UNFOLD)
  chromium.run('new Promise((done) => setTimeout(done, 100))')
  assert chromium.run('document.querySelector("#rows .hint").textContent') == (
    'Scroll sideways for more columns →'
  )


@pytest.fixture(scope='module')
def designs_page(tmp_path_factory):
  """Three methods and what they are held against, on a design."""
  rows = [
    rows_lib.Row(
      problem=problems.IVDesign(
        name='demand', parameters={'n': 1000, 'rho': rho}
      ),
      method=method,
      config={'type': 'Config'},
      seed=seed,
      version=1,
      metrics={
        'mse': error * (seed + 1),
        'first_stage_r2': 0.6,
        'effective_f': 400.0,
      },
      curves={'ate': (1.0,) * 20, 'cate': (2.0,) * 20},
      cpu_seconds=0.5,
      versions={'dfiv-ope': '0.1.0'},
    )
    for rho in (0.1, 0.5, 0.9)
    for seed in (0, 1)
    for method, error in (
      ('kiv', 50.0),
      ('dfiv', 3.0),
      ('constant', 900.0),
      ('plain_kiv', 200.0),
      ('oracle', 1.0),
    )
  ]
  path = tmp_path_factory.mktemp('designs') / 'index.html'
  path.write_bytes(build.files(rows, 'runs')['index.html'])
  return path


def test_baselines_of_a_design_stand_below_its_methods(chromium, designs_page):
  chromium.look()
  chromium.open(designs_page)
  assert chromium.run(
    '[...document.querySelectorAll("#demand-mse-1 .lane .name")].map('
    '(each) => each.textContent)'
  ) == [
    '',
    'KIV',
    'DFIV',
    'Constant',
    'Plain regression (kernel)',
    'Oracle without confounding',
    'mean squared error',
  ]
  assert chromium.run(
    'document.querySelector("#demand-stage").innerText'
  ).startswith('Are the instruments strong?')


PAGES = ('page', 'log_page', 'demo_page', 'designs_page')
_UNFOLD = """
document.querySelectorAll('details').forEach((each) => { each.open = true; })
"""
# Lines of each caption that is shown.
_LINES = """
[...document.querySelectorAll('figcaption, caption span')]
    .filter((each) => each.offsetHeight > 0)
    .map((each) => [each.offsetHeight / parseFloat(
        getComputedStyle(each).lineHeight), each.textContent])
"""


@pytest.mark.parametrize('name', PAGES)
def test_no_width_overflows_and_nothing_is_amiss(chromium, request, name):
  path = request.getfixturevalue(name)
  for width in (390, 768, 1280):
    chromium.look(width=width)
    chromium.open(path)
    for _ in range(2):
      assert chromium.run('document.documentElement.scrollWidth') <= width
      chromium.run(_UNFOLD)
    assert chromium.errors == []
    assert chromium.requests == [path.as_uri()]
  assert [text for lines, text in chromium.run(_LINES) if lines > 2.2] == []


@pytest.mark.parametrize('name', PAGES[1:])
def test_print_clips_no_table(chromium, request, name):
  # A4 without its margins.
  chromium.look(width=718)
  chromium.open(request.getfixturevalue(name))
  chromium('Emulation.setEmulatedMedia', media='print')
  chromium.run(_UNFOLD)
  try:
    assert (
      chromium.run(
        '[...document.querySelectorAll("table, .lanes, svg")]'
        '.filter((each) => each.getBoundingClientRect().right > 719)'
        '.map((each) => each.outerHTML.slice(0, 200))'
      )
      == []
    )
    assert (
      chromium.run('getComputedStyle(document.querySelector("h2")).breakAfter')
      == 'avoid'
    )
  finally:
    chromium('Emulation.setEmulatedMedia', media='')


def test_pages_are_light(demo_page, designs_page, log_page, page):
  for path in (demo_page, designs_page, log_page, page):
    text = path.read_text()
    data = ''.join(
      re.findall(
        r'<script type="application/json" id="data">.*?</script>|'
        r'<table.*?</table>',
        text,
        re.DOTALL,
      )
    )
    assert len(text.encode()) - len(data.encode()) < 300_000


@pytest.fixture(scope='module')
def axe(request):
  """The source of axe-core, from npm; tests are skipped without it."""
  folder = request.config.cache.mkdir('axe')
  source = folder / 'node_modules/axe-core/axe.min.js'
  if not source.is_file() and shutil.which('npm'):
    subprocess.run(
      [
        'npm',
        'install',
        '--prefix',
        str(folder),
        '--ignore-scripts',
        '--no-audit',
        '--no-fund',
        'axe-core@4',
      ],
      check=False,
      timeout=_LIMIT,
      capture_output=True,
    )
  if not source.is_file():
    pytest.skip('There is no axe-core here: npm cannot install it.')
  return source.read_text()


@pytest.mark.parametrize('name', PAGES[1:])
def test_axe_finds_nothing_serious(chromium, request, axe, name):
  chromium.look()
  for dark in (False, True):
    chromium.look(dark=dark)
    chromium.open(request.getfixturevalue(name))
    chromium.run(_UNFOLD)
    chromium.run(f'{axe}; undefined')
    found = json.loads(
      chromium.run(
        'axe.run().then((found) => JSON.stringify(found.violations.map('
        '(each) => [each.impact, each.id, each.nodes.slice(0, 3).map('
        '(node) => node.html + node.failureSummary)])))'
      )
    )
    assert [each for each in found if each[0] in ('serious', 'critical')] == []


def _luminance(color):
  parts = [int(color[place : place + 2], 16) / 255.0 for place in (1, 3, 5)]
  linear = [
    part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4
    for part in parts
  ]
  return sum(
    weight * part
    for weight, part in zip((0.2126, 0.7152, 0.0722), linear, strict=True)
  )


def _contrast(color, other):
  low, high = sorted((_luminance(color), _luminance(other)))
  return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize('room', [agents.ENTRIES, methods.ENTRIES])
def test_methods_have_colours_of_their_own_that_are_seen(room):
  colors = {name: entry.style.color for name, entry in room.items()}
  assert len(set(colors.values())) == len(colors)
  for name, color in colors.items():
    for paper in ('#ffffff', '#14171b'):
      assert _contrast(color, paper) >= 3.0, (name, color, paper)
  for name in set(agents.ENTRIES) & set(methods.ENTRIES):
    assert agents.ENTRIES[name].style.color == methods.ENTRIES[name].style.color
