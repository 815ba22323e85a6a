"""How long learners train until their estimates are right, and stay so."""

from collections.abc import Sequence
import dataclasses
import time

from dfiv_ope import agents, stages
from dfiv_ope.agents import bandwidth_choice, configured
from dfiv_ope.evaluation import runs


@dataclasses.dataclass(frozen=True, kw_only=True)
class Course:
  """What a run of a learner estimated when.

  Attributes:
    method: name of the estimator.
    config: name of its config.
    seed: of the run.
    updates: done at each evaluation point.
    cpu_seconds: process time from the making of the networks to each point,
      with graphs and evaluation, without what all methods share.
    estimates: at each point.
    failure: why the run was stopped; empty if it was not.
  """

  method: str
  config: str
  seed: int
  updates: tuple[int, ...]
  cpu_seconds: tuple[float, ...]
  estimates: tuple[float, ...]
  failure: str

  def reached(self, truth: float, within: float) -> float | None:
    """Returns the CPU seconds after which all estimates are near the truth.

    Args:
      truth: the value.
      within: how far estimates may be from it, as a share of it.

    Returns:
      None if the last estimate is further away, or the run was stopped.
    """
    found = None
    if self.failure:
      return found
    for seconds, estimate in zip(
      self.cpu_seconds[::-1], self.estimates[::-1], strict=True
    ):
      if abs(estimate - truth) > within * abs(truth):
        break
      found = seconds
    return found


def measure(
  evaluator: runs.Evaluator,
  asked: Sequence[configured.Configured],
  *,
  seeds: int,
  progress: stages.Progress = stages.silent,
) -> list[Course]:
  """Returns the course of each learner and seed.

  Args:
    evaluator: of the log and the policy.
    asked: the learners and their configs.
    seeds: number of seeds of each.
    progress: told which one trains.
  """
  bandwidth_choice.settle([evaluator.task])
  evaluator.task.rows  # noqa: B018  made before time counts
  found: list[Course] = []
  with progress('Training', len(asked) * seeds) as update:
    for each in asked:
      agents.load(each.method)  # Imports are of no learner.
      for seed in range(seeds):
        update(len(found), f'{each.method} {each.preset}, seed {seed}')
        found.append(_course(evaluator, each, seed))
  return found


def _course(
  evaluator: runs.Evaluator, asked: configured.Configured, seed: int
) -> Course:
  """Returns the course of one run."""
  started = time.process_time()
  learner = evaluator.learner(asked.method, asked.config, seed=seed)
  seconds = []
  while not learner.done:
    learner.step()
    seconds.append(time.process_time() - started)
  return Course(
    method=asked.method,
    config=asked.preset,
    seed=seed,
    updates=tuple(map(int, learner.history['updates'])),
    cpu_seconds=tuple(seconds),
    estimates=tuple(learner.history['estimate']),
    failure=learner.divergence,
  )
