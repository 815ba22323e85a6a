"""`dfiv-ope benchmark ...`: what the learners cost.

All times are process times, the least of a few rounds: other work on the
machine only ever adds to them.
"""

from collections.abc import Callable, Mapping
import dataclasses
import json
import time
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from dfiv_ope import agents
from dfiv_ope.launch import (
  console,
  coverage,
  limits,
  products,
  runtime,
)

if TYPE_CHECKING:
  from dfiv_ope import types
  from dfiv_ope.agents import base
  from dfiv_ope.ope import bellman

app = typer.Typer(
    help='What the learners cost, and whether intervals hold.',
    no_args_is_help=True)
app.command()(coverage.coverage)


@app.command()
def invariance(
    rows: Annotated[int, typer.Option(
        help='Rows of the made-up data.', min=40)] = 600,
) -> None:
  """Print how much units and offsets change the answer of each method.

  Observations, treatments, instruments and covariates are shifted by 1e12 and
  multiplied by 1e-20 and 1e20, rewards and outcomes multiplied. A table in
  Markdown has the largest change of an answer, as a share of its size.
  """
  runtime.start()
  from dfiv_ope.launch import invariance as invariance_lib
  for line in invariance_lib.table(rows):
    console.say(line)


# Name in the table -> method and what is changed of its config, so that all
# updates of a measurement are of one kind.
_CASES: dict[str, tuple[str, dict[str, Any]]] = {
    **{name: (name, {}) for name in agents.NAMES if name != 'deepiv'},
    'deepiv, values': ('deepiv', {'density_share': 1e-9}),
    'deepiv, density': ('deepiv', {'density_share': 1. - 1e-9}),
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
    bare_products: the matrix products of it in numpy.
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
  problem: 'bellman.Problem'
  transitions: 'types.Transition'
  rows: 'types.IVBatch'


@app.command()
def learners(
    method: Annotated[list[str] | None, typer.Option(
        help=f'{", ".join(agents.NAMES)}; may be repeated.  [default: all]',
    )] = None,
    updates: Annotated[int, typer.Option(
        help='Updates of each measurement.')] = 300,
    batch_size: Annotated[int, typer.Option(help='Rows of a batch.')] = 1024,
    observations: Annotated[int, typer.Option(
        help='Entries of an observation; catch has 50.')] = 50,
    actions: Annotated[int, typer.Option(help='Number of actions.')] = 3,
    rows: Annotated[int, typer.Option(
        help='Transitions of the made-up log.')] = 20_000,
    as_json: Annotated[bool, typer.Option(
        '--json', help='Prints JSON instead of a table.')] = False,
) -> None:
  """Measures the CPU time of an update of each learner, in three ways.

  The networks are the paper's. "one graph" is how they are run here: many
  updates within one tf.function on rows in memory. "a call each" is the same
  update as one call of a tf.function on a tf.data pipeline. "bare products"
  are the matrix products of an update in numpy and nothing else. Of the
  closed forms it is the time of a solve.
  """
  limits.count('--updates', updates, most=limits.UPDATES)
  limits.count('--actions', actions, least=2, most=limits.ACTIONS)
  limits.count('--observations', observations, most=limits.OBSERVATIONS)
  for name, value, least in (
      ('--batch-size', batch_size, 1), ('--rows', rows, 2)):
    limits.count(
        name, value, least=least,
        most=limits.ENTRIES // max(observations, actions))
  wanted = method or list(agents.NAMES)
  for name in wanted:
    if name not in agents.NAMES:
      raise ValueError(
          f'There is no method {name!r}. Choose from '
          f'{", ".join(agents.NAMES)}.')
  runtime.start()
  log = _make_log(rows, observations, actions)
  cases = [
      (label, name, changes) for label, (name, changes) in _CASES.items()
      if name in wanted]
  costs = []
  with console.progress('Learners', len(cases)) as update:
    for done, (label, name, changes) in enumerate(cases):
      update(done, label)
      costs.append(_measure(
          label, name, changes, log, updates=updates, batch_size=batch_size))
      update(done + 1, label)
  if as_json:
    console.say_json(json.dumps(
        [dataclasses.asdict(cost) for cost in costs], indent=2))
  else:
    _print_table(costs, batch_size)


def _print_table(costs: list[Cost], batch_size: int) -> None:
  table = console.Table(
      f'CPU time on one thread, batches of {batch_size}')
  for column in (
      'learner', 'unit', 'one graph', 'a call each', 'bare products', 'Mflop'):
    table.add_column(
        column, justify='left' if column in ('learner', 'unit') else 'right')
  for cost in costs:
    table.add_row(
        cost.learner, cost.unit, f'{cost.one_graph:.2f}',
        '-' if cost.call_each is None else f'{cost.call_each:.2f}',
        f'{cost.bare_products:.2f}', f'{cost.megaflop:.1f}')
  table.show()


def _make_log(count: int, num_observations: int, num_actions: int) -> Log:
  """Returns random transitions and the problem of a greedy policy."""
  import numpy as np
  import tensorflow as tf

  from dfiv_ope import types
  from dfiv_ope.nn import networks
  from dfiv_ope.ope import bellman
  from dfiv_ope.policies import finite
  generator = np.random.default_rng(0)
  observation, later = generator.standard_normal((2, count, num_observations))
  transitions = types.Transition(
      observation=tf.constant(observation, tf.float32),
      action=tf.constant(
          generator.integers(num_actions, size=count), tf.int32),
      reward=tf.constant(generator.standard_normal(count), tf.float32),
      discount=tf.constant(generator.random(count) > 0.1, tf.float32),
      next_observation=tf.constant(later, tf.float32))
  layers = [networks.Dense(size) for size in _POLICY_NET]
  policy = finite.Greedy(
      networks.Network(
          (*layers, networks.Dense(num_actions, None)),
          input_size=num_observations, seed=0),
      num_observations=num_observations)
  problem = bellman.pose(
      transitions, policy, discount=_DISCOUNT, num_actions=num_actions)
  return Log(
      problem, transitions, problem.rows(transitions, support=1))


def _measure(
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
    method: one of `agents.NAMES`.
    changes: of the paper's config.
    log: what it learns from.
    updates: updates of each measurement.
    batch_size: rows of each of the two batches of an update.
  """
  import tensorflow as tf

  from dfiv_ope.agents import memory
  module = agents.load(method)
  config = dataclasses.replace(
      module.CONFIGS['paper'], batch_size=batch_size, **changes)
  agent: base.Agent = module.make(config, log.problem, seed=0)
  data = memory.InMemory(log.rows, batch_size=batch_size, seed=0)
  if not config.updates:
    def solve(count: int) -> None:
      for _ in range(count):
        agent.solve(data.parts)

    recorded = products.record(lambda: solve(1))
    one_graph, bare = _seconds([solve, products.bare(recorded)], 1)
    return Cost(
        learner=learner, unit='s/solve', one_graph=one_graph, call_each=None,
        bare_products=bare, megaflop=products.megaflop(recorded))

  @tf.function
  def loop(count: tf.Tensor) -> None:
    for _ in tf.range(count):
      agent.update(data.sample(), data.sample())

  one = tf.function(agent.update)
  # As learners usually have it: transitions are shuffled one by one, and the
  # policy is asked anew for every batch.
  batches = iter(
      tf.data.Dataset.from_tensor_slices(log.transitions)
      .shuffle(len(log.transitions.action), seed=0).repeat()
      .batch(batch_size, drop_remainder=True)
      .map(lambda batch: log.problem.rows(batch, support=1)))

  def call_each(count: int) -> None:
    for _ in range(count):
      one(next(batches), next(batches))

  recorded = products.record(lambda: agent.update(data.sample(), data.sample()))
  times = _seconds(
      [lambda count: loop(tf.constant(count)), call_each,
       products.bare(recorded)], updates)
  return Cost(
      learner=learner, unit='ms/update', one_graph=1e3 * times[0],
      call_each=1e3 * times[1], bare_products=1e3 * times[2],
      megaflop=products.megaflop(recorded))


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
