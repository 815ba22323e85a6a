"""The Python and the command of docs/tutorial-iv.md run as shown."""

import pathlib
import re

import pytest
from typer import testing

from dfiv_ope.launch import main

_PAGE = pathlib.Path(__file__).parents[1] / 'docs' / 'tutorial-iv.md'
_BLOCKS = re.findall(r'```python\n(.*?)```', _PAGE.read_text(), re.DOTALL)
_SHOWN = re.findall(r'```text\n(.*?)```', _PAGE.read_text(), re.DOTALL)
(_COMMAND,) = re.findall(r'```sh\n(.*?)```', _PAGE.read_text(), re.DOTALL)


@pytest.mark.filterwarnings('ignore')
def test_the_examples_print_what_is_shown(capsys, monkeypatch, tmp_path):
  monkeypatch.chdir(tmp_path)
  space, printed = {}, []
  for block in _BLOCKS:
    exec(block, space)
    printed.append(capsys.readouterr().out)
  for said, shown in zip(printed, _SHOWN, strict=False):
    numbers, wanted = (
      [float(each) for each in re.findall(r'-?\d+\.\d+', text)]
      for text in (said, shown)
    )
    assert numbers == pytest.approx(wanted, rel=0.02)
    assert re.sub(r'[\d.]+', '', said) == re.sub(r'[\d.]+', '', shown)
  slope, line = space['slope'], space['line'].average_derivative()
  assert slope.low[0] < slope.estimate[0] < line.estimate[0]
  assert space['upper'].high[0] > space['lower'].low[0]
  assert '12 years of education: log wage 6.70 [6.64, 6.76]' in printed[2]
  result = testing.CliRunner().invoke(main.app, _COMMAND.split()[1:])
  assert result.exit_code == 0, result.output
  page = (tmp_path / 'fits' / 'wage' / 'index.html').read_text()
  assert 'The band holds the whole curve in 95 % of samples' in page
  assert 'Plain regression of IQ' in page
