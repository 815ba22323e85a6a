"""What learners of target policies share: they learn in rounds.

Roll whole episodes with the current network in many environments at once, put
their transitions into the replay, make as many updates as the replay has uses
due. A round depends only on the state at its start, so a run resumed at a
round is equal to one that was never stopped.
"""

import abc
from collections.abc import Callable, Mapping, Sequence

import acme
from acme.utils import counting
import numpy as np
import tensorflow as tf

from dfiv_ope import types
from dfiv_ope.agents import replay
from dfiv_ope.agents.entries import rounds as entry

# Updates in one call of the graph: their batches lie in memory together.
_UPDATES_AT_ONCE = 256


class RunningScale(tf.Module):
  """Mean and standard deviation of all observations seen so far.

  The first episodes of a task cover little of what a good policy will see (a
  pole that falls at once never shows a late clock), so the scale goes on
  following the data. Entries that are names become indicators.
  """

  def __init__(self, size: int, categories: Mapping[int, int] | None = None):
    """Initialises the moments.

    Args:
      size: entries of an observation, D.
      categories: how many values an entry has that is a name, by its place.
    """
    super().__init__('running_scale')
    zeros = tf.zeros([size], tf.float64)
    self._categories = tuple((categories or {}).items())
    self._numbers = tuple(i for i in range(size) if i not in (categories or ()))
    self._count = tf.Variable(0.0, dtype=tf.float64, trainable=False)
    self._mean = tf.Variable(zeros, trainable=False)
    self._squares = tf.Variable(zeros, trainable=False)  # about the mean

  @property
  def size(self) -> int:
    """Number of entries that come out."""
    return len(self._numbers) + sum(count for _, count in self._categories)

  def __call__(self, observation: tf.Tensor) -> tf.Tensor:
    """Returns standardised observations; constant columns are centred."""
    deviation = tf.sqrt(self._squares / tf.maximum(self._count, 1.0))
    scale = tf.where(deviation > 1e-6, deviation, tf.ones_like(deviation))
    mean = tf.cast(self._mean, tf.float32)
    numbers = (tf.cast(observation, tf.float32) - mean) / tf.cast(
      scale, tf.float32
    )
    if not self._categories:
      return numbers
    columns = [numbers[:, place, None] for place in self._numbers]
    columns += [
      tf.one_hot(tf.cast(observation[:, place], tf.int32), count)
      for place, count in self._categories
    ]
    return tf.concat(columns, axis=1)

  def update(self, observations: np.ndarray) -> None:
    """Merges observations [N, D] into the moments (Chan et al., 1983)."""
    rows = observations.astype(np.float64)
    count, total = len(rows), self._count + len(rows)
    shift = rows.mean(axis=0) - self._mean
    self._squares.assign_add(
      rows.var(axis=0) * count + shift**2 * self._count * count / total
    )
    self._mean.assign_add(shift * count / total)
    self._count.assign(total)


class Learner(acme.Learner):
  """Learns a network from the batches of a replay, and keeps the best.

  Attributes:
    scale: of the observations, shared by all networks that learn.
    network: what acts: a network of action values, or of actions.
    best_network: the last one that no earlier one clearly beat.
    loss: mean of the last updates.
  """

  def __init__(
    self,
    config: entry.Config,
    source: replay.Replay,
    make_network: Callable[[RunningScale], tf.Module],
    *,
    num_observations: int,
    categories: Mapping[int, int] | None = None,
    counter: counting.Counter | None = None,
  ):
    """Builds what acts.

    Args:
      config: the hyper-parameters.
      source: where batches come from.
      make_network: builds a network on a scale.
      num_observations: D.
      categories: as of `RunningScale`.
      counter: counts updates.
    """
    self._config = config
    self._source = source
    self._counter = counter or counting.Counter()
    self.scale = RunningScale(num_observations, categories)
    self.network = make_network(self.scale)
    # A snapshot stays as it is, so it has a scale of its own.
    self.best_network = make_network(RunningScale(num_observations, categories))
    self._best_value = tf.Variable(-np.inf, trainable=False)
    self._learning_rate = tf.Variable(config.learning_rate, trainable=False)
    self._updates = tf.Variable(0, dtype=tf.int64, trainable=False)
    self.loss = float('nan')

  def run(self, num_steps: int | None = None) -> None:
    """Makes a number of updates, many within one graph call."""
    if num_steps is None:
      raise ValueError(
        f'{self._config.algorithm.upper()} learns in rounds; pass the number '
        'of updates.'
      )
    total, left = 0.0, num_steps
    while left:
      count = min(left, _UPDATES_AT_ONCE)
      rows = self._source.sample(count * self._config.blocks_per_batch)
      batches = types.Transition(
        *(tf.reshape(x, (count, -1, *x.shape[1:])) for x in rows)
      )
      total += float(self._update_many(batches))
      left -= count
    self.loss = total / num_steps if num_steps else float('nan')
    self._counter.increment(updates=num_steps)

  def step(self) -> None:
    """Makes one update."""
    self.run(1)

  @tf.function(reduce_retracing=True)
  def _update_many(self, batches: types.Transition) -> tf.Tensor:
    """Makes an update with each of the batches [U, B, ...]; sum of losses."""
    # It has no control flow of Python; looking for it takes seconds.
    update = tf.autograph.experimental.do_not_convert(self._update)
    total = 0.0
    for i in tf.range(tf.shape(batches.reward)[0]):
      done = tf.cast(self._updates, tf.float32) / self._config.updates
      self._learning_rate.assign(
        self._config.learning_rate * tf.maximum(1.0 - done, 0.0)
      )
      total += update(types.Transition(*(x[i] for x in batches)))
    return total

  @abc.abstractmethod
  def _update(self, batch: types.Transition) -> tf.Tensor:
    """Makes one update, adds it to `_updates`, and returns its loss."""

  def keep_if_good(self, value: float, *, standard_error: float) -> None:
    """Keeps the present network unless an earlier one was clearly better.

    The largest of many noisy values is mostly luck, so a later network, which
    has learnt more, may fall short of the best by two standard errors.
    """
    if value >= self._best_value - 2.0 * standard_error:
      for best, present in zip(
        self.best_network.variables, self.network.variables, strict=True
      ):
        best.assign(present)
    self._best_value.assign(tf.maximum(self._best_value, value))

  def get_variables(self, names: Sequence[str]) -> list[list[np.ndarray]]:
    """Returns the weights of what acts, the only variables there are."""
    if list(names) != ['network']:
      raise ValueError(
        f"{self._config.algorithm.upper()} serves ['network'], not "
        f'{list(names)}.'
      )
    return [[x.numpy() for x in self.network.variables]]

  @property
  def state(self) -> dict[str, tf.Module]:
    """What a checkpoint must hold to go on exactly as before."""
    return {
      'network': self.network,
      'best_network': self.best_network,
      'best_value': self._best_value,
      'updates': self._updates,
    }
