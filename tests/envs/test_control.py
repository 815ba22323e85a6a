"""DM Control: dm_env's contract, one order of observations, limits, seeds."""

import sys

from absl.testing import absltest
from dm_env import test_utils
import numpy as np
import pytest

from dfiv_ope import envs


def test_a_missing_package_is_named(monkeypatch):
  monkeypatch.setitem(sys.modules, 'dm_control', None)
  with pytest.raises(ValueError, match=r"pip install 'dfiv-ope\[control\]'"):
    envs.make('control:fish-swim', seed=0)


@pytest.fixture(autouse=True)
def _installed(request):
  if 'monkeypatch' not in request.fixturenames:
    pytest.importorskip('dm_control')


class CartpoleSwingupTest(test_utils.EnvironmentTestMixin, absltest.TestCase):
  def make_object_under_test(self):
    return envs.make('control:cartpole-swingup', action_noise=0.2, seed=1)


@pytest.mark.parametrize(
  'task, observations, actions',
  [
    ('cartpole-swingup', 5, 1),
    ('cheetah-run', 17, 6),
    ('walker-walk', 24, 6),
    ('humanoid-run', 67, 21),
  ],
)
def test_the_tasks_of_the_paper_are_flat(task, observations, actions):
  environment = envs.make(f'control:{task}', seed=0)
  spec = environment.observation_spec()
  assert spec.shape == (observations,) and len(spec.names) == observations
  assert environment.action_spec().shape == (actions,)
  step = environment.step(np.zeros(actions))
  assert step.observation.shape == (observations,)
  assert envs.is_continuous(f'control:{task}')


def test_the_order_of_observations_is_that_of_the_suite():
  environment = envs.make('control:walker-walk', seed=0)
  names = environment.observation_spec().names
  assert names[0] == 'orientations[0]' and names[14] == 'height'
  assert names[15:] == tuple(f'velocity[{i}]' for i in range(9))


def _episode(seed, steps=30):
  environment = envs.make('control:cheetah-run', action_noise=0.3, seed=seed)
  found = [environment.reset().observation]
  found += [environment.step(np.full(6, 0.5)).observation for _ in range(steps)]
  environment.close()
  return np.stack(found)


def test_an_environment_that_is_used_again_is_as_new():
  first = _episode(3)
  other = _episode(4, steps=57)
  np.testing.assert_array_equal(_episode(3), first)
  assert not np.array_equal(other[:31], first)


def test_the_limit_truncates_and_can_be_left_out():
  make = envs.maker('control:cartpole-swingup', action_noise=0.0)
  for limited, expected in ((make, [1000]), (make.endless, [])):
    environment = limited(0)
    environment.reset()
    steps = [environment.step(np.zeros(1)) for _ in range(1001)]
    ends = [i for i, step in enumerate(steps, start=1) if step.last()]
    assert ends == expected
    assert all(steps[i - 1].discount == 1.0 for i in ends)


def test_a_task_that_the_suite_has_not_is_answered_with_the_nearest():
  with pytest.raises(ValueError, match='did you mean control:cheetah-run'):
    envs.make('control:cheeta-run', seed=0)
