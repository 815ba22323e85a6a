"""Scripts of docs/results that compare policies on one log."""

import importlib
import pathlib
from typing import Any

import numpy as np
import pytest

from dfiv_ope import envs
from dfiv_ope.policies import finite

_FOLDER = pathlib.Path(__file__).parents[1] / 'docs' / 'results'


@pytest.fixture(scope='module')
def values() -> Any:
  with pytest.MonkeyPatch.context() as patch:
    patch.syspath_prepend(str(_FOLDER))
    yield importlib.import_module('bsuite_values')


@pytest.fixture(scope='module')
def script(values: Any) -> Any:
  return importlib.import_module('several_policies')


class _Constant:
  """Takes one action with most of the probability."""

  def __init__(self, action: int, share: float = 1.0):
    self._chosen = np.full(3, (1.0 - share) / 2.0)
    self._chosen[action] = share

  def action_probabilities(self, observation: np.ndarray) -> np.ndarray:
    return np.repeat(self._chosen[None], len(observation), axis=0)


class _Follow:
  """Moves the paddle of catch below the ball."""

  def action_probabilities(self, observation: np.ndarray) -> np.ndarray:
    board = np.asarray(observation).reshape(-1, 10, 5)
    ball = np.argmax(np.sum(board[:, :-1], axis=1), axis=1)
    paddle = np.argmax(board[:, -1], axis=1)
    return np.eye(3)[1 + np.sign(ball - paddle)]


@pytest.mark.parametrize('name', ['mountain_car', 'cartpole'])
@pytest.mark.parametrize('seed', [0, 1])
def test_steps_are_those_of_bsuite(values: Any, name: str, seed: int) -> None:
  environment = envs.make(name, seed=seed)
  step = environment.reset()
  task = {'mountain_car': values.MountainCar, 'cartpole': values.Cartpole}[
    name
  ](np.zeros((1, 4)))
  inner = environment._environment._environment
  generator = np.random.default_rng(seed)
  while True:
    # Rounding grows on a pole that falls, so that each step starts anew.
    task.state = np.array(
      [[inner._position, inner._velocity]]
      if name == 'mountain_car'
      else [inner._state[:4]]
    )
    np.testing.assert_array_equal(task.observe()[0], step.observation)
    # Pushes the way the car moves or the pole falls, so that both last.
    lean = step.observation[1 if name == 'mountain_car' else 2]
    action = (
      generator.integers(3) if generator.random() < 0.3 else 1 + np.sign(lean)
    )
    step = environment.step(int(action))
    reward, goes_on = task.step(np.array([int(action)]))
    np.testing.assert_allclose(task.observe()[0], step.observation, atol=1e-6)
    assert reward[0] == step.reward
    assert goes_on[0] == (not step.last())
    if step.last():
      break
  assert task.time > 50


def test_cartpole_lasts_as_long_as_that_of_bsuite(values: Any) -> None:
  task = values.Cartpole(np.full((1, 4), 0.5))
  goes_on = np.array([True])
  while goes_on[0]:
    task.state[:] = 0.0
    _, goes_on = task.step(np.array([1]))
  assert task.time == 1001


def test_catch_is_exact_where_the_paddle_follows_the_ball(values: Any) -> None:
  found = values.catch(_Follow(), action_noise=0.0, discount=0.99)
  np.testing.assert_allclose(found, np.full(5, 0.99**8))


def test_catch_is_what_bsuite_plays(values: Any) -> None:
  """With noise, by 400 episodes."""
  policy = finite.Explore(_Follow(), epsilon=0.3)
  known = values.simulate(
    'catch',
    {'follow': policy},
    action_noise=0.5,
    discount=0.9,
    episodes=1,
    seed=0,
  ).value('follow')
  assert known.standard_error == 0.0
  generator = np.random.default_rng(0)
  returns = []
  for seed in range(400):
    environment = envs.make('catch', action_noise=0.5, seed=seed)
    step = environment.reset()
    while not step.last():
      chances = policy.action_probabilities(step.observation[None])[0]
      step = environment.step(int(generator.choice(3, p=chances)))
    returns.append(0.9**8 * step.reward)
  error = np.std(returns) / np.sqrt(len(returns))
  assert abs(np.mean(returns) - known.mean) < 3.0 * error


def test_the_same_policy_twice_differs_by_nothing(values: Any) -> None:
  policies = {
    'a': _Constant(2, 0.9),
    'b': _Constant(2, 0.9),
    'c': _Constant(2, 0.8),
  }
  found = values.simulate(
    'cartpole', policies, action_noise=0.2, discount=0.99, episodes=200, seed=3
  )
  assert found.difference('a', 'b') == (0.0, 0.0)
  paired = found.difference('a', 'c').standard_error
  apart = np.hypot(
    found.value('a').standard_error, found.value('c').standard_error
  )
  assert 0.0 < paired < apart


def test_a_task_of_another_kind_is_refused(values: Any) -> None:
  with pytest.raises(ValueError, match='not of gym:Taxi-v3'):
    values.simulate(
      'gym:Taxi-v3', {}, action_noise=0.0, discount=0.9, episodes=1, seed=0
    )


def _line(script: Any, values: Any, **changes: Any) -> Any:
  return script.Line(
    **{
      'name': 'a - b',
      'truth': values.Known(-2.0, 0.1),
      'estimate': -1.5,
      'interval': (-1.8, -1.2),
      'verdict': 'trust',
      **changes,
    }
  )


def test_a_line_is_off_by_its_share_of_the_truths_size(
  script: Any, values: Any
) -> None:
  assert _line(script, values).off == pytest.approx(25.0)
  assert _line(script, values, estimate=-3.0).off == pytest.approx(-50.0)


def test_an_interval_holds_up_to_two_errors_of_the_truth(
  script: Any, values: Any
) -> None:
  """-2 lies 0.2 below the interval, two of its standard errors."""
  assert _line(script, values, interval=(-1.79, -1.2)).holds is False
  assert _line(script, values, interval=(-1.81, -1.2)).holds is True
  exact = values.Known(-2.0, 0.0)
  assert _line(script, values, truth=exact).holds is False
  assert _line(script, values, truth=exact, interval=(-3.0, -2.0)).holds is True


def test_the_summary_counts_what_the_bars_ask(script: Any, values: Any) -> None:
  lines = [
    _line(script, values),
    _line(script, values, estimate=-2.1, interval=(-2.2, -2.0)),
    _line(script, values, estimate=-2.28, interval=(-2.4, -2.3)),
    _line(script, values, estimate=-2.0, interval=(0.0, 1.0), verdict='do not'),
  ]
  assert script.summary(lines) == (
    '4 lines: off by 9.5 % (median), 25.0 % (largest); 2 within 10 %, '
    '3 within 15 %; 2 intervals hold; "trust" wrong 1 of 3'
  )


@pytest.mark.parametrize(
  ('text', 'wanted'),
  [('0,0.2', [0.0, 0.2]), ('0', [0.0]), ('3', [0.0, 0.475, 0.95])],
)
def test_probabilities_are_listed_or_counted(
  script: Any, text: str, wanted: list[float]
) -> None:
  assert script.epsilons(text) == pytest.approx(wanted)


def test_no_pair_that_is_known_well_enough_has_a_summary(script: Any) -> None:
  assert script.summary([]) == 'no line'
