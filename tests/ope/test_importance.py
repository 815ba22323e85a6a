"""Means by importance weights."""

import numpy as np
import pytest

from dfiv_ope.ope import importance


def test_an_average_is_that_of_weighed_values():
  values, weights = np.array([1.0, 2.0, 4.0]), np.array([2.0, 0.0, 1.0])
  with np.errstate(divide='ignore'):
    found = importance.average(values, np.log(weights))
  assert found.value == pytest.approx(2.0)
  # Shares 2/3 and 1/3 of errors -1 and 2.
  assert found.standard_error == pytest.approx(np.sqrt(8.0) / 3.0)
  assert found.effective == pytest.approx(9.0 / 5.0)
  assert found.mean_weight == pytest.approx(1.0)


def test_without_any_weight_there_is_no_average():
  found = importance.average(np.ones(3), np.full(3, -np.inf))
  assert np.isnan(found.value)
  assert found.effective == 0.0
