"""Intervals against closed forms and against real resampling."""

import math

import numpy as np
import pytest
from scipy import stats

from dfiv_ope.evaluation import inference


def test_contributions_add_up_by_episode_and_have_mean_zero():
  added = inference.contributions(
    np.array([1.0, 3.0]), np.array([1.0, 2.0, 5.0]), np.array([0, 0, 1])
  )
  # Rows: 3 and 5, less their mean 4; starts: (1 - 2) / 2 and (3 - 2) / 2.
  np.testing.assert_allclose(added, [-1.0 - 0.5, 1.0 + 0.5])


def test_resamples_have_the_standard_error_of_a_mean():
  values = np.random.default_rng(0).standard_normal(50)
  added = (values - values.mean()) / len(values)
  changes = inference.resample(added, count=20_000)
  assert changes.std() == pytest.approx(
    values.std(ddof=1) / math.sqrt(50), rel=0.03
  )
  assert changes.mean() == pytest.approx(0.0, abs=0.01)


def test_resamples_repeat():
  added = np.array([1.0, -2.0, 1.0])
  np.testing.assert_array_equal(
    inference.resample(added), inference.resample(added)
  )


def test_one_run_has_the_interval_of_the_data():
  changes = stats.norm.ppf((np.arange(1000) + 0.5) / 1000)[None] * 2.0
  found = inference.interval([7.0], changes, [0.0], level=0.95)
  assert found.low == pytest.approx(7.0 - 1.96 * 2.0, abs=0.03)
  assert found.high == pytest.approx(7.0 + 1.96 * 2.0, abs=0.03)
  assert math.isnan(found.training_error) and math.isnan(found.data_share)


def test_runs_add_students_t_of_their_spread():
  found = inference.interval(
    [1.0, 2.0, 3.0], np.zeros([3, 10]), [0.0] * 3, level=0.9
  )
  error = 1.0 / math.sqrt(3.0)
  assert found.estimate == 2.0 and found.data_error == 0.0
  assert found.training_error == pytest.approx(error)
  half = error * stats.t.ppf(0.95, df=2)
  assert found.high - 2.0 == pytest.approx(half, rel=0.1)
  assert found.data_share == 0.0


def test_both_sources_share_the_variance():
  changes = np.tile(np.array([-1.0, 1.0]), 50)[None].repeat(2, axis=0)
  found = inference.interval([0.0, 2.0], changes, [0.0, 0.0], level=0.9)
  assert found.data_error == pytest.approx(1.0)
  assert found.training_error == pytest.approx(1.0)
  assert found.data_share == pytest.approx(0.5)


@pytest.mark.parametrize(
  'correction, low, high', [(0.5, 0.0, 0.5), (-0.5, -0.5, 0.0)]
)
def test_an_interval_holds_what_is_missing(correction, low, high):
  found = inference.interval([0.0], np.zeros([1, 10]), [correction], level=0.95)
  assert (found.low, found.high) == pytest.approx((low, high))


def test_no_interval_is_narrower_than_rounding():
  found = inference.interval([200.0], np.zeros([1, 10]), [0.0], level=0.95)
  assert (found.low, found.high) == pytest.approx((199.998, 200.002))
  assert found.reach == (0.0, 0.0)


@pytest.mark.parametrize('level', [0.0, 1.0, -3.0])
def test_levels_that_are_none_are_refused(level):
  with pytest.raises(ValueError, match='level in'):
    inference.interval([0.0], np.zeros([1, 3]), [0.0], level=level)


def test_small_logs_have_a_sentence_instead_of_an_interval():
  fewest = inference.FEWEST_EPISODES
  assert inference.too_few(fewest, 900, 900) == ''
  assert inference.too_few(1, 30, 20) == (
    'No interval: 1 episode says too little of how much episodes differ. Log '
    f'at least {fewest}.'
  )
  assert '3 episodes say' in inference.too_few(3, 9_000, 900)
  assert inference.too_few(fewest, 899, 900).startswith(
    'No interval: 899 rows cannot show the errors of features with 900 col'
  )


def test_few_episodes_have_the_quantiles_of_students_t():
  changes = stats.norm.ppf((np.arange(1000) + 0.5) / 1000)[None]
  found = inference.interval([0.0], changes, [0.0], level=0.95, degrees=4.0)
  assert found.high == pytest.approx(stats.t.ppf(0.975, df=4), rel=0.01)
  assert found.low == pytest.approx(-found.high, rel=0.01)


def test_degrees_of_freedom_fall_where_few_episodes_have_all_the_variance():
  even = stats.norm.ppf((np.arange(100) + 0.5) / 100)
  assert inference.degrees(even) == pytest.approx(99.0, rel=0.05)
  lone = np.full(100, -1.0 / 99.0)
  lone[3] = 1.0
  assert inference.degrees(lone) == pytest.approx(2.0, rel=0.1)
  assert inference.degrees(np.zeros(1)) == 1.0


def test_an_average_of_few_returns_has_students_t_or_no_interval():
  low, high = inference.mean_interval(10.0, 2.0, 5, level=0.95)
  assert (low, high) == pytest.approx(
    (10.0 - 2.0 * 2.776, 10.0 + 2.0 * 2.776), abs=1e-2
  )
  assert inference.mean_interval(10.0, 2.0, 4, level=0.95) is None
  assert inference.mean_interval(10.0, math.nan, 9, level=0.95) is None


def test_the_share_of_the_largest_thousandth_of_rows():
  assert inference.heavy_share(np.ones(2_000)) == pytest.approx(0.001)
  rows = np.ones(2_000)
  rows[7] = -1e9
  assert inference.heavy_share(rows) == pytest.approx(1.0, abs=1e-5)
  # At least one row.
  assert inference.heavy_share(np.array([1.0, 3.0])) == pytest.approx(0.75)
  assert inference.heavy_share(np.zeros(5)) == 0.0


def test_a_reward_at_the_end_alone_is_not_heavy():
  rows = np.zeros(20_000)
  rows[::500] = 1.0  # Forty wins.
  assert inference.heavy_share(rows) == pytest.approx(1.0 / 40.0)


def test_a_paired_difference_leaves_out_what_both_share():
  generator = np.random.default_rng(0)
  shared = generator.normal(size=400)
  own = 0.1 * generator.normal(size=400)
  first = inference.Draws(
    np.array([3.0]), (shared + own)[None], np.array([0.5]), 50.0
  )
  second = inference.Draws(np.array([1.0]), shared[None], np.array([0.2]), 20.0)
  found = first.less(second)
  np.testing.assert_allclose(found.changes[0], own)
  assert found.estimates.tolist() == [2.0]
  assert found.corrections == pytest.approx([0.3])
  assert found.degrees == 20.0
  interval = found.interval(0.95)
  assert interval.data_error == pytest.approx(np.std(own))
  assert interval.high - interval.low < 1.0


def test_runs_of_the_same_seed_are_paired_and_others_by_their_mean():
  def draws(estimates):
    return inference.Draws(
      np.array(estimates),
      np.zeros([len(estimates), 10]),
      np.zeros(len(estimates)),
      9.0,
    )

  assert draws([3.0, 5.0]).less(draws([1.0, 2.0])).estimates.tolist() == [
    2.0,
    3.0,
  ]
  assert draws([3.0, 5.0]).less(draws([1.0])).estimates.tolist() == [2.0, 4.0]
  assert draws([3.0]).less(draws([1.0, 2.0])).estimates.tolist() == [1.5]
  with pytest.raises(ValueError, match='the same resamples, got 10 and 3'):
    draws([1.0]).less(
      inference.Draws(np.zeros(1), np.zeros([1, 3]), np.zeros(1), 9.0)
    )


def test_the_best_policy_is_counted_over_shared_resamples():
  changes = np.random.default_rng(0).normal(size=1_000)
  better, worse = (
    inference.Draws(np.array([value]), changes[None], np.zeros(1), 99.0)
    for value in (1.1, 1.0)
  )
  # Marginal intervals overlap widely, but the one is better in every draw.
  assert inference.probability_of_best([worse, better]).tolist() == [0.0, 1.0]
  opposite = inference.Draws(np.array([1.0]), -changes[None], np.zeros(1), 99.0)
  assert inference.probability_of_best([worse, opposite]) == pytest.approx(
    [0.5, 0.5], abs=0.05
  )


def test_start_states_that_are_given_are_no_part_of_what_episodes_add():
  errors, episodes = np.array([1.0, 2.0, 3.0, 6.0]), np.array([0, 0, 1, 2])
  np.testing.assert_allclose(  # Sums 3, 3, 6 less their mean.
    inference.contributions(None, errors, episodes), [-1.0, -1.0, 2.0]
  )
  np.testing.assert_allclose(
    inference.contributions(np.array([0.0, 3.0, 6.0]), errors, episodes),
    [-2.0, -1.0, 3.0],
  )
