"""How often sets for weak instruments hold the slope, through the estimator.

    python docs/results/weak_coverage.py --samples 1000

Draws samples of three instruments whose mean effective F is near 2, errors
with a correlation of 0.9, fits `TwoSLS()` with its defaults and prints the
share of samples in which the 95 % Anderson-Rubin set (`weak_instrument_set`)
and the usual interval (`conf_int`) hold the slope.
"""

import argparse
import warnings

import numpy as np

from dfiv_ope import estimators

_SLOPE = 1.0
# Of each instrument's slope on the treatment: F is near 1 + n slope^2.
_EXTRA_F = 1.0


def draw(rows, seed, *, uneven):
  """Returns Y, T, Z; errors grow with an instrument if `uneven`."""
  generator = np.random.default_rng((seed, rows, uneven))
  z = generator.normal(size=(rows, 3))
  hidden, rest = generator.normal(size=(2, rows))
  scale = np.sqrt(0.5 + 0.5 * z[:, 0] ** 2) if uneven else 1.0
  noise = scale * (0.9 * hidden + np.sqrt(0.19) * rest)
  t = z @ np.full(3, np.sqrt(_EXTRA_F / rows)) + hidden
  return _SLOPE * t + noise, t, z


def main():
  """Prints a line for equal and one for unequal variances."""
  parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
  parser.add_argument('--rows', type=int, default=200)
  parser.add_argument('--samples', type=int, default=1000)
  given = parser.parse_args()
  warnings.simplefilter('ignore')
  for uneven in (False, True):
    strengths, robust, usual = [], [], []
    for seed in range(given.samples):
      y, t, z = draw(given.rows, seed, uneven=uneven)
      model = estimators.TwoSLS().fit(y, t, Z=z)
      strengths.append(model.first_stage_table()['effective_f'].iloc[0])
      robust.append(_SLOPE in model.weak_instrument_set('anderson-rubin'))
      low, high = model.conf_int().iloc[0]
      usual.append(low <= _SLOPE <= high)
    print(
      'unequal' if uneven else 'equal',
      'variances, mean effective F',
      f'{np.mean(strengths):.2f}: Anderson-Rubin {100 * np.mean(robust):.1f}'
      f' %, usual interval {100 * np.mean(usual):.1f} % of '
      f'{given.samples} samples',
      flush=True,
    )


if __name__ == '__main__':
  main()
