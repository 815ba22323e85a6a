"""What foreign code says of observations, as vectors of actions.

ask = vector_answers.asking(function, 'doses:mild', actions)
mean, deviation = ask(observations)             # [B, d] each
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Protocol, runtime_checkable

import numpy as np

from dfiv_ope import actions as actions_lib
from dfiv_ope import types
from dfiv_ope.policies import answers


@runtime_checkable
class Sampler(Protocol):
  """What a user may hand in where actions have a density of their own."""

  def sample(
    self, observations: np.ndarray, generator: np.random.Generator
  ) -> np.ndarray:
    """Returns actions [B, d], drawn by nothing but the generator."""

  def log_prob(
    self, observations: np.ndarray, actions: np.ndarray
  ) -> np.ndarray:
    """Returns log densities of actions [B, d], [B]."""


class Moments(NamedTuple):
  """Means and standard deviations, float64 [B, d]; 0 for an action itself."""

  mean: types.FloatArray
  deviation: types.FloatArray


def asking(
  function: Callable[[np.ndarray], Any],
  name: str,
  actions: actions_lib.Continuous,
) -> Callable[[np.ndarray], Moments]:
  """Returns what asks foreign code for actions.

  Args:
    function: maps observations, float64 [B, D], to what `as_moments` takes.
    name: for messages.
    actions: what an action is.
  """

  def ask(observation: np.ndarray) -> Moments:
    return as_moments(
      answers.call(function, name, observation),
      len(observation),
      actions,
      whose=name,
    )

  return ask


def as_moments(
  answer: Any, rows: int, actions: actions_lib.Continuous, *, whose: str
) -> Moments:
  """Returns what foreign code says of B observations.

  Args:
    answer: actions [B, d], or a pair of means [B, d] and standard deviations,
      [B, d] or [d]. One entry needs no second axis. Columns of a data frame
      that are named after entries may have any order, and entries that are
      names may be given by their labels.
    rows: B.
    actions: what an action is.
    whose: begins the message.

  Raises:
    ValueError: it is neither.
  """
  if not (isinstance(answer, tuple) and len(answer) == 2):
    given = as_actions(answer, rows, actions, whose=whose)
    return Moments(given, np.zeros_like(given))
  if actions.categories:
    raise ValueError(
      f'{whose} returned means and standard deviations, but entry '
      f'{actions.entry(min(actions.categories))} of the action is a name. '
      'Return actions, or pass an object with sample and log_prob.'
    )
  mean = _matrix(answer[0], rows, actions, whose)
  deviation = np.asarray(answer[1])
  if deviation.ndim < 2 and deviation.shape in ((), (1,), (actions.size,)):
    deviation = np.broadcast_to(deviation, mean.shape)
  deviation = _matrix(deviation, rows, actions, whose)
  if not np.isfinite(mean).all():
    row, place = np.argwhere(~np.isfinite(mean))[0]
    raise ValueError(
      f'{whose} returned the mean {mean[row, place]:g} for entry '
      f'{actions.entry(place)} of observation {row}, but means are finite.'
    )
  wrong = ~(np.isfinite(deviation) & (deviation >= 0.0))
  if not wrong.any() and deviation.any():
    wrong = deviation == 0.0
  if wrong.any():
    row, place = np.argwhere(wrong)[0]
    raise ValueError(
      f'{whose} returned the standard deviation {deviation[row, place]:g} '
      f'for entry {actions.entry(place)} of observation {row}, but they are '
      'finite and positive, or all 0.'
    )
  return Moments(mean, deviation)


def as_actions(
  answer: Any, rows: int, actions: actions_lib.Continuous, *, whose: str
) -> types.FloatArray:
  """Returns an answer as actions within their bounds, float64 [B, d].

  Raises:
    ValueError: it is none.
  """
  result = actions.snapped(_matrix(answer, rows, actions, whose))
  actions.refuse_others(result, whose=whose)
  return result


def as_log_densities(answer: Any, rows: int, *, whose: str) -> types.FloatArray:
  """Returns an answer as log densities, float64 [B]; they may be -inf.

  Raises:
    ValueError: it is none.
  """
  array = _array(answer, rows, (), whose)
  if array.shape != (rows,) or array.dtype.kind not in 'fiu':
    raise ValueError(
      f'{whose} returned log densities of shape {list(array.shape)}, but '
      f'one number for each observation and its action is wanted, [{rows}].'
    )
  result = array.astype(np.float64)
  wrong = np.isnan(result) | (result == np.inf)
  if wrong.any():
    row = int(np.argmax(wrong))
    raise ValueError(
      f'{whose} returned the log density {result[row]:g} for observation '
      f'{row}, but it is a finite number, or -inf for an action that is '
      'never taken.'
    )
  return result


def _matrix(
  answer: Any, rows: int, actions: actions_lib.Continuous, whose: str
) -> types.FloatArray:
  """Returns an answer as numbers, float64 [B, d]."""
  size = actions.size
  names = [actions.entry(place) for place in range(size)]
  array = _array(answer, rows, names, whose, labelled=bool(actions.names))
  if array.shape == (rows,) and size == 1:
    array = array[:, None]
  wanted = (
    f'actions [{rows}, {size}] are wanted, with the entries '
    f'{", ".join(names[:20])}, or means and standard deviations of '
    'these'
  )
  if array.shape != (rows, size) and _are_probabilities(array, rows):
    raise ValueError(
      f'{whose} returned {array.shape[1]} numbers an observation that sum '
      f'to 1, as probabilities do, but {wanted}.'
    )
  if array.shape != (rows, size):
    raise ValueError(
      f'{whose} returned {type(answer).__name__} of shape '
      f'{list(array.shape)}, but {wanted}.'
    )
  if array.dtype.kind in 'fiub':
    return array.astype(np.float64)
  return np.stack(
    [
      _column(
        array[:, place],
        actions.categories.get(place, ()),
        f'{whose} returned for entry {names[place]} of the action',
      )
      for place in range(size)
    ],
    axis=1,
  )


def _are_probabilities(array: np.ndarray, rows: int) -> bool:
  return bool(
    array.ndim == 2
    and len(array) == rows
    and array.dtype.kind == 'f'
    and (array >= 0.0).all()
    and (np.abs(array.sum(axis=1) - 1.0) <= answers.SUM_SLACK).all()
  )


def _column(
  values: np.ndarray, labels: tuple[str, ...], begin: str
) -> types.FloatArray:
  """Returns an entry of all actions: its numbers, or the places of labels."""
  places = {label: float(place) for place, label in enumerate(labels)}
  found = [
    places.get(each) if isinstance(each, str) else _number(each)
    for each in values
  ]
  if None in found:
    wanted = f'one of {", ".join(labels[:20])}' if labels else 'a number'
    raise ValueError(
      f'{begin} {str(values[found.index(None)])!r}, but {wanted} is wanted.'
    )
  return np.array(found, np.float64)


def _number(value: Any) -> float | None:
  try:
    return float(value)
  except (TypeError, ValueError):
    return None


def _array(
  answer: Any,
  rows: int,
  names: Sequence[str],
  whose: str,
  *,
  labelled: bool = False,
) -> np.ndarray:
  try:
    return answers.as_array(answer, rows, names, labelled=labelled)
  except ValueError as error:
    raise ValueError(f'{whose} {error}') from error


def answered(
  policy: Callable[[np.ndarray], Any] | Sampler,
  name: str,
  observations: np.ndarray,
  actions: actions_lib.Continuous,
) -> types.FloatArray:
  """Returns what a policy does in states, to tell it from others, [B, 2 d].

  Args:
    policy: of a user.
    name: for messages.
    observations: [B, D].
    actions: what an action is.

  Raises:
    ValueError: its answers are no actions.
  """
  if not isinstance(policy, Sampler):
    return np.concatenate(asking(policy, name, actions)(observations), axis=1)
  return np.concatenate(
    [
      as_actions(
        answers.call(
          policy.sample,
          f'{name}.sample',
          observations,
          np.random.default_rng(seed),
        ),
        len(observations),
        actions,
        whose=f'{name}.sample',
      )
      for seed in range(2)
    ],
    axis=1,
  )
