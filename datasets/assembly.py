"""Turns the rows of a log into whole episodes; all of it in whole arrays."""

from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple

import numpy as np

from dfiv_ope.datasets import categories as categories_lib
from dfiv_ope.datasets import columns as columns_lib
from dfiv_ope.datasets import decoded_rows, decoding, findings, labels, vectors
from dfiv_ope.datasets import layout as layout_lib
from dfiv_ope.datasets import steps as steps_lib
from dfiv_ope.datasets.formats import source


class Block(NamedTuple):
  """Whole episodes.

  Attributes:
    steps: their rows.
    annotations: further columns, float32 [N, K].
    row: number of their first row in the file.
  """

  steps: steps_lib.Steps
  annotations: np.ndarray
  row: int


class Assembler:
  """Takes chunks of a log and gives back blocks of whole episodes.

  An episode with a finding is left out, so whoever goes on after findings
  gets the sound rest.

  Attributes:
    cut: episodes whose last step was dropped, because what followed is
      unknown.
    empty: episodes without a transition, left out.
    unsound: episodes with findings, left out.
  """

  def __init__(
    self,
    layout: layout_lib.Layout,
    actions: labels.Actions | vectors.Entries,
    *,
    file: str,
    report: Callable[[findings.Finding], None],
    categories: Mapping[str, categories_lib.Labels] | None = None,
  ):
    """Initialises the assembler.

    Args:
      layout: the columns.
      actions: all actions of the log.
      file: name of the log, for messages.
      report: is told what is wrong; if it raises, that is the end.
      categories: labels of the categorical entries of the observation.
    """
    self.cut = self.empty = self.unsound = 0
    self._decoder = decoding.Decoder(
      layout, actions, file=file, categories=categories
    )
    self._ends, self._horizon = layout.ends, layout.horizon
    self._time_feature = layout.time_feature
    self._report = report
    # Episodes that have something wrong, and those whose rows are unclear.
    self._broken: set[int] = set()
    self._unclear: set[int] = set()
    self._open: decoded_rows.Rows | None = None

  @property
  def observation_names(self) -> tuple[str, ...]:
    """Names of the entries of an observation, once there was a chunk."""
    time = (columns_lib.TIME,) if self._time_feature else ()
    return *self._decoder.observation_names, *time

  @property
  def annotations(self) -> tuple[str, ...]:
    """Names of the further columns."""
    return self._decoder.annotations

  def add(self, chunk: source.Chunk) -> Block | None:
    """Takes in a chunk; returns the episodes that ended, if any."""
    rows, nameless, returned, faults = self._decoder.decode(chunk)
    for fault in faults:
      index = np.searchsorted(rows.row, fault.rows)
      self._report(
        findings.Finding(
          fault.sentence,
          index,
          fault.rows,
          self._decoder.episode_name(rows.episode[index[0]]),
          fault.example,
        )
      )
      (self._unclear if fault.of_episodes else self._broken).update(
        rows.episode[index].tolist()
      )
    if nameless.size:
      self._report(findings.Finding('episode is empty', nameless, nameless))
    if returned:
      index = np.searchsorted(rows.episode, returned)
      self._report(
        findings.Finding(
          'the episode was there before; its rows must follow each other (sort '
          'the log by episode, then by step)',
          index,
          rows.row[index],
          self._decoder.episode_name(returned[0]),
        )
      )
      self._broken.update(returned)
    if self._open is not None:
      rows = decoded_rows.concatenate(self._open, rows)
    whole = (
      int(np.searchsorted(rows.episode, rows.episode[-1]))
      if len(rows.episode)
      else 0
    )
    self._open = decoded_rows.take(rows, slice(whole, None))
    return self._block(decoded_rows.take(rows, slice(whole)))

  def finish(self) -> Block | None:
    """Returns the last episode."""
    if self._open is None:
      return None
    rows, self._open = self._open, None
    return self._block(rows)

  def _block(self, rows: decoded_rows.Rows) -> Block | None:
    """Checks whole episodes and forms their steps."""
    rows = self._without(rows, self._unclear)
    if not len(rows.episode):
      return None
    shape = findings.Shape(rows, ends=self._ends, horizon=self._horizon)
    unsound = np.isin(rows.episode, list(self._broken))
    for found in sorted(
      findings.search(rows, shape, self._decoder),
      key=lambda each: each.places[0],
    ):
      self._report(found)
      unsound[found.places] = True
    if unsound.any():
      rows = self._without(rows, rows.episode[unsound])
      if not len(rows.episode):
        return None
      shape = findings.Shape(rows, ends=self._ends, horizon=self._horizon)
    return self._steps(rows, shape)

  def _without(
    self, rows: decoded_rows.Rows, episodes: Iterable[int]
  ) -> decoded_rows.Rows:
    """Leaves out some episodes and counts them."""
    bad = np.intersect1d(rows.episode, np.array(list(episodes), np.int64))
    self.unsound += len(bad)
    return (
      decoded_rows.take(rows, ~np.isin(rows.episode, bad)) if len(bad) else rows
    )

  def _steps(
    self, rows: decoded_rows.Rows, shape: findings.Shape
  ) -> Block | None:
    """Forms the steps of sound episodes."""
    terminated = shape.terminated
    # A final observation that is not logged matters only after a truncation:
    # then the last row stands for it, and its action and reward are lost.
    repeated = terminated & ~shape.has_final
    cut = ~terminated & ~shape.has_final
    keep = shape.lengths - (shape.has_final | cut) > 0
    self.cut += int(np.sum(cut & keep))
    self.empty += int(np.sum(~keep))
    if not keep.any():
      return None

    copies = np.repeat(keep.astype(int), shape.lengths)
    copies[shape.ends] += repeated & keep
    index = np.repeat(np.arange(len(copies)), copies)  # [N]
    lengths = (shape.lengths + repeated)[keep]
    final = np.cumsum(lengths) - 1
    terminated = terminated[keep]
    is_last = np.zeros(len(index), bool)
    is_last[final] = True
    is_terminal = np.zeros(len(index), bool)
    is_terminal[final] = terminated
    discount = np.where(
      is_last, 0.0, 1.0 if rows.discount is None else rows.discount[index]
    ).astype(np.float32)
    discount[final[terminated] - 1] = 0.0
    observation = rows.observation[index]
    if self._time_feature:
      step = np.arange(len(index)) - np.repeat(final - lengths + 1, lengths)
      observation = np.column_stack([observation, step])
    action = rows.action[index]
    action[is_last] = 0
    annotations = rows.annotations[index]
    annotations[is_terminal] = 0.0
    if self._decoder.has_behaviour:
      annotations[is_last, 0] = 0.0
    return Block(
      steps_lib.Steps(
        observation=observation,
        action=action,
        reward=np.where(is_last, 0.0, rows.reward[index]),
        discount=discount,
        is_first=np.roll(is_last, 1),
        is_last=is_last,
        is_terminal=is_terminal,
      ),
      annotations,
      int(rows.row[0]),
    )
