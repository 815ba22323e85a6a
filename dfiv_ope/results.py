"""Result rows: what was run on what, and what came of it.

A run directory holds one file of JSON lines. A row has everything that is
needed to run it again; rows with the same key are the same experiment. A key
holds all that a problem says, except what only describes it, so that a new
field makes another key until it is named as a description. Of the method it
holds the config and the version of its numbers, not where or how it is written.

    row = ResultRow(problem={'name': 'demand', 'n': 5000, 'rho': 0.5}, ...)
    if row.key not in results.keys(directory):
      results.append(directory, row)
"""

from collections.abc import Iterable, Mapping, Sequence
import dataclasses
import fcntl
import hashlib
import json
import os
import pathlib
from typing import Any

from dfiv_ope import result_checks

_FILE = 'rows.jsonl'
# Of rows. The keys of the first lack the discount, so two questions could have
# the same one.
FORMAT = 2
# What a problem with a dataset says of the content that its digest stands for,
# of what its policy is called, and of what came of simulations.
_DESCRIBING = frozenset({
    'dataset', 'transitions', 'episodes', 'log_return', 'log_standard_error',
    'policy', 'overlap', 'columns', 'truth', 'truth_standard_error'})
# What runs on one question may differ in: what is made of it.
_PURPOSE = frozenset({'name', 'candidates', 'judge'})
# How the failure of a run begins that broke down and may be tried again; a
# divergence is a result.
ERROR = 'error: '


@dataclasses.dataclass(frozen=True, kw_only=True)
class ResultRow:
  """One experiment.

  Attributes:
    problem: the digest of a dataset, or the design and its parameters.
    method: name of the method.
    config: its config as JSON data (`configs.encode`).
    seed: the seed of the run.
    metrics: numbers that came of it.
    curves: lists of numbers that came of it, for figures; None where a number
      was not finite.
    cpu_seconds: process time of the fit.
    versions: of Python, of us and of the libraries.
    failure: why there is no result to trust, such as a divergence; empty
      where there is one.
    preset: where the config is from: 'default' or 'paper'; 'custom' if that
      was changed.
    command: the command that remakes the row, if there is one.
    version: of the method's numbers (`registry.Entry`); 0 if it is not known.
    resamples: changes of the estimate when the episodes of a log are drawn
      anew (`inference.resample`), if they are known.
    inference: settings of what the row says of its own uncertainty, if it
      says any (`evaluation.influence.settings`).
    format: version of the row; what is not written down is the first.
  """
  problem: Mapping[str, Any]
  method: str
  config: Mapping[str, Any]
  seed: int
  metrics: Mapping[str, float]
  curves: Mapping[str, Sequence[float | None]]
  cpu_seconds: float
  versions: Mapping[str, str]
  failure: str = ''
  preset: str = 'default'
  command: str = ''
  version: int = 0
  resamples: Sequence[float] = dataclasses.field(default_factory=list)
  inference: Mapping[str, Any] = dataclasses.field(default_factory=dict)
  format: int = FORMAT

  def __post_init__(self) -> None:
    for name in ('problem', 'config', 'versions'):
      if not getattr(self, name):
        raise ValueError(
            f'A result row must say its {name}, got {getattr(self, name)!r}.')

  @property
  def key(self) -> str:
    """What the experiment is, whatever came of it."""
    return key(
        self.problem, self.method, self.config, self.seed,
        version=self.version, inference=self.inference)

  @property
  def outdated(self) -> bool:
    """Whether it is of a log and its key lacks what defines the question."""
    return self.format < FORMAT and self.of_a_log

  @property
  def of_a_log(self) -> bool:
    """Whether it was run on a dataset, or on logs drawn like one."""
    return 'digest' in self.problem or self.problem.get('name') == 'coverage'

  @property
  def retry(self) -> bool:
    """Whether the run broke down, so that it may succeed another time."""
    return self.failure.startswith(ERROR)


def key(
    problem: Mapping[str, Any],
    method: str,
    config: Mapping[str, Any],
    seed: int,
    *,
    version: int = 0,
    inference: Mapping[str, Any] | None = None,
) -> str:
  """Returns the name of an experiment: a hash of what defines it."""
  parts = [_defining(problem), method, config, seed,
           *([version] if version else []),
           *([inference] if inference else [])]
  return _hash(parts)


def question(problem: Mapping[str, Any]) -> str:
  """Returns a hash of what is asked, whatever is run to answer it.

  Two problems of the same question have the same log, target policy, discount
  and initial states, so that their estimates are of the same number. A
  selection among methods has the question of the runs that follow it.
  """
  return _hash({name: value for name, value in _defining(problem).items()
                if name not in _PURPOSE})


def _defining(problem: Mapping[str, Any]) -> dict[str, Any]:
  """Returns what of a problem is the problem itself.

  A dataset is defined by the digest of its content: what else a problem says
  of it describes it, and the truth may become known more precisely.
  """
  if not problem.get('digest'):
    return dict(problem)
  return {name: value for name, value in problem.items()
          if name not in _DESCRIBING}


def _hash(data: Any) -> str:
  text = json.dumps(data, sort_keys=True)
  return hashlib.sha256(text.encode()).hexdigest()[:16]


def latest(rows: Iterable[ResultRow]) -> list[ResultRow]:
  """Returns the last row of each experiment, whatever its version.

  An experiment has several rows where it broke down and was run again, or
  where the method's numbers or the settings of its interval have changed
  since.
  """
  by_experiment: dict[str, ResultRow] = {}
  for row in rows:
    name = key(row.problem, row.method, row.config, row.seed)
    by_experiment.pop(name, None)  # The order is that of the last rows.
    by_experiment[name] = row
  return list(by_experiment.values())


def append(directory: pathlib.Path, row: ResultRow) -> None:
  """Adds a row to a run directory, which is made if it is missing.

  Metrics that are not finite are left out, and are None in curves.

  Raises:
    ValueError: what is left is not a sound row.
  """
  fields = dataclasses.asdict(row)
  fields['metrics'] = {name: value for name, value in row.metrics.items()
                       if result_checks.is_finite(value)}
  fields['curves'] = {
      name: [each if result_checks.is_finite(each) else None
             for each in values] for name, values in row.curves.items()}
  line = (json.dumps(fields) + '\n').encode()
  try:
    result_checks.check(json.loads(line))
  except ValueError as error:
    raise ValueError(
        f'The row of {row.method} with seed {row.seed} cannot be kept: '
        f'{error}.') from error
  directory.mkdir(parents=True, exist_ok=True)
  with (directory / _FILE).open('ab+') as file:
    # Jobs of one sweep share the file.
    fcntl.flock(file, fcntl.LOCK_EX)
    _drop_torn_line(file)
    file.write(line)
    file.flush()
    os.fsync(file.fileno())


def read(directory: pathlib.Path) -> list[ResultRow]:
  """Returns the rows of a run directory, in the order they were written.

  A last line without an end was cut off by a kill and is not a row. Rows may
  be of an older format (`ResultRow.outdated`), if all of them are.

  Raises:
    FileNotFoundError: there are no rows.
    ValueError: a line is not a sound row of this version, or rows of logs are
      of two formats, which cannot be compared.
  """
  path = directory / _FILE
  if not path.is_file():
    raise FileNotFoundError(
        f'{directory} has no result rows ({_FILE}). Name the --out of a '
        'finished run.')
  rows = []
  for number, line in enumerate(path.read_bytes().split(b'\n')[:-1], start=1):
    try:
      rows.append(_row(line))
    except (TypeError, ValueError, RecursionError) as error:
      raise ValueError(
          f'Line {number} of {path} is not a result row of this version '
          f'({error}). Remove the line to go on without it.') from error
  old = [row.outdated for row in rows]
  if any(old) and any(row.of_a_log and not row.outdated for row in rows):
    raise ValueError(
        f'Line {old.index(True) + 1} of {path} was written by an older version '
        'of dfiv-ope, which did not tell discounts apart, and other lines by '
        'this one. Move the older lines to a directory of their own.')
  return rows


def known(directory: pathlib.Path) -> list[ResultRow]:
  """Returns the rows that a run may go on with, none if there are none.

  Raises:
    ValueError: they are of an older format, or `read` refuses them.
  """
  rows = read(directory) if (directory / _FILE).is_file() else []
  if any(row.outdated for row in rows):
    raise ValueError(
        f'The rows in {directory} were written by an older version of '
        'dfiv-ope, which did not tell discounts apart, so none of them is used '
        f'again. Move {directory / _FILE} to a directory of its own, which '
        '`dfiv-ope report` still shows, and give this command again.')
  return rows


def keys(directory: pathlib.Path) -> set[str]:
  """Returns the keys of the rows of a directory, none if it has no rows."""
  return {row.key for row in known(directory)}


def _row(line: bytes) -> ResultRow:
  """Returns the row of a line, if it is a sound one."""
  fields = json.loads(line)
  result_checks.check(fields)
  # Once a hash of the method's source, which says nothing of its numbers.
  fields.pop('code', None)
  row = ResultRow(**{'format': 1, **fields})
  if row.format > FORMAT:
    raise ValueError(
        f'its format is {row.format}, which a newer version of dfiv-ope reads')
  return row


def _drop_torn_line(file: Any) -> None:
  """Cuts off a last line that a kill left without an end."""
  if not file.seek(0, os.SEEK_END):
    return
  file.seek(-1, os.SEEK_END)
  if file.read(1) != b'\n':
    file.seek(0)
    file.truncate(file.read().rfind(b'\n') + 1)
