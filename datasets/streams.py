"""A log in files that is read in parts and never held as a whole.

    stream = streams.Stream(path=path, columns=columns, discount=0.99)
    survey = stream.survey(copy=folder)
    for part in stream.parts(survey)([0, 4096, 8192]): ...

Rows are read, checked and refused as `dfiv-ope dataset import` does it. Parquet
files are read again for each pass. CSV files are read once: later passes read a
copy of their transitions (`log_copy`).
"""

from collections.abc import Callable, Iterator
import dataclasses
import functools
import pathlib
from typing import Any

from dfiv_ope import limits
from dfiv_ope.datasets import columns as columns_lib
from dfiv_ope.datasets import (
  formats,
  log_copy,
  log_fields,
  logs,
  stream_parts,
  surveys,
)
from dfiv_ope.datasets import log as log_lib
from dfiv_ope.datasets.formats import parquet_folder
from dfiv_ope.ope import streamed

# Longer logs are not read into memory.
IN_MEMORY = 200_000
# Formats that are read in parts.
FORMATS = ('parquet', 'csv')


@dataclasses.dataclass(frozen=True, kw_only=True)
class Stream:
  """A log in files; plain data that any process can open.

  Attributes:
    path: a folder of files, or one file.
    columns: what the columns mean.
    discount: of the value that is asked for.
  """

  path: pathlib.Path
  columns: columns_lib.Columns
  discount: float

  def __post_init__(self) -> None:
    limits.share('discount', self.discount)
    if self.columns.transitions:
      raise ValueError(
        f'{self.path} is of transitions without episodes, which are not read '
        'in parts. Import it: dfiv-ope dataset import --transitions.'
      )

  # What to do where a method or a policy needs the whole log.
  advice = 'Import it with dfiv-ope dataset import'

  @functools.cached_property
  def format(self) -> str:
    """One of `FORMATS`."""
    return formats.detect(self.path)

  @property
  def long(self) -> bool:
    """Whether the log has more rows than are read into memory."""
    if self.format == 'csv':
      from dfiv_ope.datasets.formats import csv_folder  # Imports pandas.

      return csv_folder.CSVFolder(self.path).longer(IN_MEMORY)
    return parquet_folder.ParquetFolder(self.path).rows > IN_MEMORY

  @property
  def copied(self) -> bool:
    """Whether a survey has to copy it, because text has no middle to read."""
    return self.format == 'csv'

  @functools.cached_property
  def recorded(self) -> bool:
    """Whether probabilities of the behaviour policy are recorded."""
    reader = logs.LogReader(
      self.path, columns=self.columns, format_name=self.format
    )
    return reader.mapping['behaviour_probability'] is not None

  def in_memory(self) -> log_lib.Log:
    """Returns the whole log."""
    return log_lib.Log(
      **log_fields.read(
        self.path,
        self.columns,
        discount=self.discount,
        name=self.path.name,
        format_name=self.format,
      )
    )

  def survey(
    self,
    *,
    copy: pathlib.Path | None = None,
    sampled: int = surveys.SAMPLED,
    seed: int = 0,
    progress: Callable[[float], None] = lambda share: None,
  ) -> surveys.Survey:
    """Reads all of the log once, and checks it.

    Args:
      copy: folder for a copy of the transitions, which is replaced; None for
        no copy.
      sampled: transitions of the sample of whole episodes, at most.
      seed: of the sample.
      progress: told what share is done.

    Raises:
      ValueError: something is wrong with the log, or it cannot be streamed.
    """
    if copy is None and self.copied:
      raise ValueError(f'{self.path} is CSV: say where a copy of it may lie.')
    reader = logs.LogReader(
      self.path, columns=self.columns, format_name=self.format
    )
    found = surveys.look(
      reader.blocks(progress=progress),
      lambda: _known(reader),
      discount=self.discount,
      sampled=sampled,
      seed=seed,
      copy=copy,
      nothing=reader.nothing_left,
    )
    known = _known(reader)
    digest = found.sums.digest(known)
    sample = surveys.sampled_log(
      found,
      known,
      discount=self.discount,
      notes=reader.all_notes(),
      name=self.path.name,
      digest=digest,
    )
    return surveys.Survey(
      **found.sums.found(),
      digest=digest,
      counts=()
      if self.copied
      else parquet_folder.ParquetFolder(self.path).counts,
      starts=tuple(found.sums.starts),
      known=known,
      copy=copy,
      sample=sample,
      tried=sample,
    )

  def parts(self, survey: surveys.Survey) -> streamed.Parts:
    """Returns what reads the log in parts.

    Args:
      survey: of the same files.
    """
    if survey.copy is not None:
      return log_copy.Parts(survey.copy)
    return stream_parts.Parts(
      functools.partial(self.blocks, survey), survey.starts, sum(survey.counts)
    )

  def blocks(
    self, survey: surveys.Survey, first: int, end: int
  ) -> Iterator[log_lib.Log]:
    """Yields whole episodes of Parquet files.

    Args:
      survey: of the same files.
      first: number of a row that an episode starts with.
      end: number of the row after the last.
    """
    known = survey.known
    source = parquet_folder.ParquetFolder(
      self.path, between=(first, end), counts=survey.counts
    )
    source.categories = known['labels']
    reader = logs.LogReader(
      source,
      columns=dataclasses.replace(self.columns, actions=known['actions']),
      format_name=self.path.name,
    )
    for block in reader.blocks(progress=lambda share: None):
      yield log_lib.Log(**surveys.fields(block, known, self.discount))


def _known(reader: logs.LogReader) -> dict[str, Any]:
  """Returns what is known of all rows, as plain data."""
  actions = reader.find_actions(lambda share: None)
  labels = reader.find_categories(lambda share: None)
  if actions.continuous is not None:
    raise ValueError(
      f'The actions of {reader.file} are vectors; only logs of finitely many '
      'actions are read in parts. Import it with dfiv-ope dataset import.'
    )
  names = reader.observation_names
  return {
    'actions': tuple(actions.labels),
    'recorded': actions.recorded,
    'labels': {name: tuple(each) for name, each in labels.items()},
    'names': names,
    'annotations': reader.annotations,
    'categorical': tuple(names.index(each) for each in labels),
    'time_feature': reader.mapping.get('time_feature', False),
  }


def is_stream(path: pathlib.Path) -> bool:
  """Returns whether a path is files that are read in parts, no dataset."""
  try:
    return formats.detect(path) in FORMATS
  except (ValueError, OSError):
    return False
