"""Where the episodes of a log in arrays end, and what is seen there."""

from collections.abc import Mapping

import numpy as np

from dfiv_ope.datasets.formats import source


def _ends(arrays: Mapping[str, np.ndarray]) -> np.ndarray:
  """Returns whether an episode ends after a step, [N]."""
  result = np.zeros(len(arrays[source.ACTION]), bool)
  for name in (source.TERMINATED, source.TRUNCATED):
    if name in arrays:
      flags = np.asarray(arrays[name])
      if flags.ndim > 1 and flags.size == len(flags):
        flags = flags.reshape(-1)
      if flags.ndim > 1 or flags.dtype.kind not in 'biuf' or not np.isin(
          flags, (0, 1)).all():
        raise ValueError(
            f'{name} should be true or false (1 or 0) in each step, got '
            f'shape {flags.shape} of type {flags.dtype}.')
      result |= flags.astype(bool)
  return result


def episode_ids(arrays: Mapping[str, np.ndarray]) -> np.ndarray:
  """Returns numbers of episodes that end where they say so, [N]."""
  return np.cumsum(np.append(False, _ends(arrays)[:-1]))


def check(arrays: Mapping[str, np.ndarray]) -> None:
  """Refuses an episode that never ends.

  Raises:
    ValueError: no end is said of its last step.
  """
  last = np.append(
      arrays[source.EPISODE][1:] != arrays[source.EPISODE][:-1], True)
  never = np.flatnonzero(last & ~_ends(arrays))
  if never.size:
    raise ValueError(
        f'The episode of step {never[0]} never ends: no terminal or truncation '
        'is true in its last step. Set truncations there if it was cut off.')


def with_final(
    arrays: Mapping[str, np.ndarray], rows: np.ndarray,
) -> tuple[dict[str, np.ndarray], np.ndarray]:
  """Adds the final observations of episodes as rows of their own.

  Raises:
    ValueError: a next observation is not the observation that follows.
  """
  arrays = dict(arrays)
  later, now = arrays.pop('next_observation'), arrays[source.OBSERVATION]
  if later.shape != now.shape:
    raise ValueError(
        f'next_observations have shape {later.shape}, observations '
        f'{now.shape}. They must be the same.')
  last = np.append(
      arrays[source.EPISODE][1:] != arrays[source.EPISODE][:-1], True)
  differs = ~last[:-1] & (later[:-1] != now[1:]).reshape(
      len(now) - 1, -1).any(axis=1)
  if differs.any():
    step = int(np.argmax(differs))
    raise ValueError(
        f'The next observation of step {step} is not the observation of step '
        f'{step + 1}, though no episode ends between them. Steps must follow '
        'each other in time; set truncations where the log has a gap.')
  places = np.flatnonzero(last) + 1
  final = {source.OBSERVATION: later[last],
           source.EPISODE: arrays[source.EPISODE][last]}
  for name, values in arrays.items():
    if name in final:
      added = final[name]
    else:
      values = source.with_empty_end(values)
      values, added = values[:-1], np.repeat(values[-1:], last.sum(), axis=0)
    arrays[name] = np.insert(values, places, added, axis=0)
  return arrays, np.insert(rows, places, rows[last])
