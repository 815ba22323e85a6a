"""Values of small chains whose closed form is known, at any discount.

Transitions and rewards are functions of state and action, so that a log has no
sampling error and tabular methods must find the value itself.
"""

import numpy as np
import pandas as pd
import pytest

import dfiv_ope
from dfiv_ope.ope import task as task_lib

_LENGTH = 4
# Of each of two actions in the target policy.
_TARGET = np.array([0.25, 0.75])


def _target(observations):
  return np.tile(_TARGET, (len(observations), 1))


def _walk(*, episodes=60, seed=0):
  """Returns a walk along a chain: action 1 goes on, action 0 waits."""
  generator = np.random.default_rng(seed)
  states, actions, ends = [], [], []
  for _ in range(episodes):
    state = 0
    while state < _LENGTH:
      action = int(generator.integers(2))
      states.append(state)
      actions.append(action)
      state += action
      ends.append(state == _LENGTH)
  states, actions = np.array(states), np.array(actions)
  return {
    'observations': states,
    'actions': actions,
    'terminals': ends,
    'rewards': -1.0 - 0.5 * actions + 0.1 * states,
  }


# Tables whose prior counts for nothing.
_EXACT = {'prior_rows': 1e-9}


def _value(log, method='lstd', target=_target, **config):
  config = config or (_EXACT if method == 'lstd' else {})
  found = dfiv_ope.evaluate(
    log, target, methods=method, seeds=1, configs={method: config}
  )
  return found.value


@pytest.mark.parametrize(
  'method, config, tolerance',
  [
    ('lstd', {}, 1e-3),
    ('kiv', {}, 1e-2),
    ('fqe', {'updates': 3000, 'checks': 2}, 3e-2),
  ],
)
def test_an_absorbing_chain_has_its_value_at_discount_1(
  method, config, tolerance
):
  log = dfiv_ope.Log.from_arrays(**_walk(), discount=1, categorical=[0])
  reward = -1.0 - 0.5 * _TARGET[1] + 0.1 * np.arange(_LENGTH)
  exact = np.sum(reward) / _TARGET[1]  # 4/3 steps in each state
  assert _value(log, method, **config) == pytest.approx(exact, rel=tolerance)
  np.testing.assert_allclose(
    log.returns[0], log.transitions.reward[log.episodes == 0].sum()
  )


def test_the_horizon_of_discount_1_is_that_of_the_longest_episode():
  log = dfiv_ope.Log.from_arrays(**_walk(), discount=1, categorical=[0])
  problem = task_lib.EvaluationTask(
    log, task_lib.find_policy(_target, log).policy
  ).problem
  assert log.longest == np.bincount(log.episodes).max() > _LENGTH
  assert problem.lowest == log.longest * log.transitions.reward.min()


@pytest.mark.parametrize('discount', [0.9, 1.0])
def test_random_ends_may_be_written_as_discounts(discount):
  # A circle of three states that a step leaves for good with probability e.
  generator = np.random.default_rng(1)
  steps, episodes = 10, 40
  actions = generator.integers(2, size=(episodes, steps))
  states = np.cumsum(actions + 1, axis=1) % 3
  now, later = np.roll(states, 1, axis=1), states
  now[:, 0] = (later[:, 0] - actions[:, 0] - 1) % 3
  leaves = np.array([[0.1, 0.2], [0.3, 0.4], [0.2, 0.5]])  # [S, A]
  rewards = np.array([[1.0, -1.0], [0.5, 2.0], [0.0, 3.0]])
  cut = np.zeros((episodes, steps), bool)
  cut[:, -1] = True
  log = dfiv_ope.Log.from_arrays(
    now.ravel(),
    actions.ravel(),
    rewards[now, actions].ravel(),
    np.zeros(episodes * steps, bool),
    cut.ravel(),
    next_observations=later.ravel(),
    discount=discount,
    categorical=[0],
    discounts=(1.0 - leaves[now, actions]).ravel(),
  )
  assert log.truncated == episodes

  goes = np.zeros((3, 2, 3))
  for state in range(3):
    for action in range(2):
      goes[state, action, (state + action + 1) % 3] = 1.0
  change = discount * np.einsum('a,sa,sat->st', _TARGET, 1.0 - leaves, goes)
  values = np.linalg.solve(np.eye(3) - change, rewards @ _TARGET)
  exact = values[log.initial_observations[:, 0].astype(int)].mean()
  assert _value(log) == pytest.approx(exact, rel=1e-3)

  products = np.cumprod(discount * (1.0 - leaves[now, actions]), axis=1)
  weights = np.concatenate([np.ones((episodes, 1)), products[:, :-1]], axis=1)
  np.testing.assert_allclose(
    log.returns, np.sum(weights * rewards[now, actions], axis=1), rtol=1e-6
  )


def test_a_finite_horizon_has_its_value_with_time_as_a_feature():
  generator = np.random.default_rng(2)
  horizon, episodes = 4, 50
  actions = generator.integers(2, size=(episodes, horizon))
  first = np.arange(episodes)[:, None]
  states = (first + np.cumsum(actions, axis=1) - actions) % 2
  rewards = np.array([[0.0, 1.0], [3.0, 2.0]])  # [S, A]
  frame = pd.DataFrame(
    {
      'episode': np.repeat(np.arange(episodes), horizon),
      'obs': states.ravel(),
      'action': actions.ravel(),
      'reward': rewards[states, actions].ravel(),
    }
  )
  log = dfiv_ope.Log.from_frame(
    frame,
    discount=1,
    ends='truncated',
    time_feature=True,
    horizon=horizon,
    categorical=['obs', 'step'],
  )
  assert log.truncated == 0 and log.observation_names == ('obs', 'step')
  assert len(log) == episodes * horizon  # no last step is dropped
  np.testing.assert_array_equal(
    log.transitions.observation[:5, 1], [0, 1, 2, 3, 0]
  )
  np.testing.assert_array_equal(
    log.transitions.next_observation[:4, 1], [1, 2, 3, 4]
  )

  value = np.zeros(2)  # after the horizon
  for _ in range(horizon):
    later = np.stack([value, value[::-1]], axis=1)  # action 1 changes the state
    value = (rewards + later) @ _TARGET
  exact = value[states[:, 0]].mean()
  seen = []

  def target(observations):
    seen.append(observations.shape[1])
    return _target(observations)

  assert _value(log, target=target) == pytest.approx(exact, rel=1e-3)
  assert set(seen) == {1}


@pytest.mark.parametrize('discount', [0.0, 0.9, 1.0])
def test_a_bandit_has_the_mean_reward_of_the_target_at_any_discount(discount):
  generator = np.random.default_rng(3)
  contexts, actions = (
    generator.integers(3, size=300),
    generator.integers(2, size=300),
  )
  rewards = np.array([[1.0, 2.0], [0.0, -4.0], [5.0, 5.0]])
  log = dfiv_ope.Log.bandit(
    contexts,
    actions,
    rewards[contexts, actions],
    discount=discount,
    categorical=[0],
  )
  assert log.num_episodes == len(log) == 300 and not log.truncated
  exact = (rewards @ _TARGET)[contexts].mean()
  assert _value(log) == pytest.approx(exact, rel=1e-3)


def test_a_bandit_of_a_frame_is_that_of_arrays():
  frame = pd.DataFrame(
    {'age': [50, 61, 47], 'offer': ['a', 'b', 'a'], 'reward': [1.0, 0.0, 2.0]}
  )
  log = dfiv_ope.Log.from_frame(
    frame, discount=1, bandit=True, observations='age', action='offer'
  )
  assert (
    log.digest
    == dfiv_ope.Log.bandit(frame.age, frame.offer, frame.reward).digest
  )
  np.testing.assert_array_equal(log.returns, frame.reward)


@pytest.mark.parametrize(
  'changes, words',
  [
    (
      {
        'terminals': [0, 0, 1, 0],
        'truncations': [0, 0, 0, 1],
        'next_observations': [1.0, 2.0, 3.0, 4.0],
        'discount': 1,
      },
      'all terminate, but 1 episode was truncated',
    ),
    (
      {'discounts': [0.5, 1.5, 0.0, 0.0]},
      r'row 1 .*step_discount is empty or not in \[0, 1\]',
    ),
    ({'discounts': [0.5, -0.5, 0.0, 0.0]}, r'not in \[0, 1\]'),
    ({'discounts': [0.5, np.nan, 0.0, 0.0]}, r'not in \[0, 1\]'),
    (
      {'discounts': [0.5, 0.5, 0.5, 0.0]},
      'row 2 .*step_discount is above 0, but the step terminated',
    ),
    ({'horizon': 0}, 'horizon must be at least 1, got 0'),
    ({'horizon': 2}, 'row 2 .*the episode goes on after step 2, which was'),
  ],
)
def test_wrong_discounts_and_horizons_are_one_sentence(changes, words):
  arrays = {
    'observations': [0.0, 1.0, 2.0, 3.0],
    'actions': [0, 1, 0, 1],
    'rewards': [1.0, 1.0, 1.0, 1.0],
    'terminals': [0, 0, 1, 1],
    'discount': 0.9,
    **changes,
  }
  with pytest.raises(ValueError, match=words) as caught:
    dfiv_ope.Log.from_arrays(**arrays)
  assert '\n' not in str(caught.value)


@pytest.mark.parametrize(
  'columns, words',
  [
    ({}, "has the column 'truncated', but every step of a bandit log"),
    ({'truncated': 'truncated'}, 'so truncated cannot go with it'),
    ({'ends': 'truncated'}, 'so ends truncated cannot go with it'),
    (
      {'horizon': 3, 'time_feature': True},
      'so horizon, time_feature cannot go with it',
    ),
    ({'bandit': 'yes'}, "bandit should be true or false, got 'yes'"),
    ({'bandit': False, 'horizon': '3'}, "a whole number of steps, got '3'"),
    (
      {'bandit': False, 'time_feature': True, 'observations': ['step']},
      "adds the observation 'step', but the observations have it",
    ),
    (
      {
        'bandit': False,
        'time_feature': True,
        'categorical': ['step'],
        'episode': 'patient',
        'ends': 'truncated',
      },
      'can be categorical with a horizon of less than 20,000 steps, got None',
    ),
  ],
)
def test_what_a_bandit_or_a_horizon_cannot_have_is_one_sentence(columns, words):
  frame = pd.DataFrame(
    {
      'obs': [0.0, 1.0],
      'action': [0, 1],
      'reward': [0.0, 1.0],
      'truncated': [False, True],
      'patient': [1, 1],
    }
  )
  with pytest.raises(ValueError, match=words):
    dfiv_ope.Log.from_frame(frame, discount=0.9, **{'bandit': True, **columns})


def test_a_bandit_of_arrays_has_no_truncations():
  with pytest.raises(ValueError, match='so it has no truncations. Beside'):
    dfiv_ope.Log.bandit([0.0, 1.0], [0, 1], [0.0, 1.0], truncations=[0, 1])
