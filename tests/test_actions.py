"""What actions that are vectors are, and what is none."""

import numpy as np
import pytest

from dfiv_ope import actions

_DOSE = actions.Continuous(
  low=(0.0, None, None),
  high=(2.0, 1.0, None),
  names=('dose', 'rate', 'drug'),
  categories={2: ('a', 'b', 'c')},
)
_GOOD = np.array([[0.0, -5.0, 2.0], [2.0, 1.0, 0.0]])


def test_bounds_are_infinite_where_there_is_none_and_places_for_names():
  low, high = _DOSE.bounds
  assert low.tolist() == [0.0, -np.inf, 0.0]
  assert high.tolist() == [2.0, 1.0, 2.0]
  assert _DOSE.size == 3
  assert [_DOSE.entry(place) for place in range(3)] == ['dose', 'rate', 'drug']
  assert actions.Continuous(low=(None,), high=(None,)).entry(0) == '0'


def test_numbers_beyond_a_bound_by_rounding_are_put_on_it():
  space = actions.Continuous(low=(-0.1,), high=(0.1,))
  values = np.array(
    [[np.float64(np.float32(0.1))], [-0.1000001], [0.11], [0.0]]
  )
  assert values[0, 0] > 0.1
  np.testing.assert_array_equal(
    space.snapped(values), [[0.1], [-0.1], [0.11], [0.0]]
  )


def test_actions_within_bounds_are_taken():
  _DOSE.refuse_others(_GOOD, whose='The log')


@pytest.mark.parametrize(
  'place, value, message',
  [
    (
      0,
      2.5,
      r'The log gives 2.5 for entry dose of the action in row 1, but it '
      r'should be in \[0, 2\]',
    ),
    (1, 1.5, r'entry rate of the action in row 1, .* \[-inf, 1\]'),
    (0, np.nan, 'gives nan for entry dose'),
    (2, 3.0, 'gives 3 for entry drug .* one of 0 to 2'),
    (2, 0.5, 'gives 0.5 for entry drug .* one of 0 to 2'),
  ],
)
def test_what_is_no_action_is_refused(place, value, message):
  wrong = _GOOD.copy()
  wrong[1, place] = value
  with pytest.raises(ValueError, match=message):
    _DOSE.refuse_others(wrong, whose='The log')


def test_another_number_of_entries_is_refused():
  with pytest.raises(ValueError, match=r'shape \[2, 2\], but \[2, 3\]'):
    _DOSE.refuse_others(_GOOD[:, :2], whose='The policy')


def test_only_bounded_actions_can_be_uniform():
  actions.Continuous(low=(0.0,), high=(1.0,)).refuse_unbounded()
  with pytest.raises(ValueError, match='Entry rate of the action has no bound'):
    _DOSE.refuse_unbounded()


@pytest.mark.parametrize(
  'changes, message',
  [
    ({'low': ()}, 'a least and a greatest value for each entry, got 0 and 3'),
    ({'low': (3.0, None, None)}, 'dose of the action should have bounds low'),
    ({'names': ('dose',)}, '1 names for 3 entries'),
    ({'categories': {2: ('a',)}}, 'cannot be a name with 1 labels'),
    ({'categories': {3: ('a', 'b')}}, 'Entry 3 of 3'),
  ],
)
def test_what_cannot_be_actions_is_refused(changes, message):
  fields = {
    'low': _DOSE.low,
    'high': _DOSE.high,
    'names': _DOSE.names,
    'categories': _DOSE.categories,
  }
  with pytest.raises(ValueError, match=message):
    actions.Continuous(**{**fields, **changes})
