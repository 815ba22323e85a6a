"""What one pass of LSTD-Q over a log is asked for, besides its weights.

The influence of episodes and the first stage are made of sums of some parts of
the log, a check of the first rows. So the pass that LSTD-Q is fitted by keeps
the sums of parts by these labels.
"""

from collections.abc import Sequence
import itertools
from typing import NamedTuple

from dfiv_ope.agents import memory
from dfiv_ope.evaluation import first_stage, interval_settings

# Uses of a part: one half of the first stage or the other, weights, nothing.
FIRST, SECOND, WEIGHTS, NOTHING = range(4)


class Label(NamedTuple):
  """What a part of a log is used for.

  Attributes:
    stage: one of the above.
    checked: whether all of its rows are among the first that checks look at.
  """

  stage: int
  checked: bool


def labels(rows: int, checked: int) -> list[Label]:
  """Returns the labels of the parts of a log.

  Args:
    rows: of the log.
    checked: how many of the first rows checks look at.
  """
  marks = memory.marks(rows)
  sizes = [end - start for start, end in itertools.pairwise(marks)]
  used, looked_at = thinned(sizes)
  stages = dict.fromkeys(used, WEIGHTS)
  stages |= dict.fromkeys(looked_at[0::2], FIRST)
  stages |= dict.fromkeys(looked_at[1::2], SECOND)
  return [
    Label(stages.get(index, NOTHING), end <= checked)
    for index, end in enumerate(marks[1:])
  ]


def thinned(sizes: Sequence[int]) -> tuple[list[int], list[int]]:
  """Returns the parts of a log that weights and the first stage are made of.

  Args:
    sizes: rows of each part of the log.
  """
  used = _pairs(range(len(sizes)), sum(sizes), interval_settings.DUAL_ROWS)
  return used, _pairs(
    used, sum(sizes[index] for index in used), first_stage.MOST_ROWS
  )


def _pairs(parts: Sequence[int], rows: int, most: int) -> list[int]:
  """Returns some parts, two at a time, of about `most` rows if there are more.

  In pairs each half of the log, every other part, keeps its share.
  """
  stride = max(1, rows // most)
  return [
    part
    for place, part in enumerate(parts[: len(parts) // 2 * 2])
    if place // 2 % stride == 0
  ]
