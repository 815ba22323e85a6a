"""The Python of the README runs as shown."""

import pathlib
import re

import pytest

_README = pathlib.Path(__file__).parents[1] / 'README.md'
_BLOCKS = re.findall(r'```python\n(.*?)```', _README.read_text(), re.DOTALL)
# The first, of off-policy evaluation, is run in tests/launch/test_evaluate.py.
_DEMAND, _SCHOOLING, _PICTURES = _BLOCKS[1:]


@pytest.mark.slow
def test_the_first_example_estimates_the_demand(capsys):
  exec(_DEMAND, {})
  *_, effect, error = capsys.readouterr().out.splitlines()
  # The truth is -116.2 (demand.true_ate at 20 less at 10).
  assert float(effect) == pytest.approx(-116.2, rel=0.15)
  # Linear 2SLS has 9300; a constant 32644.
  assert float(error) < 3_000.


def test_the_second_example_finds_the_return_to_schooling(capsys):
  """The figure is the one linearmodels gives for the same columns."""
  exec(_SCHOOLING, {})
  printed = float(capsys.readouterr().out.split()[-1])
  from linearmodels import iv
  from linearmodels.datasets import card
  rows = card.load().dropna(
      subset=['lwage', 'educ', 'nearc4', 'exper', 'black', 'south', 'smsa'])
  fit = iv.IV2SLS.from_formula(
      'lwage ~ 1 + exper + expersq + black + south + smsa + [educ ~ nearc4]',
      rows).fit()
  assert printed == pytest.approx(fit.params['educ'], abs=5e-4)


@pytest.mark.slow
def test_the_third_example_learns_from_pictures(capsys):
  exec(_PICTURES, {})
  # A constant has 24.
  assert float(capsys.readouterr().out.split()[-1]) < 12.
