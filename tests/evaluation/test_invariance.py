"""Units and offsets change no answer, of any method."""

import numpy as np
import pytest
import tensorflow as tf

from dfiv_ope import agents
from dfiv_ope.evaluation import invariance
from dfiv_ope.iv import estimators

# Both at once; the benchmark takes all of them one by one.
_CHANGES = {'both': (invariance.Change(offset=1e12), invariance.Change(1e20))}


@pytest.mark.parametrize('change', invariance.CHANGES)
def test_agents_see_the_same_rows_to_the_last_bit(change):
  log = invariance.transitions(200)
  seen, scales = [], []
  unchanged = invariance.Change(), invariance.Change()
  for inputs, outcome in (unchanged, invariance.CHANGES[change]):
    changed, problem = invariance.pose(log, inputs, outcome)
    seen.append(tf.nest.flatten(problem.rows(changed)))
    scales.append(
      np.array([problem.value_scale, problem.lowest, problem.highest])
      / outcome.factor
    )
    scales[-1] = np.append(scales[-1], [problem.value_mean, problem.distance])
  for before, after in zip(*seen, strict=True):
    np.testing.assert_array_equal(before, after)
  np.testing.assert_allclose(*scales, rtol=1e-12)


@pytest.mark.parametrize('name', agents.LEARNERS)
def test_the_value_of_a_policy_has_no_units(name):
  answer = invariance.ope_answer(120, updates=2, random_features=20)
  ((_, found),) = invariance.differences(name, answer, _CHANGES)
  assert found < 1e-4


@pytest.mark.parametrize('name', estimators.ESTIMATORS)
def test_a_structural_function_has_no_units(name):
  ((_, found),) = invariance.differences(
    name, invariance.iv_answer(80), _CHANGES
  )
  # Numbers around 1e12 are known to 1.2e-4: a few units in the last place.
  assert found < 4.0 * np.spacing(1e12)
