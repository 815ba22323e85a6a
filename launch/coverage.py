"""`dfiv-ope benchmark coverage`: how often intervals hold the true value."""

import pathlib
from typing import Annotated

import typer

from dfiv_ope import agents, limits, overrides
from dfiv_ope.agents import configured
from dfiv_ope.launch import options


def coverage(
  dataset: Annotated[
    pathlib.Path,
    typer.Argument(
      help='A dataset of `dataset make`: new logs are made as it was.',
      metavar='DATASET',
    ),
  ],
  out: options.Out,
  method: options.Methods = None,
  logs: Annotated[int, typer.Option(help='New logs to draw.', min=1)] = 40,
  seeds: options.Seeds = 3,
  level: options.Level = 0.95,
  settings: options.Settings = None,
  running: options.Running = options.RUNNING,
) -> None:
  """Counts how often the intervals of `evaluate` hold the true value.

  Draws independent logs with the policy, the task and the size of DATASET,
  gives each to the method as `evaluate` does, and compares the interval with
  the true value of the record. A killed command goes on when it is given
  again; `dfiv-ope report` shows every interval.

      dfiv-ope benchmark coverage data/catch --method lstd --out runs
  """
  asked = overrides.methods(method or options.ONE, agents.NAMES, settings or [])
  limits.count('--logs', logs, most=limits.LOGS)
  from dfiv_ope.datasets import finding

  finding.require(dataset)
  from dfiv_ope.launch import runner
  from dfiv_ope.launch.experiments import plan
  from dfiv_ope.launch.reporting import coverage as coverage_table

  where = runner.executor(running.workers or 1, running.ray)
  planned = plan.coverage(
    dataset.resolve() if running.ray else dataset,
    [
      configured.configure(each.method, settings=each.settings)
      for each in asked
    ],
    logs=logs,
    seeds=seeds,
    level=level,
  )
  runner.answer(
    runner.carry_out(planned, out, where, title='Logs'),
    out,
    show=coverage_table.show,
    data=coverage_table.data,
    as_json=running.as_json,
  )
