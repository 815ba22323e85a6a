"""Which config a method has on a design, and what a run of it takes."""

from typing import Any

from dfiv_ope import registry
from dfiv_ope.benchmarks import image_costs, image_settings
from dfiv_ope.iv import methods
from dfiv_ope.iv.methods.entries import deepiv
from dfiv_ope.results import problems


def config(
  problem: problems.IVDesign, method: str, *, paper: bool = False
) -> Any:
  """Returns the config of a method on a design.

  Args:
    problem: `problem` of a design.
    method: one of `methods.NAMES`.
    paper: whether the paper's setting is wanted instead of ours.

  Raises:
    ValueError: there is no such setting.
  """
  if problem.name in ('demand', 'suite'):
    return _numbers(problem.parameters['n'], method, paper)
  tables = image_settings.PAPER if paper else image_settings.OURS
  made = tables[problem.name]
  if method not in made:
    whose = 'The paper has' if paper else 'There is'
    known = f'Choose from {", ".join(made)}.' if made else 'Leave --paper out.'
    raise ValueError(
      f'{whose} no setting for {method!r} on {problem.name!r}. {known}'
    )
  return made[method](problem.parameters)


def seconds(name: str, method: str, config: Any, preset: str) -> float:
  """Returns the CPU seconds that a run on a design takes, roughly.

  Args:
    name: of the design.
    method: one of `methods.NAMES`.
    config: of the run, in which fields of the preset may be changed.
    preset: 'default' or 'paper'.
  """
  paper = preset == 'paper'
  tables = image_costs.PAPER if paper else image_costs.OURS
  cost = tables.get(name, {}).get(method)
  if cost is not None:
    return registry.of_fields(cost, config)
  return methods.ENTRIES[method].seconds(config, preset)


def _numbers(n: int, method: str, paper: bool) -> Any:
  entry = registry.find(method, methods.ENTRIES)
  if not paper:
    return entry.configs['default']
  if method == 'deepiv':
    return deepiv.Config.paper(n)
  if 'paper' not in entry.configs:
    raise ValueError(
      f'The paper has no setting for {method!r}; run it without --paper.'
    )
  return entry.configs['paper']
