"""A replay buffer in Reverb whose draws follow from a seed.

Reverb's random samplers take no seed. Here the randomness lies in the
priorities instead: when a block of transitions is added, the times at which it
will be replayed are drawn at once, one Reverb item for each use, and the table
hands items out by smallest time. An item vanishes after its use, so memory is
bounded, and a Reverb checkpoint holds the whole future of the buffer: a
resumed run replays the same batches in the same order.
"""

import logging
import pathlib
import shutil

import numpy as np
import reverb
import tensorflow as tf

from dfiv_ope import loopback, types
from dfiv_ope.policies import rollout

_TABLE = 'replay'
# More unconfirmed items than this make Reverb worry about memory.
_PENDING_ITEMS = 32


def n_step(
  episode: rollout.Episode, *, steps: int, discount: float
) -> types.Transition:
  """Returns the n-step transitions of an episode of length T, as arrays [T].

  Step t bootstraps at k = min(t + steps, T): its reward is the sum of
  discount^i r_{t+i} over t + i < k, and its discount is discount^(k - t) times
  the environment's discounts on the way.
  """
  length = len(episode.actions)
  # Tasks are made for networks: single precision does.
  observations = episode.observations.astype(np.float32)
  reward = np.zeros(length, np.float32)
  weight = np.ones(length, np.float32)
  for i in range(min(steps, length)):
    alive = slice(0, length - i)  # the steps t with t + i < T
    reward[alive] += weight[alive] * episode.rewards[i:]
    weight[alive] *= discount * episode.discounts[i:]
  end = np.minimum(np.arange(length) + steps, length)
  return types.Transition(
    observation=observations[:-1],
    action=_compact(episode.actions),
    reward=reward,
    discount=weight,
    next_observation=observations[end],
  )


def _compact(actions: np.ndarray) -> np.ndarray:
  """Returns actions as they are replayed: int32 [T] or float32 [T, d]."""
  return actions.astype(np.float32) if actions.ndim > 1 else actions


class Replay:
  """Blocks of transitions, each replayed a number of times."""

  def __init__(
    self,
    *,
    num_observations: int,
    action_entries: int = 0,
    block: int,
    uses: int,
    window: float,
    directory: pathlib.Path,
    restore_from: pathlib.Path | None = None,
  ):
    """Starts a Reverb server in this process.

    Args:
      num_observations: D.
      action_entries: entries of an action that is a vector; 0 if it is none.
      block: transitions a block; the unit of sampling.
      uses: how often a block is replayed.
      window: the uses fall into as many units of time after its arrival.
      directory: where Reverb may work; emptied first.
      restore_from: what `save` wrote; None starts empty.
    """
    self._block = block
    self._uses = uses
    self._window = window
    shutil.rmtree(directory, ignore_errors=True)
    if restore_from is None:
      directory.mkdir(parents=True)
    else:
      shutil.copytree(restore_from, directory)
    signature = types.Transition(
      observation=tf.TensorSpec([block, num_observations], tf.float32),
      action=(
        tf.TensorSpec([block, action_entries], tf.float32)
        if action_entries
        else tf.TensorSpec([block], tf.int32)
      ),
      reward=tf.TensorSpec([block], tf.float32),
      discount=tf.TensorSpec([block], tf.float32),
      next_observation=tf.TensorSpec([block, num_observations], tf.float32),
    )
    table = reverb.Table(
      _TABLE,
      sampler=reverb.selectors.MinHeap(),
      remover=reverb.selectors.Fifo(),
      max_size=2**31 - 1,
      max_times_sampled=1,
      rate_limiter=reverb.rate_limiters.MinSize(1),
      signature=signature,
    )
    self._server = reverb.Server(
      [table],
      checkpointer=reverb.checkpointers.DefaultCheckpointer(str(directory)),
    )
    try:
      loopback.confine(self._server.port)
    except OSError as error:  # an old kernel, or one that is not Linux
      logging.warning(
        'Reverb listens on port %d of all interfaces while it trains: this '
        'system cannot keep it to the loopback interface (%s).',
        self._server.port,
        error,
      )
    self._client = self._server.localhost_client()

  def add(
    self,
    transitions: types.Transition,
    *,
    time: float,
    generator: np.random.Generator,
  ) -> int:
    """Shuffles transitions into blocks and schedules their uses.

    The remainder that does not fill a block is dropped.

    Returns:
      The number of uses that were scheduled.
    """
    order = generator.permutation(len(transitions.action))
    blocks = len(order) // self._block
    with self._client.trajectory_writer(num_keep_alive_refs=1) as writer:
      for i in range(blocks):
        rows = order[i * self._block : (i + 1) * self._block]
        writer.append(types.Transition(*(x[rows] for x in transitions)))
        block = types.Transition(*(x[-1] for x in writer.history))
        uses = generator.uniform(time, time + self._window, self._uses)
        for number, use in enumerate(uses, start=1):
          writer.create_item(_TABLE, use, block)
          if number % _PENDING_ITEMS == 0 or number == self._uses:
            writer.flush(block_until_num_items=_PENDING_ITEMS // 2)
    return blocks * self._uses

  def sample(self, count: int) -> types.Transition:
    """Takes the next `count` blocks; arrays [count * block, ...]."""
    samples = self._client.sample(
      _TABLE, count, emit_timesteps=False, unpack_as_table_signature=True
    )
    blocks = [sample.data for sample in samples]
    columns = zip(*blocks, strict=True)
    return types.Transition(*(np.concatenate(x) for x in columns))

  def save(self, path: pathlib.Path) -> None:
    """Writes a checkpoint into a new directory.

    It is moved out of Reverb's own directory, where the next one would replace
    it whether or not the caller is done with it.
    """
    written = pathlib.Path(self._client.checkpoint())
    path.mkdir()
    written.rename(path / written.name)

  def close(self) -> None:
    """Stops the server."""
    self._server.stop()
