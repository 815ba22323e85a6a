"""Rows for `dfiv-ope iv fit`, and how it is run."""

import json
import shutil
import signal
import sys

import numpy as np
import pandas as pd
import pytest

from dfiv_ope.launch import main


def _sales(n=500):
  """A confounded linear design: the slope of the price is 3."""
  generator = np.random.default_rng(0)
  cost, demand, age, rest = generator.normal(size=(4, n))
  price = cost + demand + 0.5 * age + 0.1 * rest
  return pd.DataFrame(
    {
      'shop': [f'shop {i}' for i in range(n)],
      'sales': 3.0 * price - age - 3.0 * demand,
      'price': price,
      'cost': cost,
      'age': age,
      'promotion': (cost + demand > 0.0).astype(int),
    }
  )


@pytest.fixture(scope='session')
def sales_rows():
  """Makes rows for `iv fit`."""
  return _sales


@pytest.fixture(scope='module')
def sales(tmp_path_factory):
  """A directory with such rows as CSV and Parquet."""
  path = tmp_path_factory.mktemp('sales')
  _sales().to_csv(path / 'sales.csv', index=False)
  _sales().to_parquet(path / 'sales.parquet')
  return path


@pytest.fixture
def iv_run(capfd, monkeypatch, sales):
  """Runs `dfiv-ope iv` there, in this process; returns what it prints."""
  monkeypatch.chdir(sales)
  monkeypatch.delenv('DFIV_OPE_DEBUG', raising=False)
  before = signal.getsignal(signal.SIGINT)

  def run(*arguments, code=0):
    monkeypatch.setattr(sys, 'argv', ['dfiv-ope', 'iv', *map(str, arguments)])
    with pytest.raises(SystemExit) as ended:
      main.main()
    output, errors = capfd.readouterr()
    assert (ended.value.code or 0) == code, errors
    return output, errors

  yield run
  signal.signal(signal.SIGINT, before)


@pytest.fixture
def iv_summary(iv_run):
  """Runs `iv fit` and returns its summary."""
  return lambda *arguments: json.loads(iv_run('fit', *arguments, '--json')[0])


@pytest.fixture
def iv_refuses(iv_run, sales):
  """Expects a sentence, and nothing written; returns the sentence."""

  def refuses(*arguments):
    before = sorted(sales.rglob('*'))
    output, errors = iv_run(*arguments, code=2)
    assert not output
    assert 'Traceback' not in errors
    line = errors.splitlines()[-1]  # A fit may have begun.
    assert line.startswith('Error: ')
    assert sorted(sales.rglob('*')) == before
    return line

  return refuses


@pytest.fixture
def fitted(iv_run, sales):
  """A directory of a fit with a covariate."""
  out = sales / 'fitted'
  shutil.rmtree(out, ignore_errors=True)
  iv_run(
    'fit',
    'sales.csv',
    '--outcome',
    'sales',
    '--treatment',
    'price',
    '--instrument',
    'cost',
    '--covariate',
    'age',
    '--out',
    'fitted',
  )
  return out
