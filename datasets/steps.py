"""Episodes as rows of steps, in the vocabulary of RLDS.

A block is a run of whole episodes. An episode of T transitions has T + 1 rows;
the last holds the final observation, and zeros where an action would be.
"""

from collections.abc import Iterable, Mapping, Sequence
import hashlib
from typing import NamedTuple

import numpy as np

from dfiv_ope import actions, types
from dfiv_ope.policies import rollout


class Steps(NamedTuple):
  """Rows of steps; the action, reward and discount follow the observation.

  Attributes:
    observation: float64 [N, D].
    action: the intended action, int32 [N], or float64 [N, d] if it is a
      vector (`actions.Continuous`); 0 in a last row.
    reward: float64 [N]; 0 in a last row.
    discount: the environment's discount, float32 [N]; 0 in a last row.
    is_first: bool [N], the episode starts here.
    is_last: bool [N], the final observation of an episode.
    is_terminal: bool [N], a last row that was reached by termination; a last
      row that is not terminal was cut off (truncated).
  """

  observation: np.ndarray
  action: np.ndarray
  reward: np.ndarray
  discount: np.ndarray
  is_first: np.ndarray
  is_last: np.ndarray
  is_terminal: np.ndarray


class Places(NamedTuple):
  """Where the rows of transitions are; each indexes a column of `Steps`.

  Attributes:
    moves: of the observations that actions were taken in.
    first: of those that episodes start with.
    after: of those that actions led to.
  """

  moves: np.ndarray | slice
  first: np.ndarray | slice
  after: np.ndarray | slice


class Column(NamedTuple):
  """What a column holds.

  Attributes:
    dtype: of its numbers.
    shape: of a row.
  """

  dtype: np.dtype
  shape: tuple[int, ...] = ()


def places(steps: Steps) -> Places:
  """Returns where the transitions of whole episodes are."""
  moves = np.flatnonzero(~steps.is_last)
  if np.array_equal(moves, np.arange(0, len(steps.is_last), 2)):
    # One step each, so that views will do instead of copies.
    return Places(np.s_[::2], np.s_[::2], np.s_[1::2])
  return Places(moves, steps.is_first, moves + 1)


def columns(
  num_observations: int, action_entries: int = 0
) -> dict[str, Column]:
  """Returns what the columns of `Steps` hold, by name.

  Args:
    num_observations: entries of an observation.
    action_entries: entries of an action that is a vector; 0 if it is none.
  """
  return {
    'observation': Column(np.dtype(np.float64), (num_observations,)),
    'action': Column(np.dtype(np.float64), (action_entries,))
    if action_entries
    else Column(np.dtype(np.int32)),
    'reward': Column(np.dtype(np.float64)),
    'discount': Column(np.dtype(np.float32)),
    'is_first': Column(np.dtype(bool)),
    'is_last': Column(np.dtype(bool)),
    'is_terminal': Column(np.dtype(bool)),
  }


def signature(num_observations: int, action_entries: int = 0) -> Steps:
  """Returns the tensor specs of a block of any number of rows."""
  import tensorflow as tf

  return Steps(
    **{
      name: tf.TensorSpec([None, *column.shape], column.dtype)
      for name, column in columns(num_observations, action_entries).items()
    }
  )


def from_episode(episode: rollout.Episode) -> Steps:
  """Turns an episode of T transitions into T + 1 rows."""
  length = len(episode.actions)
  last = np.arange(length + 1) == length
  return Steps(
    observation=episode.observations,
    action=np.concatenate(
      [episode.actions, np.zeros_like(episode.actions[:1])]
    ),
    reward=np.append(episode.rewards, 0.0),
    discount=np.append(episode.discounts, np.float32(0.0)),
    is_first=np.arange(length + 1) == 0,
    is_last=last,
    is_terminal=last & (episode.discounts[-1] == 0.0),
  )


def concatenate(blocks: Iterable[Steps]) -> Steps:
  """Joins blocks in their order."""
  return Steps(*(np.concatenate(x) for x in zip(*blocks, strict=True)))


def transitions(steps: Steps) -> types.Transition:
  """Returns the transitions of whole episodes, in order, as tensors.

  Graph code: it serves arrays in memory and blocks of a stream alike.
  """
  import tensorflow as tf

  starts = tf.where(~tf.convert_to_tensor(steps.is_last))[:, 0]  # [M]
  return types.Transition(
    observation=tf.gather(steps.observation, starts),
    action=tf.gather(steps.action, starts),
    reward=tf.gather(steps.reward, starts),
    discount=tf.gather(steps.discount, starts),
    next_observation=tf.gather(steps.observation, starts + 1),
  )


class Digest:
  """SHA-256 of a sequence of blocks, fed one by one."""

  def __init__(
    self,
    categories: Mapping[int, Sequence[object]] | None = None,
    continuous: actions.Continuous | None = None,
  ) -> None:
    """Begins with the labels of categorical columns and what actions are.

    Args:
      categories: labels of the categorical columns, by their number.
      continuous: bounds and labels of actions that are vectors.
    """
    self._hash = hashlib.sha256()
    for column, labels in sorted((categories or {}).items()):
      self._hash.update(f'{column} {list(labels)}'.encode())
    if continuous is not None:
      low, high = (each.tolist() for each in continuous.bounds)
      labelled = sorted(
        (place, list(each)) for place, each in continuous.categories.items()
      )
      self._hash.update(f'actions {low} {high} {labelled}'.encode())

  def update(self, block: Steps, annotations: np.ndarray | None = None) -> None:
    """Takes in the next block, and its annotations if there are any."""
    for name, array in zip(Steps._fields, block, strict=True):
      self._take(name, array)
    if annotations is not None:
      self._take('annotations', annotations)

  def hexdigest(self) -> str:
    return self._hash.hexdigest()

  def _take(self, name: str, array: np.ndarray) -> None:
    self._hash.update(f'{name} {array.dtype.str} {array.shape}'.encode())
    self._hash.update(np.ascontiguousarray(array).tobytes())
