"""The Python and the commands of docs/estimators.md run as shown."""

import json
import os
import pathlib
import re
import subprocess
import sys

import pytest
import sklearn

_PAGE = pathlib.Path(__file__).parents[1] / 'docs' / 'estimators.md'
_BLOCKS = re.findall(r'```python\n(.*?)```', _PAGE.read_text(), re.DOTALL)
(_COMMANDS,) = re.findall(r'```sh\n(.*?)```', _PAGE.read_text(), re.DOTALL)
(_SHOWN,) = re.findall(r'```text\n(.*?)```', _PAGE.read_text(), re.DOTALL)


@pytest.mark.filterwarnings('ignore')
def test_the_examples_find_the_slope_and_print_what_they_say(
  capsys, monkeypatch, tmp_path
):
  monkeypatch.chdir(tmp_path)
  space = {}
  printed = []
  with sklearn.config_context():
    for block in _BLOCKS:
      exec(block, space)
      printed.append(capsys.readouterr().out)
  slope, search, _, frames, identification, splits, chosen = printed
  assert float(slope.split()[-1]) == pytest.approx(3.0, abs=0.2)
  assert float(search.split()[1]) == pytest.approx(3.0, abs=0.2)
  assert "'ivregressor__estimator__stage2_penalty': 1e-12" in search
  assert 'Z and Y have the same labels in another order: row 0' in frames
  assert 'order condition): T has 2 columns, but Z only 1' in identification
  assert 0.01 < float(splits.split()[0]) < 1.0
  assert 'random splits       3, averaged' in splits
  assert chosen.startswith('sieve\naverage of          Sieve IV (')


@pytest.mark.filterwarnings('ignore')
def test_the_commands_print_and_write_what_is_shown(tmp_path, monkeypatch):
  monkeypatch.chdir(tmp_path)
  space = {}
  exec(_BLOCKS[0], space)
  exec(_BLOCKS[2], space)
  here = pathlib.Path(sys.executable).parent
  outputs = [
    subprocess.run(
      line.split(),
      capture_output=True,
      text=True,
      check=True,
      env={
        **os.environ,
        'COLUMNS': '100',
        'PATH': f'{here}{os.pathsep}{os.environ["PATH"]}',
      },
    ).stdout
    for line in _COMMANDS.splitlines()
  ]
  printed = [line.split() for line in outputs[0].splitlines()]
  for line in _SHOWN.splitlines():
    assert line.split() in printed
  assert json.loads(outputs[1])['method'] == 'sieve'
  written = (tmp_path / 'predictions.csv').read_text().splitlines()
  assert written[0] == 'price,age,prediction'
  wanted = space['model'].predict(
    space['rows'][['price']].head(3), space['rows'][['age']].head(3)
  )
  assert [float(line.split(',')[-1]) for line in written[1:]] == (
    pytest.approx(wanted, abs=1e-10)
  )
