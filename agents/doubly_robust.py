"""What the doubly robust methods share: q on other episodes, and weights."""

from typing import NamedTuple

import numpy as np

from dfiv_ope import types
from dfiv_ope.agents import cross_fitting, direct
from dfiv_ope.agents.entries import doubly_robust as entry
from dfiv_ope.ope import task as task_lib
from dfiv_ope.ope import weighing


class Ingredients(NamedTuple):
  """What the estimates are made of.

  Attributes:
    weights: of the steps.
    values: q and v, cross-fitted.
    held_out: the folds of q.
  """

  weights: direct.Weights
  values: cross_fitting.Values
  held_out: list[cross_fitting.Fold]

  @property
  def model_value(self) -> float:
    """What the model says without any weights."""
    return float(np.mean(self.values.initial))

  def weigh(
    self, *, normalised: bool, until: int | None = None
  ) -> weighing.Weighed:
    """Returns DR, or WDR if `normalised`; arguments as in `of_steps`."""
    return weighing.of_steps(
      self.weights.logs,
      self.weights.discounts * self.values.errors,
      self.weights.where,
      normalised=normalised,
      until=until,
      initial=self.values.initial,
    )


def prepare(
  config: entry.Config, task: task_lib.EvaluationTask, *, seed: types.Seed
) -> Ingredients:
  """Returns weights and cross-fitted values.

  The value of the state after a truncated episode is part of its last error.

  Args:
    config: of weights, folds and LSTD-Q.
    task: the log and the target policy.
    seed: of folds and features.

  Raises:
    UnanswerableError: there are no weights, or the log has one episode.
  """
  weights = direct.weights(config, task)
  held_out = cross_fitting.folds(task, config.folds, seed=seed)
  return Ingredients(
    weights, cross_fitting.values(config, task, held_out, seed=seed), held_out
  )


def answer(
  found: Ingredients, weighed: weighing.Weighed, *, correction: float = 0.0
) -> direct.Direct:
  """Returns an estimate, with the value of the model beside it."""
  return direct.answer(
    weighed,
    {
      **found.weights.metrics,
      'model_value': found.model_value,
      'values_share': found.weights.left_share,
    },
    correction,
  )
