"""Weights of episodes: values worked by hand, identities, unbiasedness."""

import numpy as np
import pytest

from dfiv_ope.ope import weighing

# Two episodes, of two steps and of one, at a discount of 1/2.
_WHERE = weighing.layout(np.array([0, 0, 1]))
_RATIOS = np.log([2.0, 0.5, 0.5])
_REWARDS = np.array([1.0, 4.0, 2.0])
_DISCOUNTS = np.array([1.0, 0.5, 1.0])
# v(s0) of both; r + gamma d v(s') - q(s, a) with v(s') = 3, 0, 0 and
# q(s, a) = 1.5, 2, 1.
_INITIAL = np.array([2.0, 1.0])
_ERRORS = np.array([1.0 + 0.5 * 3.0 - 1.5, 4.0 - 2.0, 2.0 - 1.0])


def _steps(gains=_DISCOUNTS * _REWARDS, *, cap=None, **options):
  return weighing.of_steps(
    weighing.cumulative(_RATIOS, _WHERE, cap=cap), gains, _WHERE, **options
  )


def _episodes(*, cap=None, normalised):
  last = weighing.cumulative(_RATIOS, _WHERE, cap=cap)[_WHERE.ends]
  return weighing.of_episodes(
    last, _WHERE.total(_DISCOUNTS * _REWARDS), normalised=normalised
  )


def test_weights_are_products_so_far():
  np.testing.assert_allclose(
    np.exp(weighing.cumulative(_RATIOS, _WHERE)), [2.0, 1.0, 0.5]
  )
  assert _WHERE.longest == 2
  np.testing.assert_array_equal(_WHERE.step, [0, 1, 0])


@pytest.mark.parametrize(
  'name, found, value',
  [
    # Returns are 1 + 4 / 2 = 3 and 2, the weights of episodes 1 and 1/2.
    ('IS', lambda: _episodes(normalised=False), (3.0 + 0.5 * 2.0) / 2.0),
    ('WIS', lambda: _episodes(normalised=True), (3.0 + 0.5 * 2.0) / 1.5),
    (
      'PDIS',
      lambda: _steps(normalised=False),
      (2.0 * 1.0 + 0.5 * 4.0 + 0.5 * 2.0) / 2.0,
    ),
    # At the second step the ended episode keeps its weight of 1/2.
    (
      'WPDIS',
      lambda: _steps(normalised=True),
      (2.0 * 1.0 + 0.5 * 2.0) / 2.5 + 0.5 * 4.0 / 1.5,
    ),
    (
      'DR',
      lambda: _steps(_DISCOUNTS * _ERRORS, normalised=False, initial=_INITIAL),
      1.5 + (2.0 * 1.0 + 0.5 * 2.0 + 0.5 * 1.0) / 2.0,
    ),
    (
      'WDR',
      lambda: _steps(_DISCOUNTS * _ERRORS, normalised=True, initial=_INITIAL),
      1.5 + (2.0 * 1.0 + 0.5 * 1.0) / 2.5 + 0.5 * 2.0 / 1.5,
    ),
  ],
)
def test_two_episodes_by_hand(name, found, value):
  del name
  assert found().value == pytest.approx(value, abs=1e-12)
  assert np.sum(found().added) == pytest.approx(0.0, abs=1e-12)


def test_the_values_by_hand_are_these():
  assert _episodes(normalised=False).value == pytest.approx(2.0)
  assert _episodes(normalised=True).value == pytest.approx(8.0 / 3.0)
  assert _steps(normalised=False).value == pytest.approx(2.5)
  assert _steps(normalised=True).value == pytest.approx(38.0 / 15.0)
  gains = _DISCOUNTS * _ERRORS
  assert _steps(gains, normalised=False, initial=_INITIAL).value == (
    pytest.approx(3.25)
  )
  assert _steps(gains, normalised=True, initial=_INITIAL).value == (
    pytest.approx(19.0 / 6.0)
  )


def test_a_cap_bounds_every_product():
  np.testing.assert_allclose(
    np.exp(weighing.cumulative(_RATIOS, _WHERE, cap=1.5)), [1.5, 1.0, 0.5]
  )
  assert _steps(cap=1.5, normalised=False).value == pytest.approx(
    (1.5 * 1.0 + 0.5 * 4.0 + 0.5 * 2.0) / 2.0
  )
  assert _episodes(cap=0.75, normalised=False).value == pytest.approx(
    (0.75 * 3.0 + 0.5 * 2.0) / 2.0
  )


def test_the_recursion_of_the_paper_is_the_sum():
  """Jiang and Li (2016), Eq. (10): V = v + rho (r + gamma V' - q)."""
  last = 0.5 * (4.0 + 0.0 - 2.0) + 3.0
  first = 2.0 + 2.0 * (1.0 + 0.5 * last - 1.5)
  other = 1.0 + 0.5 * (2.0 - 1.0)
  assert _steps(
    _DISCOUNTS * _ERRORS, normalised=False, initial=_INITIAL
  ).value == pytest.approx((first + other) / 2.0)


def test_the_weighted_form_of_the_paper_is_the_sum():
  """Thomas and Brunskill (2016), Eq. (7), with w_-1 = 1 / E."""
  weights = np.array([[2.0, 1.0], [0.5, 0.5]])
  weights /= weights.sum(axis=0)
  before = np.array([[0.5, weights[0, 0]], [0.5, weights[1, 0]]])
  r, q, v = (
    np.array([[1.0, 4.0]]),
    np.array([[1.5, 2.0]]),
    np.array([[2.0, 3.0]]),
  )
  value = np.sum(
    [1.0, 0.5] * (weights[:1] * r - (weights[:1] * q - before[:1] * v))
  )
  value += weights[1, 0] * 2.0 - (weights[1, 0] * 1.0 - before[1, 0] * 1.0)
  assert _steps(
    _DISCOUNTS * _ERRORS, normalised=True, initial=_INITIAL
  ).value == pytest.approx(value)


def _random(seed=0, count=60, spread=0.6):
  generator = np.random.default_rng(seed)
  lengths = generator.integers(1, 9, size=count)
  where = weighing.layout(np.repeat(np.arange(count), lengths))
  rows = len(where.step)
  return (
    where,
    spread * generator.normal(size=rows),
    generator.normal(size=rows),
    generator.normal(size=count),
  )


def _plain(where, ratios, gains, initial, multiplicity):
  """All forms with loops; episodes count as often as `multiplicity` says."""
  rho, table = np.zeros((2, len(where.starts), where.longest))
  for i, (start, length) in enumerate(
    zip(where.starts, where.lengths, strict=True)
  ):
    rho[i] = np.prod(np.exp(ratios[start : start + length]))
    rho[i, :length] = np.cumprod(np.exp(ratios[start : start + length]))
    table[i, :length] = gains[start : start + length]
  m, count = multiplicity[:, None], multiplicity.sum()
  base, last = multiplicity @ initial / count, multiplicity * rho[:, -1]
  return np.array(
    [
      last @ table.sum(axis=1) / count,
      last @ table.sum(axis=1) / last.sum(),
      base + np.sum(m * rho * table) / count,
      base + np.sum(np.sum(m * rho * table, 0) / np.sum(m * rho, 0)),
    ]
  )


def _all(where, ratios, gains, initial):
  logs = weighing.cumulative(ratios, where)
  last, returns = logs[where.ends], where.total(gains)
  return [
    *(
      weighing.of_episodes(last, returns, normalised=each)
      for each in (False, True)
    ),
    *(
      weighing.of_steps(logs, gains, where, normalised=each, initial=initial)
      for each in (False, True)
    ),
  ]


def test_what_an_episode_adds_is_the_derivative_by_its_count():
  case = _random()
  ones = np.ones(len(case[3]))
  values = _plain(*case, ones)
  found = _all(*case)
  np.testing.assert_allclose([each.value for each in found], values)
  slopes = np.array(
    [
      (_plain(*case, ones + 1e-6 * (np.arange(len(ones)) == each)) - values)
      / 1e-6
      for each in range(len(ones))
    ]
  ).T
  for each, slope in zip(found, slopes, strict=True):
    np.testing.assert_allclose(each.added, slope, atol=1e-7)


def test_without_ratios_all_forms_are_the_average():
  where, ratios, gains, _ = _random()
  returns = where.total(gains)
  for found in _all(where, 0.0 * ratios, gains, np.zeros(len(returns))):
    assert found.value == pytest.approx(returns.mean(), abs=1e-12)
    np.testing.assert_allclose(
      found.added, (returns - returns.mean()) / len(returns), atol=1e-12
    )
    assert found.effective_episodes == pytest.approx(len(returns))
    assert found.largest_share == pytest.approx(1.0 / len(returns))
    assert found.mean_weight == pytest.approx(1.0)


def test_one_step_needs_no_decisions():
  generator = np.random.default_rng(0)
  where = weighing.layout(np.arange(50))
  whole, weighted, each, each_weighted = _all(
    where, generator.normal(size=50), generator.normal(size=50), np.zeros(50)
  )
  assert whole.value == pytest.approx(each.value)
  assert weighted.value == pytest.approx(each_weighted.value)
  assert weighted.effective_episodes == pytest.approx(
    each_weighted.effective_episodes
  )


def test_products_of_thousands_of_ratios_stay_numbers():
  where = weighing.layout(np.repeat([0, 1, 2], 5_000))
  generator = np.random.default_rng(0)
  ratios = 2.0 + generator.normal(size=15_000)  # A product of e^10000.
  gains = generator.normal(size=15_000)
  found = weighing.of_steps(
    weighing.cumulative(ratios, where), gains, where, normalised=True
  )
  assert np.isfinite(found.value) and np.all(np.isfinite(found.added))
  assert 1.0 <= found.effective_episodes <= 3.0
  shrunk = weighing.of_steps(
    weighing.cumulative(ratios - 2.0, where), gains, where, normalised=True
  )
  assert found.value == pytest.approx(shrunk.value, rel=1e-9)
  plain = weighing.of_steps(
    weighing.cumulative(ratios, where), gains, where, normalised=False
  )
  assert not np.isfinite(plain.value)


def test_an_action_that_the_target_never_takes_ends_the_weight():
  where = weighing.layout(np.array([0, 0, 0, 1]))
  logs = weighing.cumulative(np.array([0.0, -np.inf, 1.0, -1.0]), where)
  np.testing.assert_allclose(np.exp(logs), [1.0, 0.0, 0.0, np.exp(-1.0)])
  found = weighing.of_steps(
    logs, np.array([1.0, 5.0, 5.0, 0.0]), where, normalised=True
  )
  assert found.value == pytest.approx(1.0 / (1.0 + np.exp(-1.0)))
  assert np.all(np.isfinite(found.added))


def test_no_weight_at_all_leaves_the_model():
  logs = np.full(3, -np.inf)
  found = weighing.of_steps(
    logs, _DISCOUNTS * _ERRORS, _WHERE, normalised=True, initial=_INITIAL
  )
  assert found.value == pytest.approx(1.5)
  assert found.effective_episodes == found.largest_share == 0.0
  np.testing.assert_allclose(found.added, [0.25, -0.25])


def test_weighing_may_end_before_the_last_step():
  found = _steps(
    _DISCOUNTS * _ERRORS, normalised=True, initial=_INITIAL, until=1
  )
  assert found.value == pytest.approx(1.5 + 1.0)
  assert _steps(
    _DISCOUNTS * _ERRORS, normalised=True, initial=_INITIAL, until=0
  ).value == pytest.approx(1.5)


def test_effective_episodes_are_a_harmonic_mean_over_steps():
  # Weights 2, 1/2 at the first step and 1, 1/2 at the second; the steps carry
  # (2 + 1) / 2.5 = 1.2 and 2 / 1.5 of the value.
  first, second = 2.5**2 / 4.25, 1.5**2 / 1.25
  carried = np.array([1.2, 4.0 / 3.0])
  carried /= carried.sum()
  assert _steps(normalised=True).effective_episodes == pytest.approx(
    1.0 / (carried[0] / first + carried[1] / second)
  )


def test_what_remains_falls_from_one_to_nothing():
  logs = weighing.cumulative(_RATIOS, _WHERE)
  # Steps have 2/2.5 + 0.5/2.5 = 1, and half of 1/1.5.
  np.testing.assert_allclose(
    weighing.remaining(logs, _DISCOUNTS, _WHERE), [1.0, 0.25, 0.0]
  )
  np.testing.assert_allclose(
    weighing.remaining(np.full(3, -np.inf), _DISCOUNTS, _WHERE), [1.0, 1.0, 0.0]
  )


@pytest.mark.parametrize(
  'ratios, words',
  [
    ([0.0, np.nan, 0.0], 'must be finite, got 1 that are not'),
    ([0.0, np.inf, 0.0], 'must be finite, got 1 that are not'),
    ([0.0, 0.0], 'Ratios of 3 steps'),
  ],
)
def test_malformed_ratios_are_refused(ratios, words):
  with pytest.raises(ValueError, match=words):
    weighing.cumulative(np.array(ratios), _WHERE)


def test_malformed_episodes_are_refused():
  with pytest.raises(ValueError, match='must follow each other'):
    weighing.layout(np.array([0, 1, 0]))
  with pytest.raises(ValueError, match='at least one transition'):
    weighing.layout(np.zeros(0, int))


def _logs_of_two_states(count, seed):
  """Returns episodes of a chain of two states, and what they are worth.

  Action 1 pays the state plus one; a step leads to the state that is its
  action with probability 0.8, and ends the episode with probability 0.5.
  """
  generator = np.random.default_rng(seed)
  behaviour, target, discount = np.array([0.6, 0.4]), np.array([0.4, 0.7]), 0.9
  moves = np.array([[[0.8, 0.2], [0.2, 0.8]]] * 2)  # [S, A, S]
  chance = np.stack([1.0 - target, target], axis=1)
  gains = np.array([1.0, 2.0]) * target
  step = np.einsum('sa,sat->st', chance, moves)
  values = np.linalg.solve(np.eye(2) - discount * 0.5 * step, gains)
  rows = []
  state, episode = generator.integers(2, size=count), np.arange(count)
  time = 0
  while len(state):
    action = (generator.random(len(state)) < behaviour[state]).astype(int)
    later = (generator.random(len(state)) < moves[state, action, 1]).astype(int)
    ended = generator.random(len(state)) < 0.5
    ratio = np.where(
      action,
      target[state] / behaviour[state],
      (1.0 - target[state]) / (1.0 - behaviour[state]),
    )
    rows.append(
      np.stack(
        [
          episode,
          np.full(len(state), time),
          state,
          action,
          later,
          ended,
          ratio,
          (state + 1.0) * action + generator.normal(size=len(state)),
        ]
      )
    )
    state, episode, time = later[~ended], episode[~ended], time + 1
  rows = np.concatenate(rows, axis=1)
  return rows[:, np.lexsort((rows[1], rows[0]))], values, discount


def test_is_pdis_and_dr_are_unbiased_over_a_thousand_logs():
  logs, size = 1_000, 6
  rows, values, discount = _logs_of_two_states(logs * size, seed=0)
  episode, time, state, action, later, ended, ratio, reward = rows
  # Any Q-function will do, as long as v is its expectation.
  q = np.array([[0.5, -1.0], [2.0, 1.0]])
  target = np.array([[0.6, 0.4], [0.3, 0.7]])
  v = np.sum(q * target, axis=1)
  errors = (
    reward
    + discount * (1.0 - ended) * v[later.astype(int)]
    - q[state.astype(int), action.astype(int)]
  )
  counts = discount**time
  found = []
  for log in range(logs):
    part = episode // size == log
    where = weighing.layout(episode[part])
    logs_ = weighing.cumulative(np.log(ratio[part]), where)
    gains = (counts * reward)[part]
    found.append(
      [
        weighing.of_episodes(
          logs_[where.ends], where.total(gains), normalised=False
        ).value,
        weighing.of_steps(logs_, gains, where, normalised=False).value,
        weighing.of_steps(
          logs_,
          (counts * errors)[part],
          where,
          normalised=False,
          initial=v[state[part][where.starts].astype(int)],
        ).value,
      ]
    )
  found = np.array(found)
  error = found.std(axis=0, ddof=1) / np.sqrt(logs)
  assert np.all(np.abs(found.mean(axis=0) - values.mean()) < 4.0 * error)
  assert np.all(error < 0.05 * values.mean())
