"""The tutorial runs as shown, and prints what it shows."""

import html
import os
import pathlib
import re
import shutil
import subprocess
import sys

import pytest

_DOCS = pathlib.Path(__file__).parents[1] / 'docs'
_TUTORIAL = (_DOCS / 'tutorial.md').read_text(encoding='utf-8')
_STEPS = re.findall(
  r'```sh\n(.*?)```\n\n```text\n(.*?)```', _TUTORIAL, re.DOTALL
)
# A number with digits after the point; others are compared as words.
_DECIMAL = re.compile(r'-?[\d,]*\d\.\d+')
# Training on another processor rounds otherwise.
_ROUNDING = 1e-3


@pytest.fixture(scope='module')
def directory(tmp_path_factory):
  path = tmp_path_factory.mktemp('tutorial')
  for file in (_DOCS / 'examples').iterdir():
    if file.is_file():
      shutil.copy(file, path)
  return path


@pytest.fixture(scope='module')
def printed(directory):
  """What the steps print, run one after the other."""
  here = pathlib.Path(sys.executable).parent
  environment = {
    **os.environ,
    'CUDA_VISIBLE_DEVICES': '',
    'COLUMNS': '80',
    'PATH': f'{here}{os.pathsep}{os.environ["PATH"]}',
  }
  outputs = []
  for commands, _ in _STEPS:
    done = subprocess.run(
      ['bash', '-e', '-c', commands],
      cwd=directory,
      env=environment,
      capture_output=True,
      text=True,
      timeout=600,
      check=False,
    )
    assert done.returncode == 0, f'{commands}\n{done.stderr}'
    outputs.append(done.stdout)
  return outputs


def _lines(text):
  """Returns lines as words, without the CPU seconds of tables."""
  lines, timed = [], False
  for line in text.splitlines():
    words = line.split()
    if words[-2:] == ['CPU', 's']:
      timed = True
    elif timed and words and words[0] in ('lstd', 'kiv', 'fqe'):
      words = words[:-1]
    if words:
      lines.append(words)
  return lines


def _same(shown, actual):
  """Compares words; decimals to the rounding of processors."""
  if not (_DECIMAL.fullmatch(shown) and _DECIMAL.fullmatch(actual)):
    return shown == actual
  one, other = (float(each.replace(',', '')) for each in (shown, actual))
  return one == pytest.approx(other, rel=_ROUNDING)


def _check(shown, actual):
  assert len(shown) == len(actual), (shown, actual)
  for ours, theirs in zip(shown, actual, strict=True):
    assert len(ours) == len(theirs), (ours, theirs)
    assert all(map(_same, ours, theirs)), (ours, theirs)


def test_every_command_has_its_output():
  assert len(_STEPS) == _TUTORIAL.count('```sh') == 7


def test_the_files_are_those_shown():
  shown = dict(re.findall(r'```(yaml|python)\n(.*?)```', _TUTORIAL, re.DOTALL))
  examples = _DOCS / 'examples'
  assert shown['yaml'] == (examples / 'mapping.yaml').read_text()
  assert shown['python'] in (examples / 'offers.py').read_text()


@pytest.mark.slow
@pytest.mark.parametrize('step', range(len(_STEPS)))
def test_a_step_prints_what_is_shown(printed, step):
  shown, cut, _ = _STEPS[step][1].partition('...\n')
  actual = _lines(printed[step])
  if cut:
    actual = actual[: len(_lines(shown))]
  _check(_lines(shown), actual)


@pytest.mark.slow
def test_the_report_says_what_is_shown(printed, directory):
  page = html.unescape((directory / 'report/index.html').read_text())
  (answer,) = re.findall(r'^> (.*)$', _TUTORIAL, re.MULTILINE)
  (headline,) = re.findall(r'<p class="headline">(.*?)</p>', page)
  _check([answer.split()], [headline.split()])
  steps = re.findall(r'^- (.*)$', _TUTORIAL, re.MULTILINE)
  section = page.partition('id="next"')[2].partition('</section>')[0]
  points = re.findall(r'<li>([^<]*)</li>', section)
  _check([step.split() for step in steps], [point.split() for point in points])


@pytest.mark.slow
def test_the_paired_difference_excludes_zero(printed):
  found = re.findall(
    r'Paired difference to the behaviour policy by (lstd|fqe): \+([\d.]+) '
    r'\(95 % confidence interval \+([\d.]+) to \+([\d.]+)',
    ''.join(printed),
  )
  assert [method for method, *_ in found] == ['lstd', 'fqe']
  for _, difference, low, high in found:
    assert 0.0 < float(low) < float(difference) < float(high)
    # The truth, simulated: 19.07 less 16.80.
    assert float(low) < 2.27 < float(high)


@pytest.mark.slow
def test_the_intervals_hold_the_truth(printed):
  truth = float(re.search(r'is worth ([\d.]+)', printed[-1])[1])
  found = re.findall(
    r'^ (lstd|kiv|fqe) +\w+ +3 +[\d.]+ +([\d.]+) +([\d.]+)',
    ''.join(printed),
    re.MULTILINE,
  )
  assert [method for method, _, _ in found] == ['lstd', 'kiv', 'fqe']
  for method, low, high in found:
    assert float(low) <= truth <= float(high), method
