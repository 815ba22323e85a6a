"""The influence of episodes, against fits on other episodes."""

import dataclasses

import numpy as np
import pytest
import tensorflow as tf

from dfiv_ope import agents
from dfiv_ope.agents import memory
from dfiv_ope.agents.entries import random_features
from dfiv_ope.evaluation import inference, influence, interval_settings

_EPISODES = 500


def _settings(config, num_actions, rows):
  return interval_settings.settings(
    config, random_features.Size(num_actions, rows)
  )


_FEATURES = _settings(None, 2, 20_000)


@pytest.fixture(scope='module')
def found(case):
  """The influence of 500 episodes that all start in every state."""
  episodes = (
    np.arange(len(case.rows.outcome)) * _EPISODES // len(case.rows.outcome)
  )
  data = memory.InMemory(case.rows, batch_size=1, seed=0)
  starts = tf.repeat(case.observations, _EPISODES // 5, axis=0)
  return (
    influence.Influence(
      case.problem,
      data.parts,
      episodes=episodes,
      features=_FEATURES,
      initial_observations=starts,
    ),
    episodes,
    starts,
  )


def _value(case, rows, starts):
  config = dataclasses.replace(
    agents.load('lstd').CONFIGS['default'], random_features=40
  )
  agent = agents.load('lstd').make(config, case.problem, seed=0)
  agent.solve(memory.InMemory(rows, batch_size=1, seed=0).parts)
  values = np.asarray(agent.predict(case.problem.target.decide(starts)))
  return agent, case.problem.value_scale * float(values.mean())


def _take(rows, index):
  return tf.nest.map_structure(
    lambda x: None if x is None else tf.gather(x, index), rows
  )


def test_weights_give_the_value_as_a_sum_of_rewards(case, found):
  value = float(np.sum(found[0].weights * case.rows.outcome.numpy()[:, 0]))
  _, wanted = _value(case, case.rows, found[2])
  assert case.problem.value_scale * value == pytest.approx(wanted, rel=1e-3)


def test_the_error_is_that_of_fits_to_resampled_episodes(case, found):
  measured, episodes, starts = found
  agent, _ = _value(case, case.rows, starts)
  effect = measured.measure(agent)
  changes = inference.resample(effect.added)
  assert abs(effect.correction) < 0.05 * changes.std()
  generator = np.random.default_rng(1)
  values = []
  for _ in range(40):
    drawn = generator.integers(_EPISODES, size=_EPISODES)
    index = np.concatenate(
      [np.flatnonzero(episodes == episode) for episode in drawn]
    )
    values.append(_value(case, _take(case.rows, index), starts)[1])
  # The spread of 40 fits is known to 11 %; starts are the same in all.
  assert changes.std() == pytest.approx(np.std(values), rel=0.35)


def test_a_policy_like_the_log_rests_on_all_rows(found):
  assert 0.3 < found[0].effective_share <= 1.0


def test_a_long_log_may_be_thinned(case, found, monkeypatch):
  monkeypatch.setattr(interval_settings, 'DUAL_ROWS', 5_000)
  whole, episodes, starts = found
  thinned = influence.Influence(
    case.problem,
    memory.InMemory(case.rows, batch_size=1, seed=0).parts,
    episodes=episodes,
    initial_observations=starts,
    features=_FEATURES,
  )
  agent, _ = _value(case, case.rows, starts)
  assert np.corrcoef(thinned.weights, whole.weights)[0, 1] > 0.95
  assert np.linalg.norm(thinned.measure(agent).added) == pytest.approx(
    np.linalg.norm(whole.measure(agent).added), rel=0.1
  )


def test_weights_are_made_of_the_features_of_the_method():
  default = _settings(agents.load('fqe').CONFIGS['default'], 2, 20_000)
  assert default == _settings(None, 2, 20_000)
  assert (default.random_features, default.bandwidth_scale) == (300, 0.5)
  for name in ('lstd', 'kiv'):
    config = dataclasses.replace(
      agents.load(name).CONFIGS['default'],
      random_features=40,
      bandwidth_scale=0.1,
    )
    found = _settings(config, 2, 20_000)
    assert (found.random_features, found.bandwidth_scale) == (40, 0.1)
  penalised = agents.load('lstd').Config(penalty=1e-3)
  assert _settings(penalised, 2, 20_000).penalty == 1e-3


def test_other_features_have_weights_of_their_own(case, found):
  _, episodes, starts = found
  other = influence.Influence(
    case.problem,
    memory.InMemory(case.rows, batch_size=1, seed=0).parts,
    episodes=episodes,
    initial_observations=starts,
    features=_settings(
      agents.load('lstd').Config(random_features=4, bandwidth_scale=5.0),
      2,
      20_000,
    ),
  )
  assert other.features.random_features == 4
  assert not np.allclose(other.weights, found[0].weights, rtol=0.05)


@pytest.mark.parametrize('name', ['fqe', 'lstd', 'kiv', 'dr'])
def test_few_rows_leave_fewer_features(name):
  config = agents.load(name).CONFIGS['default']
  found = _settings(config, 25, 46_000)
  assert not found.reduced and found.joint_features == 1_000
  few = _settings(config, 25, 803)
  assert few.reduced and few.joint_features == 100
  # 50 columns, of 2 actions with a constant each.
  few = _settings(config, 2, 401)
  assert few.reduced and few.random_features == 24
  assert not _settings(config, 2, 8 * 602).reduced
  assert _settings(config, 2, 8 * 602 - 1).random_features == 298
  assert _settings(config, 2, 5).random_features == 4


def test_features_that_were_set_stay_on_a_short_log():
  config = agents.load('lstd').Config(random_features=300, joint_features=40)
  found = _settings(config, 2, 401)
  assert found.random_features == 300 and not found.reduced
  found = _settings(config, 0, 20)
  assert found.joint_features == 40 and not found.reduced


def test_one_enormous_reward_has_a_large_share(case, found):
  measured, episodes, starts = found
  assert measured.heavy_share < 0.01
  outcome = case.rows.outcome.numpy()
  outcome[77] = 1e9
  heavy = influence.Influence(
    case.problem,
    memory.InMemory(
      case.rows._replace(outcome=tf.constant(outcome)), batch_size=1, seed=0
    ).parts,
    episodes=episodes,
    initial_observations=starts,
    features=_FEATURES,
  )
  assert heavy.heavy_share > 0.99
