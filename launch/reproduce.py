"""`dfiv-ope reproduce`: the experiments of the paper, one command each."""

from collections.abc import Callable
import pathlib
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dfiv_ope import envs, overrides
from dfiv_ope.benchmarks import reproduction
from dfiv_ope.launch import options

if TYPE_CHECKING:
  from dfiv_ope.benchmarks import trials

Out = Annotated[pathlib.Path, typer.Option(
    help='Run directory; its report goes into a folder of it.')]


def _budget(quick: str, full: str) -> Any:
  return typer.Option(
      help=f'quick: {quick} full: {full}',
      **options.one_of('budget', tuple(reproduction.OPE)))


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
  from dfiv_ope.launch import runner
  from dfiv_ope.launch.experiments import plan, sweep_spec
  spec = sweep_spec.SweepSpec(
      configs=('default', 'paper'), budget=budget, **reproduction.OPE[budget])
  runner.sweep(
      plan.sweep(spec), out, title='Reproducing', report=True,
      workers=workers, ray=ray, dry_run=dry_run)


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
  from dfiv_ope.launch import runner
  from dfiv_ope.launch.experiments import plan, sweep_spec
  envs.make(envs.CONTROL[0], seed=0)  # Refuses if DM Control is missing.
  spec = sweep_spec.SweepSpec(
      tasks=envs.CONTROL, budget=budget, **reproduction.CONTROL[budget])
  runner.sweep(
      plan.sweep(spec), out, title='Reproducing', report=True,
      workers=workers, ray=ray, dry_run=dry_run)


def _benchmark(
    pictures: Any,
) -> Callable[[Callable[..., 'trials.Design']], Callable[..., None]]:
  """Makes a command of a function that makes the designs of a benchmark.

  Its name and its docstring are those of the command; it is called with the
  path of the pictures and the fields of each design of `reproduction.IV`.

  Args:
    pictures: the option that says where the pictures are.
  """

  def decorate(design: Callable[..., 'trials.Design']) -> Callable[..., None]:
    name = design.__name__.replace('_', '-')
    plans = reproduction.IV[name]

    def command(
        out: Out,
        budget: Annotated[str, _budget(
            plans['quick'].words, plans['full'].words)] = 'quick',
        path: str | None = None,
        workers: options.Workers = None,
        dry_run: options.DryRun = False,
        ray: options.Ray = None,
    ) -> None:
      from dfiv_ope.launch import runner
      from dfiv_ope.launch.experiments import plan
      wanted = plans[budget]
      designs = [design(path, **fields) for fields in wanted.designs]
      asked = [
          experiment for preset, names in (
              ('default', wanted.methods), ('paper', wanted.paper))
          for experiment in plan.designs(
              designs, [overrides.Wanted(each, ()) for each in names],
              seeds=wanted.seeds, preset=preset, watch=wanted.watch)]
      runner.sweep(
          asked, out, title='Reproducing', report=True, workers=workers,
          ray=ray, dry_run=dry_run)

    command.__doc__ = design.__doc__
    command.__annotations__['path'] = pictures
    return command

  return decorate


@_benchmark(options.Archive)
def dsprites(path: str | None, **fields: Any) -> 'trials.Design':
  """Pictures as treatments: errors of all methods, for both outcomes.

      dfiv-ope reproduce dsprites --out runs
  """
  from dfiv_ope.benchmarks import dsprites as design
  return design.DSprites(archive=path, **fields)


@_benchmark(options.MNIST)
def demand_mnist(path: str | None, **fields: Any) -> 'trials.Design':
  """The demand design with a digit for the customer group.

      dfiv-ope reproduce demand-mnist --mnist DIR --out runs
  """
  from dfiv_ope.benchmarks import demand_mnist as design
  return design.DemandMNIST(mnist=path, **fields)


@_benchmark(options.MNIST)
def mnist(path: str | None, **fields: Any) -> 'trials.Design':
  """The digits of Bennett et al.: DFIV and DeepGMM, three scenarios.

      dfiv-ope reproduce mnist --mnist DIR --out runs
  """
  from dfiv_ope.benchmarks import mnist_scenarios as design
  return design.MNISTScenario(mnist=path, **fields)


@_benchmark(options.Archive)
def instability(path: str | None, **fields: Any) -> 'trials.Design':
  """The error of DeepGMM and DFIV on dSprites while they train.

      dfiv-ope reproduce instability --out runs
  """
  from dfiv_ope.benchmarks import dsprites as design
  return design.DSprites(archive=path, **fields)
