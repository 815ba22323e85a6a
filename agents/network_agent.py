"""A method whose state TensorFlow has: networks, optimisers, generators."""

from collections.abc import Sequence

import numpy as np
import tensorflow as tf

from dfiv_ope import types
from dfiv_ope.agents import base, update_graph


class NetworkAgent(tf.Module, base.Agent):
  """An agent all of whose state are variables of the module."""

  def errors(self, rows: types.IVBatch) -> types.FloatArray:
    """Returns Bellman errors as `base.Agent` does, [B]."""
    return super().errors(update_graph.tensors_of(rows))

  def save(self) -> list[np.ndarray]:
    """Returns all variables, those of generators too."""
    return [each.numpy() for each in update_graph.variables(self)]

  def restore(self, state: Sequence[np.ndarray]) -> None:
    """Goes on from what `save` returned."""
    for variable, value in zip(
      update_graph.variables(self), state, strict=True
    ):
      variable.assign(value)
