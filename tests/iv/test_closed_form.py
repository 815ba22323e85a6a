"""Regression on fixed features, solved with both halves crossed."""

import numpy as np
import pytest

from dfiv_ope import testing, types
from dfiv_ope.iv import closed_form, ridge, two_stage

batch = testing.two_stage_rows


def _ridge(features, targets, penalty):
  return ridge.solve_sums(
    ridge.sums(features, targets), penalty, intercept=True
  )


class _Squares(closed_form.Columns):
  """Features that are not the columns themselves."""

  def __call__(self, x):
    return x**2


def test_cross_fit_predicts_each_half_from_the_other():
  first, second = batch(8), batch(9)
  solution = closed_form.cross_fit(
    first, second, stage1_penalties=[0.1], stage2_penalties=[0.2]
  )
  designs, weights = [], []
  for fitted, predicted in ((second, first), (first, second)):
    stage1 = ridge.solve_sums(
      two_stage.stage1_sums(fitted), 0.1, intercept=True
    )
    designs.append(
      two_stage.design(
        two_stage.predict_treatment(predicted.instrument, stage1),
        predicted.covariate,
      )
    )
    weights.append(_ridge(designs[-1], predicted.outcome, 0.2))
  expected = _ridge(
    np.concatenate(designs),
    np.concatenate([first.outcome, second.outcome]),
    0.2,
  )
  np.testing.assert_allclose(solution.stage2_weights, expected, rtol=1e-8)
  held_out = (
    np.mean((first.outcome - designs[0] @ weights[1]) ** 2),
    np.mean((second.outcome - designs[1] @ weights[0]) ** 2),
  )
  np.testing.assert_allclose(
    solution.stage2_losses, [np.mean(held_out)], rtol=1e-8
  )


def test_predictions_may_be_the_instruments_of_the_actual_design():
  first, second = batch(8), batch(9)
  solution = closed_form.cross_fit(
    first,
    second,
    stage1_penalties=[10.0],
    stage2_penalties=[1e-9],
    moment_penalty=1e-9,
  )
  predicted, actual = [], []
  for fitted, half in ((second, first), (first, second)):
    weights = ridge.solve_sums(
      two_stage.stage1_sums(fitted), 10.0, intercept=True
    )
    predicted.append(
      two_stage.design(
        two_stage.predict_treatment(half.instrument, weights), half.covariate
      )
    )
    actual.append(two_stage.design(half.treatment, half.covariate))
  w, x = np.concatenate(predicted), np.concatenate(actual)
  # As many instruments as columns: the plain estimator, however far stage 1
  # has shrunk them.
  np.testing.assert_allclose(
    solution.stage2_weights,
    np.linalg.solve(
      w.T @ x, w.T @ np.concatenate([first.outcome, second.outcome])
    ),
    rtol=1e-4,
    atol=1e-5,
  )


def test_cross_fit_does_not_mind_which_half_is_first():
  first, second = batch(8), batch(9)
  grid = [1e-3, 1e-1, 10.0]
  one, other = (
    closed_form.cross_fit(*halves, stage1_penalties=grid, stage2_penalties=grid)
    for halves in ((first, second), (second, first))
  )
  assert one.stage2_penalty == other.stage2_penalty
  np.testing.assert_allclose(
    one.stage2_weights, other.stage2_weights, rtol=1e-8
  )


def test_features_join_the_covariate_or_keep_it_apart():
  data = batch(0, rows=5)
  columns = closed_form.Columns()
  joined = closed_form.Model(None, columns, columns).features(data)
  assert joined.treatment.shape == (5, 4)
  assert joined.covariate is None
  apart = closed_form.Model(None, columns, columns, _Squares()).features(data)
  assert apart.treatment.shape == (5, 2)
  np.testing.assert_allclose(apart.covariate, data.covariate**2)
  np.testing.assert_allclose(apart.instrument, data.instrument)


def _sums(half):
  # The constants that rows get appended are columns of the sums; that of the
  # treatment is predicted by that of the instrument.
  return ridge.sums(
    ridge.append_intercept(half.instrument),
    np.concatenate(
      [half.treatment, np.ones_like(half.outcome), half.outcome], axis=1
    ),
  )


def test_sums_cross_fit_as_rows_do():
  halves = [batch(seed)._replace(covariate=None) for seed in (8, 9)]
  penalties = {'stage1_penalties': [1e-3, 0.1], 'stage2_penalties': [1e-3]}
  expected = closed_form.cross_fit(*halves, **penalties)
  ours = closed_form.cross_fit_sums(*map(_sums, halves), **penalties)
  np.testing.assert_allclose(
    ours.stage2_weights, expected.stage2_weights, rtol=1e-6
  )
  assert ours.stage1_penalty == expected.stage1_penalty
  np.testing.assert_allclose(
    ours.stage1_losses, expected.stage1_losses, rtol=1e-6
  )


def test_the_explained_residual_is_that_of_rows():
  first, second = (batch(seed)._replace(covariate=None) for seed in (8, 9))
  weights = np.array([[0.5], [-1.0], [0.2]])

  def residual(half):
    psi = np.concatenate([half.treatment, np.ones_like(half.outcome)], axis=1)
    return half.outcome - psi @ weights

  prediction = _ridge(
    ridge.append_intercept(second.instrument), residual(second), 0.1
  )
  expected = np.mean(
    residual(first) * (ridge.append_intercept(first.instrument) @ prediction)
  )
  assert closed_form.explained_residual(
    _sums(first), _sums(second), weights, 0.1
  ) == pytest.approx(expected, rel=1e-6)


def test_the_right_answer_leaves_nothing_to_explain():
  whole = batch(1, rows=8000)._replace(covariate=None)
  halves = [
    types.IVBatch(*(each if each is None else each[half] for each in whole))
    for half in (slice(4000), slice(4000, None))
  ]
  right, wrong = (
    closed_form.explained_residual(*map(_sums, halves), np.array(weights), 1e-6)
    for weights in ([[1.0], [-2.0], [0.5]], [[1.5], [-2.0], [0.5]])
  )
  # The noise has variance 1 and three instruments 4,000 rows.
  assert abs(right) < 0.01 < 10.0 * abs(right) + 0.01 < wrong
