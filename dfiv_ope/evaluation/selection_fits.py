"""Candidates of a selection on halves of a log, each judged on the other."""

from collections.abc import Iterator, Sequence
import dataclasses
import io
import pathlib
from typing import Any, NamedTuple, Self

import numpy as np

from dfiv_ope import types, whole_files
from dfiv_ope.agents import base, fixed_features, memory
from dfiv_ope.evaluation import interval_settings, selection
from dfiv_ope.nn import tensors
from dfiv_ope.ope import task as task_lib
from dfiv_ope.results import problems, rows


class Fit(NamedTuple):
  """What a candidate says of the rows that it was not fitted on.

  Attributes:
    values: Q-values, [N].
    errors: Bellman errors, [N].
    divergence: why there are none; empty if there are.
    cpu_seconds: that it took.
  """

  values: types.FloatArray
  errors: types.FloatArray
  divergence: str
  cpu_seconds: float

  def save(self, path: pathlib.Path) -> None:
    """Writes a file, there whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    buffer = io.BytesIO()
    np.savez(buffer, **self._asdict())
    whole_files.write(path, buffer.getvalue())

  @classmethod
  def load(cls, path: pathlib.Path) -> Self:
    """Returns what `save` was given."""
    with np.load(path, allow_pickle=False) as data:
      return cls(
        data['values'],
        data['errors'],
        str(data['divergence']),
        float(data['cpu_seconds']),
      )


def halves(
  task: task_lib.EvaluationTask, half: int, judge: problems.Judge
) -> tuple[types.IVBatch, types.IVBatch]:
  """Returns the rows to fit on, and those of the other half to judge by.

  Args:
    task: the log and the policy.
    half: 0 or 1.
    judge: how many rows are judged by.

  Raises:
    ValueError: the log has one episode only.
  """
  if not task.log.episodes.any():
    raise ValueError(
      'Choosing a method takes two episodes, one to fit and one to judge; '
      'this log has one. Name a --method.'
    )
  parity = task.log.episodes % 2
  fitted = memory.take(task.rows, np.flatnonzero(parity == half))
  held_out = np.flatnonzero(parity != half)
  return fitted, memory.take(
    task.rows, held_out[:: max(1, -(-len(held_out) // judge.rows))]
  )


def values_and_errors(
  learner: base.OPELearner, judged: types.IVBatch
) -> tuple[types.FloatArray, types.FloatArray]:
  """Returns values of rows and Bellman errors there, [N]; nan if diverged."""
  if learner.divergence:
    nothing = np.full(len(judged.outcome), np.nan)
    return nothing, nothing
  values = tensors.array(learner.agent.predict(judged.instrument))
  return (
    values[:, 0].astype(np.float64),
    learner.agent.errors(judged).astype(np.float64),
  )


def judge(
  task: task_lib.EvaluationTask,
  fits: Sequence[Sequence[Fit]],
  settings: problems.Judge,
) -> selection.Scores:
  """Scores candidates, averaged over both halves.

  Args:
    task: the log and the policy.
    fits: of each candidate on each half, [half][candidate].
    settings: how they are judged.

  Raises:
    ValueError: each of them diverged on a half.
  """
  if all(
    one.divergence or other.divergence for one, other in zip(*fits, strict=True)
  ):
    raise ValueError(
      'Every candidate diverged on half of the episodes, so none can be '
      'chosen. Name methods of a closed form, such as --method auto '
      '--method lstd --method kiv.'
    )
  asked = task.problem
  psi = fixed_features.make(
    asked,
    dataclasses.replace(
      interval_settings.default_features().settings,
      random_features=settings.features,
      bandwidth_scale=1.0,
    ),
    seed=0,
  )
  scores = []
  for half, found in enumerate(fits):
    _, judged = halves(task, half, settings)
    scores.append(
      selection.judge(
        np.stack([each.values for each in found], axis=1),
        np.stack([each.errors for each in found], axis=1),
        psi(judged.instrument),
      )
    )
  return selection.Scores(*np.mean(scores, axis=0))


def outcomes(
  fits: Sequence[Sequence[Fit]], total: selection.Scores
) -> Iterator[dict[str, Any]]:
  """Yields what the row of each candidate says of it, by the row's fields.

  Args:
    fits: of each candidate on each half, [half][candidate].
    total: of `judge`.
  """
  for place, both in enumerate(zip(*fits, strict=True)):
    divergence = next((each.divergence for each in both if each.divergence), '')
    yield {
      'metrics': {}
      if divergence
      else {
        'tournament': float(total.tournament[place]),
        'projected_bellman_error': float(total.projected[place]),
        'chosen': float(place == total.best),
      },
      'cpu_seconds': sum(each.cpu_seconds for each in both),
      'reason': divergence,
      'outcome': rows.DIVERGED if divergence else rows.FINISHED,
    }
