"""`dfiv-ope iv ...`: the instrumental-variable benchmarks."""

import collections
import pathlib
import statistics
from typing import TYPE_CHECKING, Annotated, Any

from rich import table as rich_table
import typer

from dfiv_ope import methods
from dfiv_ope.launch import console, overrides, runtime

if TYPE_CHECKING:
  from dfiv_ope import results

app = typer.Typer(
    help='Instrumental-variable regression on its benchmarks.',
    no_args_is_help=True)

FIGURES = ('ate', 'cate', 'joint', 'mse')


@app.callback()
def _group() -> None:
  """Makes `demand` a command of its own, however many there are."""


@app.command()
def demand(
    out: Annotated[pathlib.Path, typer.Option(
        help='Directory of the result rows; a run that has its row there is '
             'not run again.')],
    method: Annotated[list[str] | None, typer.Option(
        help=f'{", ".join(methods.NAMES)}, or all; may be repeated.')] = None,
    n: Annotated[list[int] | None, typer.Option(
        help='Rows of both stages; may be repeated.  [default: 5000]')] = None,
    rho: Annotated[list[float] | None, typer.Option(
        help='Confounding, 0 to 1; may be repeated.  [default: 0.5]')] = None,
    seeds: Annotated[int, typer.Option(
        help='Runs seeds 0 to this number, less one.')] = 5,
    paper: Annotated[bool, typer.Option(
        '--paper', help="The paper's settings instead of ours.")] = False,
    settings: Annotated[list[str] | None, typer.Option(
        '--set', help="name=value of the method's config; may be repeated.",
    )] = None,
    figure: Annotated[str | None, typer.Option(
        help=f'Draws {", ".join(FIGURES)} from the rows, as PNG and SVG.',
    )] = None,
) -> None:
  """Runs methods on the demand design and prints their errors."""
  if figure is not None and figure not in FIGURES:
    raise ValueError(
        f'There is no figure {figure!r}. Choose one of {", ".join(FIGURES)}.')
  if not method and figure is None:
    raise ValueError(
        'Name a --method to run, or a --figure to draw from rows. Methods: '
        f'{", ".join(methods.NAMES)}, all.')
  if seeds < 1:
    raise ValueError(f'--seeds must be at least 1, got {seeds}.')
  names = overrides.method_names(
      method or [], methods.NAMES, settings or [])
  from dfiv_ope import results
  if not names:
    results.read(out)  # Says at once if there is nothing to draw.
  runtime.start()
  if names:
    keys = _run(
        names, n or [5000], rho or [0.5], seeds, paper=paper,
        settings=settings or [], out=out)
    _print_table([row for row in results.read(out) if row.key in keys])
  if figure is not None:
    from dfiv_ope.launch import iv_figures
    for path in iv_figures.draw(figure, results.read(out), out):
      console.OUTPUT.print(str(path), highlight=False)


def _run(
    names: list[str],
    sizes: list[int],
    rhos: list[float],
    seeds: int,
    *,
    paper: bool,
    settings: list[str],
    out: pathlib.Path,
) -> set[str]:
  """Runs what has no row yet; returns the keys of all that was asked for."""
  from dfiv_ope import configs, results
  from dfiv_ope.benchmarks import demand as design
  from dfiv_ope.benchmarks import demand_trials
  cells: dict[str, tuple[Any, ...]] = {}
  for name in names:
    for size in sizes:
      config = (
          demand_trials.paper_config(name, size) if paper
          else methods.load(name).Config())
      config = overrides.apply(config, settings)
      for rho in rhos:
        for seed in range(seeds):
          key = results.key(
              design.problem(size, rho), name, configs.encode(config), seed)
          cells[key] = name, config, size, rho, seed
  have = results.keys(out)
  missing = [cell for key, cell in cells.items() if key not in have]
  if len(missing) < len(cells):
    console.NOTES.print(
        f'{len(cells) - len(missing)} of {len(cells)} runs have their rows in '
        f'{out} and are not run again.', highlight=False)
  with console.progress('Demand design', len(missing)) as update:
    for done, (name, config, size, rho, seed) in enumerate(missing):
      note = f'{name} n={size} rho={rho:g} seed={seed}'
      update(done, note)
      row = demand_trials.run(
          name, config, n=size, rho=rho, seed=seed,
          progress=lambda step, steps, _, done=done, note=note: update(
              done + step / steps, note))
      results.append(out, row)
      update(done + 1, note)
  return set(cells)


def _print_table(rows: list['results.ResultRow']) -> None:
  """Prints the median error and time of each setting over its seeds."""
  groups = collections.defaultdict(list)
  for row in rows:
    groups[row.method, row.problem['n'], row.problem['rho'],
           repr(row.config)].append(row)
  table = rich_table.Table(
      title='Demand design: mean squared error on the grid')
  for column in (
      'method', 'n', 'rho', 'seeds', 'median', 'least', 'most', 'CPU s'):
    table.add_column(column, justify='left' if column == 'method' else 'right')
  for (method, n, rho, _), group in groups.items():
    errors = [row.metrics['mse'] for row in group]
    table.add_row(
        method, str(n), f'{rho:g}', str(len(group)),
        f'{statistics.median(errors):.0f}', f'{min(errors):.0f}',
        f'{max(errors):.0f}',
        f'{statistics.median(row.cpu_seconds for row in group):.2f}')
  console.OUTPUT.print(table)
