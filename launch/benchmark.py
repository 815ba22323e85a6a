"""`dfiv-ope benchmark ...`: what the learners cost."""

import dataclasses
import json
from typing import Annotated

import typer

from dfiv_ope import agents, hints, limits
from dfiv_ope.launch import completion, console, options, runtime


def invariance(
  rows: Annotated[
    int, typer.Option(help='Rows of the made-up data.', min=40)
  ] = 600,
) -> None:
  """Print how much units and offsets change the answer of each method.

  Observations, treatments, instruments and covariates are shifted by 1e12 and
  multiplied by 1e-20 and 1e20, rewards and outcomes multiplied. A table in
  Markdown has the largest change of an answer, as a share of its size.
  """
  runtime.start()
  from dfiv_ope.evaluation import invariance as invariance_lib

  for line in invariance_lib.table(rows, progress=console.progress):
    console.say(line)


def learners(
  method: Annotated[
    list[str] | None,
    typer.Option(
      help=f'{", ".join(agents.LEARNERS)}; may be repeated.  [default: all]',
      autocompletion=completion.among(agents.LEARNERS),
    ),
  ] = None,
  updates: Annotated[
    int, typer.Option(help='Updates of each measurement.')
  ] = 300,
  batch_size: Annotated[int, typer.Option(help='Rows of a batch.')] = 1024,
  observations: Annotated[
    int, typer.Option(help='Entries of an observation; catch has 50.')
  ] = 50,
  actions: Annotated[int, typer.Option(help='Number of actions.')] = 3,
  rows: Annotated[
    int, typer.Option(help='Transitions of the made-up log.')
  ] = 20_000,
  as_json: options.Json = False,
) -> None:
  """Measures the CPU time of an update of each learner, in three ways.

  The networks are the paper's. "one graph" is how they are run here: many
  updates within one tf.function on rows in memory. "a call each" is the same
  update as one call of a tf.function on a tf.data pipeline. "bare products"
  are the matrix products of an update in numpy and nothing else. Of the
  closed forms it is the time of a solve, and the products are those of its
  sums over the log, computed from their sizes.
  """
  limits.count('--updates', updates, most=limits.UPDATES)
  limits.count('--actions', actions, least=2, most=limits.ACTIONS)
  limits.count('--observations', observations, most=limits.OBSERVATIONS)
  for name, value, least in (
    ('--batch-size', batch_size, 1),
    ('--rows', rows, 2),
  ):
    limits.count(
      name,
      value,
      least=least,
      most=limits.ENTRIES // max(observations, actions),
    )
  wanted = method or list(agents.LEARNERS)
  for name in wanted:
    hints.require('method', name, agents.LEARNERS)
  runtime.start()
  from dfiv_ope.agents import costs as costs_lib

  log = costs_lib.make_log(rows, observations, actions)
  measured = costs_lib.measure_all(
    wanted,
    log,
    updates=updates,
    batch_size=batch_size,
    progress=console.progress,
  )
  if as_json:
    console.say_json(
      json.dumps([dataclasses.asdict(cost) for cost in measured], indent=2)
    )
  else:
    from dfiv_ope.launch.reporting import cost_table

    cost_table.show(measured, batch_size)


def scale(
  most: Annotated[
    int,
    typer.Option(
      help='Rows of the largest log; 10,000 and powers of ten up to it.',
      min=10_000,
      max=1_000_000_000,
    ),
  ] = 1_000_000,
  as_json: options.Json = False,
) -> None:
  """Measures what `evaluate --method lstd` takes for larger and larger logs.

  CPU seconds and the largest memory are those of a process for each: start-up,
  interval, overlap and checks are among them. "bare products" are the matrix
  products of one pass of LSTD-Q in numpy and nothing else, measured in the same
  run. A log of more than 200,000 rows is read in parts.
  """
  from dfiv_ope.launch import command_costs

  sizes = [10**power for power in range(4, 10) if 10**power <= most]
  found = command_costs.scale(sizes, progress=console.progress)
  if as_json:
    console.say_json(
      json.dumps(
        [{**dataclasses.asdict(each), 'ratio': each.ratio} for each in found],
        indent=2,
      )
    )
    return
  table = console.Table('`evaluate --method lstd`, one seed, one thread')
  for column in ('rows', 'CPU s', 'GB', 'bare products, s', 'ratio'):
    table.add_column(column, justify='right')
  for each in found:
    table.add_row(
      f'{each.rows:,}',
      f'{each.cpu_seconds:.1f}',
      f'{each.gigabytes:.2f}',
      f'{each.bare_products:.2f}',
      f'{each.ratio:.1f}',
    )
  table.show()


def evaluate(
  rows: Annotated[
    int,
    typer.Option(
      help='Rows of the made-up log, which is in memory.',
      min=1_000,
      max=10_000_000,
    ),
  ] = 60_000,
  as_json: options.Json = False,
) -> None:
  """Measures where the time of `evaluate --method lstd` goes, in CPU seconds.

  The log is made up, its behaviour is not recorded, the target is the uniform
  policy. "bare products" are those of one pass of LSTD-Q in numpy.
  """
  from dfiv_ope.launch import command_costs

  found = command_costs.phases(rows)
  if as_json:
    console.say_json(
      json.dumps([dataclasses.asdict(each) for each in found], indent=2)
    )
    return
  table = console.Table(f'`evaluate --method lstd` on {rows:,} rows, CPU s')
  table.add_column('phase')
  table.add_column('CPU s', justify='right')
  for each in found:
    table.add_row(each.name, f'{each.cpu_seconds:.2f}')
  table.show()
