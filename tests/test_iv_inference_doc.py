"""The Python and the command of docs/iv-inference.md run as shown."""

import os
import pathlib
import re
import subprocess
import sys

import pytest

_PAGE = pathlib.Path(__file__).parents[1] / 'docs' / 'iv-inference.md'
_BLOCKS = re.findall(r'```python\n(.*?)```', _PAGE.read_text(), re.DOTALL)
(_COMMAND,) = re.findall(r'```sh\n(.*?)```', _PAGE.read_text(), re.DOTALL)
_SHOWN = re.findall(r'```text\n(.*?)```', _PAGE.read_text(), re.DOTALL)


@pytest.mark.filterwarnings('ignore')
def test_the_examples_print_what_is_shown(capsys, monkeypatch, tmp_path):
  monkeypatch.chdir(tmp_path)
  space, printed = {}, []
  for block in _BLOCKS:
    exec(block, space)
    printed.append(capsys.readouterr().out)
  for shown, page in zip(_SHOWN, printed[:2], strict=True):
    lines = [line.split() for line in page.splitlines()]
    for line in shown.splitlines():
      assert line.split() in lines
  assert 'educ' in printed[1] and 'exper ** 2' in printed[1]
  assert 'inf' in printed[2]
  ate = space['ate']
  assert ate.low[0] < 2.0 * space['np'].sin(1.0) < ate.high[0]
  assert '% of its variance is a bound on bias' in printed[-1]
  assert space['band'].uniform and space['slope'].level == 0.9
  environment = {
    **os.environ,
    'COLUMNS': '160',
    'PATH': (
      f'{pathlib.Path(sys.executable).parent}{os.pathsep}{os.environ["PATH"]}'
    ),
  }
  said = subprocess.run(
    _COMMAND.split(),
    capture_output=True,
    text=True,
    check=True,
    env=environment,
  ).stdout
  assert 'Slope and 95 % confidence interval: educ' in ' '.join(said.split())
  page = (tmp_path / 'fits' / 'card' / 'index.html').read_text()
  assert 'The band is the 95 % confidence interval' in page
  assert 'Anderson-Rubin, HC3' in page
