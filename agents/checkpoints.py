"""The latest state of a run on disk, so that a kill loses little.

A checkpoint is a directory that gets its name when it is complete, so a kill
at any moment leaves the one before or the new one.
"""

from collections.abc import Callable, Mapping
import json
import pathlib
import shutil
from typing import Any, Protocol

_STATE = 'state.json'


class Saveable(Protocol):
  """What has a state that TensorFlow can write.

  It is what Acme's `TFSaveable` asks for, whose module takes a second to
  import TensorFlow Probability.
  """

  @property
  def state(self) -> Mapping[str, Any]:
    """Modules and variables by name."""


class Series:
  """The checkpoints of one run; only the latest is kept.

  Attributes:
    latest: directory of the latest checkpoint, or None.
    state: what was written beside it.
  """

  def __init__(self, directory: pathlib.Path, run: Mapping[str, Any]):
    """Looks for checkpoints of the same run; removes those of any other.

    Args:
      directory: where checkpoints are kept; nothing else may be there.
      run: what the run is, as JSON data: its config and seed.
    """
    self._directory = directory
    # As read back from JSON: tuples become lists.
    self._run = json.loads(json.dumps(run))
    self.latest: pathlib.Path | None = None
    self.state: dict[str, Any] = {}
    found = sorted(directory.glob('checkpoint-??????????'))
    record = json.loads((found[-1] / _STATE).read_text()) if found else {}
    if record.get('run') == self._run:
      self.latest, self.state = found[-1], record['state']
    else:
      shutil.rmtree(directory, ignore_errors=True)
      directory.mkdir(parents=True)

  def restore(self, learner: Saveable) -> None:
    """Puts a learner into the latest state, if there is one."""
    if self.latest is not None:
      _checkpoint(learner).read(
        str(self.latest / 'learner')
      ).assert_existing_objects_matched()

  def save(
    self,
    learner: Saveable,
    *,
    number: int,
    state: Mapping[str, Any],
    fill: Callable[[pathlib.Path], None] = lambda path: None,
  ) -> None:
    """Writes a new checkpoint and removes the one before.

    Args:
      learner: its state is written.
      number: position of the checkpoint; must grow.
      state: JSON data to write beside it.
      fill: writes more into the directory.
    """
    final = self._directory / f'checkpoint-{number:010}'
    partial = final.with_suffix('.partial')
    shutil.rmtree(partial, ignore_errors=True)
    partial.mkdir()
    _checkpoint(learner).write(str(partial / 'learner'))
    fill(partial)
    (partial / _STATE).write_text(
      json.dumps({'run': self._run, 'state': dict(state)})
    )
    partial.rename(final)
    if self.latest is not None:
      shutil.rmtree(self.latest)
    self.latest, self.state = final, dict(state)

  def remove(self) -> None:
    """Removes all checkpoints, when they are no longer needed."""
    shutil.rmtree(self._directory, ignore_errors=True)


def _checkpoint(learner: Saveable) -> Any:
  """Returns what writes and reads the state of a learner.

  Closed forms are over too soon to have any.
  """
  import tensorflow as tf

  return tf.train.Checkpoint(**learner.state)
