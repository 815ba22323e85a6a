"""Result rows: what was run on what, and what came of it.

A run directory holds one file of JSON lines. A row has everything that is
needed to run it again; rows with the same key are the same experiment.

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

_FILE = 'rows.jsonl'
# What of a problem with a dataset is the problem itself.
_DEFINING = ('name', 'digest', 'target_epsilon', 'target', 'candidates')
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
    code: version of the method's code (`versions.code`), if it is known.
    resamples: changes of the estimate when the episodes of a log are drawn
      anew (`uncertainty.resample`), if they are known.
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
  code: str = ''
  resamples: Sequence[float] = dataclasses.field(default_factory=list)

  def __post_init__(self) -> None:
    for name in ('problem', 'config', 'versions'):
      if not getattr(self, name):
        raise ValueError(
            f'A result row must say its {name}, got {getattr(self, name)!r}.')

  @property
  def key(self) -> str:
    """What the experiment is, whatever came of it."""
    return key(
        self.problem, self.method, self.config, self.seed, code=self.code)

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
    code: str = '',
) -> str:
  """Returns the name of an experiment: a hash of what defines it.

  A dataset is defined by the digest of its content: what else a problem says
  of it describes it, and the truth may become known more precisely.
  """
  if problem.get('digest'):
    problem = {name: problem[name] for name in _DEFINING if name in problem}
  parts = [problem, method, config, seed, *([code] if code else [])]
  text = json.dumps(parts, sort_keys=True)
  return hashlib.sha256(text.encode()).hexdigest()[:16]


def latest(rows: Iterable[ResultRow]) -> list[ResultRow]:
  """Returns the last row of each experiment, whatever code it was run by.

  An experiment has several rows where it broke down and was run again, or
  where the method's code has changed since.
  """
  by_experiment: dict[str, ResultRow] = {}
  for row in rows:
    name = key(row.problem, row.method, row.config, row.seed)
    by_experiment.pop(name, None)  # The order is that of the last rows.
    by_experiment[name] = row
  return list(by_experiment.values())


def append(directory: pathlib.Path, row: ResultRow) -> None:
  """Adds a row to a run directory, which is made if it is missing."""
  directory.mkdir(parents=True, exist_ok=True)
  line = (json.dumps(dataclasses.asdict(row)) + '\n').encode()
  with (directory / _FILE).open('ab+') as file:
    # Jobs of one sweep share the file.
    fcntl.flock(file, fcntl.LOCK_EX)
    _drop_torn_line(file)
    file.write(line)
    file.flush()
    os.fsync(file.fileno())


def read(directory: pathlib.Path) -> list[ResultRow]:
  """Returns the rows of a run directory, in the order they were written.

  A last line without an end was cut off by a kill and is not a row.

  Raises:
    FileNotFoundError: there are no rows.
    ValueError: a line is not a row of this version.
  """
  path = directory / _FILE
  if not path.is_file():
    raise FileNotFoundError(
        f'{directory} has no result rows ({_FILE}). Name the --out of a '
        'finished run.')
  rows = []
  lines = path.read_text(encoding='utf-8').split('\n')[:-1]
  for number, line in enumerate(lines, start=1):
    try:
      rows.append(ResultRow(**json.loads(line)))
    except (TypeError, ValueError) as error:
      raise ValueError(
          f'Line {number} of {path} is not a result row of this version '
          f'({error}). Remove the line to go on without it.') from error
  return rows


def known(directory: pathlib.Path) -> list[ResultRow]:
  """Returns the rows of a directory as `read` does, none if it has none."""
  return read(directory) if (directory / _FILE).is_file() else []


def keys(directory: pathlib.Path) -> set[str]:
  """Returns the keys of the rows of a directory, none if it has no rows."""
  return {row.key for row in known(directory)}


def _drop_torn_line(file: Any) -> None:
  """Cuts off a last line that a kill left without an end."""
  if not file.seek(0, os.SEEK_END):
    return
  file.seek(-1, os.SEEK_END)
  if file.read(1) != b'\n':
    file.seek(0)
    file.truncate(file.read().rfind(b'\n') + 1)
