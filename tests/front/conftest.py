"""A log whose values are known: rewards depend on the state and the action."""

import numpy as np
import pytest

import dfiv_ope

DISCOUNT = 0.8
# An episode ends after a step with this probability.
END = 0.125


def arrays(*, rows=4_800, seed=0):
  """Returns arrays of a log with uniform actions; states are independent."""
  generator = np.random.default_rng(seed)
  observations = generator.uniform(-1.0, 1.0, size=(rows, 2))
  actions = generator.integers(2, size=rows)
  rewards = observations[:, 0] * (2 * actions - 1) + 0.2 * generator.normal(
    size=rows
  )
  terminals = generator.uniform(size=rows) < END
  terminals[-1] = True
  return {
    'observations': observations,
    'actions': actions,
    'rewards': rewards,
    'terminals': terminals,
  }


def right(observations):
  """Takes the action that pays: E|s| = 1/2 a step."""
  return (observations[:, 0] > 0.0).astype(int)


def wrong(observations):
  """Takes the action that costs."""
  return 1 - right(observations)


@pytest.fixture(scope='session')
def log():
  return dfiv_ope.Log.from_arrays(**arrays(), discount=DISCOUNT)


@pytest.fixture(scope='session')
def truth():
  """The value of `right`; `wrong` has minus this, uniform actions zero."""
  return 0.5 / (1.0 - DISCOUNT * (1.0 - END))


@pytest.fixture(scope='session')
def policies():
  return {'right': right, 'wrong': wrong, 'uniform': 'uniform'}


@pytest.fixture(scope='session')
def answer(log):
  return dfiv_ope.evaluate(
    log,
    right,
    methods=('lstd', 'fqe'),
    seeds=2,
    configs={
      'lstd': {'random_features': 40},
      'fqe': {'updates': 600, 'checks': 2},
    },
  )
