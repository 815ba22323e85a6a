"""What one pass of LSTD-Q over a log is asked for, besides its weights.

The influence of episodes and the first stage are made of sums of some parts of
the log, a check of the first rows. So the pass that LSTD-Q is fitted by keeps
the sums of parts by these labels.
"""

from collections.abc import Sequence
import itertools
from typing import NamedTuple

import numpy as np

from dfiv_ope import types
from dfiv_ope.agents import base, fixed_features, lstd, memory, outer_sums
from dfiv_ope.agents.entries import random_features
from dfiv_ope.evaluation import first_stage, interval_settings
from dfiv_ope.iv import ridge
from dfiv_ope.nn import tensors
from dfiv_ope.ope import bellman, decisions

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
  used, looked_at = thinned(
    [end - start for start, end in itertools.pairwise(marks)]
  )
  stages = dict.fromkeys(used, WEIGHTS)
  stages |= dict.fromkeys(looked_at[0::2], FIRST)
  stages |= dict.fromkeys(looked_at[1::2], SECOND)
  return [
    Label(stages.get(index, NOTHING), end <= checked)
    for index, end in enumerate(marks[1:])
  ]


def thinned(rows: Sequence[int]) -> tuple[list[int], list[int]]:
  """Returns the parts of a log that weights and the first stage are made of.

  Args:
    rows: of each part of the log.
  """
  used = _pairs(range(len(rows)), sum(rows), interval_settings.DUAL_ROWS)
  return used, _pairs(
    used, sum(rows[index] for index in used), first_stage.MOST_ROWS
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


def kept_sums(
  agent: base.Agent | None,
  problem: bellman.Problem,
  features: random_features.Settings,
) -> outer_sums.PartSums | None:
  """Returns the sums that LSTD-Q of seed 0 kept of the same features."""
  return (
    agent.kept
    if isinstance(agent, lstd.LSTD)
    and agent.config.settings_of(problem) == features
    else None
  )


def of_stage(kept: outer_sums.PartSums, stage: int) -> ridge.Sums:
  """Returns the sums of the parts that are used for something."""
  return kept.of(lambda label: label.stage == stage)


def weigh(
  psi: fixed_features.Features,
  dual: types.FloatArray,
  parts: base.Parts,
  agent: base.Agent | None,
) -> tuple[types.FloatArray, types.FloatArray | None]:
  """Returns the weights of rows, [N], and the errors of an agent, [N].

  Args:
    psi: what the weights are made of.
    dual: their coefficients, [D, 1].
    parts: gives the log.
    agent: whose values are linear in the same features; None for none.
  """
  if agent is None:
    return np.concatenate(
      [fixed_features.Rows(psi, rows.instrument).dot(dual) for rows in parts()]
    ), None
  assert isinstance(agent, lstd.LSTD) and isinstance(psi, decisions.Outer)
  weights, errors = [], []
  for rows in parts():
    fitted, weight = outer_sums.difference(
      psi, agent.weights, rows.treatment, also=dual
    )
    weights.append(weight)
    errors.append(tensors.array(rows.outcome)[:, 0] - fitted)
  return np.concatenate(weights), np.concatenate(errors)


def sizes(parts: base.Parts) -> list[int]:
  """Returns the rows of each part of a log."""
  if isinstance(parts, memory.Parts):
    return parts.sizes
  return [len(rows.outcome) for rows in parts()]


def only(parts: base.Parts, chosen: Sequence[int]) -> base.Parts:
  """Returns what gives some of the parts."""
  if isinstance(parts, memory.Parts):
    return parts.only(chosen)
  wanted = set(chosen)
  return lambda: (rows for index, rows in enumerate(parts()) if index in wanted)
