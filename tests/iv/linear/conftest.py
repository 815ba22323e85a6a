"""Rows on which linear estimators are tried."""

import warnings

import numpy as np
import pandas as pd
import pytest

from dfiv_ope.iv import estimators


def _table(rows=300, seed=0):
  """Sales move by 2 a price; price has the instruments cost and tax."""
  generator = np.random.default_rng(seed)
  cost, tax, age, noise, rest = generator.normal(size=(5, rows))
  firm = generator.integers(0, 20, rows)
  year = generator.integers(0, 6, rows)
  price = cost + 0.5 * tax + noise + 0.3 * age + 0.2 * firm + rest
  sales = 2.0 * price - age + 0.5 * firm - year + (2.0 + tax) * noise
  return pd.DataFrame(
    {
      'sales': sales,
      'price': price,
      'cost': cost,
      'tax': tax,
      'age': age,
      'firm': firm,
      'year': year,
      'size': generator.uniform(0.5, 2.0, rows),
    }
  )


def _fit(kind=estimators.TwoSLS, table=None, parameters=None, **arguments):
  table = _table() if table is None else table
  with warnings.catch_warnings():
    warnings.simplefilter('ignore', UserWarning)
    return kind(**(parameters or {})).fit(
      table['sales'],
      table['price'],
      Z=table[['cost', 'tax']],
      X=table[['age']],
      **arguments,
    )


@pytest.fixture
def sales_table():
  """Makes the rows."""
  return _table


@pytest.fixture
def fit_sales():
  """Fits an estimator to them; warnings are left to other tests."""
  return _fit
