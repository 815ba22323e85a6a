"""The influence of episodes, against fits on other episodes."""

import dataclasses

import numpy as np
import pytest
import tensorflow as tf

from dfiv_ope import agents
from dfiv_ope.agents import influence
from dfiv_ope.datasets import sampling

_EPISODES = 500


@pytest.fixture(scope='module')
def found(case):
  """The influence of 500 episodes that all start in every state."""
  episodes = np.arange(len(case.rows.outcome)) * _EPISODES // len(
      case.rows.outcome)
  data = sampling.InMemory(case.rows, batch_size=1, seed=0)
  starts = tf.repeat(case.observations, _EPISODES // 5, axis=0)
  return influence.Influence(
      case.problem, data.parts, episodes=episodes,
      initial_observations=starts), episodes, starts


def _value(case, rows, starts):
  config = dataclasses.replace(
      agents.load('lstd').CONFIGS['default'], random_features=40)
  agent = agents.load('lstd').make(config, case.problem, seed=0)
  agent.solve(sampling.InMemory(rows, batch_size=1, seed=0).parts)
  values = agent.predict(case.problem.decide(starts)).numpy()
  return agent, case.problem.value_scale * float(values.mean())


def _take(rows, index):
  return tf.nest.map_structure(
      lambda x: None if x is None else tf.gather(x, index), rows)


def test_weights_give_the_value_as_a_sum_of_rewards(case, found):
  value = float(np.sum(found[0].weights * case.rows.outcome.numpy()[:, 0]))
  _, wanted = _value(case, case.rows, found[2])
  assert case.problem.value_scale * value == pytest.approx(wanted, rel=1e-3)


def test_the_error_is_that_of_fits_to_resampled_episodes(case, found):
  measured, episodes, starts = found
  agent, _ = _value(case, case.rows, starts)
  changes, correction = measured.resample(agent)
  assert abs(correction) < 0.05 * changes.std()
  generator = np.random.default_rng(1)
  values = []
  for _ in range(40):
    drawn = generator.integers(_EPISODES, size=_EPISODES)
    index = np.concatenate(
        [np.flatnonzero(episodes == episode) for episode in drawn])
    values.append(_value(case, _take(case.rows, index), starts)[1])
  # The spread of 40 fits is known to 11 %; starts are the same in all.
  assert changes.std() == pytest.approx(np.std(values), rel=0.35)


def test_a_policy_like_the_log_rests_on_all_rows(found):
  assert 0.3 < found[0].effective_share <= 1.


def test_a_long_log_may_be_thinned(case, found, monkeypatch):
  monkeypatch.setattr(influence, '_DUAL_ROWS', 5_000)
  whole, episodes, starts = found
  thinned = influence.Influence(
      case.problem, sampling.InMemory(case.rows, batch_size=1, seed=0).parts,
      episodes=episodes, initial_observations=starts)
  agent, _ = _value(case, case.rows, starts)
  assert np.corrcoef(thinned.weights, whole.weights)[0, 1] > 0.95
  assert thinned.resample(agent)[0].std() == pytest.approx(
      whole.resample(agent)[0].std(), rel=0.1)
