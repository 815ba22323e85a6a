"""One row: an experiment and what came of it.

A row has everything that is needed to run it again; rows with the same key are
the same experiment. Of the method a key holds the config and the version of its
numbers, not where or how it is written.
"""

from collections.abc import Iterable, Mapping
import dataclasses
from typing import Any

from dfiv_ope import typed_json
from dfiv_ope.results import problems

# Of rows. Earlier ones had problems without types.
FORMAT = 3
# What came of a run: a divergence is a result, and so is a refusal, where a
# method cannot answer what is asked; an error may be tried again.
FINISHED, DIVERGED, REFUSED, ERROR = OUTCOMES = (
  'finished',
  'diverged',
  'refused',
  'error',
)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Row:
  """One experiment.

  Attributes:
    problem: what it was run on.
    method: name of the method.
    config: its config as JSON data (`configs.encode`).
    seed: the seed of the run.
    version: of the method's numbers (`registry.Entry`).
    versions: of Python, of us and of the libraries.
    metrics: numbers that came of it.
    curves: lists of numbers that came of it, for figures; None where a number
      was not finite.
    resamples: changes of the estimate when the episodes of a log are drawn
      anew (`inference.resample`), if they are known.
    inference: settings of what the row says of its own uncertainty, if it
      says any (`inference.constants`).
    cpu_seconds: process time of the fit.
    outcome: one of OUTCOMES.
    reason: why there is no result to trust; empty where there is one.
    preset: where the config is from: 'default' or 'paper'.
    custom: whether fields of the preset were changed.
    command: the command that remakes the row, if there is one.
  """

  problem: problems.Problem
  method: str
  config: Mapping[str, Any]
  seed: int
  version: int
  versions: Mapping[str, str]
  metrics: Mapping[str, float] = dataclasses.field(default_factory=dict)
  curves: Mapping[str, tuple[float | None, ...]] = dataclasses.field(
    default_factory=dict
  )
  resamples: tuple[float, ...] = ()
  inference: Mapping[str, Any] = dataclasses.field(default_factory=dict)
  cpu_seconds: float = 0.0
  outcome: str = FINISHED
  reason: str = ''
  preset: str = 'default'
  custom: bool = False
  command: str = ''

  def __post_init__(self) -> None:
    for name in ('method', 'config', 'versions'):
      if not getattr(self, name):
        raise ValueError(f'it does not say its {name}')
    if self.outcome not in OUTCOMES:
      raise ValueError(
        f'its outcome is {self.outcome!r}, not one of {", ".join(OUTCOMES)}'
      )
    if not self.cpu_seconds >= 0.0:
      raise ValueError(
        f'its cpu_seconds must not be negative, got {self.cpu_seconds}'
      )

  @property
  def key(self) -> str:
    """What the experiment is, whatever came of it."""
    return key(
      self.problem,
      self.method,
      self.config,
      self.seed,
      version=self.version,
      inference=self.inference,
    )

  @property
  def setting(self) -> str:
    """A hash of the method and its config, whatever they are run on."""
    return setting(self.method, self.config)

  @property
  def failed(self) -> bool:
    """Whether there is no result to trust."""
    return self.outcome != FINISHED

  @property
  def retry(self) -> bool:
    """Whether the run broke down, so that it may succeed another time."""
    return self.outcome == ERROR


def key(
  problem: problems.Problem,
  method: str,
  config: Mapping[str, Any],
  seed: int,
  *,
  version: int,
  inference: Mapping[str, Any] | None = None,
) -> str:
  """Returns the name of an experiment: a hash of what defines it."""
  return problems.hashed(
    [problem.identity(), method, config, seed, version, inference or {}]
  )


def setting(method: str, config: Mapping[str, Any]) -> str:
  """Returns a hash of a method and its config."""
  return problems.hashed([method, config])


def latest(found: Iterable[Row]) -> list[Row]:
  """Returns the last row of each experiment, whatever its version.

  An experiment has several rows where it broke down and was run again, or
  where the method's numbers or the settings of its interval have changed
  since.
  """
  by_experiment: dict[str, Row] = {}
  for row in found:
    name = key(row.problem, row.method, row.config, row.seed, version=0)
    by_experiment.pop(name, None)  # The order is that of the last rows.
    by_experiment[name] = row
  return list(by_experiment.values())


def renamed(found: Iterable[Row], names: Mapping[str, str]) -> list[Row]:
  """Returns rows of users' policies with other names of the policies.

  Args:
    found: rows of any problems.
    names: what a policy is called, by its digest.
  """
  return [
    dataclasses.replace(
      row,
      problem=dataclasses.replace(
        row.problem, policy=names[row.problem.target]
      ),
    )
    if isinstance(row.problem, problems.UserLog) and row.problem.target in names
    else row
    for row in found
  ]


def encode(row: Row) -> dict[str, Any]:
  """Returns a row as JSON data.

  Metrics that are not finite are left out, and are None in curves.

  Raises:
    ValueError: what is left is not a sound row.
  """
  fields = {
    field.name: getattr(row, field.name) for field in dataclasses.fields(row)
  }
  data = {
    'format': FORMAT,
    **fields,
    'problem': problems.encode(row.problem),
    'metrics': {
      name: value
      for name, value in row.metrics.items()
      if typed_json.is_number(value)
    },
    'curves': {
      name: [each if typed_json.is_number(each) else None for each in values]
      for name, values in row.curves.items()
    },
    'resamples': list(row.resamples),
  }
  try:
    decode(data)
  except ValueError as error:
    raise ValueError(
      f'The row of {row.method} with seed {row.seed} cannot be kept: {error}.'
    ) from error
  return data


def decode(data: Any) -> Row:
  """Returns the row that `encode` was given.

  Raises:
    ValueError: the data is no sound row of this version.
  """
  if not isinstance(data, Mapping):
    raise ValueError(f'it is {typed_json.shown(data)}, not names and values')
  if data.get('format') != FORMAT:
    raise ValueError(
      f'its format is {data.get("format", 1)}, but this version of dfiv-ope '
      f'reads format {FORMAT}'
    )
  row: Row = typed_json.fields(
    Row, {name: value for name, value in data.items() if name != 'format'}
  )
  if not row.failed:
    # The log's own average has draws of its episodes, and nothing to correct.
    measured = [
      *row.problem.measured,
      *(['correction'] if row.resamples and row.inference else []),
    ]
    missing = [name for name in measured if name not in row.metrics]
    if missing:
      raise ValueError(f'its metrics lack {", ".join(missing)}')
  return row
