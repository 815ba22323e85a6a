"""The Python of docs/python.md runs as shown."""

import pathlib
import re

import pytest

_PAGE = pathlib.Path(__file__).parents[1] / 'docs' / 'python.md'
_BLOCKS = re.findall(r'```python\n(.*?)```', _PAGE.read_text(), re.DOTALL)


@pytest.mark.slow
def test_the_examples_find_the_truth_and_rank_the_policies(capsys):
  space = {}
  for block in _BLOCKS:
    exec(block, space)
  value, better, grade, columns, ranking = capsys.readouterr().out.splitlines()
  estimate, low, high = map(float, re.findall(r'-?\d+\.\d+', value))
  assert low < 0.5 / (1.0 - 0.8 * 0.875) < high
  assert low < estimate < high
  assert better == 'True True'
  assert grade == 'good'
  assert columns == "['seeds', 'diverged', 'estimate', 'low', 'high']"
  assert ranking == "['right', 'uniform', 'wrong']"
