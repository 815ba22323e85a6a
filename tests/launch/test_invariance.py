"""Units and offsets change no answer, of any method."""

import pytest

from dfiv_ope import agents, estimators
from dfiv_ope.launch import invariance


def test_no_method_is_missing():
  assert set(invariance.OPE_BUDGETS) == set(agents.NAMES)
  assert set(invariance.IV_BUDGETS) == set(estimators.ESTIMATORS)


@pytest.mark.parametrize('name', agents.NAMES)
def test_the_value_of_a_policy_has_no_units(name):
  for change, found in invariance.differences(
      name, invariance.ope_answer(200, updates=6, random_features=20)):
    assert found < 1e-4, change


@pytest.mark.parametrize('name', estimators.ESTIMATORS)
def test_a_structural_function_has_no_units(name):
  for change, found in invariance.differences(
      name, invariance.iv_answer(120)):
    assert found < 1e-4, change
