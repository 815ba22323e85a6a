"""Updates of a method within one graph, and what TensorFlow saves of a run.

Closed forms make no updates and never load this module.
"""

from collections.abc import Mapping, Sequence
import io
from typing import Any, ClassVar, Protocol

import numpy as np
import tensorflow as tf

from dfiv_ope import types
from dfiv_ope.agents import row_nests


class _Changing(Protocol):
  """What has a state of arrays."""

  def save(self) -> list[np.ndarray]:
    """Returns it."""

  def restore(self, state: Sequence[np.ndarray]) -> None:
    """Takes it back."""


class _Learning(Protocol):
  """What makes one update.

  Attributes:
    loss_names: of the losses that an update returns.
  """

  loss_names: ClassVar[tuple[str, ...]]

  def update(
    self, first: types.IVBatch, second: types.IVBatch
  ) -> Mapping[str, types.Array]:
    """Makes it from two independent batches; returns losses, []."""


class _Drawing(Protocol):
  """What batches come from."""

  def sample(self) -> types.IVBatch:
    """Returns rows drawn uniformly."""


class Updates:
  """Makes updates of an agent on batches that are drawn from data."""

  def __init__(self, agent: _Learning, data: _Drawing):
    """Remembers both."""
    self._agent = agent
    self._data = data
    # Its variables are made here: a graph that makes variables is traced twice.
    self._variables()

  def make(self, count: int) -> dict[str, float]:
    """Makes updates, at least one; returns the means of the losses."""
    means = self._many(tf.constant(count))
    return {name: float(value) for name, value in means.items()}

  @tf.function(autograph=False)
  def _many(self, count: tf.Tensor) -> Mapping[str, tf.Tensor]:
    """Returns the means of the losses; an update is traced once."""

    def once(
      index: tf.Tensor, total: Mapping[str, tf.Tensor]
    ) -> tuple[tf.Tensor, Mapping[str, tf.Tensor]]:
      return index + 1, tf.nest.map_structure(tf.add, total, self._one())

    _, total = tf.while_loop(
      lambda index, _: index < count,
      once,
      (tf.constant(0), dict.fromkeys(self._agent.loss_names, tf.zeros([]))),
      parallel_iterations=1,
    )
    scale = 1.0 / tf.cast(count, tf.float32)
    return tf.nest.map_structure(lambda loss: loss * scale, total)

  # No update has control flow of tensors; looking for it takes seconds.
  @tf.autograph.experimental.do_not_convert
  def _one(self) -> dict[str, tf.Tensor]:
    losses = self._agent.update(self._data.sample(), self._data.sample())
    return {
      name: tf.cast(losses[name], tf.float32) for name in self._agent.loss_names
    }

  def save(self) -> list[np.ndarray]:
    """Returns where the data's generator is, if it has one."""
    return [each.numpy() for each in self._variables()]

  def restore(self, state: Sequence[np.ndarray]) -> None:
    """Goes on from what `save` returned."""
    for variable, value in zip(self._variables(), state, strict=True):
      variable.assign(value)

  def _variables(self) -> list[tf.Variable]:
    sampler = getattr(self._data, 'sampler', None)
    return [] if sampler is None else variables(sampler)


class Checkpointed(tf.train.experimental.PythonState):
  """Arrays of something that changes, as part of a checkpoint."""

  def __init__(self, changing: _Changing):
    """Remembers what has them."""
    super().__init__()
    self._changing = changing

  def serialize(self) -> bytes:
    """Returns them as bytes."""
    buffer = io.BytesIO()
    np.savez(buffer, *self._changing.save())
    return buffer.getvalue()

  def deserialize(self, string_value: bytes) -> None:
    """Takes them back."""
    with np.load(io.BytesIO(string_value)) as found:
      self._changing.restore([found[name] for name in found.files])


def trackable(changing: Any) -> Any:
  """Returns what TensorFlow can save: the object itself, if it is a module."""
  if isinstance(changing, tf.Module):
    return changing
  return Checkpointed(changing)


def variables(root: tf.Module) -> list[tf.Variable]:
  """Returns all variables of a module, those of generators included."""
  # `tf.Module.variables` does not look into generators.
  return [
    each
    for each in tf.train.TrackableView(root).descendants()
    if isinstance(each, tf.Variable)
  ]


def tensors_of(rows: types.Nest) -> Any:
  """Returns rows of arrays as rows of tensors."""
  return row_nests.map_rows(tf.convert_to_tensor, rows)
