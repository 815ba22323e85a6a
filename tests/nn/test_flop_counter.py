"""Matrix products of TensorFlow code are seen and counted."""

import tensorflow as tf

from dfiv_ope.nn import flop_counter


def test_products_of_gradients_are_recorded():
  weights = tf.Variable(tf.ones([3, 5]))

  def run():
    with tf.GradientTape() as tape:
      loss = tf.reduce_sum(tf.matmul(tf.ones([7, 3]), weights))
    return tape.gradient(loss, weights)

  assert flop_counter.record(tf.function(run)) == {
    flop_counter.Product('float32', (7, 3), (3, 5), False, False): 1,
    flop_counter.Product('float32', (7, 3), (7, 5), True, False): 1,
  }


def test_flops_of_a_product_are_those_of_its_three_sizes():
  for product in (
    flop_counter.Product('float32', (7, 3), (3, 5), False, False),
    flop_counter.Product('float32', (3, 7), (3, 5), True, False),
    flop_counter.Product('float64', (7, 3), (5, 3), False, True),
  ):
    assert product.flop == 2 * 7 * 3 * 5
