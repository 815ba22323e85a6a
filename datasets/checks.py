"""Checks that the rows of a dataset say what they should."""

import dataclasses

import numpy as np

from dfiv_ope.datasets import (
  column_notes,
  columns,
  reading,
  serving,
  store,
  summary,
)
from dfiv_ope.policies import episode_returns

# The mean of the same returns, added in another order.
_TOLERANCE = 1e-6


def summarise(dataset: reading.Dataset) -> summary.Summary:
  """Counts what a dataset holds."""
  metadata = dataset.metadata
  result = summary.Summary(
    action_labels=metadata.action_labels
    or tuple(map(str, range(metadata.num_actions))),
    annotations=metadata.annotations,
    continuous=metadata.continuous,
  )
  result.add(
    dataset.steps,
    np.stack(list(dataset.annotations.values()), axis=1)
    if dataset.annotations
    else np.zeros((len(dataset.steps.action), 0)),
  )
  return result


def column_profile(dataset: reading.Dataset) -> column_notes.Profile:
  """Looks at the columns of the observations."""
  metadata = dataset.metadata
  result = column_notes.Profile(
    metadata.observations, categorical=metadata.categories
  )
  result.add(dataset.steps)
  return result


def problems(dataset: reading.Dataset) -> list[str]:
  """Returns a sentence for everything that is wrong; empty if all is well."""
  metadata, steps = dataset.metadata, dataset.steps
  found = []

  def expect(holds: bool, sentence: str) -> None:
    if not holds:
      found.append(sentence)

  size = steps.observation.shape[1]
  expect(
    size == metadata.num_observations,
    f'Observations have {size} entries, the record says '
    f'{metadata.num_observations}.',
  )
  for name in ('observation', 'reward', 'discount'):
    bad = np.flatnonzero(
      ~np.isfinite(getattr(steps, name))
      .reshape(len(steps.action), -1)
      .all(axis=1)
    )
    expect(
      bad.size == 0,
      f'{name} is not finite in {bad.size} rows, first in row '
      f'{bad[0] if bad.size else None}.',
    )
  if metadata.continuous is None:
    expect(
      bool(np.all((steps.action >= 0) & (steps.action < metadata.num_actions))),
      f'An action lies outside 0..{metadata.num_actions - 1}.',
    )
  else:
    try:
      metadata.continuous.refuse_others(
        steps.action[~steps.is_last], whose='The log'
      )
    except ValueError as error:
      found.append(str(error))
  expect(
    bool(np.all((steps.discount >= 0.0) & (steps.discount <= 1.0))),
    'A discount lies outside [0, 1].',
  )

  first, last = steps.is_first, steps.is_last
  expect(
    bool(first[0] and last[-1] and np.array_equal(first[1:], last[:-1])),
    'Episodes do not follow each other: a first row must come at the '
    'start and after every last row.',
  )
  expect(
    not bool(np.any(steps.is_terminal & ~last)),
    'A terminal row is not the last of its episode.',
  )
  before_last = np.flatnonzero(last) - 1
  expect(
    bool(
      np.all((steps.discount[before_last] == 0.0) >= steps.is_terminal[last])
    ),
    'A terminal row does not follow a discount of zero.',
  )

  for name, counted in (
    ('transitions', int(np.sum(~last))),
    ('episodes', int(np.sum(first))),
    ('truncated', int(np.sum(last & ~steps.is_terminal))),
  ):
    recorded = getattr(metadata, name)
    expect(
      counted == recorded,
      f'There are {counted} {name}, the record says {recorded}.',
    )
  expect(
    serving.same_checkpoint(dataset),
    'The Reverb checkpoint does not hold the rows of the arrays.',
  )
  if not found:
    found += _recorded_differently(dataset)
  taken = dataset.annotations.get(columns.BEHAVIOUR_PROBABILITY)
  if taken is not None:
    greatest = 1.0001 if metadata.continuous is None else np.inf
    expect(
      bool(np.all((taken[~last] > 0.0) & (taken[~last] < greatest))),
      'A behaviour probability lies outside (0, 1].'
      if greatest < np.inf
      else 'A behaviour density is not positive and finite.',
    )
  return found


def _recorded_differently(dataset: reading.Dataset) -> list[str]:
  """Computes what the record says of sound rows once more."""
  metadata, steps = dataset.metadata, dataset.steps
  lengths = np.diff(np.flatnonzero(steps.is_last), prepend=-1) - 1
  returns = episode_returns.summarise(
    store.discounted_returns(steps, metadata.spec.discount).tolist(),
    lengths.tolist(),
  )
  found = [
    f'The log has a {name} of {value:.6g}, the record says {recorded:.6g} '
    f'(discount {metadata.spec.discount:g}).'
    for name, value in dataclasses.asdict(returns).items()
    if not np.isclose(
      value,
      recorded := getattr(metadata.behaviour, name),
      rtol=_TOLERANCE,
      atol=_TOLERANCE,
      equal_nan=True,
    )
  ]
  truth = metadata.truth
  if truth is not None and (
    truth.standard_error < 0.0 or truth.episodes < 1 or metadata.policy is None
  ):
    found.append(
      'The record has a true value that cannot come of a simulation.'
    )
  return found
