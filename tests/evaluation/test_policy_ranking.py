"""Rank correlation and regret, against scipy and by hand."""

import math

import numpy as np
import pytest
from scipy import stats

from dfiv_ope.evaluation import policy_ranking


def test_the_rank_correlation_is_spearmans():
  assert policy_ranking.rank_correlation([1., 2., 3.], [10., 30., 20.]) == 0.5
  estimates, truths = np.random.default_rng(2).normal(size=(2, 9))
  assert policy_ranking.rank_correlation(estimates, truths) == pytest.approx(
      stats.spearmanr(estimates, truths).statistic)


@pytest.mark.parametrize('estimates, truths', [
    ([1., 1.], [1., 2.]), ([1., 2.], [3., 3.]), ([1.], [1.])])
def test_constants_have_no_rank_correlation(estimates, truths):
  assert math.isnan(policy_ranking.rank_correlation(estimates, truths))


def test_the_regret_is_what_the_chosen_policy_falls_short_of():
  assert policy_ranking.regret([1., 5., 2.], [10., 7., 9.]) == 3.
  assert policy_ranking.regret([9., 5., 2.], [10., 7., 9.]) == 0.
  # A tie of the first two.
  assert policy_ranking.regret([5., 5., 2.], [10., 7., 9.]) == 1.5


def test_with_several_tries_the_best_of_them_counts():
  assert policy_ranking.regret([1., 5., 2.], [10., 7., 9.], 2) == 1.
  assert policy_ranking.regret([1., 5., 2.], [10., 7., 9.], 3) == 0.
  # The first is sure; of three with equal estimates one is drawn: the best is
  # 10, 8 or, as the first is better than the third, 7.
  assert policy_ranking.regret(
      [9., 5., 5., 5.], [7., 10., 8., 6.], 2) == pytest.approx(
          10. - (10. + 8. + 7.) / 3.)
  # Two of three are drawn: 10 in two of three cases, else 8.
  assert policy_ranking.regret(
      [9., 5., 5., 5.], [7., 10., 8., 6.], 3) == pytest.approx(2. / 3.)


@pytest.mark.parametrize('k', [0, 4])
def test_more_tries_than_policies_are_refused(k):
  with pytest.raises(ValueError, match='k from 1 to 3'):
    policy_ranking.regret([1., 2., 3.], [1., 2., 3.], k)
