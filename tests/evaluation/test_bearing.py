"""What bears on an estimate that is its weights' alone."""

import pytest

from dfiv_ope.evaluation import bearing, inference, trust, verdict

# Of weighted importance sampling with recorded probabilities.
_SOUND = {
  'estimated_propensities': 0.0,
  'values_share': 0.0,
  'effective_episodes': 20.0,
  'mean_weight': 0.95,
}
_CHECKS = {'check_lstd': 90.0, 'check_nearest': 92.0}
_ROBUST = {'check_doubly_robust': 99.5}
# That the observation is not the state, the log not there, a trait hidden.
_STATE = {
  'memory_share': 0.2,
  'memory_z': 9.0,
  'memory_outcome': 0.0,
  'acted_share': 0.2,
  'acted_z': 9.0,
  'acted_outcome': 1.0,
  'foreseen_share': 0.2,
  'foreseen_z': 9.0,
  'foreseen_outcome': 1.0,
  'beyond_share': 0.7,
  'trait_value': 30.0,
  'trait_error': 1.0,
  'lagged_value': 80.0,
  'lagged_z': 9.0,
  'lagged_correlation': 0.3,
}


@pytest.mark.parametrize(
  'changes, alone',
  [
    ({}, True),
    ({'values_share': 0.05}, True),
    ({'values_share': 0.06}, False),
    ({'effective_episodes': 19.0}, False),
    ({'mean_weight': 1.1}, True),
    ({'mean_weight': 1.12}, False),
    ({'mean_weight': 0.89}, False),
    ({'estimated_propensities': 1.0}, False),
  ],
)
def test_weights_speak_for_themselves_where_they_tell_their_error(
  changes, alone
):
  metrics = {**_SOUND, **_CHECKS, **_ROBUST, **changes}
  assert bearing.weighs_alone(metrics) == alone
  assert set(bearing.checks(metrics)) == (
    {'doubly_robust'} if alone else {'lstd', 'nearest', 'doubly_robust'}
  )


@pytest.mark.parametrize('missing', list(_SOUND))
def test_what_is_not_known_is_not_assumed(missing):
  metrics = {name: each for name, each in _SOUND.items() if name != missing}
  assert not bearing.weighs_alone(metrics)


def test_where_no_robust_check_was_asked_all_checks_bear():
  assert set(bearing.checks({**_SOUND, **_CHECKS})) == {'lstd', 'nearest'}


def _judged(**changes):
  metrics = {**_SOUND, **_CHECKS, **_ROBUST, **_STATE, **changes}
  interval = inference.interval(
    [100.0],
    [[-1.0, 0.0, 1.0]],
    [0.0],
    level=0.95,
    checks=tuple(bearing.checks(metrics).values()),
  )
  return interval, trust.judge(
    verdict.Answer(metrics, interval=interval), verdict.Support('good')
  )


def test_what_lstd_assumes_is_no_doubt_about_recorded_weights():
  interval, judged = _judged()
  assert judged == trust.Trust(trust.TRUST)
  # It reaches to the doubly robust check and no farther.
  assert interval.reach == pytest.approx((0.5, 0.0))
  interval, judged = _judged(mean_weight=0.85)
  assert judged.grade == trust.DO_NOT and len(judged.reasons) == 7
  assert interval.reach == pytest.approx((10.0, 0.0))


def test_overlap_and_robust_checks_are_doubts_all_the_same():
  answer = verdict.Answer(_SOUND, interval=_judged()[0])
  assert trust.judge(answer, verdict.Support('thin')).grade == trust.CARE
  assert trust.judge(answer, verdict.Support('good')).grade == trust.TRUST
  _, judged = _judged(check_doubly_robust=60.0)
  assert judged.grade == trust.DO_NOT
  assert judged.reasons[0].startswith(
    'Estimators differ: 60 by the doubly robust estimate, 40 from 100'
  )
