"""Two-stage regression against the paper's formulas and linearmodels."""

import hypothesis
from hypothesis import strategies as st
from linearmodels.iv import IV2SLS
import numpy as np
import pytest

from dfiv_ope import types
from dfiv_ope.iv import ridge, two_stage

SEEDS = st.integers(0, 2**16)
SETTINGS = hypothesis.settings(max_examples=15, deadline=None, derandomize=True)


def batch(seed, rows=40, covariate=False):
  generator = np.random.default_rng(seed)
  instrument = generator.normal(size=(rows, 3))
  noise = generator.normal(size=(rows, 1))
  treatment = instrument @ generator.normal(size=(3, 2)) + noise
  outcome = treatment @ [[1.0], [-2.0]] + 0.5 + noise
  return types.IVBatch(
    treatment=treatment,
    instrument=instrument,
    outcome=outcome,
    covariate=generator.normal(size=(rows, 2)) if covariate else None,
  )


def stage1(data, penalty):
  return ridge.solve_sums(two_stage.stage1_sums(data), penalty, intercept=True)


def solve(first, second, stage1_penalty=0.1, stage2_penalty=0.2):
  weights = stage1(first, stage1_penalty)
  return ridge.solve_sums(
    two_stage.stage2_sums(second, weights), stage2_penalty, intercept=True
  )


def test_both_stages_equal_equations_7_and_9():
  first, second = batch(0), batch(1)
  # The paper has no intercepts: centring removes ours.
  phi = first.instrument - first.instrument.mean(0)
  psi = first.treatment - first.treatment.mean(0)
  m, n = len(phi), len(second.outcome)
  v = psi.T @ phi @ np.linalg.inv(phi.T @ phi + m * 0.1 * np.eye(3))
  predicted = second.instrument @ v.T
  predicted = predicted - predicted.mean(0)
  centred = second.outcome - second.outcome.mean()
  u = (
    np.linalg.inv(predicted.T @ predicted + n * 0.2 * np.eye(2))
    @ predicted.T
    @ centred
  )
  np.testing.assert_allclose(solve(first, second)[:-1], u, rtol=1e-9)


def test_equals_linearmodels_at_vanishing_penalty():
  data = batch(2, rows=500)
  reference = IV2SLS(
    data.outcome, np.ones((500, 1)), data.treatment, data.instrument
  ).fit()
  weights = solve(data, data, 1e-13, 1e-13)
  np.testing.assert_allclose(
    np.roll(weights[:, 0], 1), reference.params.values, rtol=1e-8
  )


def test_design_is_the_tensor_product_with_the_constant_last():
  design = two_stage.design(np.array([[2.0, 3.0]]), np.array([[5.0]]))
  np.testing.assert_array_equal(design, [[10.0, 2.0, 15.0, 3.0, 5.0, 1.0]])
  np.testing.assert_array_equal(
    two_stage.design(np.array([[2.0, 3.0]])), [[2.0, 3.0, 1.0]]
  )


def test_choose_takes_the_least_out_of_sample_losses_of_appendix_a():
  first, second = batch(4, covariate=True), batch(5, covariate=True)
  grid = [1e-4, 1e-2, 1.0, 100.0]
  solution = two_stage.choose(
    first, second, stage1_penalties=grid, stage2_penalties=grid
  )
  stage1_losses, stage2_losses = [], []
  for penalty in grid:
    weights = stage1(first, penalty)
    error = second.treatment - two_stage.predict_treatment(
      second.instrument, weights
    )
    stage1_losses.append(np.sum(error**2, axis=1).mean())
  np.testing.assert_allclose(solution.stage1_losses, stage1_losses, rtol=1e-8)
  assert solution.stage1_penalty == grid[np.argmin(stage1_losses)]
  weights = stage1(first, solution.stage1_penalty)
  np.testing.assert_allclose(solution.stage1_weights, weights, rtol=1e-7)
  designs = [
    two_stage.design(
      two_stage.predict_treatment(each.instrument, weights), each.covariate
    )
    for each in (first, second)
  ]
  for penalty in grid:
    outcome_weights = ridge.solve_sums(
      ridge.sums(designs[1], second.outcome), penalty, intercept=True
    )
    stage2_losses.append(
      np.mean((first.outcome - designs[0] @ outcome_weights) ** 2)
    )
  np.testing.assert_allclose(solution.stage2_losses, stage2_losses, rtol=1e-7)
  assert solution.stage2_penalty == grid[np.argmin(stage2_losses)]


def test_choose_without_candidates_is_refused():
  with pytest.raises(ValueError, match='at least one candidate'):
    two_stage.choose(
      batch(0), batch(1), stage1_penalties=[], stage2_penalties=[1.0]
    )


@SETTINGS
@hypothesis.given(SEEDS)
def test_order_of_rows_does_not_matter(seed):
  first, second = batch(seed, covariate=True), batch(seed + 1, covariate=True)
  order = np.random.default_rng(seed).permutation(len(first.outcome))
  shuffle = lambda data: types.IVBatch(*(each[order] for each in data))  # noqa: E731
  np.testing.assert_allclose(
    solve(shuffle(first), shuffle(second)),
    solve(first, second),
    rtol=1e-7,
    atol=1e-9,
  )


@SETTINGS
@hypothesis.given(SEEDS, st.integers(2, 3))
def test_duplicated_rows_change_nothing(seed, times):
  first, second = batch(seed, covariate=True), batch(seed + 1, covariate=True)
  repeat = lambda data: types.IVBatch(  # noqa: E731
    *(np.tile(each, (times, 1)) for each in data)
  )
  np.testing.assert_allclose(
    solve(repeat(first), repeat(second)),
    solve(first, second),
    rtol=1e-7,
    atol=1e-9,
  )


@SETTINGS
@hypothesis.given(SEEDS, st.floats(0.1, 10.0), st.floats(-5.0, 5.0))
def test_affine_outcome_gives_the_affine_function(seed, scale, shift):
  first, second = batch(seed, covariate=True), batch(seed + 1, covariate=True)
  moved = second._replace(outcome=scale * second.outcome + shift)
  new = batch(seed + 2, covariate=True)
  before = two_stage.predict(new.treatment, new.covariate, solve(first, second))
  after = two_stage.predict(new.treatment, new.covariate, solve(first, moved))
  np.testing.assert_allclose(
    after, scale * before + shift, rtol=1e-6, atol=1e-6
  )


@SETTINGS
@hypothesis.given(SEEDS, st.floats(0.1, 10.0))
def test_scaling_the_instrument_with_its_penalty_changes_nothing(seed, scale):
  first, second = batch(seed), batch(seed + 1)
  scaled = [
    each._replace(instrument=scale * each.instrument)
    for each in (first, second)
  ]
  np.testing.assert_allclose(
    solve(*scaled, stage1_penalty=0.1 * scale**2),
    solve(first, second),
    rtol=1e-6,
    atol=1e-8,
  )


@SETTINGS
@hypothesis.given(SEEDS, st.integers(5, 35))
def test_stage_1_from_merged_sums_equals_the_whole(seed, cut):
  data = batch(seed)
  phi = ridge.append_intercept(data.instrument)
  merged = ridge.merge(
    ridge.sums(phi[:cut], data.treatment[:cut]),
    ridge.sums(phi[cut:], data.treatment[cut:]),
  )
  np.testing.assert_allclose(
    ridge.solve_sums(merged, 0.1, intercept=True),
    stage1(data, 0.1),
    rtol=1e-8,
    atol=1e-10,
  )


def test_of_two_minima_the_larger_penalty_counts_within_a_dip():
  # The standard error of a loss of 1 is sqrt(2 / 200) = 0.1.
  penalties, losses = [1e-9, 1e-6, 1e-3, 1e-2, 1.0], [1.0, 1.05, 1.03, 1.033, 2]

  def chosen(slack, dip):
    return two_stage.largest_within(
      penalties, losses, slack=slack, rows=200.0, dip=dip
    )

  assert chosen(0.0, 0.0) == 1e-9
  assert chosen(0.0, 0.5) == 1e-3
  assert chosen(0.05, 0.5) == 1e-2
  assert chosen(0.05, 0.2) == 1e-9


def _ill_conditioned():
  """Sums of 400 rows whose columns are nearly the same, and the columns."""
  generator = np.random.default_rng(0)
  common = generator.normal(size=(400, 1))
  phi = np.append(
    common + 1e-4 * generator.normal(size=(400, 5)), np.ones((400, 1)), axis=1
  )
  x = np.append(
    phi[:, :-1] + 0.1 * generator.normal(size=(400, 5)),
    1.0 + 0.1 * np.cos(common),
    axis=1,
  )
  y = common + 0.1 * generator.normal(size=(400, 1))
  return phi, x, y


def test_a_root_of_the_projection_solves_what_the_projection_does():
  phi, x, y = _ill_conditioned()
  found = two_stage.solve_projected(
    ridge.sums(phi, np.append(x, y, axis=1)), 1e-9, 1e-11
  )
  # The same from the rows themselves, which need no products of columns.
  penalties = lambda size, each: np.diag(  # noqa: E731
    np.sqrt(400 * each) * np.append(np.ones(size - 1), 0.0)
  )
  roots = np.linalg.lstsq(
    np.append(phi, penalties(6, 1e-9), axis=0),
    np.append(np.append(x, y, axis=1), np.zeros((6, 7)), axis=0),
    rcond=None,
  )[0]
  # |phi V|^2 and the penalty of V are what P is made of.
  root = np.append(phi @ roots, penalties(6, 1e-9) @ roots, axis=0)
  expected = np.linalg.lstsq(
    np.append(root[:, :-1], penalties(6, 1e-11), axis=0),
    np.append(root[:, -1:], np.zeros((6, 1)), axis=0),
    rcond=None,
  )[0]
  np.testing.assert_allclose(found, expected, rtol=1e-5)


def test_a_root_of_the_projection_hardly_minds_the_order_of_sums():
  phi, x, y = _ill_conditioned()
  columns = np.append(x, y, axis=1)
  totals = [
    ridge.merge(
      *(
        ridge.sums(phi[start : start + size], columns[start : start + size])
        for start in range(0, 400, size)
      )
    )
    for size in (400, 3, 7, 11, 20, 50, 130)
  ]
  assert np.any(totals[0].gram != totals[1].gram)

  def squared(total):
    """The same from W'X, whose condition number is that of R X squared."""
    products = total.moment.T @ ridge.solve_sums(total, 1e-9, intercept=True)
    return ridge.solve_sums(
      ridge.Sums(products[:-1, :-1], products[:-1, -1:], None, total.count),
      1e-11,
      intercept=True,
    )

  # The most of several orders: how rounding falls differs between machines.
  changes = [
    np.max(np.ptp([x @ solve(total) for total in totals], axis=0))
    for solve in (
      lambda total: two_stage.solve_projected(total, 1e-9, 1e-11),
      squared,
    )
  ]
  assert 0.0 < changes[0] < 0.5 * changes[1]


def test_a_root_of_what_cannot_be_solved_is_nan():
  phi, x, y = _ill_conditioned()
  x[:, -1] = 0.0
  total = ridge.sums(phi, np.append(x, y, axis=1))
  assert np.isnan(two_stage.solve_projected(total, 1e-9, 1e-9)).all()
  broken = total._replace(moment=np.full_like(total.moment, np.inf))
  assert np.isnan(two_stage.solve_projected(broken, 1e-9, 1e-9)).all()
