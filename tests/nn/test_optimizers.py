"""OAdam against its update rule and on a minimax problem."""

import numpy as np
import pytest
import sonnet as snt
import tensorflow as tf

from dfiv_ope.nn import optimizers


def test_two_steps_are_the_numbers_worked_out_by_hand():
  # beta1 = 0 and beta2 = 0 make every direction the sign of the gradient.
  parameter = tf.Variable([1.0])
  optimizer = optimizers.OAdam(0.1, beta1=0.0, beta2=0.0, epsilon=0.0)
  optimizer.apply([tf.constant([3.0])], [parameter])
  np.testing.assert_allclose(parameter, [0.9], rtol=1e-6)
  optimizer.apply([tf.constant([-2.0])], [parameter])
  # 0.9 - 2 * 0.1 * (-1) + 0.1 * (+1).
  np.testing.assert_allclose(parameter, [1.2], rtol=1e-6)


def test_first_step_equals_adam():
  gradients = [tf.constant([0.3, -2.0])]
  parameters = [tf.Variable([1.0, 1.0]) for _ in range(2)]
  optimizers.OAdam(0.01, 0.9, 0.999).apply(gradients, parameters[:1])
  snt.optimizers.Adam(0.01, 0.9, 0.999).apply(gradients, parameters[1:])
  np.testing.assert_allclose(parameters[0], parameters[1], rtol=1e-6)


def bilinear_game(make_optimizer, steps=4000):
  """Plays min_x max_y x y from (1, 1); returns the distance to (0, 0)."""
  x, y = tf.Variable([1.0]), tf.Variable([1.0])
  players = make_optimizer(), make_optimizer()

  @tf.function
  def play():
    for _ in tf.range(steps):
      gradient_x, gradient_y = tf.identity(y), -tf.identity(x)
      players[0].apply([gradient_x], [x])
      players[1].apply([gradient_y], [y])

  players[0].apply([tf.zeros([1])], [x])
  players[1].apply([tf.zeros([1])], [y])
  play()
  return float(tf.sqrt(x**2 + y**2)[0])


def test_a_bilinear_game_ends_near_the_saddle_where_adam_cycles():
  optimistic = bilinear_game(lambda: optimizers.OAdam(0.01, 0.0, 0.99))
  plain = bilinear_game(lambda: snt.optimizers.Adam(0.01, 0.0, 0.99))
  assert optimistic < 0.05
  assert plain > 5 * optimistic


def test_bad_arguments_are_refused():
  with pytest.raises(ValueError, match='learning_rate must be positive'):
    optimizers.OAdam(0.0)
  with pytest.raises(ValueError, match='beta2 must lie'):
    optimizers.OAdam(beta2=1.0)
  with pytest.raises(ValueError, match='1 gradients for 0 parameters'):
    optimizers.OAdam().apply([tf.zeros([1])], [])


def test_adam_makes_the_steps_of_sonnets():
  generator = np.random.default_rng(0)
  start = [
    generator.normal(size=shape).astype(np.float32) for shape in ((3, 2), (2,))
  ]
  ours, theirs = ([tf.Variable(x) for x in start] for _ in range(2))
  rate = tf.Variable(0.1)
  pairs = ((optimizers.Adam(rate), ours), (snt.optimizers.Adam(rate), theirs))
  for step in range(20):
    rate.assign(0.1 / (1.0 + step))
    # Small gradients too, where epsilon matters.
    gradients = [
      tf.constant(
        10.0 ** generator.uniform(-9.0, 1.0) * generator.normal(size=x.shape),
        tf.float32,
      )
      for x in start
    ]
    for optimizer, parameters in pairs:
      optimizer.apply(gradients, parameters)
  for left, right in zip(ours, theirs, strict=True):
    np.testing.assert_allclose(left, right, rtol=1e-5, atol=1e-6)
