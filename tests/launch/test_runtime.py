"""How a command starts TensorFlow."""

import subprocess
import sys

_PROGRAM = """
import os, sys
from dfiv_ope.launch import runtime
runtime.start()
assert 'tensorflow' in sys.modules
assert 'keras' not in sys.modules
assert 'TF_USE_LEGACY_KERAS' not in os.environ
import tensorflow as tf
from tensorflow.keras import layers
assert tf.keras.layers.Dense is layers.Dense
print(tf.config.threading.get_intra_op_parallelism_threads())
"""


def test_keras_is_loaded_when_it_is_asked_for():
  done = subprocess.run(
    [sys.executable, '-c', _PROGRAM], capture_output=True, text=True
  )
  assert done.returncode == 0, done.stderr
  assert done.stdout == '1\n'


_LATER = """
import os
from dfiv_ope.launch import runtime
runtime.start(tensorflow=False)
import tensorflow as tf
tf.constant(1.0) + 1.0
runtime.start()
print(os.environ['TF_NUM_INTRAOP_THREADS'], float(tf.constant(2.0)))
"""


def test_work_that_needs_tensorflow_may_follow_work_that_happened_to_use_it():
  done = subprocess.run(
    [sys.executable, '-c', _LATER], capture_output=True, text=True
  )
  assert done.returncode == 0, done.stderr
  assert done.stdout == '1 2.0\n'
