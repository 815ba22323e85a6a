"""Columns that the constant or absorbed groups decide leave rounding only."""

import warnings

import numpy as np
import pytest

from dfiv_ope.iv import estimators
from dfiv_ope.iv.linear import fitting, system


def _absorbed(table, ways):
  return table[['firm', 'year'][:ways]]


def _fit(table, Z, X, **arguments):
  return estimators.TwoSLS().fit(
    table['sales'], table['price'], Z=table[Z], X=table[X], **arguments
  )


@pytest.mark.parametrize('offset', [0.0, 1e9])
@pytest.mark.parametrize('weighted', [False, True])
@pytest.mark.parametrize('ways', [1, 2])
def test_a_column_of_the_groups_is_left_out(
  sales_table, ways, weighted, offset
):
  table = sales_table()
  table['level'] = offset + np.cos(table['firm'])
  if ways == 2:
    table['level'] += table['year'] ** 2
  more = {'absorb': _absorbed(table, ways)}
  if weighted:
    more['sample_weight'] = table['size']
  near = _fit(table, ['cost', 'tax'], ['age'], **more)
  for Z, X, sentence in (
    (['cost', 'tax'], ['age', 'level'], 'X is collinear: level is a linear'),
    (['cost', 'level', 'tax'], ['age'], 'Z is collinear: level is a linear'),
  ):
    with pytest.warns(system.CollinearWarning, match=sentence):
      found = _fit(table, Z, X, **more)
    np.testing.assert_allclose(
      found.inference_.coefficients[:2], near.inference_.coefficients
    )
    np.testing.assert_allclose(
      found.inference_.std_errors[:2], near.inference_.std_errors
    )
    assert found.inference_.freedom == near.inference_.freedom
    for one, other in zip(
      found.inference_.tests, near.inference_.tests, strict=True
    ):
      assert one.freedom == other.freedom
      assert one.p_value == pytest.approx(other.p_value, abs=1e-8)


def test_outcomes_and_treatments_of_the_groups_are_refused(sales_table):
  table = sales_table()
  # Around zero, so that no mean tells how large rounding is.
  firms = np.random.default_rng(3).normal(size=20)
  for column, words in (
    ('sales', 'Y is constant within the absorbed groups'),
    ('price', 'of the columns of X and of the absorbed effects, so it has no'),
  ):
    levels = table.assign(**{column: firms[table['firm']]})
    with pytest.raises(ValueError, match=words):
      _fit(levels, ['cost', 'tax'], ['age'], absorb=table['firm'])


@pytest.mark.parametrize('value', [0.1, 1.0 / 3.0, 123456.789, 7.3e8, 1e-9])
@pytest.mark.parametrize('rows', [30, 97, 1013])
def test_constant_columns_are_left_out_whatever_their_value(rows, value):
  generator = np.random.default_rng(rows)
  z, hidden, rest = generator.normal(size=(3, rows))
  weights = generator.uniform(0.5, 2.0, rows)
  constant = np.full(rows, value)
  for each in (None, weights):
    plain, beside = (
      fitting.fit(made, fitting.Settings())
      for made in (
        _built(z + hidden, z, None, hidden + rest, each),
        _built(z + hidden, z, constant, hidden + rest, each),
      )
    )
    assert beside.freedom == plain.freedom
    np.testing.assert_allclose(beside.std_errors[0], plain.std_errors[0])
    assert np.isnan(beside.std_errors[1]) and beside.coefficients[1] == 0.0
    assert beside.weak.instruments == 1


def _built(t, z, constant, noise, weights):
  columns = [z] if constant is None else [z, constant]
  with warnings.catch_warnings():
    warnings.simplefilter('ignore', system.CollinearWarning)
    return system.build(
      t + noise,
      t[:, None],
      np.stack(columns, axis=1),
      None if constant is None else constant[:, None],
      weights=weights,
    )
