"""An elevator between two floors: wait, move, or open the doors.

The state is the floor (a name), the numbers of people who wait on each, and of
those inside who want to go to each. A person costs 1 a step, inside 0.5; a move
costs 0.5.
"""

import dataclasses

import numpy as np

from dfiv_ope import types
from dfiv_ope.cases import case, mixtures, process

_WAIT, _MOVE, _OPEN = range(3)
_ROOM, _QUEUE = 6.0, 12.0
_RANKED = (0.0, 0.5, 1.0, 2.0, 4.0)


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False)
class Elevator(process.Process):
  """The elevator.

  Attributes:
    arrivals: mean number of people who come to each floor in a step.
  """

  arrivals: tuple[float, float]

  def start(self, count: int, generator: np.random.Generator) -> np.ndarray:
    return np.column_stack(
      [
        generator.integers(0, 2, count),
        generator.integers(0, 4, (count, 2)),
        np.zeros((count, 2)),
      ]
    ).astype(float)

  def step(
    self, state: np.ndarray, action: np.ndarray, generator: np.random.Generator
  ) -> process.Step:
    rows = np.arange(len(state))
    floor = state[:, 0].astype(int)
    waiting, inside = state[:, 1:3].copy(), state[:, 3:].copy()
    cost = waiting.sum(axis=1) + 0.5 * inside.sum(axis=1)
    opens = action == _OPEN
    inside[rows[opens], floor[opens]] = 0.0
    room = _ROOM - inside.sum(axis=1)
    enter = np.where(opens, np.minimum(waiting[rows, floor], room), 0.0)
    waiting[rows, floor] -= enter
    inside[rows, 1 - floor] += enter
    arrived = generator.poisson(self.arrivals, waiting.shape)
    after = np.where(action == _MOVE, 1 - floor, floor)
    return process.Step(
      np.column_stack([after, np.minimum(waiting + arrived, _QUEUE), inside]),
      -cost - 0.5 * (action == _MOVE),
      np.zeros(len(state), bool),
    )


def attending(patience: float, temperature: float) -> process.Policy:
  """Returns a policy that opens where many wait, and moves where more do.

  Args:
    patience: how much a person elsewhere counts, where one here has 1.
    temperature: the larger, the more it errs.
  """

  def policy(observations: types.FloatArray) -> types.FloatArray:
    rows = np.arange(len(observations))
    floor = observations[:, 0].astype(int)
    waiting, inside = observations[:, 1:3], observations[:, 3:]
    room = _ROOM - inside[rows, 1 - floor]
    here = inside[rows, floor] + np.minimum(waiting[rows, floor], room)
    there = waiting[rows, 1 - floor] + inside[rows, 1 - floor]
    scores = np.column_stack([np.full(len(rows), 0.5), patience * there, here])
    return mixtures.softmax(scores / temperature)

  return policy


def setting(
  behaviour: tuple[float, float],
  target: tuple[float, float],
  *,
  arrivals: tuple[float, float],
  horizon: int,
  discount: float = 0.95,
) -> case.Setting:
  """Returns a case.

  Args:
    behaviour: patience and temperature of the policy that writes the log.
    target: those of the target policy.
    arrivals: on each floor.
    horizon: where episodes are cut off.
    discount: of the value.
  """
  problem = Elevator(
    discount=discount,
    horizon=horizon,
    num_actions=3,
    categorical=(0,),
    arrivals=arrivals,
  )
  return case.simulated_setting(
    problem, attending, behaviour=behaviour, target=target, ranked=_RANKED
  )
