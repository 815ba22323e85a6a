"""The designs of the IV benchmarks: their names, and their rows as a frame."""

from collections.abc import Iterable, Mapping
import dataclasses
import math
from typing import Any

import pandas as pd

from dfiv_ope.benchmarks import baselines
from dfiv_ope.launch.reporting import frames, method_labels
from dfiv_ope.results import problems
from dfiv_ope.results import rows as rows_lib

# The method of pictures that learns nothing: shown, but never the best.
REFERENCE = 'lit_pixels'
# All that are shown beside methods and are none.
NO_METHODS = (REFERENCE, *baselines.NAMES)

_KINDS: dict[str, type] = {'n': int, 'rho': float}


@dataclasses.dataclass(frozen=True, kw_only=True)
class Design:
  """What a report says of a design.

  Attributes:
    title: its name as a heading.
    words: its name in a sentence.
    numbers: the parameters of its problem that are numbers.
    case: the parameter that is a word; empty if there is none.
    note: what a reader of its errors should know.
    published: mean and standard error of the published table, by method and
      case.
  """

  title: str
  words: str
  numbers: tuple[str, ...]
  case: str = ''
  note: str = ''
  published: Mapping[tuple[str, str], tuple[str, str]] = dataclasses.field(
    default_factory=dict
  )

  @property
  def setting(self) -> list[str]:
    """The columns of a frame that tell one setting from another."""
    return ['case', *self.numbers] if self.case else [*self.numbers]

  def missing(self, parameters: Mapping[str, Any]) -> list[str]:
    """Returns the names of parameters that are not there."""
    unsaid = [
      name
      for name in self.numbers
      if not math.isfinite(frames.number(parameters.get(name)))
    ]
    if self.case and not parameters.get(self.case):
      unsaid.insert(0, self.case)
    return unsaid

  def label(self, parameters: Mapping[str, Any]) -> str:
    """Returns the case of a problem, with where its pictures are from."""
    case = str(parameters[self.case]) if self.case else ''
    return (
      f'{case} ({parameters["images"]})' if 'images' in parameters else case
    )


DESIGNS = {
  'demand': Design(
    title='Demand design', words='the demand design', numbers=('n', 'rho')
  ),
  'demand_mnist': Design(
    title='Demand design with digits',
    words='the demand design with digits',
    numbers=('n', 'rho'),
  ),
  'dsprites': Design(
    title='dSprites',
    words='dSprites',
    numbers=('n',),
    case='outcome',
    note=(
      'The quadratic in the number of lit pixels is no learner and is '
      "not marked: a method far above it on 'area' has learned little, "
      "and on 'orientation' it is no better than a constant. No "
      'instrument tells the mean of the hidden position, so a perfect '
      'method has an error of about 0.24.'
    ),
  ),
  'mnist': Design(
    title='MNIST',
    words='the MNIST scenarios',
    numbers=('n',),
    case='scenario',
    note=(
      'The letters of a scenario name what is seen as a digit. '
      'Standardised is the error for an outcome of variance one, most '
      "likely the scale of the paper's table (mean ± standard error), "
      'in which the numbers of DeepGMM are those of Bennett et al. '
      '(2019).'
    ),
    published={
      ('deepgmm', 'x'): ('0.15', '0.02'),
      ('deepgmm', 'z'): ('0.07', '0.02'),
      ('deepgmm', 'xz'): ('0.14', '0.02'),
      ('dfiv', 'x'): ('0.18', '0.01'),
      ('dfiv', 'z'): ('0.07', '0.001'),
      ('dfiv', 'xz'): ('0.10', '0.003'),
    },
  ),
  'suite': Design(
    title='Suite of designs',
    words='the suite of designs',
    numbers=('n',),
    case='law',
    note=(
      'Errors are shares of the variance of the outcome (functions of '
      'one treatment), of the effect (those with covariates or heavy '
      'tails), or of normalised sales (noisy_demand). A constant, plain '
      'regression and the oracle are no methods and are not marked.'
    ),
  ),
}


def of(name: str, rows: Iterable[rows_lib.Row]) -> list[rows_lib.Row]:
  """Returns the rows of a design."""
  return [
    row
    for row in rows
    if isinstance(row.problem, problems.IVDesign) and row.problem.name == name
  ]


def parameters(row: rows_lib.Row) -> Mapping[str, Any]:
  """Returns the parameters of the design of a row."""
  assert isinstance(row.problem, problems.IVDesign)
  return row.problem.parameters


def frame(name: str, rows: list[rows_lib.Row]) -> pd.DataFrame:
  """Returns rows of a design as a frame, one line a row.

  A row that failed, or has no finite error, is `failed` and its errors are
  inf. `case` is empty where the design has none.

  Args:
    name: one of `DESIGNS`.
    rows: rows of that design.

  Raises:
    ValueError: a row does not say its setting.
  """
  design = DESIGNS[name]
  lines = []
  for row, variant in zip(rows, method_labels.variants(rows), strict=True):
    said = parameters(row)
    missing = design.missing(said)
    if missing:
      raise ValueError(
        f'A row of {row.method} on {design.words} does not say its '
        f'{", ".join(missing)}, so it was written by another version. Run '
        'it again into a new directory.'
      )
    mse = frames.number(row.metrics.get('mse'))
    failed = row.failed or not math.isfinite(mse)
    lines.append(
      {
        'variant': variant,
        'method': row.method,
        'preset': row.preset,
        'case': design.label(said),
        **{each: _KINDS[each](said[each]) for each in design.numbers},
        'seed': row.seed,
        'mse': math.inf if failed else mse,
        'standardised': math.inf
        if failed
        else frames.number(row.metrics.get('mse_standardised')),
        **{
          each: frames.number(row.metrics.get(each))
          for each in ('first_stage_r2', 'effective_f')
        },
        'failed': failed,
        'outcome': row.outcome,
        'reason': row.reason or ('The error is not finite.' if failed else ''),
        'cpu_seconds': row.cpu_seconds,
      }
    )
  return pd.DataFrame(lines)


def settings(
  name: str, lines: pd.DataFrame
) -> list[tuple[dict[str, Any], pd.DataFrame]]:
  """Returns the lines of each setting, with the setting; small ones first."""
  columns = DESIGNS[name].setting
  parts = [
    ({each: part[each].tolist()[0] for each in columns}, part)
    for _, part in lines.groupby(columns)
  ]
  # The paper's order of scenarios is x, z, xz.
  return sorted(
    parts, key=lambda each: (len(each[0].get('case', '')), *each[0].values())
  )


def describe(setting: Mapping[str, Any]) -> str:
  """Returns a setting in a few words."""
  return ', '.join(
    str(value)
    if name == 'case'
    else f'{name} = {value:,}'
    if name == 'n'
    else f'{name} = {value:g}'
    for name, value in setting.items()
  )
