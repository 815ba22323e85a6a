"""Which config a method has on which design: ours, and the paper's."""

from collections.abc import Mapping
from typing import Any

from dfiv_ope.benchmarks import image_settings
from dfiv_ope.iv import methods


def config(
    problem: Mapping[str, Any], method: str, *, paper: bool = False,
) -> Any:
  """Returns the config of a method on a design.

  Args:
    problem: `problem` of a design.
    method: one of `methods.NAMES`.
    paper: whether the paper's setting is wanted instead of ours.

  Raises:
    ValueError: there is no such setting.
  """
  if problem['name'] == 'demand':
    return _demand(problem['n'], method, paper)
  tables = image_settings.PAPER if paper else image_settings.OURS
  made = tables[problem['name']]
  if method not in made:
    whose = 'The paper has' if paper else 'There is'
    known = f'Choose from {", ".join(made)}.' if made else 'Leave --paper out.'
    raise ValueError(
        f'{whose} no setting for {method!r} on {problem["name"]!r}. {known}')
  return made[method](problem)


def _demand(n: int, method: str, paper: bool) -> Any:
  module = methods.load(method)
  if not paper:
    return module.Config()
  if method == 'deepiv':
    return module.Config.paper(n)
  if not hasattr(module, 'PAPER'):
    raise ValueError(
        f'The paper has no setting for {method!r}; run it without --paper.')
  return module.PAPER
