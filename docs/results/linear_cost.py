"""What a linear IV fit costs with everything that it says.

    python docs/results/linear_cost.py --rows 100000

Prints process CPU seconds of a fit of one treatment, 14 covariates, four
instruments and a constant (20 columns), and of its summary: coefficients with
HC1 standard errors, first stage, tests, weak-instrument-robust sets, sentences.
"""

import argparse
import time
import warnings

import numpy as np

from dfiv_ope import estimators

_COVARIATES, _INSTRUMENTS = 14, 4


def main():
  """Fits and prints the cost of each repetition."""
  parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
  parser.add_argument('--rows', type=int, default=100_000)
  parser.add_argument('--repeats', type=int, default=3)
  given = parser.parse_args()
  warnings.simplefilter('ignore')
  generator = np.random.default_rng(0)
  X = generator.normal(size=(given.rows, _COVARIATES))
  Z = generator.normal(size=(given.rows, _INSTRUMENTS))
  hidden, one, two = generator.normal(size=(3, given.rows))
  T = Z.sum(axis=1) * 0.2 + X[:, 0] + hidden + one
  Y = 0.5 * T + X[:, 1] + hidden + two
  for _ in range(given.repeats):
    start = time.process_time()
    model = estimators.TwoSLS().fit(Y, T, Z=Z, X=X)
    fitted = time.process_time()
    model.summary()
    done = time.process_time()
    print(
      f'fit {fitted - start:.2f} s, summary {done - fitted:.2f} s, '
      f'together {done - start:.2f} s',
      flush=True,
    )


if __name__ == '__main__':
  main()
