"""Intervals against closed forms and against real resampling."""

import math

import numpy as np
import pytest
from scipy import stats

from dfiv_ope import uncertainty


def test_contributions_add_up_by_episode_and_have_mean_zero():
  added = uncertainty.contributions(
      np.array([1., 3.]), np.array([1., 2., 5.]), np.array([0, 0, 1]))
  # Rows: 3 and 5, less their mean 4; starts: (1 - 2) / 2 and (3 - 2) / 2.
  np.testing.assert_allclose(added, [-1. - 0.5, 1. + 0.5])


def test_resamples_have_the_standard_error_of_a_mean():
  values = np.random.default_rng(0).standard_normal(50)
  added = (values - values.mean()) / len(values)
  changes = uncertainty.resample(added, count=20_000)
  assert changes.std() == pytest.approx(
      values.std(ddof=1) / math.sqrt(50), rel=0.03)
  assert changes.mean() == pytest.approx(0., abs=0.01)


def test_resamples_repeat():
  added = np.array([1., -2., 1.])
  np.testing.assert_array_equal(
      uncertainty.resample(added), uncertainty.resample(added))


def test_one_run_has_the_interval_of_the_data():
  changes = stats.norm.ppf((np.arange(1000) + 0.5) / 1000)[None] * 2.
  found = uncertainty.interval([7.], changes, [0.], level=0.95)
  assert found.low == pytest.approx(7. - 1.96 * 2., abs=0.03)
  assert found.high == pytest.approx(7. + 1.96 * 2., abs=0.03)
  assert math.isnan(found.training_error) and math.isnan(found.data_share)


def test_runs_add_students_t_of_their_spread():
  found = uncertainty.interval(
      [1., 2., 3.], np.zeros([3, 10]), [0.] * 3, level=0.9)
  error = 1. / math.sqrt(3.)
  assert found.estimate == 2. and found.data_error == 0.
  assert found.training_error == pytest.approx(error)
  half = error * stats.t.ppf(0.95, df=2)
  assert found.high - 2. == pytest.approx(half, rel=0.1)
  assert found.data_share == 0.


def test_both_sources_share_the_variance():
  changes = np.tile(np.array([-1., 1.]), 50)[None].repeat(2, axis=0)
  found = uncertainty.interval([0., 2.], changes, [0., 0.], level=0.9)
  assert found.data_error == pytest.approx(1.)
  assert found.training_error == pytest.approx(1.)
  assert found.data_share == pytest.approx(0.5)


@pytest.mark.parametrize('correction, low, high', [
    (0.5, 0., 0.5), (-0.5, -0.5, 0.)])
def test_an_interval_holds_what_is_missing(correction, low, high):
  found = uncertainty.interval(
      [0.], np.zeros([1, 10]), [correction], level=0.95)
  assert (found.low, found.high) == pytest.approx((low, high))


@pytest.mark.parametrize('level', [0., 1., -3.])
def test_levels_that_are_none_are_refused(level):
  with pytest.raises(ValueError, match='level in'):
    uncertainty.interval([0.], np.zeros([1, 3]), [0.], level=level)
