"""Names of columns and labels of rows in the estimators on arrays."""

import numpy as np
import pandas as pd
import pytest

from dfiv_ope.iv import estimators, frames


def table(rows=100, seed=0):
  generator = np.random.default_rng(seed)
  z1, z2, age, size, noise = generator.normal(size=(5, rows))
  price, rent = z1 + noise, 10.0 * (z2 + noise)
  return pd.DataFrame(
    {
      'sales': 2.0 * price - rent + 5.0 * age + size + noise,
      'price': price,
      'rent': rent,
      'z1': z1,
      'z2': z2,
      'age': age,
      'size': size,
    }
  )


def fitted(rows=None):
  rows = table() if rows is None else rows
  return estimators.TwoSLS().fit(
    rows['sales'],
    rows[['price', 'rent']],
    Z=rows[['z1', 'z2']],
    X=rows[['age', 'size']],
  )


def test_columns_in_another_order_are_aligned_by_name():
  rows, model = table(), fitted()
  expected = model.predict(
    rows[['price', 'rent']].to_numpy(), rows[['age', 'size']].to_numpy()
  )
  np.testing.assert_array_equal(
    model.predict(rows[['rent', 'price']], rows[['size', 'age']]), expected
  )
  row = rows.iloc[3]
  np.testing.assert_array_equal(
    model.predict(row[['rent', 'price']], row[['size', 'age']]),
    model.predict(
      row[['price', 'rent']].to_numpy()[None],
      row[['age', 'size']].to_numpy()[None],
    ),
  )
  grid = pd.DataFrame({'rent': [0.0, 1.0], 'price': [0.0, 0.0]})
  assert np.diff(model.dose_response(grid)) == pytest.approx(model.coef_[1])


def test_numbers_of_columns_are_names_as_well():
  rows = table()
  numbered = rows[['price', 'rent']].set_axis([0, 1], axis=1)
  model = estimators.TwoSLS().fit(rows['sales'], numbered, Z=rows[['z1', 'z2']])
  np.testing.assert_array_equal(
    model.predict(numbered[[1, 0]]), model.predict(numbered)
  )


@pytest.mark.parametrize(
  'columns, message',
  [
    (['price', 'age'], "T lacks 'rent' and has the unknown 'age'; the fit had"),
    (['price'], "T lacks 'rent'; the fit had 'price', 'rent'. Pass these"),
    (['price', 'rent', 'age'], "T has the unknown 'age'; the fit had"),
  ],
)
def test_other_names_than_those_of_the_fit_are_refused(columns, message):
  rows, model = table(), fitted()
  with pytest.raises(ValueError, match=message):
    model.predict(rows[columns], rows[['age', 'size']])


def test_a_series_of_another_name_is_refused():
  rows = table()
  model = estimators.TwoSLS().fit(rows['sales'], rows['price'], Z=rows['z1'])
  with pytest.raises(ValueError, match="T lacks 'price' and has the unknown"):
    model.predict(rows['rent'])
  np.testing.assert_array_equal(
    model.predict(rows['rent'].to_numpy()),
    model.predict(rows['rent'].rename(None)),
  )
  np.testing.assert_array_equal(
    model.predict(rows[['price']]), model.predict(rows['price'])
  )


def test_a_name_that_two_columns_have_is_refused():
  rows = table()
  with pytest.raises(ValueError, match="several columns named 'price'"):
    estimators.TwoSLS().fit(
      rows['sales'], rows[['price', 'price']], Z=rows[['z1', 'z2']]
    )


@pytest.mark.parametrize('member', ['T', 'Z', 'X'])
def test_rows_in_another_order_are_refused(member):
  rows = table()
  members = {'T': rows['price'], 'Z': rows['z1'], 'X': rows['age']}
  shuffled = members[member].sample(frac=1.0, random_state=0)
  label = shuffled.index[0]
  with pytest.raises(
    ValueError,
    match=(
      f'{member} and Y have the same labels in another order: row 0 is '
      rf'{label} in {member} and 0 in Y. Pass {member}.loc\[Y.index\]'
    ),
  ):
    estimators.TwoSLS().fit(rows['sales'], **{**members, member: shuffled})
  # Taken as the sentence says, they are those of the fit without a shuffle.
  model = estimators.TwoSLS().fit(
    rows['sales'], **{**members, member: shuffled.loc[rows.index]}
  )
  reference = estimators.TwoSLS().fit(rows['sales'], **members)
  np.testing.assert_array_equal(model.coef_, reference.coef_)


def test_rows_of_other_labels_are_refused_unless_they_are_arrays():
  rows = table()
  other = rows['z1'].set_axis(range(1, 101))
  with pytest.raises(ValueError, match='Z and Y have other labels: row 0 is 1'):
    estimators.TwoSLS().fit(rows['sales'], rows['price'], Z=other)
  model = estimators.TwoSLS().fit(
    rows['sales'], rows['price'], Z=other.to_numpy()
  )
  assert model.names_ == (('price',), None, ('sales',), None)
  with pytest.raises(ValueError, match='X and T have other labels'):
    fitted().predict(
      rows[['price', 'rent']], rows[['age', 'size']].set_axis(other.index)
    )


def test_equal_labels_of_another_type_are_the_same_rows():
  rows = table()
  times = pd.date_range('2020-01-01', periods=100, tz='UTC')
  model = estimators.TwoSLS().fit(
    rows['sales'].set_axis(times),
    rows['price'].set_axis(times.tz_convert('Asia/Tokyo')),
    Z=rows['z1'].set_axis(times),
  )
  assert model.n_rows_ == 100


def test_names_are_saved_and_shown(tmp_path):
  model = fitted()
  model.save(tmp_path / 'saved')
  loaded = estimators.load(tmp_path / 'saved')
  assert (
    loaded.names_
    == model.names_
    == (('price', 'rent'), ('z1', 'z2'), ('sales',), ('age', 'size'))
  )
  assert loaded.summary() == model.summary()
  for line in (
    'treatment columns   2 (price, rent)\n',
    'instrument columns  2 (z1, z2)\n',
    'covariate columns   2 (age, size)\n',
  ):
    assert line in model.summary()
  rows = table()
  np.testing.assert_array_equal(
    loaded.predict(rows[['rent', 'price']], rows[['size', 'age']]),
    model.predict(rows[['price', 'rent']], rows[['age', 'size']]),
  )


def test_a_summary_has_room_for_some_names():
  assert frames.shown(None, 2) == ''
  assert frames.shown(('a', 'b'), 2) == ' (a, b)'
  assert frames.shown(('a', 'b', 'c', 'd'), 2) == ' (a, b and 2 more)'


def test_effects_are_conditional_on_named_columns():
  model = fitted()
  given = model.cate([[1.0, 2.0]], given={'size': 4.0})
  np.testing.assert_array_equal(given, model.cate([[1.0, 2.0]], given={1: 4.0}))
  with pytest.raises(ValueError, match="no column 'sise' of X; the fit had ag"):
    model.cate([[1.0, 2.0]], given={'sise': 4.0})
