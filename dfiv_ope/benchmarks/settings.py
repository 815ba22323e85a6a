"""Which config a method has on which design: ours, and the paper's."""

from collections.abc import Mapping
from typing import Any

from dfiv_ope import methods
from dfiv_ope.benchmarks import image_settings  # noqa


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
  if problem['name'] != 'demand':
    return image_settings.config(problem, method, paper=paper)
  module = methods.load(method)
  if not paper:
    return module.Config()
  if method == 'deepiv':
    return module.Config.paper(problem['n'])
  if not hasattr(module, 'PAPER'):
    raise ValueError(
        f'The paper has no setting for {method!r}; run it without --paper.')
  return module.PAPER
