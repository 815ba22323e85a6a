"""Environments of the user: a function in a file, and all that is none."""

import sys

import numpy as np
import pytest

from dfiv_ope import envs
from dfiv_ope.policies import rollout

_MODULE = """
import dm_env
from dm_env import specs
import numpy as np


class Walk(dm_env.Environment):

  def __init__(self, seed, actions=None, observations=None):
    self.generator = np.random.default_rng(seed)
    self.actions = actions or specs.DiscreteArray(2)
    self.observations = observations or {
        'room': specs.DiscreteArray(3),
        'place': specs.Array((2,), np.float32)}

  def _observation(self):
    return {'room': 2, 'place': self.generator.random(2)}

  def reset(self):
    return dm_env.restart(self._observation())

  def step(self, action):
    return dm_env.termination(float(np.sum(action)), self._observation())

  def observation_spec(self):
    return self.observations

  def action_spec(self):
    return self.actions


make = Walk
NUMBER = 3


def vectors(seed):
  return Walk(seed, specs.BoundedArray((2, 2), np.float32, -1., 3.))


def unbounded(seed):
  return Walk(seed, specs.Array((2,), np.float32))


def whole_vectors(seed):
  return Walk(seed, specs.BoundedArray((2,), np.int32, 0, 3))


def words(seed):
  return Walk(seed, observations=specs.StringArray(()))


def nothing(seed):
  return None


def fails(seed):
  raise RuntimeError('no licence')


def without_seed():
  return Walk(0)
"""


@pytest.fixture(autouse=True)
def _module(tmp_path, monkeypatch):
  (tmp_path / 'my_walks.py').write_text(_MODULE)
  monkeypatch.chdir(tmp_path)
  monkeypatch.setattr(sys, 'path', sys.path[:])
  yield
  sys.modules.pop('my_walks', None)


def test_a_function_of_the_current_directory_makes_a_task():
  environment = envs.make('my_walks:make', seed=5)
  spec = environment.observation_spec()
  assert spec.names == ('room', 'place[0]', 'place[1]')
  assert spec.categories == {0: 3}
  first = environment.reset().observation
  assert first.shape == (3,) and first[0] == 2.0
  np.testing.assert_array_equal(
    first, envs.make('my_walks:make', seed=5).reset().observation
  )
  assert environment.step(1).discount == 0.0
  assert not envs.is_continuous('my_walks:make')


def test_vectors_are_flat_here_and_of_their_shape_there():
  make = envs.maker('my_walks:vectors', action_noise=0.0)
  sizes = rollout.sizes(make)
  assert sizes.continuous.low == (-1.0,) * 4
  environment = make(0)
  environment.reset()
  assert environment.step(np.array([1.0, 2.0, 3.0, -1.0])).reward == 5.0


@pytest.mark.parametrize(
  'name, words',
  [
    ('no_walks:make', 'no_walks cannot be imported: ModuleNotFoundError'),
    ('my_walks:mak', 'my_walks has no function mak.'),
    ('my_walks:NUMBER', 'my_walks has no function NUMBER.'),
    ('my_walks:nothing', 'my_walks:nothing returned NoneType. An environment'),
    ('my_walks:fails', 'failed: RuntimeError: no licence (my_walks.py, line'),
    ('my_walks:without_seed', 'failed: TypeError'),
    ('my_walks:unbounded', 'my_walks:unbounded cannot be used: The actions'),
    ('my_walks:whole_vectors', 'should be a DiscreteArray, or a BoundedArray'),
    ('my_walks:words', 'should be an array of numbers, or a mapping'),
  ],
)
def test_every_fault_is_one_sentence(name, words):
  with pytest.raises(ValueError) as refused:
    envs.make(name, seed=0)
  assert words in str(refused.value)
  assert '\n' not in str(refused.value)


@pytest.mark.parametrize(
  'task', ['catch', 'gym:Any-v9', 'control:a-b', 'package.module:function']
)
def test_what_may_be_a_task_is_let_pass(task):
  envs.require(task)


@pytest.mark.parametrize(
  'task, words',
  [
    ('cach', 'did you mean catch?'),
    ('gym:', "no task 'gym:'"),
    ('control:cheetah', 'did you mean control:cheetah-run?'),
    ('cheetah-run', 'did you mean control:cheetah-run?'),
    ('module:', "no task 'module:'"),
    ('', "no task ''"),
  ],
)
def test_what_cannot_be_a_task_is_answered_with_all_forms(task, words):
  with pytest.raises(ValueError) as refused:
    envs.require(task, also=['all'])
  assert words in str(refused.value)
  assert 'humanoid-run, gym:ID, module:function, all.' in str(refused.value)
