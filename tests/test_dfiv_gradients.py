"""Which loss of DFIV moves which network: Algorithm 1 by what it changes.

Networks are told apart by their widths, so nothing here knows how a method
keeps them. A stage-2 loss of zero outcomes is zero whatever psi is, so all that
an update of such rows moves is moved by stage 1; and stage 1 has no outcomes,
so nothing that it moves may depend on them.
"""

import dataclasses

import numpy as np
import pytest
import tensorflow as tf

from dfiv_ope import agents, testing, types
from dfiv_ope.iv import methods
from dfiv_ope.nn import layers
from dfiv_ope.ope import bellman

# Of hidden and last layers.
_WIDTHS = {'psi': (5, 3), 'phi': (7, 4), 'xi': (6, 2)}
_NETS = {
  name: (layers.Dense(hidden, 'tanh'), layers.Dense(last, None))
  for name, (hidden, last) in _WIDTHS.items()
}
_ROWS = 60
# A rate at which nothing moves.
_STILL = 1e-30


def _regression(seed, *, covariate):
  generator = np.random.default_rng(seed)
  z, x, hidden = generator.normal(size=(3, _ROWS, 1)).astype(np.float32)
  treatment = z + 0.5 * x + hidden
  return types.IVBatch(
    *(
      None if each is None else tf.constant(each)
      for each in (
        treatment,
        np.concatenate([z, x], axis=1),
        np.sin(treatment) + x + hidden,
        x if covariate else None,
      )
    )
  )


def _make_regression(*, covariate=False, **changes):
  """Returns a model of the paper's DFIV on arrays, and rows of two stages."""
  module = methods.load('dfiv')
  config = dataclasses.replace(
    module.PAPER,
    treatment_net=_NETS['psi'],
    instrument_net=_NETS['phi'],
    covariate_net=_NETS['xi'],
    **{
      'instrument_steps': 1,
      'covariate_steps': 1,
      'treatment_steps': 1,
      'learning_rate': 1e-2,
      'treatment_learning_rate': 1e-2,
      **changes,
    },
  )
  model = module.build(config, types.Sizes(1, 2, int(covariate)))
  return model, [_regression(seed, covariate=covariate) for seed in (0, 1)]


def _make_ope(config='paper', **changes):
  """Returns an agent of DFIV and rows of two stages."""
  generator = np.random.default_rng(0)
  state, later, reward = generator.normal(size=(3, 2 * _ROWS, 1)).astype(
    np.float32
  )
  transitions = types.Transition(
    *map(
      tf.constant,
      (
        state,
        generator.integers(2, size=2 * _ROWS).astype(np.int32),
        reward[:, 0] + np.sin(state[:, 0]),
        np.ones(2 * _ROWS, np.float32),
        0.5 * state + later,
      ),
    )
  )
  problem = bellman.pose(
    transitions,
    testing.Mixed(np.array([0.3, 0.7])),
    discount=0.8,
    num_actions=2,
  )
  module = agents.load('dfiv')
  agent = module.make(
    dataclasses.replace(
      module.CONFIGS[config],
      treatment_net=_NETS['psi'],
      instrument_net=_NETS['phi'],
      **{
        'instrument_steps': 1,
        'learning_rate': 1e-2,
        'treatment_learning_rate': 1e-2,
        **changes,
      },
    ),
    problem,
    seed=0,
  )
  rows = problem.rows(transitions)
  return agent, [
    tf.nest.map_structure(
      lambda x, half=half: None if x is None else x[half::2], rows
    )
    for half in (0, 1)
  ]


MAKERS = {
  'regression': _make_regression,
  'covariates': lambda **changes: _make_regression(covariate=True, **changes),
  'ope': _make_ope,
  'ope_default': lambda **changes: _make_ope('default', **changes),
}
every_dfiv = pytest.mark.parametrize('name', MAKERS)


def _weights(model, network):
  """Returns kernel and bias of both layers of a network, by their widths."""
  widths = _WIDTHS[network]
  found = [
    each for each in model.trainable_variables if each.shape[-1] in widths
  ]
  assert len(found) in (0, 4)
  return sorted(
    found, key=lambda each: (widths.index(each.shape[-1]), -each.shape.rank)
  )


def _values(model, network):
  return [each.numpy() for each in _weights(model, network)]


def _moves(name, *, outcome=None, **changes):
  """Returns how far each network's variables move in one update."""
  model, (first, second) = MAKERS[name](**changes)
  if outcome is not None:
    first, second = (
      rows._replace(outcome=outcome(rows.outcome)) for rows in (first, second)
    )
  before = {network: _values(model, network) for network in _WIDTHS}
  model.update(first, second)
  return {
    network: [
      new - old
      for new, old in zip(_values(model, network), values, strict=True)
    ]
    for network, values in before.items()
    if values
  }


def _still(moves):
  return all(np.all(move == 0.0) for move in moves)


@every_dfiv
def test_the_stage_1_loss_moves_only_phi(name):
  moves = _moves(name, outcome=tf.zeros_like)
  assert set(moves) == (
    {'psi', 'phi', 'xi'} if name == 'covariates' else {'psi', 'phi'}
  )
  assert all(np.any(move != 0.0) for move in moves['phi'])
  assert _still(moves['psi'])
  assert _still(moves.get('xi', []))


@every_dfiv
@pytest.mark.parametrize('steps', [1, 3])
def test_the_stage_2_loss_does_not_move_phi(name, steps):
  moves, other, none = (
    _moves(name, outcome=outcome, instrument_steps=steps)
    for outcome in (tf.identity, lambda y: tf.cos(3.0 * y), tf.zeros_like)
  )
  for network in set(moves) - {'phi'}:
    assert not all(map(np.array_equal, moves[network], other[network]))
  for each in (other, none):
    for move, same in zip(moves['phi'], each['phi'], strict=True):
      np.testing.assert_allclose(move, same, rtol=1e-5, atol=1e-9)


@every_dfiv
def test_the_stage_2_loss_moves_psi_and_xi(name):
  moves = _moves(name, learning_rate=_STILL)
  assert _still(moves['phi'])
  # All but the last bias, a constant of which stage 2 has its own.
  assert all(np.all(move != 0.0) for move in moves['psi'][:3])
  moves = _moves(name, treatment_learning_rate=_STILL)
  assert _still(moves['psi'])
  assert all(np.any(move != 0.0) for move in moves['phi'])
  if name == 'covariates':
    assert all(np.all(move != 0.0) for move in moves['xi'][:3])


def _features(weights, x):
  """Returns the features of a network of two layers, by numpy."""
  inner, inner_bias, outer, outer_bias = weights
  return np.tanh(x @ inner + inner_bias) @ outer + outer_bias


def _ridge(columns, target, penalty):
  """Returns fitted weights, constant appended and free, and their loss."""
  columns = np.concatenate([columns, np.ones_like(columns[:, :1])], axis=1)
  free = np.diag([*np.ones(columns.shape[1] - 1), 0.0])
  weights = np.linalg.solve(
    columns.T @ columns + penalty * len(columns) * free, columns.T @ target
  )
  loss = np.sum(np.square(target - columns @ weights)) / len(
    columns
  ) + penalty * np.sum(np.square(free @ weights))
  return weights, loss


def _gradient(function, weights, size=1e-5):
  """Returns the gradient in a list of arrays by central differences."""
  result = [np.zeros_like(each) for each in weights]
  for array, gradient in zip(weights, result, strict=True):
    for place in np.ndindex(array.shape):
      middle = array[place]
      ends = []
      for array[place] in (middle + size, middle - size):
        ends.append(function(weights))
      array[place] = middle
      gradient[place] = (ends[0] - ends[1]) / (2.0 * size)
  return result


@pytest.mark.parametrize('network', ['phi', 'psi'])
def test_a_step_goes_down_the_loss_of_its_stage(network):
  # The first step of Adam is the rate times the sign of the gradient. That of
  # Eq. (8) goes through the weights of stage 1, which depend on psi as well.
  rate = 1e-2
  still = {'phi': 'treatment_learning_rate', 'psi': 'learning_rate'}[network]
  model, (first, second) = _make_regression(**{still: _STILL})
  x1, z1, _, x2, z2, y2 = (
    each.numpy().astype(np.float64)
    for rows in (first, second)
    for each in rows[:3]
  )
  penalty = model.config.stage1_penalty
  assert penalty == model.config.stage2_penalty
  psi, phi = (
    [each.astype(np.float64) for each in _values(model, name)]
    for name in ('psi', 'phi')
  )

  def stage1_loss(phi):
    return _ridge(_features(phi, z1), _features(psi, x1), penalty)[1]

  def stage2_loss(psi):
    weights, _ = _ridge(_features(phi, z1), _features(psi, x1), penalty)
    predicted = _features(phi, z2) @ weights[:-1] + weights[-1]
    return _ridge(predicted, y2, penalty)[1]

  expected = _gradient(
    *{'phi': (stage1_loss, phi), 'psi': (stage2_loss, psi)}[network]
  )
  before = _values(model, network)
  losses = model.update(first, second)
  assert float(losses['stage1_loss']) == pytest.approx(
    stage1_loss(phi), rel=1e-4
  )
  assert float(losses['stage2_loss']) == pytest.approx(
    stage2_loss(psi), rel=2e-2 if network == 'phi' else 1e-4
  )
  largest = max(np.abs(each).max() for each in expected)
  for new, old, gradient in zip(
    _values(model, network), before, expected, strict=True
  ):
    clear = np.abs(gradient) > 1e-3 * largest
    np.testing.assert_allclose(
      (new - old)[clear], -rate * np.sign(gradient[clear]), rtol=1e-2
    )
  assert sum(np.sum(np.abs(each) > 1e-3 * largest) for each in expected) > 15
