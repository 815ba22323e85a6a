"""DFIV's stages in their form for off-policy evaluation, against numpy."""

import numpy as np
import pytest
import tensorflow as tf

from dfiv_ope.iv.methods import dfiv_bellman

PENALTY = 1e-3


def _rows(count=200, seed=0):
  generator = np.random.default_rng(seed)
  phi, known, change = (
      np.concatenate([generator.normal(size=(count, size)),
                      np.ones((count, 1))], axis=1) for size in (4, 3, 3))
  outcome = generator.normal(size=(count, 1))
  return dfiv_bellman.Features(*map(
      tf.constant, (phi, known, -0.9 * change, outcome)))


def _ridge(design, target):
  penalty = PENALTY * len(design) * np.eye(design.shape[1])
  penalty[-1, -1] = 0.
  return np.linalg.solve(design.T @ design + penalty, design.T @ target)


def test_the_papers_stage_one_predicts_what_is_not_known():
  rows = _rows()
  phi, known, change, _ = (member.numpy() for member in rows)
  weights = dfiv_bellman.stage1(rows, PENALTY, augment=False)
  np.testing.assert_allclose(
      weights, _ridge(phi, change), rtol=1e-6, atol=1e-12)
  np.testing.assert_allclose(
      dfiv_bellman.predict_treatment(rows, weights, augment=False),
      known + phi @ _ridge(phi, change), rtol=1e-6)


def test_with_the_known_part_among_the_instruments_it_predicts_all():
  rows = _rows()
  phi, known, change, _ = (member.numpy() for member in rows)
  both = np.concatenate([phi, known], axis=1)
  weights = dfiv_bellman.stage1(rows, PENALTY, augment=True)
  np.testing.assert_allclose(
      dfiv_bellman.predict_treatment(rows, weights, augment=True),
      both @ _ridge(both, known + change), rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize('augment', [False, True])
def test_sums_give_the_answer_of_rows(augment):
  rows = _rows()
  total = dfiv_bellman.sums(rows)
  weights = dfiv_bellman.stage1_sums(total, PENALTY, augment=augment)
  predicted = dfiv_bellman.predict_treatment(
      rows, dfiv_bellman.stage1(rows, PENALTY, augment=augment),
      augment=augment).numpy()
  np.testing.assert_allclose(
      rows.instruments.numpy() @ weights, predicted,
      rtol=1e-6, atol=1e-9)
  u = dfiv_bellman.stage2_sums(total, weights, PENALTY)
  np.testing.assert_allclose(
      u, _ridge(predicted, rows.outcome.numpy()), rtol=1e-6)
  other = _rows(seed=1)
  error = other.outcome.numpy() - (
      other.instruments.numpy() @ weights @ u)
  assert float(dfiv_bellman.held_out_loss(
      dfiv_bellman.sums(other), weights, u)) == pytest.approx(
          np.mean(error ** 2), rel=1e-8)


@pytest.mark.parametrize('augment', [False, True])
def test_stage_one_weights_minimise_the_loss(augment):
  rows = _rows()
  weights = dfiv_bellman.stage1(rows, PENALTY, augment=augment)
  with tf.GradientTape() as tape:
    tape.watch(weights)
    loss = dfiv_bellman.stage1_loss(rows, weights, PENALTY, augment=augment)
  assert np.abs(tape.gradient(loss, weights)).max() < 1e-10


def test_own_instruments_give_the_answer_of_lstd():
  rows = _rows()
  known, change = rows.known.numpy(), rows.change.numpy()
  penalty = PENALTY * len(known) * np.diag([1., 1., 1., 0.])
  np.testing.assert_allclose(
      dfiv_bellman.own_instruments(dfiv_bellman.sums(rows), PENALTY),
      np.linalg.solve(known.T @ (known + change) + penalty,
                      known.T @ rows.outcome.numpy()), rtol=1e-6)
