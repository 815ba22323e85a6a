"""A blend of unrelated estimators."""

import numpy as np
import pytest

from dfiv_ope.agents import blend, blend_members, direct
from dfiv_ope.ope import blending


def _member(value, added, error=0.0):
  added = np.asarray(added, float)
  return direct.Direct(
    value,
    added - added.mean(),
    {
      'effective_episodes': 30.0,
      'largest_weight_share': 0.1,
      'effective_share': 0.5,
    },
    draw_error=error,
  )


# Of E episodes that add a_i the variance is the sum of squares, E / (E - 1).
_SPREAD = 0.1 * np.array([1.0, -1.0, 1.0, -1.0]) * np.sqrt(3.0) / 4.0
_OTHER = 0.2 * np.array([1.0, 1.0, -1.0, -1.0]) * np.sqrt(3.0) / 4.0


def test_members_that_agree_are_weighed_by_their_variances():
  # Standard errors 0.1 and 0.2, independent, 0.1 apart: less than chance.
  found = blend.combine(
    {'lstd': _member(1.0, _SPREAD), 'nearest': _member(1.1, _OTHER)}
  )
  assert found.metrics['lstd_share'] == pytest.approx(0.8, abs=1e-4)
  assert found.value == pytest.approx(1.02, abs=1e-4)
  assert np.sum(np.square(found.added)) * 4.0 / 3.0 == pytest.approx(
    0.64 * 0.01 + 0.04 * 0.04, rel=1e-3
  )
  assert found.metrics['root_mean_squared_error'] == pytest.approx(
    np.sqrt(0.008), rel=1e-3
  )


def test_what_no_episode_shows_counts_as_variance():
  found = blend.combine(
    {
      'lstd': _member(1.0, _SPREAD, error=0.1 * np.sqrt(3.0)),
      'nearest': _member(1.1, _OTHER),
    }
  )
  assert found.metrics['lstd_share'] == pytest.approx(0.5, abs=1e-4)
  assert found.draw_error == pytest.approx(0.5 * 0.1 * np.sqrt(3.0), rel=1e-3)


def test_where_either_may_be_wrong_a_large_difference_leads_to_the_mean():
  found = blend.combine(
    {'lstd': _member(1.0, _SPREAD), 'nearest': _member(9.0, _OTHER)}
  )
  assert found.value == pytest.approx(5.0, abs=0.01)


def test_a_difference_to_doubly_robust_is_the_bias_of_the_others():
  found = blend.combine(
    {
      'lstd': _member(9.0, _SPREAD),
      'nearest': _member(9.1, _SPREAD),
      'dr': _member(1.0, _OTHER),
    }
  )
  assert found.value == pytest.approx(1.0, abs=0.01)
  assert found.metrics['dr_share'] > 0.99
  # The interval shows what is left.
  assert np.sum(np.square(found.added)) == pytest.approx(
    np.sum(np.square(_OTHER)), rel=0.02
  )


def test_biases_are_differences_beyond_chance():
  values, covariance = np.array([0.0, 4.0, 4.5]), np.diag([1.0, 3.0, 0.0])
  np.testing.assert_allclose(
    blending.from_trusted(values, covariance, 0),
    np.outer([0.0, 1.0, 3.0], [0.0, 1.0, 3.0]),
  )
  # 0 and 1 differ by 1 beyond chance, 0 and 2 by 3, 1 and 2 by nothing.
  np.testing.assert_allclose(
    blending.from_differences(values, covariance),
    np.diag([(1.0 + 9.0) / 4.0, 1.0 / 4.0, 9.0 / 4.0]),
  )


def test_one_member_is_the_blend():
  found = blend.combine({blend_members.LSTD: _member(2.0, _SPREAD)})
  assert found.value == 2.0 and found.metrics['lstd_share'] == 1.0
