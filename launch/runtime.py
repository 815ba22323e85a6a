"""Starts a command: TensorFlow takes one thread and is quiet."""

from collections.abc import Iterator
import contextlib
import gc
import os
import sys

CORES = len(os.sched_getaffinity(0))
# Says which Keras TensorFlow uses.
_KERAS = 'TF_USE_LEGACY_KERAS'
# Whether users leave the number of threads to us.
_UNSAID = 'OMP_NUM_THREADS' not in os.environ


def start(threads: int = 1, *, tensorflow: bool = True) -> None:
  """Caps the threads of TensorFlow and numpy, mutes the native libraries.

  Commands call this before they import anything heavy. These networks are
  small: more threads cost more than they give, and sweeps run one process a
  core.

  Args:
    threads: for a command whose one process makes large products.
    tensorflow: whether it is needed for sure. Closed forms need it where a
      policy or a clone is made of it, and import it then.
  """
  limit_threads()
  if _UNSAID:
    os.environ['OMP_NUM_THREADS'] = str(threads)
  if not tensorflow:
    return
  mute()
  _load_tensorflow()
  import tensorflow as tf

  # Once it has computed something, as for a policy that a closed form asked,
  # it keeps the threads that `limit_threads` left it.
  with contextlib.suppress(RuntimeError):
    tf.config.threading.set_intra_op_parallelism_threads(threads)
    tf.config.threading.set_inter_op_parallelism_threads(1)
  # It warns of tracing a function for each of several learners, as it should.
  tf.get_logger().setLevel('ERROR')


def _load_tensorflow() -> None:
  """Imports TensorFlow, and Keras only when something asks for it.

  TensorFlow ends its own import with Keras's optimizers, which SavedModels may
  hold; that takes more than a second. It leaves them out if another Keras is to
  be used, one that is not installed, and looks again at what is to be used when
  `tf.keras` is first asked for. `policies.saved_models` loads them itself.
  """
  if 'tensorflow' in sys.modules or _KERAS in os.environ:
    return
  os.environ[_KERAS] = '1'
  try:
    with _kept():
      import tensorflow as tf
      from tensorflow.python.tools import module_util
  finally:
    del os.environ[_KERAS]
  # Where `import tensorflow.keras` looks.
  tf.__path__[0] = module_util.get_parent_dir_for_name('keras.api._v2.keras')


@contextlib.contextmanager
def _kept() -> Iterator[None]:
  """Keeps what is made meanwhile from the garbage collector, for good.

  Modules stay until the end. Of the import of TensorFlow a quarter of the time
  went into looking through them for garbage.
  """
  was_on = gc.isenabled()
  gc.disable()
  try:
    yield
  finally:
    gc.freeze()
    if was_on:
      gc.enable()


def limit_threads() -> None:
  """Makes numpy and TensorFlow take one thread, if they were not imported."""
  os.environ.setdefault('TF_CPP_MIN_LOG_LEVEL', '3')
  for name in (
    'OMP_NUM_THREADS',
    'TF_NUM_INTRAOP_THREADS',
    'TF_NUM_INTEROP_THREADS',
  ):
    os.environ.setdefault(name, '1')


def mute() -> None:
  """Keeps native libraries from writing to the terminal.

  TensorFlow and Reverb write to file descriptor 2 from C++, so that is pointed
  away while Python keeps the real standard error.
  """
  if sys.stderr.fileno() == 2:
    real = os.fdopen(os.dup(2), 'w', buffering=1, errors='backslashreplace')
    with open(os.devnull, 'w') as nowhere:  # noqa: PTH123
      os.dup2(nowhere.fileno(), 2)
    sys.stderr = real
