"""A dataset's directory that is read in parts and never held as a whole.

    stream = stored_streams.StoredStream(path=path)
    survey = stream.survey()
    for part in stream.parts(survey)([0, 4096, 8192]): ...

It is to a dataset what `streams.Stream` is to files of a log. Its files and
their content are compared with the record as `reading.open_dataset` does it.
"""

from collections.abc import Callable, Iterator, Sequence
import dataclasses
import functools
import pathlib
from typing import Any

import numpy as np

from dfiv_ope import types
from dfiv_ope.datasets import (
  assembly,
  column_notes,
  log_copy,
  stored_rows,
  stream_parts,
  streams,
  surveys,
)
from dfiv_ope.datasets import columns as columns_lib
from dfiv_ope.datasets import log as log_lib
from dfiv_ope.datasets import spec as spec_lib
from dfiv_ope.ope import episodes, streamed
from dfiv_ope.policies import identity


@dataclasses.dataclass(frozen=True, kw_only=True)
class StoredStream:
  """A dataset; plain data that any process can open.

  Attributes:
    path: its directory.
    discount: of the value that is asked for; None for the recorded one.
  """

  path: pathlib.Path
  discount: float | None = None
  # Its arrays can be read from anywhere.
  copied = False
  # What to do where a method or a policy needs the whole log.
  advice = 'Open it with dfiv_ope.Log.open and evaluate that'

  @functools.cached_property
  def metadata(self) -> spec_lib.Metadata:
    """Its record."""
    return spec_lib.read_metadata(self.path)

  @functools.cached_property
  def rows(self) -> stored_rows.StoredRows:
    """Its rows, once its files have been compared with the record."""
    return stored_rows.StoredRows(self.path, self.metadata)

  @property
  def long(self) -> bool:
    """Whether it has more rows than are read into memory, and need not be.

    Vectors as actions, tables of names and transitions without episodes are no
    sums of parts.
    """
    metadata = self.metadata
    return (
      metadata.transitions > streams.IN_MEMORY
      and metadata.continuous is None
      and len(metadata.categories) < metadata.num_observations
      and not spec_lib.is_transitions(metadata)
    )

  @property
  def recorded(self) -> bool:
    """Whether probabilities of the behaviour policy are recorded."""
    return columns_lib.BEHAVIOUR_PROBABILITY in self.metadata.annotations

  def in_memory(self) -> log_lib.Log:
    """Returns the whole log."""
    return log_lib.Log.open(self.path, discount=self.discount)

  @functools.cached_property
  def tried(self) -> episodes.Episodes:
    """Returns transitions spread over the log, that policies are tried on.

    They are those that `policies.identity` takes of the whole log, so that a
    policy has the same digest.
    """
    metadata = self.metadata
    found = self.at(identity.spread(metadata.transitions))
    return episodes.Episodes(
      transitions=found,
      episodes=np.arange(len(found.action)),
      initial_observations=found.observation,
      num_actions=metadata.num_actions,
      discount=self._discount,
      name=metadata.spec.id,
      action_labels=metadata.action_labels,
      observation_names=metadata.observations,
      categorical=tuple(metadata.categories),
      time_feature=metadata.time_feature,
    )

  def at(self, numbers: Sequence[int]) -> types.Transition:
    """Returns transitions by their numbers from 0, which rise."""
    rows = self.rows
    now = rows.transitions(numbers)
    return types.Transition(
      observation=rows.take('observation', now),
      action=rows.take('action', now),
      reward=rows.take('reward', now),
      discount=rows.take('discount', now),
      next_observation=rows.take('observation', [row + 1 for row in now]),
    )

  def survey(
    self,
    *,
    copy: pathlib.Path | None = None,
    sampled: int = surveys.SAMPLED,
    seed: int = 0,
    progress: Callable[[float], None] = lambda share: None,
  ) -> surveys.Survey:
    """Reads all of the dataset once, and checks it.

    Args:
      copy: folder for a copy of the transitions, which is replaced; None for
        no copy.
      sampled: transitions of the sample of whole episodes, at most.
      seed: of the sample.
      progress: told what share is done.

    Raises:
      FileNotFoundError: a file is missing.
      ValueError: its content is not what its record says.
    """
    metadata, known = self.metadata, self._known
    profile = column_notes.Profile(
      metadata.observations, categorical=metadata.categories
    )

    def blocks() -> Iterator[assembly.Block]:
      for block in self.rows.verified():
        profile.add(block.steps)
        yield block
        progress((block.row - 1 + len(block.annotations)) / self.rows.count)

    found = surveys.look(
      blocks(),
      lambda: known,
      discount=self._discount,
      sampled=sampled,
      seed=seed,
      copy=copy,
      nothing=lambda: ValueError(f'{self.path} holds no transition.'),
    )
    return surveys.Survey(
      **found.sums.found(),
      digest=metadata.digest,
      at=self.at,
      starts=tuple(found.sums.starts),
      known=known,
      copy=copy,
      sample=surveys.sampled_log(
        found,
        known,
        discount=self._discount,
        notes=profile.notes(),
        name=metadata.spec.id,
        digest=metadata.digest,
        metadata=metadata,
      ),
      tried=self.tried,
    )

  def copy(
    self, survey: surveys.Survey, folder: pathlib.Path
  ) -> surveys.Survey:
    """Returns the survey with a copy of the transitions.

    Args:
      survey: of the same dataset.
      folder: for the copy, which is replaced.
    """
    with log_copy.Writer(folder) as writer:
      for log in self._logs(1, self.rows.count + 1):
        writer.add_log(log)
    return dataclasses.replace(survey, copy=folder)

  def parts(self, survey: surveys.Survey) -> streamed.Parts:
    """Returns what reads the dataset in parts.

    Args:
      survey: of the same dataset.
    """
    return stream_parts.Parts(self._logs, survey.starts, self.rows.count)

  def _logs(self, first: int, end: int) -> Iterator[log_lib.Log]:
    """Yields whole episodes, from a row to the one after the last."""
    for block in self.rows.blocks(first, end):
      yield log_lib.Log(**surveys.fields(block, self._known, self._discount))

  @property
  def _discount(self) -> float:
    return (
      self.metadata.spec.discount if self.discount is None else self.discount
    )

  @property
  def _known(self) -> dict[str, Any]:
    """What `surveys.fields` asks for."""
    metadata = self.metadata
    return {
      'actions': tuple(range(metadata.num_actions)),
      'recorded': metadata.action_labels,
      'names': metadata.observations,
      'annotations': metadata.annotations,
      'categorical': tuple(metadata.categories),
      'time_feature': metadata.time_feature,
    }
