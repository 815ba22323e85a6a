"""Fixed features: sums against rows, kinds by the size of a problem."""

import dataclasses

import numpy as np
import pytest
import tensorflow as tf

from dfiv_ope import agents
from dfiv_ope.agents import fixed_features, memory, wave_features
from dfiv_ope.agents.entries import random_features
from dfiv_ope.iv import features, ridge
from dfiv_ope.nn import encoding
from dfiv_ope.ope import bellman, decisions


def _settings(size, kind='auto'):
  return random_features.Config(
    random_features=size,
    joint_features=size,
    bandwidth_scale=1.0,
    features=kind,
  ).settings


@pytest.mark.parametrize('kind', ['per_action', 'together'])
def test_sums_by_action_are_the_sums_of_the_features(case, kind):
  psi = fixed_features.make(case.problem, _settings(6, kind), seed=0)
  data = memory.InMemory(case.rows, batch_size=1, seed=0)
  total = ridge.merge(*fixed_features.half_sums(psi, data.parts, squares=True))
  rows = case.rows
  plain = ridge.sums(
    psi(rows.instrument),
    np.concatenate(
      [bellman.difference(psi, rows.treatment), rows.outcome], axis=1
    ),
  )
  for name, value in plain._asdict().items():
    np.testing.assert_allclose(
      getattr(total, name), value, rtol=1e-9, atol=1e-7, err_msg=name
    )


def test_waves_of_states_are_their_fourier_features():
  fourier = features.FourierFeatures(np.array([0.5, 2.0]), size=6, seed=0)
  x = np.random.default_rng(0).normal(size=(9, 2))
  waves = wave_features.Waves(fourier, decisions.Spaces.of_numbers(2, 1).states)
  np.testing.assert_allclose(waves(x), fourier(x), rtol=1e-10, atol=1e-12)


def test_waves_of_categories_need_no_indicators():
  raw = np.array([[1.0, 0.5], [4.0, 2.0], [9.0, -1.0], [4.0, 0.0]])
  states = encoding.fit(raw, categorical=[0])
  fourier = features.FourierFeatures(np.full(4, 0.7), size=6, seed=0)
  raw = np.append(raw, [[5.0, 1.0]], axis=0)  # 5 is no category.
  np.testing.assert_allclose(
    wave_features.Waves(fourier, states)(states.compact(raw)),
    fourier(states.apply(raw)),
    rtol=1e-6,
  )


def _waves(problem, decision, seed=0, size=2_000):
  psi = wave_features.Together(
    problem, size=size, bandwidth_scale=1.0, seed=seed
  )
  return np.asarray(psi(decision))


def _kernel(problem, distance):
  """Returns the mean of Gaussian kernels of all bandwidths."""
  widths = np.geomspace(problem.distance, problem.typical_distance, 1_000)
  return np.mean(np.exp(-distance / 2.0 / widths**2))


def test_features_together_are_those_of_the_kernel_of_both(case):
  problem = dataclasses.replace(
    case.problem, typical_distance=3.0 * case.problem.distance
  )
  observation = problem.observations.compact(case.observations[:2])
  now = [
    _waves(problem, decisions.taken(observation, tf.fill([2], each)))
    for each in (0, 1)
  ]
  expected = _kernel(
    problem, np.sum(np.square(observation[0] - observation[1]))
  )
  assert expected > 1.1 * np.exp(
    -np.sum(np.square(observation[0] - observation[1]))
    / 2.0
    / problem.distance**2
  )
  waves = [each[:, :2_000] for each in now]
  inner = waves[0] @ waves[0].T
  np.testing.assert_allclose(
    inner, [[1.0, expected], [expected, 1.0]], atol=0.05
  )
  # Indicators of two actions are sqrt(2) apart; 60 % of the waves do not see
  # the action.
  np.testing.assert_allclose(
    np.diag(waves[0] @ waves[1].T), 0.6 + 0.4 * np.exp(-1.0), atol=0.05
  )
  # Beside them the numbers of the state, the action, and a constant.
  np.testing.assert_allclose(
    now[1][:, 2_000:],
    np.concatenate(
      [0.3 * observation, np.tile([0.0, 0.3, 1.0], (2, 1))], axis=1
    ),
    rtol=1e-6,
  )


def test_many_actions_share_indicators(case):
  problem = dataclasses.replace(case.problem, num_actions=1_200)
  observation = problem.observations.compact(case.observations[:3])
  found = _waves(
    problem, decisions.taken(observation, tf.constant([7, 507, 1_199])), size=4
  )
  assert found.shape == (3, 4 + 5 + 500 + 1)
  indicators = found[:, 9:-1]
  np.testing.assert_array_equal(np.argmax(indicators, axis=1), [7, 7, 199])
  np.testing.assert_allclose(indicators.sum(axis=1), 0.3)


@pytest.mark.parametrize('choices', [3, 12])
def test_an_expectation_of_features_is_the_sum_over_actions(case, choices):
  """Looked up one by one, or by a product with all probabilities."""
  problem = dataclasses.replace(case.problem, num_actions=12)
  observation = problem.observations.compact(case.observations)
  generator = np.random.default_rng(0)
  actions = np.stack([generator.permutation(12)[:choices] for _ in range(5)])
  probabilities = generator.dirichlet(np.ones(choices), size=5)
  found = _waves(
    problem,
    decisions.Decision(
      observation,
      tf.constant(actions, tf.int32),
      tf.constant(probabilities, tf.float32),
    ),
    size=8,
  )
  expected = sum(
    probabilities[:, each, None]
    * _waves(problem, decisions.taken(observation, actions[:, each]), size=8)
    for each in range(choices)
  )
  np.testing.assert_allclose(found, expected, atol=1e-6)


@pytest.mark.parametrize(
  'actions, cells, kind, dense',
  [
    (3, None, 'per_action', 'per_action'),
    (5, None, 'per_action', 'per_action'),
    (6, None, 'together', 'together'),
    (1_000, None, 'together', 'together'),
    (0, None, 'together', 'together'),
    (4, 64, 'table', 'table'),
    (25, 716, 'table', 'together'),
  ],
)
def test_the_kind_follows_from_the_size(actions, cells, kind, dense):
  settings = random_features.Config().settings
  assert settings.kind(num_actions=actions, tabular=cells is not None) == kind
  assert settings.dense(num_actions=actions, cells=cells) == dense


def test_stage1_r2_is_that_of_a_regression_on_other_rows(case):
  psi = fixed_features.make(case.problem, _settings(4), seed=0)
  data = memory.InMemory(case.rows, batch_size=1, seed=0)
  halves = fixed_features.half_sums(psi, data.parts, squares=True)
  found = fixed_features.stage1_metrics(*halves, 1e-9)
  # The same in numpy, from rows.
  sides = [], []
  for index, rows in enumerate(data.parts()):
    sides[index % 2].append(
      tuple(
        np.asarray(each, np.float64)
        for each in (psi(rows.instrument), bellman.change(psi, rows.treatment))
      )
    )
  first, second = (
    [np.concatenate(each) for each in zip(*side, strict=True)] for side in sides
  )
  error = 0.0
  for (phi, later), (other, target) in ((first, second), (second, first)):
    weights = np.linalg.lstsq(phi, later, rcond=1e-12)[0]
    error += np.mean(np.sum((target - other @ weights) ** 2, axis=1)) / 2.0
  later = np.concatenate([first[1], second[1]])
  assert found['stage1_held_out_r2'] == pytest.approx(
    1.0 - error / np.sum(later.var(axis=0)), abs=1e-4
  )
  assert found['stage1_rank'] > 0.0
  assert found['instrument_condition'] >= 1.0


def test_features_that_do_not_fit_the_memory_are_refused_before_work(case):
  kiv, lstd = agents.load('kiv'), agents.load('lstd')
  many = dataclasses.replace(case.problem, num_actions=25)
  with pytest.raises(ValueError) as refused:
    lstd.make(lstd.Config(features='per_action'), many, seed=0)
  assert str(refused.value) == (
    '25 actions x 301 features = 7,525 columns: about 10.0 GB to solve for '
    'as many weights, more than the 2 GB allowed. Set random_features=132 '
    'or fewer (--set random_features=132).'
  )
  with pytest.raises(ValueError, match='Set random_features=88 or fewer'):
    kiv.make(kiv.Config(features='per_action'), many, seed=0)
  with pytest.raises(ValueError, match='Say features=together'):
    lstd.Config(features='per_action').require(5_000)
  with pytest.raises(ValueError, match='Actions are vectors'):
    lstd.Config(features='per_action').require(0)
  with pytest.raises(ValueError, match='needs observations that are all'):
    lstd.make(lstd.Config(features='table'), many, seed=0)
  lstd.make(
    lstd.Config(features='per_action', random_features=132), many, seed=0
  )
  for module in (lstd, kiv):
    module.make(module.Config(), many, seed=0)
    module.Config().require(100_000)


@pytest.mark.parametrize('method', ['lstd', 'kiv'])
def test_a_billion_features_are_refused_with_their_memory(method):
  with pytest.raises(ValueError, match='1 action x 1,000,000,001 .* GB'):
    agents.load(method).Config(random_features=1_000_000_000)


def test_what_is_affordable_fits_and_two_more_do_not():
  for actions in (2, 9, 25, 300):
    most = random_features.affordable(actions)
    random_features.require(actions, most)
    with pytest.raises(ValueError, match='columns'):
      random_features.require(actions, most + 2)


def test_kiv_with_predicted_instruments_takes_one_second_penalty():
  config = agents.load('kiv').Config
  with pytest.raises(ValueError, match='got 2. Give one, or set solve=plug-in'):
    config(stage2_penalties=(1e-9, 1e-8))
  assert config(solve='plug-in', stage2_penalties=(1e-9, 1e-8))
  with pytest.raises(ValueError, match='moment'):
    config(solve='momnet')
