"""Units and offsets change no answer; `table` says how nearly so.

A column in other units, or counted from another start, holds the same
information. So every method should give the same answer, and where rewards or
outcomes are in other units, the same in these.
"""

from collections.abc import Callable, Iterator, Mapping
import dataclasses
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from dfiv_ope import agents, stages
from dfiv_ope.iv import methods

if TYPE_CHECKING:
  from dfiv_ope import types
  from dfiv_ope.ope import bellman

# Changes of a trained agent's default config that make a run one of seconds;
# closed forms are run as they are.
_BUDGET = {'updates': 60, 'checks': 1, 'batch_size': 128}
# Data are multiples of this, so that float64 holds them exactly at 1e12.
_GRID = 2.0**-6
_DISCOUNT = 0.9


class Change(NamedTuple):
  """Another start and other units: x becomes factor x + offset."""

  factor: float = 1.0
  offset: float = 0.0

  def __call__(self, x: Any) -> Any:
    return self.factor * x + self.offset


# What is changed, of inputs and of rewards or outcomes.
CHANGES: dict[str, tuple[Change, Change]] = {
  'inputs + 1e12': (Change(offset=1e12), Change()),
  'inputs x 1e-20': (Change(1e-20), Change()),
  'inputs x 1e20': (Change(1e20), Change()),
  'outcome x 1e-20': (Change(), Change(1e-20)),
  'outcome x 1e20': (Change(), Change(1e20)),
}

# Returns the answers of a method, in the units of unchanged data.
Answer = Callable[[str, Change, Change], np.ndarray]


def table(
  rows: int, *, progress: stages.Progress = stages.silent
) -> Iterator[str]:
  """Yields the lines of a table in Markdown: the largest change of an answer.

  Args:
    rows: of the made-up data.
    progress: told of each method.
  """
  yield f'| method | {" | ".join(CHANGES)} |'
  yield '|---' * (1 + len(CHANGES)) + '|'
  for kind, names, answer in (
    ('OPE', agents.LEARNERS, ope_answer(rows)),
    ('IV', methods.NAMES, iv_answer(rows)),
  ):
    for name in names:
      with progress(f'{kind} {name}', None):
        found = dict(differences(name, answer))
      yield (
        f'| {kind} {name} | '
        + ' | '.join(f'{found[change]:.1e}' for change in CHANGES)
        + ' |'
      )


def differences(
  name: str,
  answer: Answer,
  changes: Mapping[str, tuple[Change, Change]] = CHANGES,
) -> Iterator[tuple[str, float]]:
  """Yields the relative change of a method's answers for each change."""
  before = answer(name, Change(), Change())
  size = np.sqrt(np.mean(np.square(before)))
  for label, both in changes.items():
    yield label, float(np.max(np.abs(answer(name, *both) - before)) / size)


def ope_answer(rows: int, **changes: Any) -> Answer:
  """Returns the function that evaluates a policy on a changed log.

  Args:
    rows: of the log.
    **changes: of those fields of a config that it has.
  """
  log = transitions(rows)

  def answer(name: str, inputs: Change, outcome: Change) -> np.ndarray:
    from dfiv_ope.agents import base, memory

    changed, problem = pose(log, inputs, outcome)
    entry = agents.ENTRIES[name]
    config = entry.configs['default']
    if entry.trained:
      config = dataclasses.replace(config, **_BUDGET)
    config = dataclasses.replace(
      config,
      **{
        field: value
        for field, value in changes.items()
        if getattr(config, field, 0)
      },
    )
    learner = base.OPELearner(
      agents.load(name).make(config, problem, seed=0),
      problem,
      memory.InMemory(
        problem.rows(changed), batch_size=config.batch_size, seed=0
      ),
      initial_observations=changed.observation[:50],
    )
    learner.run()
    return np.array([learner.evaluate() / outcome.factor])

  return answer


def iv_answer(rows: int) -> Answer:
  """Returns the function that fits an estimator to changed arrays."""
  generator = np.random.default_rng(1)
  z, x, shock, noise = _round(generator.normal(size=(4, rows)))
  t = z + 0.5 * x + shock
  y = _round(np.sin(t) + 0.5 * x + shock + 0.1 * noise)

  def answer(name: str, inputs: Change, outcome: Change) -> np.ndarray:
    import warnings

    from dfiv_ope.iv import estimators

    model = estimators.ESTIMATORS[name](
      random_state=0, **methods.ENTRIES[name].tiny
    )
    with warnings.catch_warnings():
      warnings.simplefilter('ignore')  # of weak instruments
      model.fit(outcome(y), inputs(t), Z=inputs(z), X=inputs(x))
    return model.predict(inputs(t[:50]), inputs(x[:50])) / outcome.factor

  return answer


class _Threshold:
  """Takes action 1 more often where the first entry exceeds a level."""

  def __init__(self, level: float):
    self._level = level

  def action_probabilities(self, observation: Any) -> Any:
    import tensorflow as tf

    high = tf.cast(observation[:, 0] > self._level, tf.float32)
    return tf.stack([0.8 - 0.6 * high, 0.2 + 0.6 * high], axis=1)


def pose(
  log: 'types.Transition', inputs: Change, outcome: Change
) -> tuple['types.Transition', 'bellman.Problem']:
  """Returns a changed log, and a policy's value on it as a problem."""
  from dfiv_ope.ope import bellman

  changed = log._replace(
    observation=inputs(log.observation),
    next_observation=inputs(log.next_observation),
    reward=outcome(log.reward),
  )
  return changed, bellman.pose(
    changed, _Threshold(inputs(0.5 * _GRID)), discount=_DISCOUNT, num_actions=2
  )


def transitions(rows: int) -> 'types.Transition':
  """Returns a log of two numbers that drift, on the grid."""
  from dfiv_ope import types

  generator = np.random.default_rng(0)
  state = _round(generator.normal(size=(rows, 2)))
  action = generator.integers(2, size=rows)
  later = _round(
    0.8 * state
    + 0.5 * (2.0 * action[:, None] - 1.0) * [1.0, -0.5]
    + 0.3 * generator.normal(size=(rows, 2))
  )
  reward = _round(np.cos(state[:, 0]) + action * state[:, 1])
  return types.Transition(
    observation=state,
    action=action.astype(np.int32),
    reward=reward,
    discount=(generator.random(rows) > 0.05).astype(np.float32),
    next_observation=later,
  )


def _round(x: np.ndarray) -> np.ndarray:
  return np.round(x / _GRID) * _GRID
