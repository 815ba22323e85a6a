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
