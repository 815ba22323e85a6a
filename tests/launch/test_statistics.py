"""Summaries of errors: values by hand, and those of rliable."""

import math

import numpy as np
import pytest
from rliable import library, metrics

from dfiv_ope.launch.reporting import statistics


def test_the_interquartile_mean_is_the_mean_of_the_middle_half():
  interval = statistics.interquartile_mean(
    [[9.0, 1.0, 2.0, 3.0], [4.0, 100.0, 5.0, 0.0]], seed=0
  )
  # Sorted 0 1 | 2 3 4 5 | 9 100.
  assert interval.value == 3.5


def test_the_interquartile_mean_and_its_interval_are_those_of_rliable():
  scores = np.random.default_rng(0).exponential(size=(5, 6))  # [runs, tasks]
  ours = statistics.interquartile_mean(list(scores.T), seed=0)
  np.random.seed(0)  # noqa: NPY002 (rliable knows no other generator)
  _, theirs = library.get_interval_estimates(
    {'x': scores}, lambda x: np.array([metrics.aggregate_iqm(x)]), reps=2000
  )
  assert ours.value == pytest.approx(metrics.aggregate_iqm(scores))
  # Both are 2000 random draws; the interval is about 0.6 wide.
  assert [ours.low, ours.high] == pytest.approx(
    theirs['x'].ravel().tolist(), abs=0.05
  )


def test_failures_are_trimmed_or_make_the_mean_infinite():
  one = statistics.interquartile_mean([[1.0, 2.0, 3.0, math.inf]], seed=0)
  assert one.value == 2.5
  assert one.high == math.inf
  assert one.low < 2.5
  two = statistics.interquartile_mean([[1.0, 2.0, math.inf, math.inf]], seed=0)
  assert two.value == math.inf


def test_the_probability_of_improvement_counts_pairs():
  interval = statistics.probability_of_improvement(
    [[1.0, 2.0], [3.0]], [[2.0, 3.0], [1.0]], seed=0
  )
  # First cell: three wins and a tie of four pairs; second: a loss.
  assert interval.value == pytest.approx((3.5 / 4.0 + 0.0) / 2.0)
  assert interval.low <= interval.value <= interval.high


def test_the_probability_of_improvement_is_that_of_rliable():
  generator = np.random.default_rng(1)
  first = generator.exponential(size=(5, 4))
  second = generator.exponential(size=(6, 4))
  ours = statistics.probability_of_improvement(
    list(first.T), list(second.T), seed=0
  )
  # Theirs are scores: more is better.
  assert ours.value == pytest.approx(
    metrics.probability_of_improvement(-first, -second)
  )
  np.random.seed(0)  # noqa: NPY002 (rliable knows no other generator)
  _, theirs = library.get_interval_estimates(
    {'x': [-first, -second]},
    lambda x, y: np.array([metrics.probability_of_improvement(x, y)]),
    reps=300,
  )
  assert [ours.low, ours.high] == pytest.approx(
    theirs['x'].ravel().tolist(), abs=0.06
  )


def test_a_failure_loses_to_a_result_and_ties_with_a_failure():
  interval = statistics.probability_of_improvement(
    [[math.inf, 1.0]], [[math.inf, 2.0]], seed=0
  )
  # inf-inf ties, inf-2 loses, 1-inf and 1-2 win.
  assert interval.value == 2.5 / 4.0


def test_the_same_seed_gives_the_same_interval():
  cells = list(np.random.default_rng(0).normal(size=(3, 20)))
  assert statistics.interquartile_mean(
    cells, seed=3
  ) == statistics.interquartile_mean(cells, seed=3)
  assert statistics.interquartile_mean(
    cells, seed=3
  ) != statistics.interquartile_mean(cells, seed=4)


@pytest.mark.parametrize(
  'cells, message',
  [
    ([], 'At least one cell'),
    ([[1.0], []], 'a run in each'),
    ([[1.0, math.nan]], 'should have inf'),
  ],
)
def test_cells_without_runs_are_refused(cells, message):
  with pytest.raises(ValueError, match=message):
    statistics.interquartile_mean(cells, seed=0)


def test_improvement_needs_the_same_cells():
  with pytest.raises(ValueError, match='the same cells, got 1 and 2'):
    statistics.probability_of_improvement([[1.0]], [[1.0], [2.0]], seed=0)
