"""Files of start states: columns by name, labels of categories."""

import re

import numpy as np
import pandas as pd
import pytest

from dfiv_ope.datasets import start_states

_NAMES = ('obs_x', 'obs_place')
_PLACES = {1: ('home', 'work')}


def test_columns_are_found_by_name_in_every_format(tmp_path):
  frame = pd.DataFrame(
    {'note': [0, 0], 'obs_place': ['work', 'home'], 'obs_x': [1.5, 2.0]}
  )
  frame.to_csv(tmp_path / 'a.csv', index=False)
  frame.to_parquet(tmp_path / 'a.parquet')
  np.savez(tmp_path / 'a.npz', obs_x=[1.5, 2.0], obs_place=['work', 'home'])
  for name in ('a.csv', 'a.parquet', 'a.npz'):
    np.testing.assert_array_equal(
      start_states.read(tmp_path / name, _NAMES, _PLACES),
      [[1.5, 1.0], [2.0, 0.0]],
    )


def test_an_npz_may_have_one_array_of_all(tmp_path):
  np.savez(tmp_path / 'a.npz', observations=np.eye(2))
  np.testing.assert_array_equal(
    start_states.read(tmp_path / 'a.npz', _NAMES, {}), np.eye(2)
  )


def test_what_has_not_the_columns_of_the_log_is_refused(tmp_path):
  pd.DataFrame({'obs_x': [1.0], 'obs_place': ['moon']}).to_csv(
    tmp_path / 'a.csv', index=False
  )
  np.savez(tmp_path / 'a.npz', observations=np.eye(3))
  np.savez(tmp_path / 'b.npz', obs_x=[1.0])
  for name, names, words in (
    ('a.csv', ('obs_x', 'obs_y'), "no column 'obs_y'"),
    ('a.csv', _NAMES, "'moon' in the column obs_place, which no row"),
    ('a.npz', _NAMES, 'shape (3, 3), but start states have 2 columns'),
    ('b.npz', _NAMES, "no array 'obs_place'"),
  ):
    with pytest.raises(ValueError, match=re.escape(words)):
      start_states.read(
        tmp_path / name, names, _PLACES if names == _NAMES else {}
      )
  with pytest.raises(FileNotFoundError, match='no file'):
    start_states.read(tmp_path / 'c.npz', _NAMES, {})
