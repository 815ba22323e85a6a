"""Puts a dataset onto a Reverb server, which listens on the network."""

import pathlib
import subprocess
import sys
import tempfile
import time

import numpy as np
import reverb

from dfiv_ope import loopback
from dfiv_ope.datasets import checkpoint as checkpoint_lib
from dfiv_ope.datasets import reading, store
from dfiv_ope.datasets import steps as steps_lib

# A healthy checkpoint restores in seconds; a broken one may never return.
RESTORE_SECONDS = 120.0
# How often served tables are looked at.
_WATCH_SECONDS = 5.0


def same_checkpoint(dataset: reading.Dataset) -> bool:
  """Returns whether the Reverb checkpoint holds the rows of the arrays.

  Raises:
    ValueError: it cannot be read.
  """
  path = dataset.path / store.CHECKPOINT / store.LOG
  blocks, initial = (
    checkpoint_lib.blocks(path, table)
    for table in store.tables(
      dataset.metadata.num_observations, dataset.metadata.action_entries
    )
  )
  digest, expected = steps_lib.Digest(), reading.digest(dataset.steps)
  for block in blocks:
    digest.update(block)
  return digest.hexdigest() == expected and np.array_equal(
    np.concatenate(list(initial)), dataset.initial_observations
  )


def serve(
  path: pathlib.Path, *, port: int, everywhere: bool = False
) -> tuple[reverb.Server, str]:
  """Starts a server of a dataset that is sound; returns its name as well.

  Its files are verified, and restoring is tried in another process first.

  Args:
    path: the directory of the dataset.
    port: to listen on.
    everywhere: listen on all interfaces, not on this machine's own only.

  Raises:
    OSError: the system cannot keep the server to this machine.
    TimeoutError: Reverb did not finish in time.
    ValueError: the dataset is damaged.
  """
  dataset = reading.open_dataset(path)
  metadata = dataset.metadata
  if not same_checkpoint(dataset):
    raise ValueError(
      f'The Reverb checkpoint of {path} does not hold the rows of its '
      'arrays. Make the dataset again.'
    )
  del dataset  # The server has its rows in memory, too.
  sizes = {
    'num_observations': metadata.num_observations,
    'action_entries': metadata.action_entries,
  }
  probe(path, **sizes)
  return restore(
    path, port=port, everywhere=everywhere, **sizes
  ), metadata.spec.id


def restore(
  path: pathlib.Path,
  *,
  num_observations: int,
  action_entries: int = 0,
  port: int | None = None,
  everywhere: bool = False,
) -> reverb.Server:
  """Starts a Reverb server with the tables of a dataset.

  Reverb holds Python's lock meanwhile, so nothing in this process could end
  it if it hangs; `probe` tries it in another process first.

  Args:
    path: the directory of the dataset.
    num_observations: entries of an observation.
    action_entries: entries of an action that is a vector; 0 if it is none.
    port: to listen on; None takes a free one.
    everywhere: listen on all interfaces, not on this machine's own only.

  Raises:
    OSError: the system cannot keep the server to this machine.
    ValueError: Reverb cannot read the checkpoint.
  """
  checkpoint = path / store.CHECKPOINT
  with tempfile.TemporaryDirectory() as folder:
    # Reverb looks for checkpoints with a pattern, in which [ ] * ? of the
    # dataset's own path would mean something else.
    plain = pathlib.Path(folder) / 'checkpoint'
    plain.symlink_to(checkpoint.resolve())
    try:
      server = reverb.Server(
        [
          table.empty()
          for table in store.tables(num_observations, action_entries)
        ],
        port=port,
        checkpointer=reverb.checkpointers.DefaultCheckpointer(str(plain)),
      )
    except RuntimeError as error:
      raise ValueError(
        f'Reverb cannot restore {checkpoint}: {error}. Make the dataset again.'
      ) from error
  if not everywhere:
    try:
      loopback.confine(server.port)
    except OSError as error:
      server.stop()
      raise OSError(
        'Reverb listens on all interfaces, and this system cannot keep it to '
        f'the loopback interface ({error}). If all may reach it, say --host '
        '0.0.0.0.'
      ) from error
  return server


def probe(
  path: pathlib.Path,
  *,
  num_observations: int,
  action_entries: int = 0,
  seconds: float = RESTORE_SECONDS,
) -> None:
  """Restores a dataset in a process of its own, under a time limit.

  Args:
    path: the directory of the dataset; it needs no record yet.
    num_observations: entries of an observation.
    action_entries: entries of an action that is a vector; 0 if it is none.
    seconds: give up after this time.

  Raises:
    ValueError: Reverb cannot read the checkpoint, or died of it.
    TimeoutError: Reverb did not finish in time.
  """
  code = (
    'import pathlib, sys; from dfiv_ope.datasets import serving; '
    'serving.restore(pathlib.Path(sys.argv[1]), '
    'num_observations=int(sys.argv[2]), '
    'action_entries=int(sys.argv[3])).stop()'
  )
  checkpoint = path / store.CHECKPOINT
  try:
    subprocess.run(
      [
        sys.executable,
        '-c',
        code,
        str(path),
        str(num_observations),
        str(action_entries),
      ],
      check=True,
      timeout=seconds,
      capture_output=True,
      text=True,
    )
  except subprocess.TimeoutExpired as error:
    raise TimeoutError(
      f'Reverb did not restore {checkpoint} within {seconds:g} s, so it is '
      'probably broken. Make the dataset again.'
    ) from error
  except subprocess.CalledProcessError as error:
    lines = error.stderr.strip().splitlines() or ['it died']
    raise ValueError(
      f'Reverb cannot restore {checkpoint} ({lines[-1]}). Make the dataset '
      'again.'
    ) from error


def watch(server: reverb.Server, *, seconds: float = _WATCH_SECONDS) -> None:
  """Looks at the tables of a server until a client has changed one.

  Raises:
    ValueError: a table has other items than at first.
  """
  client = server.localhost_client()

  def state() -> dict[str, tuple[int, int]]:
    return {
      name: (info.current_size, info.rate_limiter_info.insert_stats.completed)
      for name, info in client.server_info().items()
    }

  expected = state()
  while True:
    time.sleep(seconds)
    found = state()
    for name, (size, _) in expected.items():
      if found.get(name) != expected[name]:
        raise ValueError(
          f'A client has changed the served table {name}: it had {size:,} '
          f'blocks and has {found.get(name, (0, 0))[0]:,}, so nobody is '
          'served any more. The files of the dataset are untouched. Serve '
          'it again, to clients that only read.'
        )
