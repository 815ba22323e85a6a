"""What the methods that are trained by gradients alone share.

A `Descent` is a network with its optimiser. `train` takes steps on several of
them inside one graph and leaves each where its held-out loss was least.
"""

from collections.abc import Callable, Sequence
import math
from typing import Any, NamedTuple

import numpy as np
import sonnet as snt
import tensorflow as tf

from dfiv_ope import types

# Called with a model in training that can predict.
Watch = Callable[[Any], None]


class Descent(tf.Module):
  """A network and the gradient descent on it.

  Attributes:
    network: the network.
  """

  def __init__(
    self,
    network: snt.Module,
    optimizer: Callable[[tf.Variable], snt.Optimizer],
    *,
    rate: float,
    decay: float = 0.0,
    name: str | None = None,
  ):
    """Initialises the descent.

    Args:
      network: what is trained; its variables exist.
      optimizer: makes the optimiser from the variable of its learning rate.
      rate: the first learning rate.
      decay: weight decay, the factor of |W|^2 / 2 in the loss; biases are
        free.
      name: name of the module.
    """
    super().__init__(name=name)
    self.network = network
    self._first_rate = rate
    self._rate = tf.Variable(rate, trainable=False, dtype=tf.float32)
    self._optimizer = optimizer(self._rate)
    # Moments exist at once, so that a checkpoint can fill them. Plain gradient
    # descent has none.
    if hasattr(self._optimizer, '_initialize'):
      self._optimizer._initialize(network.trainable_variables)
    self._decay = decay

  def step(self, loss: Callable[[], tf.Tensor]) -> tf.Tensor:
    """Makes one step down `loss`; returns its value without the decay."""
    return step_together([self], loss)

  def apply(self, gradients: Sequence[tf.Tensor]) -> None:
    """Makes one step down the gradients of the trainable variables."""
    parameters = self.network.trainable_variables
    self._optimizer.apply(
      [
        gradient + self._decay * parameter
        if self._decay and parameter.shape.rank > 1
        else gradient
        for gradient, parameter in zip(gradients, parameters, strict=True)
      ],
      parameters,
    )

  def anneal(self, share: float) -> None:
    """Sets the rate for when `share` of the training is done: half a cosine."""
    self._rate.assign(
      self._first_rate * (1.0 + math.cos(math.pi * share)) / 2.0
    )

  def values(self) -> list[tf.Tensor]:
    """Returns a copy of the network's variables."""
    return [tf.identity(variable) for variable in self.network.variables]

  def adopt(self, values: Sequence[tf.Tensor]) -> None:
    """Sets the network's variables to what `values` returned."""
    for variable, value in zip(self.network.variables, values, strict=True):
      variable.assign(value)


def step_together(
  descents: Sequence[Descent], loss: Callable[[], tf.Tensor]
) -> tf.Tensor:
  """Makes one step of each descent down one loss; returns its value, []."""
  parameters = [each.network.trainable_variables for each in descents]
  with tf.GradientTape(watch_accessed_variables=False) as tape:
    tape.watch(parameters)
    value = loss()
  for each, gradients in zip(
    descents, tape.gradient(value, parameters), strict=True
  ):
    each.apply(gradients)
  return value


def train(
  descents: Sequence[Descent],
  *,
  step: Callable[[int], tf.Tensor],
  held_out: Callable[[int], tf.Tensor],
  steps: int,
  checks: int,
  label: str,
  progress: types.Progress | None = None,
) -> dict[str, list[float]]:
  """Trains each descent and leaves it where its held-out loss was least.

  The learning rates fall after each check.

  Args:
    descents: what is trained.
    step: makes a step on the descent of an index; returns its loss, [].
    held_out: returns the held-out loss of the descent of an index, [].
    steps: how often each descent makes a step.
    checks: how often the held-out losses are looked at.
    label: name of the loss.
    progress: told the losses at each check.

  Returns:
    At each check the loss in training and the held-out loss, both averaged
    over the descents, as '{label}_loss' and 'held_out_{label}_loss'.

  Raises:
    FloatingPointError: a held-out loss was never finite.
  """
  indices = range(len(descents))

  # No step has control flow of tensors; looking for it takes seconds.
  @tf.autograph.experimental.do_not_convert
  def steps_of_all() -> tf.Tensor:
    return tf.reduce_mean([step(index) for index in indices])

  @tf.function
  def run(count: tf.Tensor) -> tf.Tensor:
    total = tf.zeros([])
    for _ in tf.range(count):
      total += steps_of_all()
    return total / tf.cast(count, tf.float32)

  @tf.function(autograph=False)
  def check() -> tf.Tensor:
    return tf.stack([held_out(index) for index in indices])

  least = np.full(len(descents), np.inf)
  best = [each.values() for each in descents]
  history: dict[str, list[float]] = {
    f'{label}_loss': [],
    f'held_out_{label}_loss': [],
  }
  for done, until in intervals(steps, checks):
    for each in descents:
      each.anneal(done / steps)
    loss, losses = float(run(tf.constant(until - done))), check().numpy()
    for index in np.flatnonzero(losses < least):
      least[index], best[index] = losses[index], descents[index].values()
    metrics = {
      f'{label}_loss': loss,
      f'held_out_{label}_loss': float(losses.mean()),
    }
    for name, value in metrics.items():
      history[name].append(value)
    if progress is not None:
      progress(until, steps, metrics)
  if not np.isfinite(least).all():
    raise FloatingPointError(
      f'The {label} loss diverged before its first check. Lower its '
      'learning rate.'
    )
  for each, values in zip(descents, best, strict=True):
    each.adopt(values)
  return history


def intervals(steps: int, checks: int) -> list[tuple[int, int]]:
  """Returns (steps done before, after) for each of `checks` equal parts."""
  marks = [steps * check // checks for check in range(checks + 1)]
  return list(zip(marks[:-1], marks[1:], strict=True))


def growing_intervals(steps: int, checks: int) -> list[tuple[int, int]]:
  """Returns (steps done before, after) for checks at growing distances.

  Each is at sqrt(2) times the steps of the one before; the last is at `steps`.
  """
  marks = sorted(
    {max(1, round(steps / 2.0 ** (check / 2.0))) for check in range(checks)}
  )
  return list(zip([0, *marks[:-1]], marks, strict=True))


class Fold(NamedTuple):
  """Rows to train on and rows to look at."""

  training: types.IVBatch
  held_out: types.IVBatch


def folds(
  rows: types.IVBatch, count: int, share: float, *, seed: int
) -> list[Fold]:
  """Returns `count` folds with disjoint held-out rows, a `share` of all each.

  Args:
    rows: all rows, at least two.
    count: number of folds.
    share: in (0, 1/2], at most 1 / count.
    seed: seeds the order of the rows.
  """
  order = np.random.default_rng((seed, 2)).permutation(len(rows.outcome))
  size = max(1, int(share * len(order)))
  result = []
  for start in range(0, count * size, size):
    # Fewer rows than folds: rows are held out more than once.
    turned = np.roll(order, -start)
    result.append(
      Fold(
        training=take(rows, turned[size:]), held_out=take(rows, turned[:size])
      )
    )
  return result


def tensors(*batches: types.IVBatch) -> types.IVBatch:
  """Returns the rows of all batches in one, as float32 tensors."""
  return types.IVBatch(
    *(
      None
      if members[0] is None
      else tf.concat([tf.cast(each, tf.float32) for each in members], axis=0)
      for members in zip(*batches, strict=True)
    )
  )


def take(batch: types.IVBatch, index: tf.Tensor) -> types.IVBatch:
  """Returns the rows of a batch at `index`, [I]."""
  return types.IVBatch(
    *(None if member is None else tf.gather(member, index) for member in batch)
  )


def mini_batch(
  batch: types.IVBatch, size: int, generator: tf.random.Generator
) -> types.IVBatch:
  """Returns `size` rows of a batch, drawn with replacement."""
  count = tf.shape(batch.outcome)[0]
  return take(batch, generator.uniform([size], maxval=count, dtype=tf.int32))


def join(first: types.Nest, covariate: tf.Tensor | None) -> types.Nest:
  """Returns [B, D] and, where there are any, covariates side by side.

  A nest without covariates is for a network that knows it: it stays as it is.
  """
  if covariate is None and tf.nest.is_nested(first):
    return first
  parts = [first] if covariate is None else [first, covariate]
  return tf.concat([tf.cast(part, tf.float32) for part in parts], axis=1)


def sizes(batch: types.IVBatch) -> types.Sizes:
  """Returns the numbers of columns of a batch."""
  return types.Sizes(
    batch.treatment.shape[1],
    batch.instrument.shape[1],
    0 if batch.covariate is None else batch.covariate.shape[1],
  )
