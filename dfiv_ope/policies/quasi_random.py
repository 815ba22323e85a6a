"""Numbers that fill the unit cube more evenly than random ones.

A mean over K of them stands for an expectation over a policy's actions.
"""

import numpy as np

from dfiv_ope import types

# Inverse distribution functions are infinite at 0 and 1.
_EDGE = 1e-6


def uniforms(
  rows: int, draws: int, entries: int, *, seed: types.Seed
) -> types.FloatArray:
  """Returns numbers in (0, 1), float32 [rows, draws, entries].

  Each row has a Sobol sequence of its own shift, and every second draw mirrors
  the one before (antithetic), so that errors of rows do not add up and a
  function that is linear in the draws is averaged without any.

  Args:
    rows: B.
    draws: K, even, or 1 for the middle of the cube.
    entries: d.
    seed: same seed, same numbers.

  Raises:
    ValueError: the number of draws is odd and not 1.
  """
  if draws == 1:
    return np.full((rows, 1, entries), 0.5, np.float32)
  if draws < 1 or draws % 2:
    raise ValueError(f'draws must be 1 or even, got {draws}.')
  from scipy.stats import qmc  # Takes a second: most logs have no vectors.

  generator = np.random.default_rng(seed)
  half = draws // 2
  power = max(0, int(np.ceil(np.log2(half))))
  points = qmc.Sobol(entries, scramble=False).random_base2(power)[:half]
  shifts = generator.random((rows, 1, entries))
  first = np.clip((points + shifts) % 1.0, _EDGE, 1.0 - _EDGE)  # [B, K / 2, d]
  both = np.stack([first, 1.0 - first], axis=2)  # [B, K / 2, 2, d]
  return both.reshape(rows, draws, entries).astype(np.float32)
