"""Graphs of DFIV's training, traced once for all fits of the same shape.

Tracing an iteration takes as long as some hundred of them. A graph has networks
of its own; a training borrows one, copies its model into it, and copies the
networks back after each run:

    with dfiv_graphs.borrowed(model, stage1, stage2, seed=0) as graph:
      losses = graph.run(100)                     # `model` has moved as well

Neither rows nor, where batches are drawn, their number are part of a graph.
"""

from collections.abc import Iterator
import contextlib
import threading

import tensorflow as tf

from dfiv_ope import types
from dfiv_ope.iv.methods import dfiv_model
from dfiv_ope.nn import descent, networks

# Graphs that wait for a training, the last used at the end, and how many.
_IDLE: list['Graph'] = []
_MOST_IDLE = 8
_LOCK = threading.Lock()


class Graph:
  """Iterations of Algorithm 1 on networks of its own.

  Attributes:
    key: what graphs have in common that can take each other's place.
  """

  def __init__(
    self,
    model: dfiv_model.DFIV,
    sizes: types.Sizes,
    drawn: tuple[int | None, int | None],
  ):
    """Initialises a graph for models like this one; nothing is traced yet.

    Args:
      model: has the config.
      sizes: numbers of columns.
      drawn: rows to draw of each stage for an iteration; None for all.
    """
    self.key = _key(model, sizes, drawn)
    self._own = dfiv_model.build(model.config, sizes)
    self._drawn = drawn
    self._generator = tf.random.Generator.from_seed(0)
    columns = (sizes.treatment, sizes.instrument, 1, sizes.covariate)
    rows = [tf.TensorSpec([None, each]) for each in columns if each]
    scalar = tf.TensorSpec([])
    self._iterations = tf.function(
      self._iterate,
      input_signature=[tf.TensorSpec([], tf.int32), scalar, scalar, rows, rows],
      autograph=False,
    )
    self._model: dfiv_model.DFIV | None = None
    self._rows: list[list[tf.Tensor]] = []
    self._losses = (tf.zeros([]), tf.zeros([]))

  def load(
    self,
    model: dfiv_model.DFIV,
    stage1: types.IVBatch,
    stage2: types.IVBatch,
    seed: int,
  ) -> None:
    """Takes the model to train, its rows and the seed of what is drawn."""
    self._model = model
    self._rows = [
      [each for each in half if each is not None] for half in (stage1, stage2)
    ]
    self._losses = (tf.zeros([]), tf.zeros([]))
    for ours, theirs in zip(_parts(self._own), _parts(model), strict=True):
      _assign(ours.variables, theirs.variables)
      _assign(_masks(ours), _masks(theirs))
    self._generator.reset_from_seed((seed, 3))

  def unload(self) -> None:
    """Forgets the model and its rows."""
    self._model, self._rows = None, []

  def run(self, count: int) -> tuple[tf.Tensor, tf.Tensor]:
    """Makes iterations; returns both losses of the last, Eq. (6) and (8)."""
    assert self._model is not None, 'A graph is loaded before it runs.'
    self._losses = self._iterations(
      tf.constant(count), *self._losses, *self._rows
    )
    for ours, theirs in zip(
      _parts(self._own), _parts(self._model), strict=True
    ):
      _assign(theirs.variables, ours.variables)
    return self._losses

  def _iterate(
    self,
    count: tf.Tensor,
    stage1_loss: tf.Tensor,
    stage2_loss: tf.Tensor,
    stage1: list[tf.Tensor],
    stage2: list[tf.Tensor],
  ) -> tuple[tf.Tensor, tf.Tensor]:
    def once(
      index: tf.Tensor, *_: tf.Tensor
    ) -> tuple[tf.Tensor, tf.Tensor, tf.Tensor]:
      losses = self._own.update(
        *(
          self._draw(rows, size)
          for rows, size in zip((stage1, stage2), self._drawn, strict=True)
        )
      )
      return index + 1, losses['stage1_loss'], losses['stage2_loss']

    _, stage1_loss, stage2_loss = tf.while_loop(
      lambda index, *_: index < count,
      once,
      (tf.constant(0), stage1_loss, stage2_loss),
    )
    return stage1_loss, stage2_loss

  def _draw(self, rows: list[tf.Tensor], size: int | None) -> types.IVBatch:
    treatment, instrument, outcome, *others = rows
    batch = types.IVBatch(
      treatment, instrument, outcome, others[0] if others else None
    )
    if size is None:
      return batch
    return descent.mini_batch(batch, size, self._generator)


@contextlib.contextmanager
def borrowed(
  model: dfiv_model.DFIV,
  stage1: types.IVBatch,
  stage2: types.IVBatch,
  *,
  seed: int,
) -> Iterator[Graph]:
  """Yields a graph that trains a model, an idle one if one fits.

  Args:
    model: untrained.
    stage1: rows of stage 1 as float32 tensors.
    stage2: rows of stage 2.
    seed: of the batches that are drawn.
  """
  sizes = descent.sizes(stage1)
  first, second = (
    _batch_size(model, half.outcome.shape[0]) for half in (stage1, stage2)
  )
  graph = _idle(_key(model, sizes, (first, second))) or Graph(
    model, sizes, (first, second)
  )
  graph.load(model, stage1, stage2, seed)
  yield graph
  # After an error it is left to be forgotten.
  graph.unload()
  with _LOCK:
    _IDLE.append(graph)
    del _IDLE[:-_MOST_IDLE]


def _idle(key: str) -> Graph | None:
  """Returns an idle graph, which is idle no more."""
  with _LOCK:
    for graph in reversed(_IDLE):
      if graph.key == key:
        _IDLE.remove(graph)
        return graph
  return None


def _key(
  model: dfiv_model.DFIV,
  sizes: types.Sizes,
  drawn: tuple[int | None, int | None],
) -> str:
  return repr((model.config, sizes, drawn))


def _batch_size(model: dfiv_model.DFIV, rows: int) -> int | None:
  """Returns how many of so many rows are drawn; None for all of them."""
  size = model.config.batch_size
  return None if size is None or size >= rows else size


def _parts(model: dfiv_model.DFIV) -> list[descent.Descent]:
  parts = [model.treatment, model.instrument, model.covariate]
  return [each for each in parts if each is not None]


def _masks(part: descent.Descent) -> list[tf.Variable]:
  """Returns the states of what draws dropout masks."""
  return [
    each.masks.state
    for each in part.submodules
    if isinstance(each, networks.Network)
  ]


def _assign(to: list[tf.Variable], of: list[tf.Variable]) -> None:
  for variable, value in zip(to, of, strict=True):
    variable.assign(value)
