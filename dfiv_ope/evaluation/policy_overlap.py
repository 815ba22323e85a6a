"""How far a log holds what a policy would do, before any estimate."""

import dataclasses
from typing import Any

from dfiv_ope.evaluation import runs
from dfiv_ope.ope import episodes, overlap
from dfiv_ope.ope import task as task_lib


def describe(log: episodes.Episodes, policy: str) -> dict[str, Any]:
  """Returns how far the log tells what the policy would do, as JSON data.

  Args:
    log: what was recorded.
    policy: as `evaluate` takes it.

  Raises:
    ValueError: it is not a policy for this log.
  """
  target = task_lib.find_policy(policy, log)
  task = task_lib.EvaluationTask(log, target.policy)
  found, influence = task.overlap, runs.Evaluator(task).influence()
  share, features = influence.effective_share, influence.features
  assert found.coverage is not None
  return {
    'policy': target.description,
    'agreement': None if log.continuous else found.agreement,
    'near_neighbours': found.coverage.share,
    'effective_share': share,
    'steps': found.steps,
    'episodes': log.num_episodes,
    'weights': found.weights and dataclasses.asdict(found.weights),
    'sentences': [
      overlap.verdict(overlap.worst(found.grade, overlap.share_grade(share))),
      overlap.share_words(
        share,
        features=influence.size,
        bandwidth_scale=features.bandwidth_scale,
        reduced=features.reduced,
        cells=influence.cells,
        together=influence.together,
        one_step=influence.one_step,
      ),
      *found.warnings(log.action_labels),
    ],
  }


def card(found: dict[str, Any]) -> list[tuple[str, str]]:
  """Returns the lines of a card: names and values."""
  weights = found['weights']
  rows = [
    ('policy', found['policy']),
    *(
      []
      if found['agreement'] is None
      else [('logged actions it takes', f'{100 * found["agreement"]:.1f} %')]
    ),
    (
      'decisions with near neighbours',
      f'{100 * found["near_neighbours"]:.1f} %',
    ),
    (
      'effective sample size of rows',
      f'{100 * found["effective_share"]:.1f} %',
    ),
  ]
  if weights:
    rows.append(
      (
        'effective size',
        f'{weights["effective_steps"]:,.0f} of {found["steps"]:,} steps, '
        f'{weights["effective_episodes"]:,.1f} of '
        f'{found["episodes"]:,} episodes'
        + (' (behaviour policy estimated)' if weights['estimated'] else ''),
      )
    )
  return rows
