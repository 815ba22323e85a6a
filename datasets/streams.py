"""A log in Parquet files that is read in parts and never held as a whole.

    stream = streams.Stream(path=path, columns=columns, discount=0.99)
    survey = stream.survey()
    for part in stream.parts(survey)([0, 4096, 8192]): ...

Rows are read, checked and refused as `dfiv-ope dataset import` does it.
"""

from collections.abc import Callable, Iterator, Sequence
import dataclasses
import hashlib
import pathlib
from typing import Any, NamedTuple

import numpy as np

from dfiv_ope import limits, types
from dfiv_ope.datasets import (
  assembly,
  episode_sample,
  formats,
  log_fields,
  logs,
)
from dfiv_ope.datasets import columns as columns_lib
from dfiv_ope.datasets import log as log_lib
from dfiv_ope.datasets import steps as steps_lib
from dfiv_ope.datasets.formats import parquet_folder
from dfiv_ope.nn import running_moments
from dfiv_ope.ope import log_notes, streamed

# Transitions of the sample of whole episodes: as many as unrelated estimators
# look at in memory.
SAMPLED = 50_000
# Longer logs are not read into memory.
IN_MEMORY = 200_000


class Start(NamedTuple):
  """Where a block of whole episodes starts.

  Attributes:
    row: number of its first row in the files.
    transition: number of its first transition.
    episode: number of its first episode.
  """

  row: int
  transition: int
  episode: int


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False)
class Survey(streamed.Survey):
  """What a pass over a log finds out, and how to find its rows again.

  Attributes:
    counts: rows of each file.
    starts: of blocks of whole episodes.
    known: fields that `Log`s of some of its rows have.
  """

  counts: tuple[int, ...]
  starts: Sequence[Start]
  known: dict[str, Any]


@dataclasses.dataclass(frozen=True, kw_only=True)
class Stream:
  """A log in Parquet files; plain data that any process can open.

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

  @property
  def rows(self) -> int:
    """Rows of all files, as their records say."""
    return parquet_folder.ParquetFolder(self.path).rows

  def in_memory(self) -> log_lib.Log:
    """Returns the whole log."""
    return log_lib.Log(
      **log_fields.read(
        self.path,
        self.columns,
        discount=self.discount,
        name=self.path.name,
        format_name='parquet',
      )
    )

  def survey(
    self,
    *,
    sampled: int = SAMPLED,
    seed: int = 0,
    progress: Callable[[float], None] = lambda share: None,
  ) -> Survey:
    """Reads all of the log once, and checks it.

    Args:
      sampled: transitions of the sample of whole episodes, at most.
      seed: of the sample.
      progress: told what share is done.

    Raises:
      ValueError: something is wrong with the log, or it cannot be streamed.
    """
    reader = logs.LogReader(
      self.path, columns=self.columns, format_name='parquet'
    )
    sample = episode_sample.EpisodeSample(transitions=sampled, seed=seed)
    sums = _Sums(self.discount)
    for block in reader.blocks(progress=progress):
      sums.add(block, _known(reader))
      sample.add(block)
    if not sums.transitions:
      raise reader.nothing_left()
    known = _known(reader)
    digest = sums.digest(known)
    return Survey(
      **sums.found(),
      digest=digest,
      counts=parquet_folder.ParquetFolder(self.path).counts,
      starts=tuple(sums.starts),
      known=known,
      sample=self._sample(sample, sums, reader, known, digest),
    )

  def _sample(
    self,
    sample: episode_sample.EpisodeSample,
    sums: '_Sums',
    reader: logs.LogReader,
    known: dict[str, Any],
    digest: str,
  ) -> log_lib.Log:
    """Returns the sample as a log, with what is to be said of the whole."""
    taken = sample.taken()
    fields = _fields(taken, known, self.discount)
    notes = list(reader.all_notes())
    count = len(fields['episodes'])
    if count < sums.transitions:
      notes.append(
        log_notes.Note(
          kind=log_notes.SAMPLED,
          numbers={
            'episodes': len(fields['initial_observations']),
            'of_episodes': sums.episodes,
            'rows': count,
            'of_rows': sums.transitions,
          },
        )
      )
    return log_lib.Log(
      **fields, name=self.path.name, digest=digest, notes=tuple(notes)
    )

  def parts(self, survey: Survey) -> streamed.Parts:
    """Returns what reads the log in parts.

    Args:
      survey: of the same files.
    """
    return _Reader(self, survey)

  def blocks(
    self, survey: Survey, first: int, end: int
  ) -> Iterator[log_lib.Log]:
    """Yields whole episodes.

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
      yield log_lib.Log(**_fields(block, known, self.discount))


class _Reader:
  """Reads a log in parts, as `streamed.Parts` says."""

  def __init__(self, stream: Stream, survey: Survey):
    self._stream = stream
    self._survey = survey
    self._starts = [each.transition for each in survey.starts]

  def __call__(self, marks: Sequence[int]) -> Iterator[streamed.Part]:
    starts = self._survey.starts
    place = int(np.searchsorted(self._starts, marks[0], side='right')) - 1
    after = int(np.searchsorted(self._starts, marks[-1], side='left'))
    _, position, episode = starts[place]
    end = (
      starts[after].row if after < len(starts) else sum(self._survey.counts) + 1
    )
    blocks = self._stream.blocks(self._survey, starts[place].row, end)
    held: list[tuple[types.Transition, np.ndarray, np.ndarray]] = []
    size = 0
    for start, stop in zip(marks[:-1], marks[1:], strict=True):
      while not held or position + size < stop:
        log = next(blocks)
        held.append(
          (
            log.transitions,
            log.episodes + episode,
            np.diff(log.episodes, prepend=-1) > 0,
          )
        )
        size += len(log)
        episode += log.num_episodes
      if len(held) != 1:
        held = [_joined(held)]
      yield _part(held[0], slice(start - position, stop - position))
      rest = slice(stop - position, None)
      transitions, episodes, first = held[0]
      held = [
        (
          types.Transition(*(each[rest] for each in transitions)),
          episodes[rest],
          first[rest],
        )
      ]
      size -= stop - position
      position = stop


def _joined(
  held: Sequence[tuple[types.Transition, np.ndarray, np.ndarray]],
) -> tuple[types.Transition, np.ndarray, np.ndarray]:
  transitions, episodes, first = zip(*held, strict=True)
  return (
    types.Transition(*map(np.concatenate, zip(*transitions, strict=True))),
    np.concatenate(episodes),
    np.concatenate(first),
  )


def _part(
  held: tuple[types.Transition, np.ndarray, np.ndarray], place: slice
) -> streamed.Part:
  transitions, episodes, first = held
  observation = transitions.observation[place]
  return streamed.Part(
    types.Transition(*(each[place] for each in transitions)),
    episodes[place],
    observation[first[place]],
  )


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


def _fields(
  block: assembly.Block, known: dict[str, Any], discount: float
) -> dict[str, Any]:
  """Returns the fields of a `Log` of whole episodes."""
  return log_fields.of_steps(
    block.steps,
    dict(zip(known['annotations'], block.annotations.T, strict=True)),
    num_actions=len(known['actions']),
    discount=discount,
    action_labels=known['recorded'],
    observation_names=known['names'],
    categorical=known['categorical'],
    time_feature=known['time_feature'],
  )


class _Sums:
  """What a survey adds up, block by block."""

  def __init__(self, discount: float):
    self._discount = discount
    self.transitions = self.episodes = self._truncated = self._rewarded = 0
    self._returns: list[np.ndarray] = []
    self._lengths: list[np.ndarray] = []
    self._lowest, self._highest, self._largest = np.inf, -np.inf, 0.0
    self._moments = running_moments.Moments()
    self._categories: dict[int, np.ndarray] = {}
    self._hashes = [hashlib.sha256() for _ in (*steps_lib.Steps._fields, '')]
    self.starts: list[Start] = []

  def add(self, block: assembly.Block, known: dict[str, Any]) -> None:
    """Takes in the next whole episodes."""
    log = log_lib.Log(**_fields(block, known, self._discount))
    rewards = log.transitions.reward
    self.starts.append(Start(block.row, self.transitions, self.episodes))
    self._returns.append(log.returns)
    self._lengths.append(np.bincount(log.episodes))
    self.transitions += len(log)
    self.episodes += log.num_episodes
    self._truncated += log.truncated
    self._rewarded += int(np.count_nonzero(rewards))
    self._lowest = min(self._lowest, float(rewards.min()))
    self._highest = max(self._highest, float(rewards.max()))
    self._largest = max(self._largest, float(log.transitions.discount.max()))
    self._moments.add(log.transitions.observation)
    for column in log.categorical:
      self._categories[column] = np.unique(
        np.concatenate(
          [
            self._categories.get(column, np.zeros(0)),
            block.steps.observation[:, column],
          ]
        )
      )
    for each, array in zip(
      self._hashes, (*block.steps, block.annotations), strict=True
    ):
      # One for each column, so that it does not matter what the blocks are.
      each.update(np.ascontiguousarray(array).tobytes())

  def digest(self, known: dict[str, Any]) -> str:
    """Returns what identifies the rows and what they mean."""
    whole = hashlib.sha256(repr(sorted(known.items())).encode())
    for each in self._hashes:
      whole.update(each.digest())
    return whole.hexdigest()

  def found(self) -> dict[str, Any]:
    """Returns the fields of `streamed.Survey` that are sums."""
    limits.finite_value(
      self._discount, truncated=self._truncated, largest=self._largest
    )
    return {
      'transitions': self.transitions,
      'returns': np.concatenate(self._returns),
      'lengths': np.concatenate(self._lengths),
      'truncated': self._truncated,
      'lowest': self._lowest,
      'highest': self._highest,
      'rewarded': self._rewarded,
      'largest_discount': self._largest,
      'scales': self._moments.standardiser(),
      'categories': {
        column: tuple(each.tolist())
        for column, each in self._categories.items()
      },
    }


def is_stream(path: pathlib.Path) -> bool:
  """Returns whether a path is Parquet files rather than a dataset of ours."""
  try:
    return formats.detect(path) == 'parquet'
  except (ValueError, OSError):
    return False
