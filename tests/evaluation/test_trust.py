"""How far to trust an estimate: grades by measured parts."""

import pytest

from dfiv_ope.evaluation import inference, trust, verdict

_GOOD = verdict.Support('good')


def _answer(checks=(), *, chance=1.0, correction=0.0, missing='', **metrics):
  """Returns an answer of 100 whose checks say other values."""
  others = (100.0, 100.0 + correction, *checks)
  below, above = 100.0 - min(others), max(others) - 100.0
  return verdict.Answer(
    {
      'return_spread': 10.0,
      **metrics,
      **{
        f'check_{name}': value
        for name, value in zip(
          ('lstd', 'nearest', 'step'), checks or (100.0,), strict=False
        )
      },
    },
    missing=missing,
    interval=None
    if missing
    else inference.Interval(
      100.0,
      100.0 - chance - below,
      100.0 + chance + above,
      chance / 2.0,
      0.0,
      correction,
      (below, above),
    ),
  )


@pytest.mark.parametrize(
  'checks, grade',
  [
    ((100.0, 100.5), trust.TRUST),  # within chance
    ((100.0, 101.9), trust.TRUST),  # within 2 % of the value
    ((100.0, 104.0), trust.CARE),
    ((100.0, 130.0), trust.DO_NOT),
  ],
)
def test_unrelated_estimators_make_the_grade(checks, grade):
  assert trust.judge(_answer(checks), _GOOD).grade == grade


def test_a_correction_beyond_chance_needs_care():
  # Chance is twice the data error here.
  assert (
    trust.judge(_answer(correction=2.9, chance=3.0), _GOOD).grade == trust.TRUST
  )
  answer = _answer(correction=2.9, chance=3.0)
  narrow = answer.interval._replace(data_error=1.4)
  (reason,) = trust.judge(answer._replace(interval=narrow), _GOOD).reasons
  assert reason.startswith(
    'The log says that 2.9 is missing from the estimate 100, whose standard '
    'error is 1.4.'
  )


def test_a_wide_interval_may_be_trusted():
  assert trust.judge(_answer((100.0, 110.0), chance=15.0), _GOOD) == (
    trust.Trust(trust.TRUST)
  )


def test_the_reason_names_who_differs_and_by_how_much():
  (reason,) = trust.judge(_answer((100.0, 104.0)), _GOOD).reasons
  assert reason == (
    'Estimators differ: rollouts in nearest steps says 104, 4 from 100, '
    'where chance explains 1. The interval reaches there.'
  )


def test_errors_by_step_have_a_remedy():
  (reason,) = trust.judge(_answer((100.0, 100.0, 108.0)), _GOOD).reasons
  assert 'corrected for the number of the step says 108' in reason
  assert 'add it to the observations (time_feature)' in reason


@pytest.mark.parametrize(
  'metrics, support, grade',
  [
    ({}, 'thin', trust.CARE),
    ({}, 'poor', trust.DO_NOT),
    ({'beyond_share': 0.4}, 'good', trust.CARE),
    ({'unrolled': 1.0}, 'good', trust.CARE),
    ({'beyond_share': 0.7}, 'good', trust.DO_NOT),
    ({'effective_episodes': 5.0}, 'good', trust.DO_NOT),
    ({'mean_weight': 0.5}, 'good', trust.CARE),
    (
      {'lagged_value': 20.0, 'lagged_z': 8.0, 'lagged_correlation': 0.3},
      'good',
      trust.CARE,
    ),
    (
      {'lagged_value': 40.0, 'lagged_z': 8.0, 'lagged_correlation': 0.3},
      'good',
      trust.DO_NOT,
    ),
    (
      {'lagged_value': 20.0, 'lagged_z': 3.0, 'lagged_correlation': 0.3},
      'good',
      trust.TRUST,
    ),
    ({'trait_value': -3.0, 'trait_error': 0.5}, 'good', trust.CARE),
    ({'trait_value': 8.0, 'trait_error': 1.0}, 'good', trust.DO_NOT),
    ({'trait_value': 8.0, 'trait_error': 2.5}, 'good', trust.TRUST),
    ({'trait_value': 1.0, 'trait_error': 0.1}, 'good', trust.TRUST),
    (
      {'lagged_value': 1.0, 'lagged_z': 9.0, 'lagged_correlation': 0.3},
      'good',
      trust.TRUST,
    ),
    (
      {'memory_share': 0.02, 'memory_z': 5.0, 'memory_outcome': 1.0},
      'good',
      trust.CARE,
    ),
    (
      {'memory_share': 0.2, 'memory_z': 5.0, 'memory_outcome': 0.0},
      'good',
      trust.DO_NOT,
    ),
    (
      {'memory_share': 0.2, 'memory_z': 3.0, 'memory_outcome': 2.0},
      'good',
      trust.TRUST,
    ),
    (
      {'memory_share': 0.005, 'memory_z': 9.0, 'memory_outcome': 1.0},
      'good',
      trust.TRUST,
    ),
  ],
)
def test_each_part_alone_makes_the_grade(metrics, support, grade):
  found = trust.judge(_answer(**metrics), verdict.Support(support))
  assert found.grade == grade
  assert bool(found.reasons) == (grade != trust.TRUST)


def test_a_lasting_trait_has_a_remedy():
  metrics = {'trait_value': -8.0, 'trait_error': 1.0}
  (reason,) = trust.judge(_answer(**metrics), _GOOD).reasons
  assert 'adds at least 8 to the estimate (standard error 1)' in reason
  assert 'Add it to the observations' in reason


def test_without_an_interval_there_is_nothing_to_trust():
  found = trust.judge(_answer(missing='No interval: 3 episodes.'), _GOOD)
  assert found == (trust.DO_NOT, ('No interval: 3 episodes.',))


def test_without_other_estimators_it_is_with_care():
  interval = inference.Interval(100.0, 99.0, 101.0, 0.5, 0.0, 0.0)
  found = trust.judge(verdict.Answer({}, interval=interval), _GOOD)
  assert found == (
    trust.CARE,
    ('Unrelated estimators were not asked: evaluate this policy alone.',),
  )


def test_methods_with_the_same_verdict_share_a_sentence():
  same = trust.Trust(trust.CARE, ('Overlap is thin.',))
  assert trust.sentences(
    {'lstd': same, 'kiv': trust.Trust(trust.TRUST), 'fqe': same}
  ) == [
    'lstd, fqe: with care. Overlap is thin.',
    'kiv: trust: nothing that was measured speaks against the interval.',
  ]
