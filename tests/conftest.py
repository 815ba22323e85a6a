"""The oracle of learning, which tests of methods and of agents share."""

import numpy as np
import pytest

# Training must divide the error by at least this.
_FACTOR = 5.0


def _rmse(values, truth):
  return float(np.sqrt(np.mean(np.square(np.asarray(values) - truth))))


def _require_learned(truth, trained, untrained):
  """Asserts that training divided the root mean squared error by 5.

  The best constant must be beaten by as much, so that a start far from the
  mean of the truth earns nothing.

  Args:
    truth: the exact function on a grid.
    trained: its estimate.
    untrained: the estimate by networks as they start.
  """
  start = min(_rmse(untrained, truth), float(np.std(truth)))
  factor = start / _rmse(trained, truth)
  assert factor >= _FACTOR, f'learned too little: the error fell by {factor:.3}'


@pytest.fixture(scope='session')
def require_learned():
  return _require_learned
