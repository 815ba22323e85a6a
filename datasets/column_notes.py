"""What columns of observations cannot tell, and what they may mean.

notes = column_notes.Profile(names, categorical=[])
notes.add(steps)
notes.sentences()
"""

from collections.abc import Collection, Iterator, Sequence

import numpy as np

from dfiv_ope.datasets import steps as steps_lib
from dfiv_ope.nn import scaling
from dfiv_ope.ope import log_notes

# Quartiles and counts are taken of about as many rows.
_SAMPLE_ROWS = 100_000
# Digits of a column's changes that float64 should keep.
_DIGITS = 5.0
# Values further from the median than this many interquartile ranges stand
# out; they matter where the standard deviation is as many of them.
_FAR, _FLATTENED = 100.0, 10.0
# A column of whole numbers looks categorical if it has so many different ones
# and rows for each, falls within an episode, which a clock or an age does not,
# and has neighbours that are not about as frequent, as those of a measurement
# are.
_FEWEST, _MOST, _ROWS_EACH = 13, 1_000, 10
_ROUGH = 0.06
# With fewer values, down to this number, frequencies have to rise and fall more
# often than those of a measurement with one peak, by as many standard errors.
_FEW, _TURNS, _SURE = 5, 2, 4.0


class Profile:
  """Looks at the columns of observations, block by block."""

  def __init__(
    self, names: Sequence[str] = (), *, categorical: Collection[int] = ()
  ):
    """Begins with none.

    Args:
      names: of the columns; numbered if there are none.
      categorical: columns that are known to be categorical.
    """
    self._names = names
    self._categorical = categorical
    self._sample: list[np.ndarray] = []
    self._stride = 1
    self._rows = 0
    self._low = self._high = np.zeros(0)
    self._whole = self._falls = np.zeros(0, bool)

  def add(self, steps: steps_lib.Steps) -> None:
    """Takes in whole episodes."""
    x = steps.observation
    low, high = x.min(axis=0), x.max(axis=0)
    whole = (x == np.floor(x)).all(axis=0)
    falls = ((np.diff(x, axis=0) < 0.0) & ~steps.is_first[1:, None]).any(axis=0)
    if self._rows:
      low, high = np.minimum(low, self._low), np.maximum(high, self._high)
      whole, falls = whole & self._whole, falls | self._falls
    self._low, self._high, self._whole, self._falls = low, high, whole, falls
    # Every so many rows of the log, whatever the blocks are.
    self._sample.append(x[-self._rows % self._stride :: self._stride])
    self._rows += len(x)
    while sum(map(len, self._sample)) > 2 * _SAMPLE_ROWS:
      self._sample = [np.concatenate(self._sample)[::2]]
      self._stride *= 2

  def notes(self) -> list[log_notes.Note]:
    """Returns what there is to say of each column."""
    if not self._rows:
      return []
    sample = np.concatenate(self._sample)
    scales = scaling.fit_standardiser(sample)
    return [
      note
      for column in range(sample.shape[1])
      if column not in self._categorical
      for note in self._column(
        column,
        sample[:, column],
        float(scales.mean[column]),
        float(np.std(sample[:, column] - scales.mean[column])),
      )
    ]

  def sentences(self) -> list[str]:
    """Returns the notes without their doubts."""
    return [note.sentence for note in self.notes()]

  def _column(
    self, column: int, x: np.ndarray, mean: float, spread: float
  ) -> Iterator[log_notes.Note]:
    name = self._names[column] if self._names else f'obs_{column}'

    def note(kind: str, **numbers: float) -> log_notes.Note:
      return log_notes.Note(kind=kind, column=name, numbers=numbers)

    if self._low[column] == self._high[column]:
      yield note(log_notes.CONSTANT)
      return
    resolution = float(np.finfo(np.float64).eps) * abs(mean)
    if spread < 10.0**_DIGITS * resolution:
      yield note(
        log_notes.PRECISION,
        mean=mean,
        spread=spread,
        digits=max(0.0, float(np.log10(max(spread, 1e-300) / resolution))),
      )
    low, median, high = np.quantile(x, [0.25, 0.5, 0.75])
    far = int(np.sum(np.abs(x - median) > _FAR * (high - low)))
    if high > low and far and spread > _FLATTENED * (high - low):
      yield note(
        log_notes.OUTLIERS,
        far=far * self._stride,
        rows=self._rows,
        ranges=_FAR,
        sampled=float(self._stride > 1),
      )
    if self._whole[column] and self._falls[column] and _looks_categorical(x):
      yield note(log_notes.CATEGORICAL, values=len(np.unique(x)))


def _looks_categorical(x: np.ndarray) -> bool:
  """Whether neighbours among whole numbers are not about as frequent.

  The mean square of the change of the logarithm of frequencies from one number
  to the next, over twice their variance (von Neumann's ratio), is near one for
  numbers in any order and near zero for those of a measurement. The noise of
  counts is taken out of both. A few numbers have too few changes for that: of
  these, rises and falls are counted.
  """
  _, counts = np.unique(x, return_counts=True)
  if not _FEW <= len(counts) <= _MOST or (len(x) < _ROWS_EACH * len(counts)):
    return False
  logs, noise = np.log(counts), 1.0 / counts
  if len(counts) < _FEWEST:
    rise = np.diff(logs)
    error = np.sqrt(noise[1:] + noise[:-1])
    signs = np.sign(rise[np.abs(rise) > _SURE * error])
    return bool(np.count_nonzero(np.diff(signs)) >= _TURNS)
  variance = np.var(logs) - np.mean(noise)
  change = np.mean(np.square(np.diff(logs)) - noise[1:] - noise[:-1])
  return bool(variance <= 0.0 or change > 2.0 * _ROUGH * variance)
