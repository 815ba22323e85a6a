"""`dfiv-ope reproduce`: the experiments of the paper, one command each."""

from collections.abc import Callable
import pathlib
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dfiv_ope import envs, hints, overrides
from dfiv_ope.benchmarks import reproduction
from dfiv_ope.launch import completion, console, options

if TYPE_CHECKING:
  from dfiv_ope.launch.experiments import jobs

Out = Annotated[pathlib.Path, typer.Option(
    help='Run directory; its report goes into a folder of it.')]


def _budget(quick: str, full: str) -> Any:
  return typer.Option(
      help=f'quick: {quick} full: {full}',
      autocompletion=completion.among(reproduction.OPE))


def ope(
    out: Out,
    budget: Annotated[str, _budget(
        'noise 0, 0.2 and 0.5, two seeds, short training; under an hour on '
        'two cores.',
        'six levels, five seeds, training as long as the configs say; about '
        'ten hours.')] = 'quick',
    workers: options.Workers = None,
    dry_run: options.DryRun = False,
    ray: options.Ray = None,
) -> None:
  """Off-policy evaluation: errors against noise on the three tasks.

  Every method runs with the paper's config and with the default one, side by
  side. The report shows the paper's figure. A killed run goes on when the same
  command is given again.

      dfiv-ope reproduce ope --budget quick --out runs
  """
  _check_budget(budget)
  from dfiv_ope.launch.experiments import plan, sweep_spec
  _carry_out(
      plan.sweep(sweep_spec.SweepSpec(
          configs=('default', 'paper'), budget=budget,
          **reproduction.OPE[budget])),
      out, workers=workers, ray=ray, dry_run=dry_run)


def control(
    out: Out,
    budget: Annotated[str, _budget(
        'one seed, logs of 100,000 steps, short training.',
        'three seeds, logs of 200,000 steps, training as long as the configs '
        'say.')] = 'quick',
    workers: options.Workers = None,
    dry_run: options.DryRun = False,
    ray: options.Ray = None,
) -> None:
  """Actions that are vectors: four DM Control tasks, three levels of noise.

  Needs the extra `control`. Policies take some CPU minutes each.

      dfiv-ope reproduce control --out runs
  """
  _check_budget(budget)
  from dfiv_ope.launch.experiments import plan, sweep_spec
  envs.make(envs.CONTROL[0], seed=0)  # Refuses if DM Control is missing.
  _carry_out(
      plan.sweep(sweep_spec.SweepSpec(
          tasks=envs.CONTROL, budget=budget, **reproduction.CONTROL[budget])),
      out, workers=workers, ray=ray, dry_run=dry_run)


def dsprites(
    out: Out,
    budget: Annotated[str, _budget(
        'n = 5000, three seeds; half an hour on one core.',
        'n = 1000, 5000 and 10000, five seeds, ours and the paper\'s configs; '
        'about a day.')] = 'quick',
    dsprites: options.Archive = None,
    workers: options.Workers = None,
    dry_run: options.DryRun = False,
    ray: options.Ray = None,
) -> None:
  """Pictures as treatments: errors of all methods, for both outcomes.

      dfiv-ope reproduce dsprites --out runs
  """
  from dfiv_ope.benchmarks import dsprites as design
  _carry_out(
      _designs('dsprites', budget, lambda fields: design.DSprites(
          archive=dsprites, **fields)),
      out, workers=workers, ray=ray, dry_run=dry_run)


def demand_mnist(
    out: Out,
    budget: Annotated[str, _budget(
        'rho = 0.5, one seed; half an hour on one core.',
        'five levels of rho, five seeds, ours and the paper\'s configs; the '
        'paper\'s networks take hours a run.')] = 'quick',
    mnist: options.MNIST = None,
    workers: options.Workers = None,
    dry_run: options.DryRun = False,
    ray: options.Ray = None,
) -> None:
  """The demand design with a digit for the customer group.

      dfiv-ope reproduce demand-mnist --mnist DIR --out runs
  """
  from dfiv_ope.benchmarks import demand_mnist as design
  _carry_out(
      _designs('demand-mnist', budget, lambda fields: design.DemandMNIST(
          mnist=mnist, **fields)),
      out, workers=workers, ray=ray, dry_run=dry_run)


def mnist(
    out: Out,
    budget: Annotated[str, _budget(
        'one seed; an hour on one core.', 'five seeds.')] = 'quick',
    mnist: options.MNIST = None,
    workers: options.Workers = None,
    dry_run: options.DryRun = False,
    ray: options.Ray = None,
) -> None:
  """The digits of Bennett et al.: DFIV and DeepGMM, three scenarios.

      dfiv-ope reproduce mnist --mnist DIR --out runs
  """
  from dfiv_ope.benchmarks import mnist_scenarios as design
  _carry_out(
      _designs('mnist', budget, lambda fields: design.MNISTScenario(
          mnist=mnist, **fields)),
      out, workers=workers, ray=ray, dry_run=dry_run)


def instability(
    out: Out,
    budget: Annotated[str, _budget(
        'our configs, two seeds; ten minutes on one core.',
        'ours and the paper\'s, five seeds.')] = 'quick',
    dsprites: options.Archive = None,
    workers: options.Workers = None,
    dry_run: options.DryRun = False,
    ray: options.Ray = None,
) -> None:
  """The error of DeepGMM and DFIV on dSprites while they train.

      dfiv-ope reproduce instability --out runs
  """
  from dfiv_ope.benchmarks import dsprites as design
  _carry_out(
      _designs('instability', budget, lambda fields: design.DSprites(
          archive=dsprites, **fields)),
      out, workers=workers, ray=ray, dry_run=dry_run)


def _check_budget(budget: str) -> None:
  if budget not in reproduction.OPE:
    raise ValueError(hints.unknown('budget', budget, list(reproduction.OPE)))


def _designs(
    name: str, budget: str, design: Callable[..., Any],
) -> list['jobs.Experiment']:
  """Returns the experiments of a benchmark."""
  _check_budget(budget)
  from dfiv_ope.launch.experiments import plan
  wanted = reproduction.IV[name][budget]
  designs = [design(fields) for fields in wanted.designs]
  return [
      experiment for preset, names in (
          ('default', wanted.methods), ('paper', wanted.paper))
      for experiment in plan.designs(
          designs, [overrides.Wanted(each, ()) for each in names],
          seeds=wanted.seeds, preset=preset, watch=wanted.watch)]


def _carry_out(
    asked: list['jobs.Experiment'], out: pathlib.Path, *, workers: int | None,
    ray: str | None, dry_run: bool,
) -> None:
  """Runs experiments and makes their report."""
  from dfiv_ope.launch import plans, runner
  from dfiv_ope.launch.experiments import store
  from dfiv_ope.launch.reporting import publish
  where = runner.Where(workers=workers or runner.CORES, ray=ray)
  have = store.Store(store.Places(out))
  if dry_run:
    plans.show(asked, have)
    return
  with have.exclusive():
    finished = runner.run(list(asked), have, where, title='Reproducing')
  runner.print_sweep(finished, out)
  console.say(publish.publish(have.all_rows(), str(out), out / 'report'))
  if not finished.sound:
    raise typer.Exit(1)
