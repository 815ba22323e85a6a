"""Policies over vectors that users name or hand in, and those refused."""

import pathlib
import sys

import numpy as np
import pandas as pd
import pytest
from scipy import stats
import tensorflow as tf

from dfiv_ope import actions, types
from dfiv_ope.policies import (
  clone_config,
  continuous,
  density_cloning,
  identity,
  resolve,
  vector_answers,
)

_N = 600
_RANDOM = np.random.default_rng(0)
_STATE = _RANDOM.normal(size=(_N, 3))
_BOX = actions.Continuous(
  low=(-1.0, None), high=(1.0, None), names=('dose', 'rate')
)
_MIXED = actions.Continuous(
  low=(0.0, None),
  high=(5.0, None),
  names=('dose', 'drug'),
  categories={1: ('aspirin', 'placebo')},
)
_TAKEN = np.stack(
  [
    np.clip(_STATE[:, 0] + 0.3 * _RANDOM.normal(size=_N), -1.0, 1.0),
    _RANDOM.normal(size=_N),
  ],
  axis=1,
)
_ZEROS = np.zeros(_N, np.float32)
_UNIFORMS = _RANDOM.uniform(0.01, 0.99, (_N, 2, 2)).astype(np.float32)


def _fits(space, taken):
  return {
    'num_actions': 0,
    'episodes': np.arange(_N) // 10,
    'continuous': space,
    'transitions': types.Transition(_STATE, taken, _ZEROS, _ZEROS, _STATE),
  }


def _resolve(policy, space=_BOX, taken=_TAKEN):
  return resolve.resolve(policy, num_observations=3, **_fits(space, taken))


def _draw(target):
  return target.policy.draw(tf.constant(_STATE), tf.constant(_UNIFORMS)).numpy()


def _two(s):
  return np.stack([np.tanh(s[:, 0]), s[:, 1]], axis=1)


def test_a_function_of_actions_is_deterministic():
  target = _resolve(_two)
  assert target.policy.deterministic
  assert isinstance(target.policy, types.ContinuousPolicy)
  assert target.description == '_two'
  np.testing.assert_allclose(_draw(target)[:, 1], _two(_STATE), rtol=1e-5)
  in_graph = tf.function(target.policy.draw)(
    tf.constant(_STATE), tf.constant(_UNIFORMS)
  )
  np.testing.assert_allclose(in_graph, _draw(target), rtol=1e-6)
  assert target.digest == _resolve(_two).digest
  other = _resolve(lambda s: 0.99 * _two(s))
  assert other.description == 'the given function'
  assert other.digest != target.digest


@pytest.mark.parametrize(
  'deviation', [0.5, [0.5, 2.0], np.tile([0.5, 2.0], (_N, 1))]
)
def test_a_pair_is_a_clipped_gaussian(deviation):
  def policy(s):
    wide = np.asarray(deviation)
    return _two(s), wide[: len(s)] if wide.ndim == 2 else wide

  target = _resolve(policy)
  assert not target.policy.deterministic
  spread = np.broadcast_to(deviation, (_N, 2))
  normal = stats.norm(_two(_STATE), spread)
  expected = normal.ppf(_UNIFORMS.transpose(1, 0, 2)).transpose(1, 0, 2)
  expected[..., 0] = np.clip(expected[..., 0], -1.0, 1.0)
  np.testing.assert_allclose(_draw(target), expected, rtol=1e-3, atol=1e-4)
  inside = np.array([[0.2, 0.7]]).repeat(_N, axis=0)
  np.testing.assert_allclose(
    target.policy.log_prob(tf.constant(_STATE), inside),
    normal.logpdf(inside).sum(axis=1),
    rtol=1e-6,
  )


class _Laplace:
  """Draws both entries; the first is uniform within its bounds."""

  def sample(self, observations, generator):
    return np.stack(
      [
        generator.uniform(-1.0, 1.0, len(observations)),
        observations[:, 1] + generator.laplace(size=len(observations)),
      ],
      axis=1,
    )

  def log_prob(self, observations, actions):
    return np.log(0.25) - np.abs(actions[:, 1] - observations[:, 1])


def test_an_object_draws_by_the_numbers_it_is_handed():
  target = _resolve(_Laplace())
  assert target.description == '_Laplace'
  first = _draw(target)
  np.testing.assert_array_equal(first, _draw(target))
  other = target.policy.draw(
    tf.constant(_STATE), tf.constant(1.0 - _UNIFORMS)
  ).numpy()
  assert np.abs(first - other).max() > 0.1
  assert np.abs(first[:, 0] - first[:, 1]).max() > 0.1
  noise = first[..., 1] - _STATE[:, None, 1]
  assert np.abs(noise).mean() == pytest.approx(1.0, abs=0.1)
  np.testing.assert_allclose(
    tf.function(target.policy.log_prob)(tf.constant(_STATE), _TAKEN),
    _Laplace().log_prob(_STATE, _TAKEN),
    rtol=1e-12,
  )


def test_a_module_names_functions_and_objects(tmp_path, monkeypatch):
  monkeypatch.chdir(tmp_path)
  monkeypatch.setattr(sys, 'path', list(sys.path))
  (tmp_path / 'vector_policies.py').write_text("""
import numpy as np


def steady(observations):
  return np.full((len(observations), 2), 0.5), 0.1


class Even:
  def sample(self, observations, generator):
    return generator.uniform(-1., 1., (len(observations), 2))

  def log_prob(self, observations, actions):
    return np.full(len(observations), np.log(0.25))


even = Even()
""")
  monkeypatch.delitem(sys.modules, 'vector_policies', raising=False)
  steady, even = map(
    _resolve, ('vector_policies:steady', 'vector_policies:even')
  )
  assert _draw(steady).mean() == pytest.approx(0.5, abs=0.01)
  assert even.description == 'the Python function vector_policies:even'
  found = identity.identify('vector_policies:steady', **_fits(_BOX, _TAKEN))
  assert found.digest == steady.digest != even.digest


def test_a_saved_model_is_a_policy(tmp_path):
  weights = np.array([[0.1, 0.0], [0.0, 1.0], [0.0, 0.0]])
  continuous.save(
    continuous.Gaussian(
      lambda s: tf.matmul(tf.cast(s, tf.float64), weights),
      standard_deviation=0.2,
      actions=_BOX,
    ),
    tmp_path / 'model',
    num_observations=3,
    actions=_BOX,
  )
  target = _resolve(str(tmp_path / 'model'))
  assert target.description == f'the SavedModel in {tmp_path / "model"}'
  np.testing.assert_allclose(
    _draw(target)[..., 1],
    stats.norm.ppf(_UNIFORMS[..., 1], _STATE[:, None, 1], 0.2),
    atol=1e-4,
  )


def test_the_words_uniform_and_columns(tmp_path):
  with pytest.raises(ValueError, match='Entry rate of the action has no bound'):
    _resolve('uniform')
  space = actions.Continuous(low=(-1.0, -9.0), high=(1.0, 9.0))
  target = _resolve('uniform', space)
  assert target.description == (
    'every action within the bounds with the same density'
  )
  np.testing.assert_allclose(
    _draw(target), (2.0 * _UNIFORMS - 1.0) * [1.0, 9.0], rtol=1e-4, atol=1e-5
  )
  with pytest.raises(ValueError, match='columns are probabilities of actions'):
    _resolve('columns')


def test_the_clone_is_a_policy(monkeypatch):
  quick = clone_config.Config(updates=300, checks=3)
  clone = density_cloning.clone
  monkeypatch.setattr(
    density_cloning, 'clone', lambda *a, **k: clone(*a, **k, config=quick)
  )
  target = _resolve('behaviour-clone')
  assert 'the behaviour policy, as estimated from the log' in target.description
  correlation = np.corrcoef(_draw(target)[:, 0, 0], _STATE[:, 0])[0, 1]
  assert correlation > 0.8


def test_mixed_actions_are_given_by_label_or_by_place():
  taken = np.stack([np.full(_N, 2.0), np.arange(_N) % 2.0], axis=1)

  def labelled(s):
    return pd.DataFrame(
      {
        'drug': np.where(s[:, 0] > 0.0, 'placebo', 'aspirin'),
        'dose': np.abs(np.tanh(s[:, 1])),
      }
    )

  def placed(s):
    return np.stack([np.abs(np.tanh(s[:, 1])), s[:, 0] > 0.0], axis=1)

  first, second = (_resolve(each, _MIXED, taken) for each in (labelled, placed))
  np.testing.assert_allclose(_draw(first), _draw(second))
  np.testing.assert_array_equal(_draw(first)[:, 0, 1], _STATE[:, 0] > 0.0)
  with pytest.raises(ValueError, match='entry drug of the action is a name'):
    _resolve(lambda s: (placed(s), 0.1), _MIXED, taken)
  with pytest.raises(ValueError, match="'water', but one of aspirin, placebo"):
    _resolve(lambda s: labelled(s).replace('placebo', 'water'), _MIXED, taken)


def _probabilities(s):
  return np.full((len(s), 4), 0.25)


_CALLS = iter(range(100_000))


@pytest.mark.parametrize(
  'policy, message',
  [
    (
      _probabilities,
      'returned 4 numbers an observation that sum to 1, as '
      r'probabilities do, but actions \[600, 2\] are wanted',
    ),
    (lambda s: np.zeros((len(s), 3)), r'ndarray of shape \[600, 3\], but'),
    (lambda s: s[:, 0], r'ndarray of shape \[600\], but actions'),
    (lambda s: 3.0 * np.sign(_two(s)), 'for entry dose of the action in row'),
    (lambda s: np.full((len(s), 2), np.nan), 'gives nan for entry dose'),
    (lambda s: (_two(s), -0.1), 'the standard deviation -0.1 for entry dose'),
    (
      lambda s: (_two(s), [0.1, 0.0]),
      'the standard deviation 0 for entry rate',
    ),
    (lambda s: (_two(s), np.nan), 'the standard deviation nan'),
    (lambda s: (np.inf * _two(s), 1.0), 'the mean -?inf for entry dose'),
    (lambda s: (_two(s), np.ones((len(s), 3))), r'shape \[600, 3\]'),
    (lambda s: [[0.0], [0.0, 1.0]], 'makes no array'),
    (lambda s: np.array([['a', 'b']] * len(s)), "'a', but a number is wanted"),
    (lambda s: 1 / 0, 'failed: ZeroDivisionError'),
    (
      lambda s: _two(s) / (1.0 + next(_CALLS)),
      'differently when it is asked a',
    ),
    (lambda s: _two(s) * s.mean() / np.abs(s).max(), 'others are left out'),
    (3, 'an object with sample and log_prob, or a name, got int'),
  ],
)
def test_what_gives_no_actions_is_refused(policy, message):
  with pytest.raises(ValueError, match=message):
    _resolve(policy)


def _sampler(**methods):
  return type('Sampler', (_Laplace,), methods)()


@pytest.mark.parametrize(
  'policy, message',
  [
    (
      _sampler(log_prob=lambda self, s, a: np.full(len(s), np.nan)),
      r'Sampler.log_prob returned the log density nan for observation 0',
    ),
    (
      _sampler(log_prob=lambda self, s, a: np.full(len(s), np.inf)),
      'the log density inf',
    ),
    (
      _sampler(log_prob=lambda self, s, a: np.zeros((len(s), 2))),
      r'log densities of shape \[600, 2\], but one number',
    ),
    (
      _sampler(log_prob=lambda self, s, a: np.full(len(s), -np.inf)),
      'says that it never takes it',
    ),
    (
      _sampler(log_prob=lambda self, s, a: np.full(len(s), s.mean())),
      'when others are left out',
    ),
    (
      _sampler(sample=lambda self, s, g: g.uniform(-1.0, 1.0, (len(s), 3))),
      r'Sampler.sample returned ndarray of shape \[1200, 3\]',
    ),
    (
      _sampler(sample=lambda self, s, g: np.full((len(s), 2), 7.0)),
      r'Sampler.sample gives 7 for entry dose',
    ),
    (
      _sampler(
        sample=lambda self, s, g: np.random.default_rng().uniform(
          -1.0, 1.0, (len(s), 2)
        )
      ),
      'draws by its generator',
    ),
  ],
)
def test_what_gives_no_densities_is_refused(policy, message):
  with pytest.raises(ValueError, match=message):
    _resolve(policy)


def test_one_entry_needs_no_second_axis():
  space = actions.Continuous(low=(None,), high=(None,))
  found = vector_answers.as_moments((np.arange(3.0), 0.5), 3, space, whose='f')
  np.testing.assert_array_equal(found.mean, [[0.0], [1.0], [2.0]])
  np.testing.assert_array_equal(found.deviation, np.full((3, 1), 0.5))


@pytest.mark.parametrize(
  'name, deterministic', [('fixed', True), ('noisy', False), ('tails', False)]
)
def test_the_policies_of_the_documentation_are_taken(
  tmp_path, monkeypatch, name, deterministic
):
  text = (
    pathlib.Path(__file__)
    .parents[2]
    .joinpath('docs', 'policies.md')
    .read_text()
  )
  section = text[text.index('## Actions that are vectors') :]
  monkeypatch.chdir(tmp_path)
  monkeypatch.setattr(sys, 'path', list(sys.path))
  monkeypatch.delitem(sys.modules, 'doses', raising=False)
  (tmp_path / 'doses.py').write_text(
    section.split('```python\n')[1].split('```')[0]
  )
  space = actions.Continuous(low=(-1.0, 0.0), high=(1.0, 9.0))
  target = _resolve(f'doses:{name}', space, np.abs(np.tanh(_TAKEN)))
  assert target.policy.deterministic == deterministic
  drawn = _draw(target)[:, 0]
  np.testing.assert_allclose(
    drawn[:, 0].mean(), np.mean(0.5 * np.tanh(_STATE[:, 0])), atol=0.03
  )
