"""Agents that are trained find a Q-function that they could not start with.

The state is continuous and Q bends many times, so neither three random features
of DFIV, closed form included, nor a network as it starts can express it. An
agent whose updates do nothing must fail the same oracle.
"""

import functools

import numpy as np
import pytest
import tensorflow as tf

from dfiv_ope import agents

TRAINED = [
  name
  for name in agents.LEARNERS
  if agents.load(name).CONFIGS['default'].updates
]
# Parts of an update without which it must not learn either.
_PARTS = [('deepiv', 'density_step'), ('deepiv', 'value_step')]


def _values(curve, name, **config):
  """Returns the Q-values of a whole run."""
  learner = curve.learner(name, **config)
  learner.run()
  assert not learner.divergence
  return learner.q_function.values(curve.observations)


@pytest.fixture(scope='module')
def untrained(curve, learning):
  """Returns a function that gives the Q-values without any update."""
  return functools.cache(
    lambda name: _values(
      curve, name, **{**learning[name], 'updates': 0, 'checks': 1}
    )
  )


def test_no_agent_is_missing(learning):
  assert set(TRAINED) <= set(learning) == set(agents.LEARNERS)
  assert set(TRAINED) == {'dfiv', 'fqe', 'deepgmm', 'deepiv'}


@pytest.mark.parametrize('name', TRAINED)
def test_updates_find_q(curve, learning, untrained, require_learned, name):
  require_learned(
    curve.q_values, _values(curve, name, **learning[name]), untrained(name)
  )


@pytest.mark.parametrize(
  'name, method', [*((name, 'update') for name in TRAINED), *_PARTS]
)
def test_without_an_update_the_oracle_fails(
  curve, learning, untrained, require_learned, monkeypatch, name, method
):
  start = untrained(name)
  agent = type(
    agents.load(name).make(
      agents.load(name).CONFIGS['default'], curve.problem, seed=0
    )
  )

  def idle(*batches):
    del batches
    if method != 'update':
      return tf.zeros([])
    return {loss: tf.zeros([]) for loss in agent.loss_names}

  monkeypatch.setattr(agent, method, idle)
  idled = _values(curve, name, **learning[name])
  with pytest.raises(AssertionError, match='learned too little'):
    require_learned(curve.q_values, idled, start)
  if method == 'update':
    np.testing.assert_allclose(idled, start, rtol=1e-4, atol=1e-4)
