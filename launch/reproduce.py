"""`dfiv-ope reproduce`: the experiments of the paper, one command each."""

import pathlib
from typing import Annotated, Any

import typer

from dfiv_ope.launch import report, sweep

app = typer.Typer(
    help='Run the experiments of the paper.', no_args_is_help=True)

# What each budget asks of a sweep.
_OPE: dict[str, dict[str, Any]] = {
    'quick': {'noises': (0., 0.2, 0.5), 'seeds': 2},
    'full': {'noises': (0., 0.1, 0.2, 0.3, 0.4, 0.5), 'seeds': 5},
}


@app.callback()
def _group() -> None:
  """Makes `ope` a command of its own, however many there are."""


@app.command()
def ope(
    out: Annotated[pathlib.Path, typer.Option(
        help='Run directory; its report goes into a folder of it.')],
    budget: Annotated[str, typer.Option(
        help='quick: noise 0, 0.2 and 0.5, two seeds, short training; under an '
             'hour on two cores. full: six levels, five seeds, training as '
             'long as the configs say; about ten hours.')] = 'quick',
    jobs: sweep.Jobs = None,
    dry_run: sweep.DryRun = False,
    ray: sweep.Ray = None,
) -> None:
  """Off-policy evaluation: errors against noise on the three tasks.

  Every method runs with the paper's config and with the default one, side by
  side. The report shows the paper's figure. A killed run goes on when the same
  command is given again.

      dfiv-ope reproduce ope --budget quick --out runs
  """
  if budget not in _OPE:
    raise ValueError(
        f'There is no budget {budget!r}. Choose one of {", ".join(_OPE)}.')
  from dfiv_ope.launch import asked
  request = asked.Request(
      configs=('default', 'paper'), budget=budget, **_OPE[budget])
  sound = sweep.carry_out(request, out, jobs=jobs, dry_run=dry_run, ray=ray)
  if not dry_run:
    report.report(out, out=out / 'report')
  if not sound:
    raise typer.Exit(1)
