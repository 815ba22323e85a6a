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
    ((100.0, 102.9), trust.TRUST),  # within 3 % of the value
    ((100.0, 103.1), trust.CARE),
    ((100.0, 104.0), trust.CARE),
    ((100.0, 130.0), trust.DO_NOT),
  ],
)
def test_unrelated_estimators_make_the_grade(checks, grade):
  assert trust.judge(_answer(checks), _GOOD).grade == grade


def test_checks_of_a_small_share_of_the_rows_cannot_confirm():
  assert trust.judge(_answer(checked_share=0.2), _GOOD).grade == trust.TRUST
  found = trust.judge(_answer(checked_share=0.0125), _GOOD)
  assert found.grade == trust.CARE
  (reason,) = found.reasons
  assert reason.startswith('Unrelated estimators were asked on 1.2 % of the')


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
    'Estimators differ: 104 by rollouts in nearest steps, 4 from 100, '
    'where chance explains 1. The interval reaches there.'
  )


def test_errors_by_step_have_a_remedy():
  (reason,) = trust.judge(_answer((100.0, 100.0, 108.0)), _GOOD).reasons
  assert '108 by LSTD-Q corrected for the number of the step' in reason
  assert 'add it to the observations (time_feature)' in reason


@pytest.mark.parametrize(
  'metrics, support, grade',
  [
    ({}, 'thin', trust.CARE),
    ({}, 'poor', trust.DO_NOT),
    ({'beyond_share': 0.4}, 'good', trust.CARE),
    ({'unrolled': 1.0}, 'good', trust.CARE),
    ({'few_joint_features': 1.0}, 'good', trust.CARE),
    ({'few_joint_features': 1.0, 'check_curve': 100.0}, 'good', trust.CARE),
    ({'few_joint_features': 1.0, 'check_weighed': 100.0}, 'good', trust.TRUST),
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
    ({'acted_value': 5.0, 'acted_correlation': 0.3}, 'good', trust.TRUST),
    ({'acted_value': 20.0, 'acted_correlation': 0.3}, 'good', trust.CARE),
    ({'acted_value': 40.0, 'acted_correlation': 0.3}, 'good', trust.DO_NOT),
    (
      {'acted_share': 0.02, 'acted_z': 5.0, 'acted_outcome': 1.0},
      'good',
      trust.CARE,
    ),
    (
      {'acted_share': 0.2, 'acted_z': 3.0, 'acted_outcome': 1.0},
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
      {'foreseen_share': 0.02, 'foreseen_z': 5.0, 'foreseen_outcome': 1.0},
      'good',
      trust.CARE,
    ),
    (
      {'foreseen_share': 0.2, 'foreseen_z': 3.0, 'foreseen_outcome': 1.0},
      'good',
      trust.TRUST,
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


@pytest.mark.parametrize(
  'ends, spread', [((0.0, 0.0, 0.0), 0.0), ((1.953, 1.954, 1.955), 4e-16)]
)
def test_where_no_return_differs_an_interval_needs_care(ends, spread):
  low, value, high = ends
  error = (high - low) / 4.0
  found = inference.Interval(value, low, high, error, error, 0.0)
  answer = _answer(return_spread=spread)._replace(interval=found)
  (reason,) = trust.judge(answer, _GOOD).reasons
  assert reason.startswith('All episodes of the log have the same return')
  varied = answer._replace(metrics={**answer.metrics, 'return_spread': 1.0})
  assert trust.judge(varied, _GOOD).grade == trust.TRUST


def test_what_the_behaviour_policy_knew_has_a_remedy():
  metrics = {'foreseen_share': 0.2, 'foreseen_z': 9.0, 'foreseen_outcome': 1.0}
  found = trust.judge(_answer(**metrics), _GOOD)
  assert found.grade == trust.DO_NOT
  assert (
    'recorded probabilities tell 20 % of the variance of the reward'
    in (found.reasons[0])
  )
  assert 'or use weights (wis, dr)' in found.reasons[0]


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


def _resting(
  share, gap, *, rows=10_000, names=('narrow', 'draw', 'nearest'), **metrics
):
  """Returns the verdict on 100 +- 9 whose checks lie `gap` above it."""
  answer = _answer(
    (100.0, 100.0 + gap), chance=9.0, effective_share=share, **metrics
  )
  checks = {f'check_{name}': 100.0 + gap for name in names}
  return trust.judge(
    answer._replace(metrics={**answer.metrics, **checks}),
    verdict.Support('good', rows=rows),
  )


@pytest.mark.parametrize(
  'share, gap, options, grade',
  [
    (0.3, 8.9, {}, trust.TRUST),
    (0.16, 5.9, {}, trust.TRUST),  # two thirds of chance
    (0.16, 6.1, {}, trust.CARE),
    (0.16, 5.9, {'rows': 3_100}, trust.CARE),  # 496 effective rows
    (0.16, 5.9, {'rows': 3_200}, trust.TRUST),
    (0.14, 0.0, {'rows': 20_000}, trust.CARE),  # as catch with any action
    (0.04, 0.0, {'rows': 20_000}, trust.DO_NOT),
  ],
)
def test_few_effective_rows_need_checks_that_agree(share, gap, options, grade):
  found = _resting(share, gap, **options)
  assert found.grade == grade
  if grade != trust.TRUST:
    (reason,) = found.reasons
    assert reason.startswith(
      f'The effective sample size is {100 * share:.2g} % of the rows of the log'
    )


@pytest.mark.parametrize(
  'share, rows, grade',
  [
    (0.06, 5_100, trust.TRUST),  # 306 effective rows
    (0.06, 4_900, trust.CARE),
    (0.04, 20_000, trust.DO_NOT),
  ],
)
def test_a_table_smooths_nothing_and_needs_fewer_rows(share, rows, grade):
  names = ('prior', 'nearest')
  assert _resting(share, 5.9, rows=rows, names=names).grade == grade
  apart = _resting(share, 6.1, rows=rows, names=names)
  assert apart.grade == max(grade, trust.CARE, key=trust.GRADES.index)


@pytest.mark.parametrize(
  'strength, gap, grade',
  [(11.0, 5.9, trust.TRUST), (11.0, 6.1, trust.CARE), (9.0, 0.0, trust.CARE)],
)
def test_noisy_transitions_need_checks_that_agree(strength, gap, grade):
  found = _resting(
    0.9,
    gap,
    first_stage_r2=0.1,
    first_stage_f=strength,
    names=('prior', 'nearest'),
  )
  assert found.grade == grade


@pytest.mark.parametrize('missing', ['nearest', 'narrow'])
def test_without_rollouts_or_smoothing_nothing_is_confirmed(missing):
  answer = _answer(chance=9.0)
  checks = {
    f'check_{name}': 100.0
    for name in ('narrow', 'draw', 'nearest')
    if name != missing
  }
  found = trust.judge(
    verdict.Answer(
      {'return_spread': 10.0, 'effective_share': 0.2, **checks},
      interval=answer.interval,
    ),
    verdict.Support('good', rows=10_000),
  )
  assert found.grade == trust.CARE


def _of_family(family, estimate, **metrics):
  answer = _answer(**metrics)
  moved = answer.interval._replace(
    estimate=estimate, low=estimate - 1.0, high=estimate + 1.0
  )
  return answer._replace(interval=moved, family=family)


def test_families_that_differ_by_more_than_an_interval_are_not_trusted():
  near = trust.judge_all(
    {'lstd': _of_family('a', 100.0), 'fqe': _of_family('b', 101.9)}, _GOOD
  )
  assert {each.grade for each in near.values()} == {trust.TRUST}
  apart = trust.judge_all(
    {'lstd': _of_family('a', 100.0), 'fqe': _of_family('b', 102.1)}, _GOOD
  )
  assert {each.grade for each in apart.values()} == {trust.DO_NOT}
  assert apart['lstd'].reasons == (
    'Families of estimators differ by 2.1, more than the widest interval, 2. '
    'Collect more data near the policy.',
  )
  # What nobody should believe says nothing of the others.
  weighted = _of_family('b', 150.0, effective_episodes=3.0)
  judged = trust.judge_all(
    {'lstd': _of_family('a', 100.0), 'wis': weighted}, _GOOD
  )
  assert [each.grade for each in judged.values()] == [trust.TRUST, trust.DO_NOT]


@pytest.mark.parametrize(
  'metrics, words',
  [
    ({'heavy_share': 0.9}, '90 % of the estimate of KIV rests on its largest'),
    (
      {'first_stage_r2': 0.1, 'first_stage_f': 5.0},
      'Weak first stage: of the discounted next value (s, a) predicts 10 % by',
    ),
    ({'first_stage_lost_share': 0.9}, '90 % of what states and actions tell'),
    ({'stage1_held_out_r2': 0.1}, 'The first stage of KIV is weak.'),
    ({'instrument_condition': 1e9}, 'Features of KIV are nearly the same.'),
  ],
)
def test_what_a_report_doubts_is_doubted_everywhere(metrics, words):
  judged = trust.judge_all({'KIV': _answer(**metrics)}, _GOOD)['KIV']
  assert judged.grade == trust.CARE and judged.reasons[0].startswith(words)


def test_one_run_and_doubtful_columns_need_care():
  answer = _answer()._replace(untold='the training')
  (reason,) = trust.judge(answer, _GOOD).reasons
  assert reason.startswith('One run: the interval leaves out the training.')
  support = verdict.Support('good', doubts=('Column x looks categorical.',))
  assert trust.judge(_answer(), support) == (
    trust.CARE,
    ('Column x looks categorical.',),
  )
