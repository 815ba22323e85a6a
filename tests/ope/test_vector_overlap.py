"""Overlap of logs of vectors: ratios of densities and joint neighbours."""

import numpy as np
import pytest
from scipy import stats
import tensorflow as tf

from dfiv_ope import actions, types
from dfiv_ope.ope import episodes, importance, neighbours, overlap
from dfiv_ope.ope import task as task_lib
from dfiv_ope.policies import continuous, density_cloning

_N = 6_000
_SPACE = actions.Continuous(low=(None,), high=(None,))


def _log(columns=2, *, recorded=True, seed=0):
  """A log of 600 episodes: actions are normal around the first column."""
  generator = np.random.default_rng(seed)
  state = generator.normal(size=(_N, columns))
  taken = state[:, :1] + generator.normal(size=(_N, 1))
  zeros = np.zeros(_N, np.float32)
  return episodes.Episodes(
    transitions=types.Transition(
      state, taken, zeros.astype(float), zeros, state
    ),
    episodes=np.arange(_N) // 10,
    initial_observations=state[::10],
    num_actions=0,
    discount=0.9,
    continuous=_SPACE,
    behaviour_probabilities=stats.norm.pdf(taken[:, 0], state[:, 0])
    if recorded
    else None,
  )


def _shifted(by, deviation=1.0):
  return continuous.Gaussian(
    lambda s: tf.cast(s, tf.float64)[:, :1] + by,
    standard_deviation=deviation,
    actions=_SPACE,
  )


def test_the_behaviour_policy_has_weights_of_one_and_the_stated_coverage():
  found = task_lib.EvaluationTask(_log(), _shifted(0.0)).overlap
  assert found.weights.mean == pytest.approx(1.0, abs=1e-6)
  assert found.weights.effective_steps == pytest.approx(_N, rel=1e-6)
  assert not found.weights.estimated
  assert found.coverage.share == pytest.approx(neighbours.NEAR, abs=0.015)
  assert (found.grade, found.warnings(), found.unseen) == ('good', [], {})
  assert np.isnan(found.agreement)


def test_a_shifted_policy_has_the_effective_size_of_its_law():
  # Weights exp(m e - m^2 / 2) of a normal e have mean 1, mean square exp(m^2).
  found = task_lib.EvaluationTask(_log(), _shifted(0.7)).overlap.weights
  assert found.mean == pytest.approx(1.0, abs=0.05)
  assert found.effective_steps == pytest.approx(_N * np.exp(-0.49), rel=0.1)


@pytest.mark.parametrize('columns', [1, 2, 12])
def test_actions_that_the_log_never_takes_have_no_neighbours(columns):
  log = _log(columns)
  shares = [
    task_lib.EvaluationTask(log, _shifted(by, 0.0)).overlap.coverage.share
    for by in (0.0, 2.0, 5.0)
  ]
  assert shares[0] > 0.93
  assert shares[0] > shares[1] > shares[2]
  assert shares[2] < 0.2


def test_a_deterministic_policy_has_no_weights_and_needs_no_densities(
  monkeypatch,
):
  monkeypatch.setattr(
    density_cloning, 'clone', lambda *_, **__: pytest.fail('cloned')
  )
  task = task_lib.EvaluationTask(_log(recorded=False), _shifted(6.0, 0.0))
  assert task.overlap.weights is None
  assert task.overlap.grade == 'poor'
  assert (
    'takes an action that the log never takes nearby'
    in (task.overlap.warnings()[0])
  )


def test_densities_that_were_not_recorded_are_those_of_a_clone():
  log = _log(recorded=False)
  task = task_lib.EvaluationTask(log, _shifted(0.3))
  assert task.behaviour.estimated
  taken, state = log.transitions.action[:, 0], log.transitions.observation
  ratio = stats.norm.pdf(taken, state[:, 0]) / task.behaviour.probabilities
  assert ratio.mean() == pytest.approx(1.0, abs=0.03)
  assert np.abs(np.log(ratio)).mean() < 0.1
  assert task.overlap.weights.estimated
  assert task.overlap.weights.effective_steps == pytest.approx(
    _N * np.exp(-0.09), rel=0.08
  )
  again = task_lib.EvaluationTask(log, _shifted(0.0), like=task)
  assert again.behaviour is task.behaviour


def test_vectors_have_no_probabilities_and_nothing_at_a_glance():
  task = task_lib.EvaluationTask(_log(), _shifted(0.0))
  with pytest.raises(ValueError, match='densities and no probabilities'):
    _ = task.target_probabilities
  assert task.glance.steps == _N
  assert task.glance.unseen == {}
  assert np.isnan(task.glance.agreement)


def test_labels_of_mixed_actions_must_agree():
  """A label that the log takes only elsewhere is far away."""
  generator = np.random.default_rng(0)
  state = generator.uniform(-1.0, 1.0, size=(_N, 1))
  taken = np.stack(
    [generator.normal(size=_N), state[:, 0] > 0.0], axis=1
  ).astype(float)
  zeros = np.zeros(_N)
  space = actions.Continuous(
    low=(None, None), high=(None, None), categories={1: ('a', 'b')}
  )
  log = episodes.Episodes(
    transitions=types.Transition(state, taken, zeros, zeros, state),
    episodes=np.arange(_N) // 10,
    initial_observations=state[::10],
    num_actions=0,
    discount=0.9,
    continuous=space,
  )
  share = {}
  for name, flip in (('same', 0.0), ('other', 1.0)):
    policy = continuous.Gaussian(
      lambda s, flip=flip: tf.stack(
        [0.0 * s[:, 0], tf.abs(flip - tf.cast(s[:, 0] > 0.0, tf.float64))],
        axis=1,
      ),
      standard_deviation=0.0,
      actions=space,
    )
    share[name] = task_lib.EvaluationTask(log, policy).overlap.coverage.share
  assert share['same'] > 0.95
  assert share['other'] < 0.2


@pytest.mark.parametrize(
  'target, behaviour, message',
  [
    ([0.0, 0.0], [1.0, 0.0], 'step 1 had density 0, but what was taken'),
    ([0.0, 0.0], [np.nan, 1.0], 'step 0 had density nan'),
    ([0.0, np.nan], [1.0, 2.0], 'the log density nan at the action of step 1'),
    ([np.inf, 0.0], [1.0, 2.0], 'the log density inf at the action of step 0'),
  ],
)
def test_impossible_densities_are_refused(target, behaviour, message):
  with pytest.raises(ValueError, match=message):
    importance.density_weights(np.array(target), np.array(behaviour))


def test_weights_are_ratios_of_densities():
  np.testing.assert_allclose(
    importance.density_weights(
      np.log([3.0, 0.5, 1e-300]), np.array([1.5, 5.0, 1e-300])
    ),
    [2.0, 0.1, 1.0],
  )
  assert importance.density_weights(
    np.array([-np.inf]), np.array([2.0])
  ).tolist() == [0.0]


def test_rough_densities_are_named_as_such():
  found = overlap.measure_vectors(
    np.log(np.full(200, 4.0)),
    np.arange(200.0)[:, None],
    lambda rows: rows[:, None].astype(float),
    np.arange(200),
    np.zeros((200, 1)),
    behaviour=np.full(200, 2.0),
    estimated=True,
  )
  assert any(
    'average 2.00 instead of 1: the densities that were' in each
    for each in found.warnings()
  )
