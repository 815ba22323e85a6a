"""Whether a dataset or a log is sound, and everything that is wrong with it."""

import dataclasses
import pathlib
from typing import Any

from dfiv_ope import stages
from dfiv_ope.datasets import findings, logs, reading, summary

# Rows of a finding that are listed for programs.
_ROWS = 10


@dataclasses.dataclass(frozen=True, kw_only=True)
class Report:
  """What a check found.

  Attributes:
    path: of the dataset or log.
    kind: 'Dataset' or 'Log'.
    summary: what its sound episodes hold; None if there are none.
    findings: what is wrong: sentence, first rows, count.
    sentences: the same for people, a line each.
    notes: what columns cannot tell and what would be dropped.
    verdict: the last sentence.
  """

  path: pathlib.Path
  kind: str
  summary: summary.Summary | None
  findings: list[dict[str, Any]]
  sentences: list[str]
  notes: list[str]
  verdict: str

  @property
  def sound(self) -> bool:
    """Whether nothing is wrong."""
    return not self.findings

  def record(self) -> dict[str, Any]:
    """Returns it for programs."""
    return {
      'path': str(self.path),
      'sound': self.sound,
      'findings': self.findings,
      'summary': self.summary.record() if self.summary else {},
      'notes': self.notes,
    }


def check_log(
  path: pathlib.Path,
  reader: logs.LogReader,
  *,
  progress: stages.Progress = stages.silent,
) -> Report:
  """Reads a log and gathers everything that is wrong.

  Raises:
    ValueError: there is nothing in it, or no row can be read.
  """
  with progress('Looking for the actions', 1.0) as update:
    actions = reader.find_actions(update)
  found: list[findings.Finding] = []
  counted: summary.Summary | None = None
  stopped = ''
  try:
    with progress('Reading', 1.0) as update:
      for block in reader.blocks(report=found.append, progress=update):
        if counted is None:
          counted = summary.Summary(
            action_labels=actions.labels,
            annotations=reader.annotations,
            continuous=actions.continuous,
          )
        counted.add(block.steps, block.annotations)
  except ValueError as error:
    if not found:
      raise
    stopped = str(error)
  joined = findings.joined(found)
  if counted is None and not joined:
    raise reader.nothing_left()
  sentences = [each.describe(reader.file, reader.place) for each in joined]
  listed = [_listed(each) for each in joined]
  if stopped:
    sentences.append(f'Nothing more was read: {stopped}')
    listed.append({'sentence': stopped, 'rows': [], 'count': 1})
  episodes = f'{reader.unsound:,} episode{"s" if reader.unsound != 1 else ""}'
  things = '1 thing is' if len(listed) == 1 else f'{len(listed)} things are'
  return Report(
    path=path,
    kind='Log',
    summary=counted,
    findings=listed,
    sentences=sentences,
    notes=reader.notes(),
    verdict=(
      f'{path} is not sound: {things} wrong with it, in {episodes}, which '
      'no figure counts.'
      if listed or counted is None
      else f'{path} is sound: {counted.transitions:,} transitions can be '
      'imported.'
    ),
  )


def unreadable(path: pathlib.Path, words: str) -> Report:
  """Returns the report of what cannot be read at all."""
  return Report(
    path=path,
    kind='',
    summary=None,
    sentences=[words],
    notes=[],
    findings=[{'sentence': words, 'rows': [], 'count': 1}],
    verdict=words,
  )


def _listed(found: findings.Finding) -> dict[str, Any]:
  return {
    'sentence': found.words,
    'rows': found.rows[:_ROWS].tolist(),
    'count': len(found.rows),
  }


def check_dataset(
  path: pathlib.Path, *, progress: stages.Progress = stages.silent
) -> Report:
  """Reads a dataset and computes anew what its record says.

  Raises:
    ValueError: it cannot be opened.
  """
  # Loads Reverb and TensorFlow, which the check of a log does without.
  from dfiv_ope.datasets import checks

  with progress('Reading', None):
    dataset = reading.open_dataset(path)
    wrong = checks.problems(dataset)
  metadata = dataset.metadata
  if wrong:
    return Report(
      path=path,
      kind='Dataset',
      summary=None,
      sentences=[],
      notes=[],
      findings=[{'sentence': each, 'rows': [], 'count': 1} for each in wrong],
      verdict=f'{path} is not sound. ' + ' '.join(wrong),
    )
  return Report(
    path=path,
    kind='Dataset',
    summary=checks.summarise(dataset),
    findings=[],
    sentences=[],
    notes=checks.column_profile(dataset).sentences(),
    verdict=(
      f'{path} is sound: {metadata.transitions:,} transitions in '
      f'{metadata.episodes:,} episodes, digest {metadata.digest[:12]}..., '
      f'{len(metadata.files)} files as written.'
    ),
  )
