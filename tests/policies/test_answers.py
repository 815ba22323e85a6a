"""Answers of policies from elsewhere: by name, by place, or refused."""

import numpy as np
import pandas as pd
import pytest

from dfiv_ope.policies import answers

_LABELS = ('left', 'right', 'stay')
_ROWS = np.array([[0.5, 0.3, 0.2], [0.1, 0.2, 0.7]])


def _frame(columns=None, index=None):
  return pd.DataFrame(_ROWS, columns=columns, index=index)


def _take(answer, labels=_LABELS):
  return answers.as_probabilities(answer, 2, 3, labels)


def test_columns_that_are_named_after_actions_are_put_in_order():
  answer = _frame(['stay', 'left', 'right'])
  np.testing.assert_allclose(_take(answer), _ROWS[:, [1, 2, 0]], rtol=1e-6)
  np.testing.assert_allclose(_take(_frame(list(_LABELS))), _ROWS, rtol=1e-6)


def test_columns_without_names_are_taken_by_their_place():
  np.testing.assert_allclose(_take(_frame()), _ROWS, rtol=1e-6)
  np.testing.assert_allclose(_take(_frame(), ()), _ROWS, rtol=1e-6)


def test_numbers_in_another_order_are_names_where_actions_have_no_labels():
  np.testing.assert_allclose(
    _take(_frame([2, 0, 1]), ()), _ROWS[:, [1, 2, 0]], rtol=1e-6
  )
  np.testing.assert_allclose(
    _take(_frame(['5', '1', '2']), ('1', '2', '5')),
    _ROWS[:, [1, 2, 0]],
    rtol=1e-6,
  )


@pytest.mark.parametrize(
  'answer',
  [
    pd.Series(['stay', 'left']),
    pd.Series(['stay', 'left'], dtype='category'),
    pd.Series(['stay', 'left'], dtype='string'),
    pd.Series([2, 0]),
  ],
)
def test_a_series_of_actions_is_taken(answer):
  assert _take(answer).tolist() == [[0, 0, 1], [1, 0, 0]]


@pytest.mark.parametrize(
  'answer, labels, message',
  [
    (
      _frame(['up', 'left', 'stay']),
      _LABELS,
      'returned the columns up, left, stay, but the actions of the log are '
      'left, right, stay',
    ),
    (_frame(['left', 'left', 'stay']), _LABELS, 'returned the columns left, l'),
    (_frame([1, 2, 3]), (), 'returned the columns 1, 2, 3'),
    (_frame([0, 1, 2]), ('2', '1', '0'), 'names of actions or their places'),
    (_frame(index=[1, 0]), _LABELS, 'reset_index'),
    (_frame(index=['a', 'b']), _LABELS, 'reset_index'),
    (pd.Series(['stay', 'left'], index=[1, 0]), _LABELS, 'reset_index'),
    (pd.Series(['stay', None]), _LABELS, 'entries of type object'),
    (_ROWS.astype(object), _LABELS, 'with entries of type object'),
    (_ROWS.astype(complex), _LABELS, 'with entries of type complex128'),
    (np.ma.masked_array(_ROWS, mask=_ROWS > 0.6), _LABELS, 'a masked array'),
    ([[0.5, 0.5, 0.0], [1.0]], _LABELS, 'list, which makes no array'),
    (
      _ROWS[:, :2],
      _LABELS,
      r'\[2, 2\], but probabilities \[2, 3\] of left, right, stay or actions',
    ),
    (None, _LABELS, r'NoneType of shape \[\] with entries of type object'),
  ],
)
def test_what_may_be_misread_is_refused(answer, labels, message):
  with pytest.raises(ValueError, match=message):
    _take(answer, labels)


def test_a_masked_array_of_which_nothing_is_missing_is_an_array():
  np.testing.assert_allclose(_take(np.ma.masked_array(_ROWS)), _ROWS, rtol=1e-6)


class _Tensor:
  def __array__(self, *unused):
    raise RuntimeError('requires grad')


def test_an_object_that_makes_no_array_is_refused():
  with pytest.raises(ValueError, match='_Tensor, which makes no array .Runtim'):
    _take(_Tensor())
