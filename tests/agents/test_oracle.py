"""Every agent finds the exact Q-function of a tabular decision process.

A log of 20,000 transitions leaves about 2,000 of each state and action, so the
least-squares answer itself has a sampling error. It is computed here in numpy
and compared with the truth; the agents must find that answer.
"""

import numpy as np
import pytest
import tensorflow as tf

from dfiv_ope import agents
from dfiv_ope.nn import layers

_LINEAR = (layers.Dense(5, None),)

_TRAINED = {'updates': 4000, 'checks': 2, 'batch_size': 512}
# Few features, and networks that are linear in the one-hot state: tables.
_SMALL = {
  'lstd': {'random_features': 40},
  'kiv': {'random_features': 40},
  'dfiv': {'updates': 100, 'treatment_net': _LINEAR, 'instrument_net': _LINEAR},
  'fqe': {'hidden': ()},
}
_TABLES = {
  name: {**(_TRAINED if entry.trained else {}), **_SMALL.get(name, {})}
  for name, entry in agents.ENTRIES.items()
}

# Closed forms differ from the least-squares answer by their penalty alone.
# Trained agents also by the noise of their last batches.
_TOLERANCE = {
  **{
    name: 0.15 if entry.trained else 2e-2
    for name, entry in agents.ENTRIES.items()
  },
  'lstd': 1e-3,
  'dfiv': 1e-3,
  'fqe': 0.05,
  'deepgmm': 0.1,
}


def _tables(case):
  """Returns one-hot features of (s, a) and of (s', pi), and rewards."""
  policy = case.problem.policy.action_probabilities(case.observations).numpy()[
    0
  ]
  now = np.einsum(
    'ns,na->nsa',
    case.transitions.observation.numpy(),
    np.eye(2)[case.transitions.action.numpy()],
  )
  later = np.einsum(
    'ns,a->nsa', case.transitions.next_observation.numpy(), policy
  )
  change = case.problem.discount * case.transitions.discount.numpy()
  return (
    now.reshape(len(now), -1),
    change[:, None] * later.reshape(len(now), -1),
    case.transitions.reward.numpy(),
  )


def _least_squares(case):
  """Returns the tabular answer of the log, [S, A]."""
  now, later, reward = _tables(case)
  return np.linalg.solve(now.T @ (now - later), now.T @ reward).reshape(5, 2)


def test_the_log_determines_q_up_to_sampling_error(case):
  # Rewards have noise 0.1 and the next value one of about the spread of Q;
  # both average over 2,000 rows and add up over 1 / (1 - 0.9) steps.
  spread = np.sqrt(0.1**2 + (0.9 * case.q_values.std()) ** 2)
  tolerance = 3.0 * spread / np.sqrt(2000.0) / (1.0 - 0.9)
  np.testing.assert_allclose(
    _least_squares(case), case.q_values, atol=tolerance
  )
  assert tolerance < case.q_values.std()


@pytest.mark.parametrize('name', agents.LEARNERS)
def test_an_agent_recovers_q(case, name):
  learner = case.learner(name, **_TABLES[name])
  learner.run()
  assert not learner.divergence
  error = np.abs(
    learner.q_function.values(case.observations) - _least_squares(case)
  )
  assert error.max() < _TOLERANCE[name] * case.q_values.std()
  mean = (_least_squares(case) @ [0.3, 0.7]).mean()
  assert learner.evaluate() == pytest.approx(
    mean, abs=_TOLERANCE[name] * case.q_values.std()
  )


def test_the_uncorrected_bellman_residual_fails_by_far(case):
  now, later, reward = _tables(case)
  residual = np.linalg.lstsq(now - later, reward, rcond=None)[0].reshape(5, 2)
  bias = np.abs(residual - case.q_values).max()
  answer = np.abs(_least_squares(case) - case.q_values).max()
  assert bias > 10.0 * answer
  assert bias > 2.0 * max(_TOLERANCE.values()) * case.q_values.std()


@pytest.mark.parametrize('name', ['lstd', 'kiv'])
def test_a_closed_form_knows_states_that_end_at_once(case, name):
  # No continuation: values are mean rewards, whatever the policy.
  ended = case.transitions._replace(
    discount=tf.zeros_like(case.transitions.discount)
  )
  rows = case.problem.rows(ended)
  learner = case._replace(rows=rows).learner(name, **_TABLES[name])
  learner.run()
  now, _, reward = _tables(case)
  means = (now.T @ reward / now.sum(0)).reshape(5, 2)
  np.testing.assert_allclose(
    learner.q_function.values(case.observations),
    means,
    atol=_TOLERANCE[name] * means.std(),
  )
