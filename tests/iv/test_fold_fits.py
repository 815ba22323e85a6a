"""K-fold cross-fitting from sums, against rows and numpy."""

import numpy as np
import pytest

from dfiv_ope import types
from dfiv_ope.iv import closed_form, fold_fits, ridge

_PENALTIES = {
  'stage1_penalties': (1e-3, 1e-1),
  'stage2_penalties': (1e-4, 1e-2, 1.0),
}


def rows(n=300, seed=0):
  generator = np.random.default_rng(seed)
  z, noise = generator.normal(size=(2, n, 1))
  return fold_fits.Rows(z, z + noise, np.sin(z + noise) + noise)


def phi(x):
  return np.concatenate([np.sin(x), np.cos(x), x], axis=1)


def psi(x):
  return np.concatenate([np.sin(x), x], axis=1)


def test_two_folds_are_the_halves_that_predict_each_other():
  data = rows()
  folds = fold_fits.of_folds(data, phi, psi, 2)
  found = fold_fits.two_stages(folds, **_PENALTIES)
  halves = [
    types.IVBatch(
      psi(data.treatment[part]), phi(data.instrument[part]), data.outcome[part]
    )
    for part in (slice(0, 150), slice(150, None))
  ]
  expected = closed_form.cross_fit(*halves, **_PENALTIES)
  for name in (
    'stage1_weights',
    'stage2_weights',
    'stage1_losses',
    'stage2_losses',
    'stage1_penalty',
    'stage2_penalty',
  ):
    np.testing.assert_allclose(
      getattr(found, name), getattr(expected, name), rtol=1e-8
    )


def test_blocks_of_rows_make_the_same_sums(monkeypatch):
  data = rows()
  whole = fold_fits.of_rows(data, phi, psi)
  monkeypatch.setattr(fold_fits, '_BLOCK', 70)
  for one, other in zip(whole, fold_fits.of_rows(data, phi, psi), strict=True):
    np.testing.assert_allclose(one, other, rtol=1e-12)


def test_five_folds_predict_each_fold_by_the_others():
  data = rows()
  found = fold_fits.two_stages(
    fold_fits.of_folds(data, phi, psi, 5),
    stage1_penalties=(1e-2,),
    stage2_penalties=(1e-3,),
  )
  n = len(data.outcome)

  def weights(columns, target, penalty):
    columns = np.append(columns, np.ones((len(columns), 1)), axis=1)
    scale = (
      penalty * len(columns) * np.diag([*np.ones(columns.shape[1] - 1), 0.0])
    )
    return np.linalg.solve(columns.T @ columns + scale, columns.T @ target)

  predicted = np.zeros((n, 2))
  for part in np.array_split(np.arange(n), 5):
    others = np.setdiff1d(np.arange(n), part)
    v = weights(phi(data.instrument[others]), psi(data.treatment[others]), 1e-2)
    predicted[part] = (
      np.append(phi(data.instrument[part]), np.ones((len(part), 1)), axis=1) @ v
    )
  np.testing.assert_allclose(
    found.stage2_weights, weights(predicted, data.outcome, 1e-3), rtol=1e-8
  )


def test_a_stage_1_that_shrinks_makes_no_effect_larger():
  z, noise, small = np.random.default_rng(0).normal(size=(3, 4000, 1))
  data = fold_fits.Rows(z, z + noise, 2.0 * (z + noise) + 3.0 * noise + small)

  def slope(**settings):
    return float(
      fold_fits.two_stages(
        fold_fits.of_folds(data, lambda x: x, lambda x: x, 5),
        stage1_penalties=(1.0,),
        stage2_penalties=(1e-8,),
        **settings,
      ).stage2_weights[0, 0]
    )

  # The penalty halves the prediction of the treatment.
  np.testing.assert_allclose(slope(), 4.0, rtol=0.05)
  np.testing.assert_allclose(slope(moment_penalty=1e-6), 2.0, rtol=0.05)


@pytest.mark.parametrize(
  'solve', [fold_fits.two_stages, fold_fits.projected_moments]
)
def test_slack_takes_a_larger_penalty(solve):
  folds = fold_fits.of_folds(rows(), phi, psi, 3)
  least = solve(folds, **_PENALTIES)
  assert (
    least.stage2_penalty
    == _PENALTIES['stage2_penalties'][int(np.argmin(least.stage2_losses))]
  )
  assert solve(folds, slack=1e6, **_PENALTIES).stage2_penalty == 1.0


@pytest.mark.parametrize('moment_penalty', [None, 1e-3])
def test_what_is_expected_without_a_fold_does_not_know_its_outcomes(
  moment_penalty,
):
  data = rows()
  folds = fold_fits.of_folds(data, phi, psi, 3)
  solution = fold_fits.two_stages(
    folds,
    stage1_penalties=(1e-2,),
    stage2_penalties=(1e-3,),
    moment_penalty=moment_penalty,
  )
  found = fold_fits.without_folds(
    folds, solution, moment_penalty=moment_penalty
  ).expected
  moved = data.outcome.copy()
  moved[:100] += 1.0
  others = fold_fits.without_folds(
    fold_fits.of_folds(data._replace(outcome=moved), phi, psi, 3),
    solution,
    moment_penalty=moment_penalty,
  ).expected
  assert found.shape == (4, 3)
  np.testing.assert_allclose(others[:, 0], found[:, 0], rtol=1e-9)
  assert np.all(np.abs(others - found)[-1, 1:] > 0.1)


def test_losses_are_those_of_what_is_expected_without_a_fold():
  data = rows()
  folds = fold_fits.of_folds(data, phi, psi, 5)
  solution = fold_fits.two_stages(
    folds, stage1_penalties=(1e-2,), stage2_penalties=(1e-3,)
  )
  expected = np.append(phi(data.instrument), np.ones((300, 1)), axis=1) @ (
    fold_fits.without_folds(folds, solution).expected
  )
  own = expected[np.arange(300), np.repeat(np.arange(5), 60)]
  np.testing.assert_allclose(
    np.mean(np.square(data.outcome[:, 0] - own)), solution.stage2_losses[0]
  )


def test_predictions_are_the_instruments_of_as_many_actual_columns():
  data = rows()
  folds = [
    ridge.sums(
      ridge.append_intercept(phi(data.instrument[part])),
      # The last column of X stands for the constant, as 1 - gamma d does.
      np.concatenate(
        [
          psi(data.treatment[part]),
          1.0 + 0.1 * np.cos(data.treatment[part]),
          data.outcome[part],
        ],
        axis=1,
      ),
    )
    for part in (slice(0, 150), slice(150, None))
  ]
  found = fold_fits.predicted_instruments(
    folds, stage1_penalties=(0.5,), stage2_penalty=1e-3
  )
  f = ridge.append_intercept(phi(data.instrument))
  x = np.append(psi(data.treatment), 1.0 + 0.1 * np.cos(data.treatment), axis=1)
  n = len(f)
  w = f @ np.linalg.solve(
    f.T @ f + 0.5 * n * np.diag([1.0, 1.0, 1.0, 0.0]), f.T @ x
  )
  expected = np.linalg.solve(
    w.T @ x + 1e-3 * n * np.diag([1.0, 1.0, 0.0]), w.T @ data.outcome
  )
  np.testing.assert_allclose(found.stage2_weights, expected, rtol=1e-8)
  # What stage 1 shrinks, the plug-in's answer makes up for; this one need not.
  plug_in = np.linalg.solve(
    w.T @ w + 1e-3 * n * np.diag([1.0, 1.0, 0.0]), w.T @ data.outcome
  )
  assert np.abs(plug_in[0]) > 1.2 * np.abs(expected[0])
