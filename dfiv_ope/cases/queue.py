"""A server for two queues, whose customers wait at different costs.

Each step a Poisson number of customers arrives at each queue. The server idles,
or serves one queue: up to three customers of the first or two of the second. A
customer costs 1 or 2 a step, serving 0.5; a full queue turns customers away at
a cost of 5 each.
"""

import dataclasses

import numpy as np

from dfiv_ope import types
from dfiv_ope.cases import case, mixtures, process

_RATES = np.array([0.9, 0.6])
_SERVED = np.array([[0.0, 0.0], [3.0, 0.0], [0.0, 2.0]])
_COSTS = np.array([1.0, 2.0])
_ROOM = 15.0
_RANKED = (0.2, 0.5, 1.0, 2.0, 4.0)


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False)
class Queue(process.Process):
  """The server.

  Attributes:
    load: multiplies the rates of arrivals.
  """

  load: float

  def start(self, count: int, generator: np.random.Generator) -> np.ndarray:
    return generator.integers(0, 6, (count, 2)).astype(float)

  def step(
    self, state: np.ndarray, action: np.ndarray, generator: np.random.Generator
  ) -> process.Step:
    left = np.maximum(state - _SERVED[action], 0.0)
    arrived = generator.poisson(self.load * _RATES, state.shape)
    following = np.minimum(left + arrived, _ROOM)
    away = np.sum(left + arrived - following, axis=1)
    cost = state @ _COSTS + 0.5 * (action > 0) + 5.0 * away
    return process.Step(following, -cost, np.zeros(len(state), bool))


def weighing(weight: float, temperature: float) -> process.Policy:
  """Returns a policy that serves the queue that weighs more.

  Args:
    weight: of a customer of the second queue, where one of the first has 1.
    temperature: the larger, the more it idles and errs.
  """

  def policy(observations: types.FloatArray) -> types.FloatArray:
    first, second = observations.T
    scores = np.column_stack(
      [
        np.zeros(len(first)),
        np.minimum(first, 3.0),
        weight * np.minimum(second, 2.0),
      ]
    )
    return mixtures.softmax(scores / temperature)

  return policy


def setting(
  behaviour: tuple[float, float],
  target: tuple[float, float],
  *,
  load: float,
  horizon: int,
  discount: float = 0.95,
) -> case.Setting:
  """Returns a case.

  Args:
    behaviour: weight and temperature of the policy that writes the log.
    target: those of the target policy.
    load: multiplies the rates of arrivals.
    horizon: where episodes are cut off.
    discount: of the value.
  """
  problem = Queue(
    discount=discount, horizon=horizon, num_actions=len(_SERVED), load=load
  )
  return case.simulated_setting(
    problem, weighing, behaviour=behaviour, target=target, ranked=_RANKED
  )
