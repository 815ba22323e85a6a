"""What an error says, in a sentence."""

import errno
import os

import pytest
import tensorflow as tf

from dfiv_ope import error_sentences


class _ResourceExhaustedError(Exception):
  """As TensorFlow's is called."""


_ResourceExhaustedError.__name__ = 'ResourceExhaustedError'


@pytest.mark.parametrize(
  'error, words',
  [
    (ValueError(), 'ValueError, of which no more is known'),
    (MemoryError('Unable to allocate 9 TiB'), 'not enough memory: Unable to'),
    (_ResourceExhaustedError('OOM'), 'not enough memory: OOM'),
    (RecursionError('depth'), 'nested too deeply'),
    (OSError(errno.ENOSPC, os.strerror(errno.ENOSPC)), 'The disk is full'),
    (OSError(errno.EDQUOT, os.strerror(errno.EDQUOT)), 'The disk is full'),
    (
      RuntimeError('x; No space left on device [Op:SaveV2]'),
      'The disk is full',
    ),
  ],
)
def test_an_error_of_the_machine_is_a_sentence(error, words):
  sentence = error_sentences.of(error, program='dfiv-ope')
  assert words in sentence
  assert 'removed' not in sentence


def test_what_a_policy_raises_in_a_graph_is_named():
  def policy(values):
    raise ValueError(f'probabilities failed: KeyError. It got {values.shape}.')

  @tf.function
  def asks():
    return tf.numpy_function(policy, [tf.zeros([3, 2])], tf.float32)

  with pytest.raises(tf.errors.OpError) as raised:
    asks()
  assert error_sentences.named(raised.value) == (
    'ValueError: probabilities failed: KeyError. It got (3, 2).'
  )
  assert error_sentences.named(KeyError('x')) == "KeyError: 'x'"


def test_a_bug_of_ours_is_no_sentence():
  assert error_sentences.of(KeyError('name'), program='dfiv-ope') is None
  missing = ModuleNotFoundError("No module named 'reverb'", name='reverb')
  sentence = error_sentences.of(missing, program='dfiv-ope')
  assert 'Use Python 3.11' in sentence
  missing = ModuleNotFoundError("No module named 'ours'", name='ours')
  assert error_sentences.of(missing, program='dfiv-ope') is None
