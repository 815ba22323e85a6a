"""Rank correlation and regret, against scipy and by hand."""

import math

import numpy as np
import pytest
from scipy import stats

from dfiv_ope.evaluation import policy_ranking


def test_the_rank_correlation_is_spearmans():
  assert (
    policy_ranking.rank_correlation([1.0, 2.0, 3.0], [10.0, 30.0, 20.0]) == 0.5
  )
  estimates, truths = np.random.default_rng(2).normal(size=(2, 9))
  assert policy_ranking.rank_correlation(estimates, truths) == pytest.approx(
    stats.spearmanr(estimates, truths).statistic
  )


@pytest.mark.parametrize(
  'estimates, truths',
  [([1.0, 1.0], [1.0, 2.0]), ([1.0, 2.0], [3.0, 3.0]), ([1.0], [1.0])],
)
def test_constants_have_no_rank_correlation(estimates, truths):
  assert math.isnan(policy_ranking.rank_correlation(estimates, truths))


def test_the_regret_is_what_the_chosen_policy_falls_short_of():
  assert policy_ranking.regret([1.0, 5.0, 2.0], [10.0, 7.0, 9.0]) == 3.0
  assert policy_ranking.regret([9.0, 5.0, 2.0], [10.0, 7.0, 9.0]) == 0.0
  # A tie of the first two.
  assert policy_ranking.regret([5.0, 5.0, 2.0], [10.0, 7.0, 9.0]) == 1.5


def test_with_several_tries_the_best_of_them_counts():
  assert policy_ranking.regret([1.0, 5.0, 2.0], [10.0, 7.0, 9.0], 2) == 1.0
  assert policy_ranking.regret([1.0, 5.0, 2.0], [10.0, 7.0, 9.0], 3) == 0.0
  # The first is sure; of three with equal estimates one is drawn: the best is
  # 10, 8 or, as the first is better than the third, 7.
  assert policy_ranking.regret(
    [9.0, 5.0, 5.0, 5.0], [7.0, 10.0, 8.0, 6.0], 2
  ) == pytest.approx(10.0 - (10.0 + 8.0 + 7.0) / 3.0)
  # Two of three are drawn: 10 in two of three cases, else 8.
  assert policy_ranking.regret(
    [9.0, 5.0, 5.0, 5.0], [7.0, 10.0, 8.0, 6.0], 3
  ) == pytest.approx(2.0 / 3.0)


@pytest.mark.parametrize('k', [0, 4])
def test_more_tries_than_policies_are_refused(k):
  with pytest.raises(ValueError, match='k from 1 to 3'):
    policy_ranking.regret([1.0, 2.0, 3.0], [1.0, 2.0, 3.0], k)
