"""The shared training loop: what it keeps, which rows it holds out."""

import numpy as np
import pytest
import sonnet as snt
import tensorflow as tf

from dfiv_ope import types
from dfiv_ope.nn import descent, networks
from dfiv_ope.nn import layers as layers_lib


def line(**kwargs):
  """Returns a descent on y = w x with w = 1 and no bias to speak of."""
  network = networks.Network((layers_lib.Dense(1, None),), input_size=1, seed=0)
  for variable in network.trainable_variables:
    variable.assign(tf.ones_like(variable) * (variable.shape.rank == 2))
  return descent.Descent(network, snt.optimizers.SGD, **kwargs)


def weight(each):
  return float(each.network(tf.ones([1, 1])) - each.network(tf.zeros([1, 1])))


def test_a_step_follows_the_gradient_and_the_decay_of_weights_only():
  each = line(rate=0.1, decay=0.5)
  loss = each.step(lambda: tf.reduce_sum(3.0 * each.network(tf.ones([1, 1]))))
  np.testing.assert_allclose(loss, 3.0)
  # Weight: 1 - 0.1 (3 + 0.5 * 1); bias: 0 - 0.1 * 3.
  np.testing.assert_allclose(weight(each), 0.65, rtol=1e-6)
  np.testing.assert_allclose(each.network(tf.zeros([1, 1])), [[-0.3]])


def test_training_leaves_each_network_where_its_held_out_loss_was_least():
  descents = [line(rate=0.1), line(rate=0.1)]
  # Each step lowers w by 0.1 times the present rate's share; one wants 1/2,
  # the other as little as it can have.
  wanted = [0.5, -9.0]
  seen = []
  history = descent.train(
    descents,
    step=lambda index: descents[index].step(
      lambda: tf.reduce_sum(
        descents[index].network(tf.ones([1, 1]))
        - descents[index].network(tf.zeros([1, 1]))
      )
    ),
    held_out=lambda index: tf.square(
      tf.reduce_sum(
        descents[index].network(tf.ones([1, 1]))
        - descents[index].network(tf.zeros([1, 1]))
      )
      - wanted[index]
    ),
    steps=20,
    checks=20,
    label='toy',
    progress=lambda done, total, losses: seen.append((done, total)),
  )
  # 0.1 (1 + cos(pi k / 20)) / 2 summed over k until w is nearest to 1/2.
  rates = 0.05 * (1.0 + np.cos(np.pi * np.arange(20) / 20))
  path = 1.0 - np.cumsum(rates)
  np.testing.assert_allclose(
    weight(descents[0]), path[np.argmin(np.abs(path - 0.5))], atol=1e-5
  )
  np.testing.assert_allclose(weight(descents[1]), path[-1], atol=1e-5)
  held_out = np.mean([np.square(path - want) for want in wanted], axis=0)
  np.testing.assert_allclose(history['held_out_toy_loss'], held_out, rtol=1e-4)
  assert seen == [(done, 20) for done in range(1, 21)]


def test_a_loss_that_is_never_finite_is_an_error():
  each = line(rate=0.1)
  with pytest.raises(FloatingPointError, match='toy loss diverged'):
    descent.train(
      [each],
      step=lambda _: each.step(
        lambda: tf.reduce_sum(each.network(tf.ones([1, 1])))
      ),
      held_out=lambda _: tf.constant(np.nan),
      steps=2,
      checks=2,
      label='toy',
    )


def numbered(rows):
  column = np.arange(rows, dtype=np.float32)[:, None]
  return types.IVBatch(column, column, column)


def test_folds_hold_out_disjoint_rows_and_train_on_the_others():
  folds = descent.folds(numbered(20), 3, 0.25, seed=0)
  held_out = [fold.held_out.outcome.numpy().ravel() for fold in folds]
  assert len(np.unique(np.concatenate(held_out))) == 15
  for fold, rows in zip(folds, held_out, strict=True):
    both = np.concatenate([fold.training.outcome.numpy().ravel(), rows])
    np.testing.assert_array_equal(np.sort(both), np.arange(20))


def test_two_rows_still_give_every_fold_one_of_each():
  for fold in descent.folds(numbered(2), 3, 0.1, seed=0):
    assert len(fold.training.outcome) == len(fold.held_out.outcome) == 1


def test_a_mini_batch_keeps_rows_together_and_a_missing_covariate():
  batch = descent.mini_batch(numbered(50), 30, tf.random.Generator.from_seed(0))
  assert batch.covariate is None
  assert batch.outcome.shape == (30, 1)
  np.testing.assert_array_equal(batch.treatment, batch.outcome)
  np.testing.assert_array_equal(batch.instrument, batch.outcome)


def test_intervals_cover_all_steps():
  assert descent.intervals(10, 3) == [(0, 3), (3, 6), (6, 10)]


@pytest.mark.parametrize(
  'layers', [(), (layers_lib.Dense(2, None),), (layers_lib.Dense(1),)]
)
def test_networks_without_one_linear_output_are_refused(layers):
  with pytest.raises(ValueError, match='net must end in Dense'):
    layers_lib.check_output('net', layers)


def test_a_nest_without_covariates_is_left_to_its_network():
  nest = (np.arange(3), {'x': np.ones([3, 2])})
  assert descent.join(nest, None) is nest
  np.testing.assert_array_equal(
    descent.join(np.ones([2, 1]), np.zeros([2, 1])), [[1.0, 0.0], [1.0, 0.0]]
  )


def test_growing_intervals_end_at_the_steps_and_grow_by_a_root_of_two():
  found = descent.growing_intervals(1000, 5)
  assert found == [(0, 250), (250, 354), (354, 500), (500, 707), (707, 1000)]
  assert descent.growing_intervals(4, 2) == [(0, 3), (3, 4)]
  # No two checks at the same step.
  assert descent.growing_intervals(2, 5) == [(0, 1), (1, 2)]
