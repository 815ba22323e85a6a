"""When a first stage is weak, in words."""

import math

import pytest

from dfiv_ope.iv.diagnostics import messages


def test_the_lost_share_is_what_lies_along_low_values():
  assert messages.lost_share([0.9, 0.1, 0.05], [0.5, 0.2, 0.3]) == 0.3
  assert messages.lost_share([0.9, 0.05], [1.1, -0.1]) == 0.0
  assert messages.lost_share([], []) == 0.0
  assert math.isnan(messages.lost_share([0.05], [math.nan]))
  assert messages.lost_share([0.9, 0.05, 0.02], [0.5, 0.2, 0.3], 0.03) == 0.3


def test_a_small_value_that_many_rows_tell_is_not_low():
  assert messages.low_value(100) == messages.LOW_VALUE
  assert messages.low_value(100_000) == pytest.approx(0.01)


@pytest.mark.parametrize(
  'share, words',
  [
    (0.034, '3.4 %'),
    (0.004, '0.4 %'),
    (1e-5, 'less than 0.1 %'),
    (0.0, '0 %'),
    (-0.2, '0 %'),
    (1.0, '100 %'),
  ],
)
def test_shares_are_said_in_per_cent(share, words):
  assert messages.percent(share) == words


def test_a_weak_instrument_is_said_with_its_numbers():
  assert messages.weak_instrument(0.03, 4.21, what='the treatment') == (
    'Z is a weak instrument: it explains 3 % of the treatment on held-out '
    'rows, and the F of the held-out first-stage index is 4.2, below 10. '
    'Estimates are biased towards ordinary regression; look for a stronger '
    'instrument or more rows.'
  )


def test_weak_instruments_of_2sls_are_said_with_their_critical_value():
  values = {0.05: 37.4, 0.1: 23.1, 0.2: 15.1, 0.3: 12.0}
  assert messages.weak_linear(17.6, values, what='the treatment') == (
    'Z is a weak instrument: the effective F (Montiel Olea-Pflueger) of the '
    'treatment is 17.6, below 23.1, so two-stage least squares may keep more '
    'than 10 % of the worst-case bias, towards ordinary regression (more '
    'than 20 % is excluded at the 5 % level). Use fewer and stronger '
    'instruments, or more rows.'
  )
  words = messages.weak_linear(
    3.0, values, what='column 1 of the treatment', conditional=True
  )
  assert 'conditional F (Sanderson-Windmeijer) of column 1 of the' in words
  assert '(not even 30 % is excluded at the 5 % level)' in words


def test_an_ill_posed_problem_is_said_with_its_share():
  assert messages.ill_posed(
    0.62, instruments='the instruments', outcome='the outcome'
  ) == (
    '62 % of what the instruments tell of the outcome lies along '
    'directions that stage 1 hardly keeps (singular values below 0.1), '
    'so small errors there become large ones in the answer.'
  )
  assert '(singular values below 0.022)' in messages.ill_posed(
    0.62, instruments='', outcome='', low=0.0224
  )


def test_methods_whose_values_follow_from_nothing_are_named():
  strong = {'first_stage_r2': 0.8, 'first_stage_f': 2e4}
  noisy = {'first_stage_r2': 0.12, 'first_stage_f': 2345.6}
  few = {'first_stage_r2': 0.4, 'first_stage_f': 3.0}
  assert messages.weak_values({'lstd': strong, 'old': {}}) == ''
  assert messages.weak_values({'lstd': strong, 'kiv': noisy, 'fqe': few}) == (
    'Weak first stage: of the discounted next value (s, a) predicts 12 % by '
    'kiv (F of the held-out index 2,346), 40 % by fqe (F of the held-out '
    'index 3) on held-out rows (R2). Either transitions are very noisy or '
    'the state is partially observed: add observations, or trust the closed '
    'forms less.'
  )
