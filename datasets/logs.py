"""Reads the log of a user, in whatever format, as blocks of whole episodes."""

from collections.abc import Callable, Iterator, Sequence
import pathlib
from typing import Any

from dfiv_ope import yaml_files
from dfiv_ope.datasets import (
  assembly,
  column_notes,
  findings,
  formats,
  labels,
  one_step,
  transition_logs,
  vectors,
)
from dfiv_ope.datasets import categories as categories_lib
from dfiv_ope.datasets import columns as columns_lib
from dfiv_ope.datasets import layout as layout_lib
from dfiv_ope.datasets.formats import source
from dfiv_ope.ope import log_notes

# Called as progress(share of the file that was read).
Progress = Callable[[float], None]
Report = Callable[[findings.Finding], None]
_CHECK = (
  'Correct the log; `dfiv-ope dataset check` lists everything that is wrong.'
)


class LogReader:
  """A log file with the meaning of its columns.

  Attributes:
    file: its name, without directories.
    format: its format.
  """

  def __init__(
    self,
    log: pathlib.Path | source.Source,
    *,
    columns: columns_lib.Columns,
    format_name: str | None = None,
    advice: str = _CHECK,
  ):
    """Opens a log and finds its columns.

    Args:
      log: a file, a directory for the formats that are one, or columns in
        memory.
      columns: what the columns mean.
      format_name: None to tell it by name and content; what columns in memory
        are called.
      advice: what to do where something is wrong.

    Raises:
      FileNotFoundError: there is no log.
      ValueError: it cannot be read, or lacks a column.
    """
    if isinstance(log, pathlib.Path):
      self.file = log.name
      self.format = format_name or formats.detect(log)
      self._source: source.Source = formats.open_log(
        log, format_name=self.format
      )
    else:
      self.file = self.format = format_name or 'log'
      self._source = log
    if columns.bandit:
      self._source = one_step.OneStep(self._source)
    if columns.transitions:
      self._source = transition_logs.Transitions(
        self._source,
        file=self.file,
        observations=columns.observations,
        terminated=columns.terminated or source.TERMINATED,
      )
    self._advice = advice
    self._layout = layout_lib.resolve(
      columns, self._source.columns, file=self.file
    )
    self._actions = self._known_actions(columns.actions)
    self._categories: dict[str, categories_lib.Labels] | None = None
    self._profile: column_notes.Profile | None = None
    self._assembler: assembly.Assembler | None = None

  def place(self, row: int) -> tuple[str, int]:
    """Returns the file of a row, if there are several, and its number there."""
    return self._source.place(row)

  @property
  def mapping(self) -> dict[str, Any]:
    """What the columns mean, for the record."""
    return self._layout.record()

  def _known_actions(
    self, asked: Sequence[str] | None
  ) -> labels.Actions | vectors.Entries | None:
    """Returns the actions if the mapping or the file says which they are."""
    layout, source_ = self._layout, self._source
    if (
      source_.continuous is not None
      and asked is None
      and (
        layout.action == layout_lib.usual_action(source_.columns)
        and not layout.categorical_actions
      )
    ):
      if layout.target_probabilities:
        raise columns_lib.discrete_only('target_probabilities')
      return vectors.Entries(
        vectors.with_bounds(source_.continuous, layout.bounds, file=self.file)
      )
    if layout.continuous:
      return None
    for known in (asked, source_.actions):
      if known is not None:
        return labels.Actions(known)
    if layout.target_labels is not None:
      return labels.Actions(labels.in_order(layout.target_labels))
    return None

  def find_actions(
    self, progress: Progress
  ) -> labels.Actions | vectors.Entries:
    """Returns the actions; reads through the log unless it is said.

    Raises:
      ValueError: there are none, or they are neither discrete nor vectors.
    """
    if self._actions is None:
      columns = self._layout.action
      found: labels.Collection | vectors.Collection | None = None
      for chunk in self._source.chunks(
        columns,
        text=[
          name
          for name in columns
          if not self._layout.continuous
          or name in self._layout.categorical_actions
        ],
      ):
        if found is None:
          found = self._collection(chunk)
        found.add(chunk)
        progress(chunk.share)
      self._actions = (
        found or labels.Collection(columns[0], file=self.file)
      ).actions()
    return self._actions

  def _collection(
    self, chunk: source.Chunk
  ) -> labels.Collection | vectors.Collection:
    """Returns what gathers the actions of the log that starts like this."""
    columns = self._layout.action
    shape = chunk.columns[columns[0]].shape[1:]
    if self._layout.continuous or shape not in ((), (1,)):
      return vectors.Collection(self._layout, file=self.file)
    return labels.Collection(columns[0], file=self.file)

  def find_categories(
    self, progress: Progress
  ) -> dict[str, categories_lib.Labels]:
    """Returns labels of the categorical entries; reads through the log.

    Raises:
      ValueError: a column is not categorical.
    """
    if self._categories is None:
      self._categories = {
        entry: tuple(labels)
        for entry, labels in self._source.categories.items()
        if entry.split('[')[0] in self._layout.observations and labels
      }
      if self._layout.time_feature and (
        columns_lib.TIME in self._layout.categorical
      ):
        self._categories[columns_lib.TIME] = self._steps()
      named = [
        name
        for name in self._layout.categorical
        if not categories_lib.of(list(self._categories), name)
      ]
      found = categories_lib.Collection(named, file=self.file)
      if named:
        for chunk in self._source.chunks(found.columns, text=found.columns):
          found.add(chunk)
          progress(chunk.share)
      self._categories |= found.labels()
    return self._categories

  def _steps(self) -> categories_lib.Labels:
    """Returns all step numbers, as labels."""
    horizon = self._layout.horizon
    if horizon is None or horizon >= categories_lib.MOST:
      raise ValueError(
        f'{columns_lib.TIME} can be categorical with a horizon of less than '
        f'{categories_lib.MOST:,} steps, got {horizon}.'
      )
    return tuple(range(horizon + 1))

  @property
  def observation_names(self) -> tuple[str, ...]:
    """Names of the entries of an observation, once blocks were read."""
    return self._assembler.observation_names if self._assembler else ()

  def blocks(
    self, *, report: Report | None = None, progress: Progress
  ) -> Iterator[assembly.Block]:
    """Yields all episodes in the order of the file.

    Args:
      report: is told what is wrong with rows; their episodes are left out.
        Without it no episode is given after the first thing wrong, and the
        error at the end names them all.
      progress: is told how far it is.

    Raises:
      ValueError: something is wrong with the log.
    """
    actions = self.find_actions(progress)
    categories = self.find_categories(progress)
    self._profile = None
    found: list[findings.Finding] = []
    self._assembler = assembly.Assembler(
      self._layout,
      actions,
      file=self.file,
      categories=categories,
      report=report or found.append,
    )
    for chunk in self._source.chunks(
      self._layout.names,
      text=[*self._layout.text, *actions.text(self._layout.action)],
    ):
      block = self._assembler.add(chunk)
      if block is not None and not found:
        yield self._noted(block)
      progress(chunk.share)
    block = self._assembler.finish()
    if found:
      raise findings.refusal(
        found, file=self.file, advice=self._advice, place=self.place
      )
    if block is not None:
      yield self._noted(block)

  def _noted(self, block: assembly.Block) -> assembly.Block:
    """Looks at the columns of a block."""
    if self._profile is None:
      names = self.observation_names
      self._profile = column_notes.Profile(
        names,
        categorical=[
          index
          for index, name in enumerate(names)
          if name in self.find_categories(lambda _: None)
        ],
      )
    self._profile.add(block.steps)
    return block

  @property
  def annotations(self) -> tuple[str, ...]:
    """Names of the further columns, once blocks were read."""
    return self._assembler.annotations if self._assembler else ()

  @property
  def unsound(self) -> int:
    """Number of episodes that something was wrong with so far."""
    return self._assembler.unsound if self._assembler else 0

  def notes(self) -> list[str]:
    """Returns what was dropped so far, and what columns cannot tell."""
    return [note.sentence for note in self.all_notes()]

  def all_notes(self) -> list[log_notes.Note]:
    """Returns the notes with their doubts."""
    result: list[log_notes.Note] = []
    if self._layout.transitions and self._assembler:
      result.append(log_notes.Note(kind=log_notes.TRANSITIONS))
    for kind, count in (
      (log_notes.CUT, self._assembler.cut if self._assembler else 0),
      (log_notes.EMPTY, self._assembler.empty if self._assembler else 0),
    ):
      if count:
        result.append(log_notes.Note(kind=kind, numbers={'episodes': count}))
    if self._profile:
      result += self._profile.notes()
    return result

  def nothing_left(self) -> ValueError:
    """Returns the error of a log without a transition."""
    notes = ' '.join(self.notes())
    return ValueError(
      f'{self.file} holds no transition that can be used. '
      f'{notes or "It has no rows."} A transition needs the observation '
      'after it, unless it terminated the episode.'
    )


def open_mapped(
  path: pathlib.Path, *, format_name: str | None = None, **options: Any
) -> LogReader:
  """Opens a log whose columns mean what a file and some texts say.

  Args:
    path: of the log.
    format_name: None to tell it by name and content.
    **options: of `mapped`.

  Raises:
    FileNotFoundError: there is no log or no mapping.
    ValueError: the log or the mapping is not sound.
  """
  return LogReader(path, columns=mapped(**options), format_name=format_name)


def mapped(
  *,
  mapping: pathlib.Path | None = None,
  assignments: list[str] | None = None,
  actions: str | None = None,
  ends: str | None = None,
  categorical: list[str] | None = None,
  bandit: bool | None = None,
  transitions: bool | None = None,
  time_feature: bool | None = None,
  horizon: int | None = None,
  continuous: bool | None = None,
  bounds: str | None = None,
) -> columns_lib.Columns:
  """Returns what columns mean, as a file and some texts say.

  Args:
    mapping: a YAML file that says what the columns mean.
    assignments: the same as NAME=COLUMN, which win over the file.
    actions: number of actions or their labels.
    ends: how episodes end.
    categorical: names of observations whose values are labels.
    bandit: whether every row is an episode of one step.
    transitions: whether rows are transitions without episodes.
    time_feature: whether the number of the step becomes an observation.
    horizon: episodes of as many steps terminated.
    continuous: whether actions are vectors.
    bounds: of the entries of such actions.

  Raises:
    FileNotFoundError: there is no mapping.
    ValueError: it is not sound.
  """
  data: dict[str, Any] = yaml_files.read(mapping) if mapping else {}
  named: set[str] = set()
  for text in assignments or []:
    name, equals, value = text.partition('=')
    if not equals:
      raise ValueError(f'--map should have the form NAME=COLUMN, got {text!r}.')
    if name.strip() in named:
      raise ValueError(f'--map names {name.strip()!r} twice. Name it once.')
    named.add(name.strip())
    data[name.strip()] = value
  for name, option in (
    ('actions', actions),
    ('ends', ends),
    ('bandit', bandit),
    ('transitions', transitions),
    ('time_feature', time_feature),
    ('horizon', horizon),
    ('continuous', continuous),
    ('bounds', bounds),
    ('categorical', ','.join(categorical) if categorical else None),
  ):
    if option is not None:
      data[name] = option
  return columns_lib.parse(data)
