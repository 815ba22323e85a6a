"""The Python of docs/estimators.md runs as shown."""

import pathlib
import re

import pytest
import sklearn

_PAGE = pathlib.Path(__file__).parents[1] / 'docs' / 'estimators.md'
_BLOCKS = re.findall(r'```python\n(.*?)```', _PAGE.read_text(), re.DOTALL)


@pytest.mark.filterwarnings('ignore')
def test_the_examples_find_the_slope_and_print_what_they_say(capsys):
  space = {}
  printed = []
  with sklearn.config_context():
    for block in _BLOCKS:
      exec(block, space)
      printed.append(capsys.readouterr().out)
  slope, search, frames, identification, splits = printed
  assert float(slope.split()[-1]) == pytest.approx(3., abs=0.2)
  assert float(search.split()[1]) == pytest.approx(3., abs=0.2)
  assert "'ivregressor__estimator__stage2_penalty': 1e-12" in search
  assert 'Z and Y have the same labels in another order: row 0' in frames
  assert 'order condition): T has 2 columns, but Z only 1' in identification
  assert 0.01 < float(splits.split()[0]) < 1.
  assert 'random splits       3, averaged' in splits
