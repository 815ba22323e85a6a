"""What learners cost: CPU time of an update or a solve, in three ways.

All times are process times, the least of a few rounds: other work on the
machine only ever adds to them.
"""

import collections
from collections.abc import Callable, Collection, Iterable, Mapping
import dataclasses
import time
from typing import Any, NamedTuple

import numpy as np
import tensorflow as tf

from dfiv_ope import agents, stages, types
from dfiv_ope.agents import base, fixed_features, memory
from dfiv_ope.nn import flop_counter, networks
from dfiv_ope.nn import layers as layers_lib
from dfiv_ope.ope import bellman, decisions
from dfiv_ope.policies import greedy

# Name in the table -> method and what is changed of its config, so that all
# updates of a measurement are of one kind.
CASES: dict[str, tuple[str, dict[str, Any]]] = {
  **{name: (name, {}) for name in agents.LEARNERS if name != 'deepiv'},
  'deepiv, values': ('deepiv', {'density_share': 1e-9}),
  'deepiv, density': ('deepiv', {'density_share': 1.0 - 1e-9}),
}
_ROUNDS = 3
_DISCOUNT = 0.99
# As the Q-networks that `dfiv-ope policy train` makes.
_POLICY_NET = (64, 64)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Cost:
  """CPU time of a learner, in milliseconds an update or seconds a solve.

  Attributes:
    learner: its name.
    unit: 'ms/update' or 's/solve'.
    one_graph: as `OPELearner` runs it.
    call_each: as one call of a tf.function for each update on a tf.data
      pipeline; None for a closed form.
    bare_products: the matrix products of it in numpy; of a closed form those
      of its sums over the log.
    megaflop: operations of these products, in millions.
  """

  learner: str
  unit: str
  one_graph: float
  call_each: float | None
  bare_products: float
  megaflop: float


class Log(NamedTuple):
  """A made-up log, and what is asked of it."""

  problem: bellman.Problem
  transitions: types.Transition
  rows: types.IVBatch


def make_log(count: int, num_observations: int, num_actions: int) -> Log:
  """Returns random transitions and the problem of a greedy policy."""
  generator = np.random.default_rng(0)
  observation, later = generator.standard_normal((2, count, num_observations))
  transitions = types.Transition(
    observation=tf.constant(observation, tf.float32),
    action=tf.constant(generator.integers(num_actions, size=count), tf.int32),
    reward=tf.constant(generator.standard_normal(count), tf.float32),
    discount=tf.constant(generator.random(count) > 0.1, tf.float32),
    next_observation=tf.constant(later, tf.float32),
  )
  layers = [layers_lib.Dense(size) for size in _POLICY_NET]
  policy = greedy.Greedy(
    networks.Network(
      (*layers, layers_lib.Dense(num_actions, None)),
      input_size=num_observations,
      seed=0,
    ),
    num_observations=num_observations,
  )
  problem = bellman.pose(
    transitions, policy, discount=_DISCOUNT, num_actions=num_actions
  )
  return Log(problem, transitions, problem.rows(transitions, support=1))


def measure_all(
  methods: Collection[str],
  log: Log,
  *,
  updates: int,
  batch_size: int,
  progress: stages.Progress = stages.silent,
) -> list[Cost]:
  """Returns the cost of each of CASES that is one of some methods.

  Args:
    methods: names of `agents.LEARNERS`.
    log: what they learn from.
    updates: of each measurement.
    batch_size: rows of a batch.
    progress: told which learner is measured.
  """
  cases = {label: case for label, case in CASES.items() if case[0] in methods}
  measured = []
  with progress('Learners', len(cases)) as update:
    for done, (label, (method, changes)) in enumerate(cases.items()):
      update(done, label)
      measured.append(
        measure(
          label, method, changes, log, updates=updates, batch_size=batch_size
        )
      )
      update(done + 1, label)
  return measured


def measure(
  learner: str,
  method: str,
  changes: Mapping[str, Any],
  log: Log,
  *,
  updates: int,
  batch_size: int,
) -> Cost:
  """Returns the cost of an agent with the paper's networks.

  Args:
    learner: its name in the result.
    method: one of `agents.LEARNERS`.
    changes: of the paper's config.
    log: what it learns from.
    updates: updates of each measurement.
    batch_size: rows of each of the two batches of an update.
  """
  config = dataclasses.replace(
    agents.ENTRIES[method].configs['paper'], batch_size=batch_size, **changes
  )
  agent: base.Agent = agents.load(method).make(config, log.problem, seed=0)
  data = memory.InMemory(log.rows, batch_size=batch_size, seed=0)
  if not config.updates:

    def solve(count: int) -> None:
      for _ in range(count):
        agent.solve(data.parts)

    assert isinstance(agent, fixed_features.Linear)
    recorded = products_of_sums(agent.features, data.parts.sizes)
    one_graph, bare = _seconds([solve, flop_counter.bare(recorded)], 1)
    return Cost(
      learner=learner,
      unit='s/solve',
      one_graph=one_graph,
      call_each=None,
      bare_products=bare,
      megaflop=flop_counter.megaflop(recorded),
    )

  @tf.function
  def loop(count: tf.Tensor) -> None:
    for _ in tf.range(count):
      agent.update(data.sample(), data.sample())

  one = tf.function(agent.update)
  # As learners usually have it: transitions are shuffled one by one, and the
  # policy is asked anew for every batch.
  batches = iter(
    tf.data.Dataset.from_tensor_slices(log.transitions)
    .shuffle(len(log.transitions.action), seed=0)
    .repeat()
    .batch(batch_size, drop_remainder=True)
    .map(lambda batch: log.problem.rows(batch, support=1))
  )

  def call_each(count: int) -> None:
    for _ in range(count):
      one(next(batches), next(batches))

  recorded = flop_counter.record(
    lambda: agent.update(data.sample(), data.sample())
  )
  times = _seconds(
    [
      lambda count: loop(tf.constant(count)),
      call_each,
      flop_counter.bare(recorded),
    ],
    updates,
  )
  return Cost(
    learner=learner,
    unit='ms/update',
    one_graph=1e3 * times[0],
    call_each=1e3 * times[1],
    bare_products=1e3 * times[2],
    megaflop=flop_counter.megaflop(recorded),
  )


def products_of_sums(
  features: fixed_features.Features, sizes: Iterable[int]
) -> dict[flop_counter.Product, int]:
  """Returns the matrix products of a closed form's sums over a log, by sizes.

  Nothing tells of numpy's products. Where features are those of a state for
  each action, h, only products of h are made, whatever the actions are: h(s)
  with h(s), with h(s') and with the outcome. Features and solves are no part.

  Args:
    features: psi, of size D; h has H = D / A columns.
    sizes: rows of each part of the log.
  """
  size = features.output_size
  if isinstance(features, decisions.Outer):
    size //= features.num_actions
  found: collections.Counter[flop_counter.Product] = collections.Counter()
  for rows in sizes:
    for columns, times in ((size, 2), (1, 1)):
      found[
        flop_counter.Product(
          'float64', (rows, size), (rows, columns), True, False
        )
      ] += times
  return dict(found)


def _seconds(runs: list[Callable[[int], None]], count: int) -> list[float]:
  """Returns CPU seconds of one repetition of each, the least of the rounds."""
  for run in runs:
    run(1)  # Traces.
  least = [float('inf')] * len(runs)
  for _ in range(_ROUNDS):
    for index, run in enumerate(runs):
      start = time.process_time()
      run(count)
      least[index] = min(least[index], (time.process_time() - start) / count)
  return least
