"""`dfiv-ope sweep`: tasks x noise levels x methods x seeds, resumable."""

import pathlib
from typing import Annotated

import typer

from dfiv_ope.launch import options


def sweep(
  out: options.Out,
  file: Annotated[
    pathlib.Path | None,
    typer.Argument(
      help='YAML with the names of these options and more; an option given '
      'here wins.',
      metavar='[FILE]',
    ),
  ] = None,
  tasks: options.TaskList = None,
  noises: Annotated[
    str | None,
    typer.Option(
      help='Probabilities that the environment replaces an action; with '
      'commas. Without it the six of the paper.'
    ),
  ] = None,
  methods: options.MethodList = None,
  configs: options.PresetList = None,
  budget: options.Budget = None,
  seeds: Annotated[
    int | None,
    typer.Option(help='Number of seeds (0, 1, 2, ...); 5 without it.'),
  ] = None,
  datasets: Annotated[
    list[pathlib.Path] | None,
    typer.Option(
      '--datasets',
      help='Directory whose datasets of `dataset make` are '
      'used where they are as the sweep wants them; may be repeated.',
      metavar='DIR',
    ),
  ] = None,
  sweeping: options.Sweeping = options.SWEEPING,
) -> None:
  """Evaluate many methods on many datasets, on one machine or a cluster.

  Policies and datasets are made as they are needed. Kill it whenever you
  like: the same command goes on, and gives the same rows. A run that breaks
  down is recorded with its error and does not stop the others; the exit code
  is then 1, and the same command tries it again.

      dfiv-ope sweep --tasks catch --noises 0,0.2 --methods all --out runs

      dfiv-ope sweep grid.yaml --out runs --dry-run
  """
  from dfiv_ope import yaml_files
  from dfiv_ope.evaluation import sweep_spec

  given = {
    'tasks': tasks,
    'noises': noises,
    'methods': methods,
    'configs': configs,
    'budget': budget,
    'seeds': seeds,
  }
  spec = sweep_spec.parse(
    {
      **(yaml_files.read(file) if file else {}),
      **{name: value for name, value in given.items() if value is not None},
    }
  )
  from dfiv_ope.launch import runner
  from dfiv_ope.launch.experiments import plan

  runner.sweep(
    plan.sweep(spec), out, sweeping, title='Sweeping', datasets=datasets or ()
  )
