"""What to beware of in answers: sentences by values."""

import pytest

from dfiv_ope.evaluation import verdict

_RETURNS = {'lowest_return': 0.0, 'highest_return': 1.0}


@pytest.mark.parametrize(
  'estimate, said', [(0.5, False), (1.005, False), (1.02, True), (-0.1, True)]
)
def test_an_estimate_beyond_every_return_is_said(estimate, said):
  words = verdict.beyond(
    'lstd', verdict.Answer({**_RETURNS, 'estimate': estimate})
  )
  assert bool(words) == said
  if said:
    assert f'{estimate:.4g}, lies beyond the return of every episode' in words
    assert '(0 to 1)' in words


@pytest.mark.parametrize('estimate, said', [(-7.004, False), (-7.04, True)])
def test_where_all_returns_are_the_same_rounding_is_no_extrapolation(
  estimate, said
):
  metrics = {'lowest_return': -7.0, 'highest_return': -7.0}
  words = verdict.beyond(
    'lstd', verdict.Answer({**metrics, 'estimate': estimate})
  )
  assert bool(words) == said


def test_a_log_with_truncated_episodes_has_no_such_bounds():
  assert not verdict.beyond('lstd', verdict.Answer({'estimate': 99.0}))


@pytest.mark.parametrize(
  'method, runs, checks, hidden',
  [
    ('lstd', 1, (), 'the draw of random features'),
    ('lstd', 3, (), ''),
    ('lstd', 1, ('draw',), ''),
    ('lstd', 1, ('prior',), ''),  # A table has no random features.
    ('wis', 1, (), ''),
    ('fqe', 1, ('draw',), 'the training'),
  ],
)
def test_one_run_hides_what_no_check_draws_anew(method, runs, checks, hidden):
  metrics = {f'check_{name}': 1.0 for name in checks}
  assert verdict.hidden_randomness(method, runs, metrics) == hidden
