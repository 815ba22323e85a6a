"""What one pass over a log finds out, whatever gives its blocks of episodes."""

from collections.abc import Callable, Iterable, Sequence
import contextlib
import dataclasses
import pathlib
from typing import Any, NamedTuple

from dfiv_ope.datasets import (
  assembly,
  episode_sample,
  log_copy,
  log_fields,
  stream_sums,
)
from dfiv_ope.datasets import log as log_lib
from dfiv_ope.ope import episodes, log_notes, streamed

# Transitions of the sample of whole episodes: as many as unrelated estimators
# look at in memory.
SAMPLED = 50_000


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False)
class Survey(streamed.Survey):
  """What a pass over a log finds out, and how to find its rows again.

  Attributes:
    starts: of blocks of whole episodes.
    known: fields that `Log`s of some of its rows have.
    tried: rows that policies are tried on.
    counts: rows of each file.
    copy: of the transitions, if there is one.
  """

  starts: Sequence[stream_sums.Start]
  known: dict[str, Any]
  sample: log_lib.Log
  tried: episodes.Episodes
  counts: tuple[int, ...] = ()
  copy: pathlib.Path | None = None


class Look(NamedTuple):
  """What was seen of all blocks.

  Attributes:
    sums: of all of them.
    sample: some of their episodes.
  """

  sums: stream_sums.Sums
  sample: assembly.Block


def look(
  blocks: Iterable[assembly.Block],
  known: Callable[[], dict[str, Any]],
  *,
  discount: float,
  sampled: int,
  seed: int,
  copy: pathlib.Path | None,
  nothing: Callable[[], ValueError],
) -> Look:
  """Goes through a log once.

  Args:
    blocks: of whole episodes.
    known: returns what is known of all rows, once there was a block.
    discount: of the value that is asked for.
    sampled: transitions of the sample of whole episodes, at most.
    seed: of the sample.
    copy: folder for a copy of the transitions; None for no copy.
    nothing: returns the error of a log without a transition.

  Raises:
    ValueError: there is none, or something is wrong with one.
  """
  sample = episode_sample.EpisodeSample(transitions=sampled, seed=seed)
  sums = stream_sums.Sums(discount)
  with contextlib.ExitStack() as stack:
    writer = (
      None if copy is None else stack.enter_context(log_copy.Writer(copy))
    )
    for block in blocks:
      log = log_lib.Log(**fields(block, known(), discount))
      sums.add(block, log)
      sample.add(block)
      if writer is not None:
        writer.add_log(log)
    if not sums.transitions:
      raise nothing()
  return Look(sums, sample.taken())


def sampled_log(
  found: Look,
  known: dict[str, Any],
  *,
  discount: float,
  notes: Sequence[log_notes.Note],
  **named: Any,
) -> log_lib.Log:
  """Returns the sample as a log, with what is to be said of the whole.

  Args:
    found: of `look`.
    known: of the same log.
    discount: likewise.
    notes: of the whole log.
    **named: further fields.
  """
  taken, told = fields(found.sample, known, discount), list(notes)
  count, sums = len(taken['episodes']), found.sums
  if count < sums.transitions:
    told.append(
      log_notes.Note(
        kind=log_notes.SAMPLED,
        numbers={
          'episodes': len(taken['initial_observations']),
          'of_episodes': sums.episodes,
          'rows': count,
          'of_rows': sums.transitions,
        },
      )
    )
  return log_lib.Log(**taken, notes=tuple(told), **named)


def fields(
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
