"""A pendulum that is swung up with little torque, and then held.

Cosine and sine of the angle and the velocity are observed; a step costs the
squared angle and a little of velocity and torque.
"""

import dataclasses

import numpy as np

from dfiv_ope import actions as actions_lib
from dfiv_ope import types
from dfiv_ope.cases import case, mixtures, process

_STEP = 0.05
_GRAVITY = 10.0
_FASTEST = 8.0
_STRONGEST = 2.0
_TORQUES = np.array([-2.0, -1.0, 0.0, 1.0, 2.0])
_RANKED = (0.2, 0.5, 1.0, 2.0, 4.0)
# Energy of the upright pendulum at rest, and where it is held, in radians.
_UPRIGHT, _HELD = 1.5 * _GRAVITY, 0.4


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False)
class Pendulum(process.Process):
  """The pendulum; its state is the angle (0 upright) and the velocity.

  Attributes:
    noise: standard deviation of noise on the velocity.
    torques: those of finitely many actions, [A]; None if any is possible.
  """

  noise: float
  torques: types.FloatArray | None = None

  def start(self, count: int, generator: np.random.Generator) -> np.ndarray:
    return np.column_stack(
      [
        generator.uniform(-np.pi, np.pi, count),
        generator.uniform(-1.0, 1.0, count),
      ]
    )

  def step(
    self, state: np.ndarray, action: np.ndarray, generator: np.random.Generator
  ) -> process.Step:
    torque = action[:, 0] if self.torques is None else self.torques[action]
    angle, velocity = state.T
    cost = angle**2 + 0.1 * velocity**2 + 0.001 * torque**2
    velocity = velocity + _STEP * (
      1.5 * _GRAVITY * np.sin(angle) + 3.0 * torque
    )
    if self.noise:
      velocity = velocity + self.noise * generator.standard_normal(len(state))
    velocity = np.clip(velocity, -_FASTEST, _FASTEST)
    angle = np.mod(angle + _STEP * velocity + np.pi, 2.0 * np.pi) - np.pi
    return process.Step(
      np.column_stack([angle, velocity]), -cost, np.zeros(len(state), bool)
    )

  def observe(self, state: np.ndarray, time: int) -> types.FloatArray:
    return np.column_stack(
      [np.cos(state[:, 0]), np.sin(state[:, 0]), state[:, 1]]
    )


def wanted(observations: types.FloatArray) -> types.FloatArray:
  """Returns the torque that pumps energy, or holds the pendulum, [B]."""
  cosine, sine, velocity = observations.T
  missing = _UPRIGHT * (1.0 - cosine) - 0.5 * velocity**2
  pumped = np.where(velocity >= 0.0, 1.0, -1.0) * np.clip(
    missing, -_STRONGEST, _STRONGEST
  )
  angle = np.arctan2(sine, cosine)
  held = -(8.0 * angle + 2.0 * velocity)
  return np.clip(
    np.where(np.abs(angle) < _HELD, held, pumped), -_STRONGEST, _STRONGEST
  )


def choosing(temperature: float) -> process.Policy:
  """Returns a policy between five torques, near the wanted one."""

  def policy(observations: types.FloatArray) -> types.FloatArray:
    distance = _TORQUES - wanted(observations)[:, None]
    return mixtures.softmax(-np.square(distance) / temperature)

  return policy


def noisy(deviation: float) -> process.Policy:
  """Returns the wanted torque with noise, clipped to the strongest."""

  def policy(
    observations: types.FloatArray,
  ) -> tuple[types.FloatArray, types.FloatArray]:
    mean = wanted(observations)[:, None]
    return mean, np.full_like(mean, deviation)

  return policy


def setting(
  behaviour: float,
  target: float,
  *,
  noise: float,
  horizon: int,
  vectors: bool = False,
  discount: float = 0.95,
) -> case.Setting:
  """Returns a case.

  Args:
    behaviour: temperature of the policy that writes the log, its standard
      deviation if actions are vectors.
    target: that of the target policy.
    noise: standard deviation of noise on the velocity.
    horizon: where episodes are cut off.
    vectors: whether any torque is possible.
    discount: of the value.
  """
  if vectors:
    problem = Pendulum(
      discount=discount,
      horizon=horizon,
      noise=noise,
      continuous=actions_lib.Continuous(low=(-_STRONGEST,), high=(_STRONGEST,)),
    )
  else:
    problem = Pendulum(
      discount=discount,
      horizon=horizon,
      num_actions=len(_TORQUES),
      noise=noise,
      torques=_TORQUES,
    )
  policy = noisy if vectors else choosing
  return case.simulated_setting(
    problem, policy, behaviour=(behaviour,), target=(target,), ranked=_RANKED
  )
