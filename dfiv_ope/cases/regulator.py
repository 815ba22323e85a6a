"""A noisy linear regulator: position and velocity are to be held at 0.

    s' = A s + B a + noise,   reward -(s'Qs + R a^2)

The value of a linear policy with Gaussian noise is closed form, and that of a
policy that chooses between five forces is simulated.
"""

from collections.abc import Mapping
import dataclasses

import numpy as np

from dfiv_ope import actions as actions_lib
from dfiv_ope import types
from dfiv_ope.cases import case, mixtures, process

_A = np.array([[1.0, 0.2], [0.0, 0.95]])
_B = np.array([0.0, 0.3])
_Q = np.diag([1.0, 0.1])
_R = 0.1
_START = np.array([1.0, 0.5])  # standard deviations of the first state
_FORCES = np.array([-2.0, -1.0, 0.0, 1.0, 2.0])
# Gains of position and velocity: `force = -gain * (position + velocity)`.
_RANKED = (0.2, 0.4, 0.6, 0.9, 1.2)


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False)
class Regulator(process.Process):
  """The regulator.

  Attributes:
    noise: standard deviation of both entries of the noise.
    forces: those of finitely many actions, [A]; None if any is possible.
  """

  noise: float
  forces: types.FloatArray | None = None

  def start(self, count: int, generator: np.random.Generator) -> np.ndarray:
    return _START * generator.standard_normal((count, 2))

  def step(
    self, state: np.ndarray, action: np.ndarray, generator: np.random.Generator
  ) -> process.Step:
    force = action[:, 0] if self.forces is None else self.forces[action]
    following = state @ _A.T + force[:, None] * _B
    if self.noise:
      following = following + self.noise * generator.standard_normal(
        state.shape
      )
    cost = np.einsum('ni,ij,nj->n', state, _Q, state) + _R * force**2
    return process.Step(following, -cost, np.zeros(len(state), bool))


def closed_form(
  problem: Regulator, gains: types.FloatArray, deviation: float
) -> float:
  """Returns the value of a ~ N(-gains' s, deviation^2).

  With C = A - B gains', it is -(E s'Ps + c) for

      P = Q + R gains gains' + discount C'PC
      (1 - discount) c = R deviation^2 + discount tr(P Cov),

  where Cov is that of the next state given this one.

  Args:
    problem: the regulator.
    gains: [2].
    deviation: of the force.
  """
  closed = _A - np.outer(_B, gains)
  cost = _Q + _R * np.outer(gains, gains)
  # vec(P) = vec(cost) + discount (C' x C') vec(P).
  system = np.eye(4) - problem.discount * np.kron(closed.T, closed.T)
  matrix = np.linalg.solve(system, cost.reshape(-1)).reshape(2, 2)
  spread = deviation**2 * np.outer(_B, _B) + problem.noise**2 * np.eye(2)
  constant = (
    _R * deviation**2 + problem.discount * np.trace(matrix @ spread)
  ) / (1.0 - problem.discount)
  return -float(np.trace(matrix @ np.diag(_START**2)) + constant)


def choosing(gain: float, temperature: float) -> process.Policy:
  """Returns a policy between five forces, near -gain (position + velocity)."""

  def policy(observations: types.FloatArray) -> types.FloatArray:
    wanted = -gain * observations.sum(axis=1, keepdims=True)
    return mixtures.softmax(-np.square(_FORCES - wanted) / temperature)

  return policy


def linear(gain: float, deviation: float) -> process.Policy:
  """Returns the Gaussian policy around -gain (position + velocity)."""

  def policy(
    observations: types.FloatArray,
  ) -> tuple[types.FloatArray, types.FloatArray]:
    mean = -gain * observations.sum(axis=1, keepdims=True)
    return mean, np.full_like(mean, deviation)

  return policy


def discrete(
  behaviour: tuple[float, float],
  target: tuple[float, float],
  *,
  noise: float,
  horizon: int,
  discount: float = 0.95,
) -> case.Setting:
  """Returns a case of five forces.

  Args:
    behaviour: gain and temperature of the policy that writes the log.
    target: those of the target policy.
    noise: of the states.
    horizon: where episodes are cut off.
    discount: of the value.
  """
  problem = Regulator(
    discount=discount,
    horizon=horizon,
    num_actions=len(_FORCES),
    noise=noise,
    forces=_FORCES,
  )
  return case.simulated_setting(
    problem, choosing, behaviour=behaviour, target=target, ranked=_RANKED
  )


def vectors(
  behaviour: tuple[float, float],
  target: tuple[float, float],
  *,
  noise: float,
  horizon: int,
  discount: float = 0.95,
) -> case.Setting:
  """Returns a case of any force, whose values are exact.

  Args:
    behaviour: gain and standard deviation of the policy that writes the log.
    target: those of the target policy.
    noise: of the states.
    horizon: where episodes are cut off.
    discount: of the value.
  """
  problem = Regulator(
    discount=discount,
    horizon=horizon,
    noise=noise,
    continuous=actions_lib.Continuous(low=(None,), high=(None,)),
  )

  def exact(gain: float, deviation: float) -> case.Value:
    return case.Value(
      linear(gain, deviation),
      lambda: (closed_form(problem, np.array([gain, gain]), deviation), 0.0),
    )

  others: Mapping[str, case.Value] = {
    f'{gain:g}': exact(gain, target[1]) for gain in _RANKED
  }
  return case.Setting(
    problem=problem,
    behaviour=linear(*behaviour),
    target=exact(*target),
    others=others,
  )
