"""Random nonlinear systems: numbers that drift, are pushed, and pay.

The next state is what is left of the last one, a random network of state and
action, and noise; the reward is another one. Actions are a few pushes, or any
vector. An episode may end where the first number leaves its bounds; the last
number may not be observed.
"""

import dataclasses

import numpy as np

from dfiv_ope import actions as actions_lib
from dfiv_ope import types
from dfiv_ope.cases import case, mixtures, process

_HIDDEN = 8
_KEPT, _MOVED = 0.8, 0.6
_RANKED = (-1.0, 0.0, 0.5, 1.0, 2.0)


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False)
class Drift(process.Process):
  """The system.

  Attributes:
    size: D, numbers of the state.
    pushes: what each action is, [A, d]; empty if actions are vectors.
    inner: of state and action, [D + d, H].
    outer: of what that makes, [H, D + 1]: the state's change and the reward.
    noise: standard deviation of the changes.
    bound: of the first number, beyond which an episode ends.
    unseen: whether the last number is not observed.
  """

  size: int
  pushes: types.FloatArray
  inner: types.FloatArray
  outer: types.FloatArray
  noise: float
  bound: float
  unseen: bool = False

  def start(self, count: int, generator: np.random.Generator) -> np.ndarray:
    return generator.uniform(-1.0, 1.0, (count, self.size))

  def step(
    self, state: np.ndarray, action: np.ndarray, generator: np.random.Generator
  ) -> process.Step:
    push = action if self.continuous else self.pushes[action]
    made = np.tanh(np.column_stack([state, push]) @ self.inner) @ self.outer
    following = (
      _KEPT * state
      + _MOVED * made[:, :-1]
      + self.noise * generator.standard_normal(state.shape)
    )
    reward = made[:, -1] - 0.1 * np.sum(np.square(push), axis=1)
    return process.Step(following, reward, np.abs(following[:, 0]) > self.bound)

  def observe(self, state: np.ndarray, time: int) -> types.FloatArray:
    return state[:, :-1] if self.unseen else state


def setting(
  behaviour: tuple[float, float],
  target: tuple[float, float],
  *,
  horizon: int,
  draw: int,
  size: int = 3,
  actions: int = 3,
  noise: float = 0.2,
  bound: float = np.inf,
  unseen: bool = False,
  vectors: bool = False,
  complete: bool = False,
  discount: float = 0.95,
) -> case.Setting:
  """Returns a case.

  Args:
    behaviour: how far the policy that writes the log leans to another one, and
      its temperature; of vectors, its standard deviation.
    target: the same of the target policy.
    horizon: longest episode.
    draw: which system.
    size: numbers of the state.
    actions: A, where they are no vectors.
    noise: of the changes.
    bound: beyond which an episode ends.
    unseen: whether the last number is not observed.
    vectors: whether an action is two numbers from -1 to 1.
    complete: whether episodes terminate at the horizon.
    discount: of the value.
  """
  generator = np.random.default_rng((4, draw))
  problem = Drift(
    discount=discount,
    horizon=horizon,
    complete=complete,
    num_actions=0 if vectors else actions,
    continuous=actions_lib.Continuous(low=(-1.0, -1.0), high=(1.0, 1.0))
    if vectors
    else None,
    size=size,
    pushes=generator.uniform(-1.0, 1.0, (actions, 2)),
    inner=generator.standard_normal((size + 2, _HIDDEN)),
    outer=generator.standard_normal((_HIDDEN, size + 1)) / np.sqrt(_HIDDEN),
    noise=noise,
    bound=bound,
    unseen=unseen,
  )
  seen = size - unseen
  scores, lean = generator.standard_normal((2, seen, 2 if vectors else actions))

  def policy(shift: float, spread: float) -> process.Policy:
    def probabilities(observations: types.FloatArray) -> types.FloatArray:
      return mixtures.softmax(observations @ (scores + shift * lean) / spread)

    def normal(
      observations: types.FloatArray,
    ) -> tuple[types.FloatArray, types.FloatArray]:
      mean = np.tanh(observations @ (scores + shift * lean))
      return 0.5 * mean, np.full_like(mean, spread)

    return normal if vectors else probabilities

  return case.simulated_setting(
    problem, policy, behaviour=behaviour, target=target, ranked=_RANKED
  )
