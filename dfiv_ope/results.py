"""Result rows: what was run on what, and what came of it.

A run directory holds one file of JSON lines. A row has everything that is
needed to run it again; rows with the same key are the same experiment.

    row = ResultRow(problem={'name': 'demand', 'n': 5000, 'rho': 0.5}, ...)
    if row.key not in results.keys(directory):
      results.append(directory, row)
"""

from collections.abc import Mapping
import dataclasses
import fcntl
import hashlib
import json
import os
import pathlib
from typing import Any

_FILE = 'rows.jsonl'


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
    preset: where the config is from: 'default', 'paper' or 'custom'.
    command: the command that remakes the row, if there is one.
  """
  problem: Mapping[str, Any]
  method: str
  config: Mapping[str, Any]
  seed: int
  metrics: Mapping[str, float]
  curves: Mapping[str, list[float | None]]
  cpu_seconds: float
  versions: Mapping[str, str]
  failure: str = ''
  preset: str = 'default'
  command: str = ''

  def __post_init__(self) -> None:
    for name in ('problem', 'config', 'versions'):
      if not getattr(self, name):
        raise ValueError(
            f'A result row must say its {name}, got {getattr(self, name)!r}.')

  @property
  def key(self) -> str:
    """What the experiment is, whatever came of it."""
    return key(self.problem, self.method, self.config, self.seed)


def key(
    problem: Mapping[str, Any],
    method: str,
    config: Mapping[str, Any],
    seed: int,
) -> str:
  """Returns the name of an experiment: a hash of what defines it."""
  text = json.dumps([problem, method, config, seed], sort_keys=True)
  return hashlib.sha256(text.encode()).hexdigest()[:16]


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


def keys(directory: pathlib.Path) -> set[str]:
  """Returns the keys of the rows of a directory, none if it has no rows."""
  if not (directory / _FILE).is_file():
    return set()
  return {row.key for row in read(directory)}


def _drop_torn_line(file: Any) -> None:
  """Cuts off a last line that a kill left without an end."""
  file.seek(0)
  content = file.read()
  if content and not content.endswith(b'\n'):
    file.truncate(content.rfind(b'\n') + 1)
