"""Effective sizes in closed form, and coverage of logs made by hand."""

import dataclasses

import numpy as np
import pytest

from dfiv_ope.nn import encoding
from dfiv_ope.ope import importance, neighbours, overlap

_EVEN = np.array([[0.5, 0.5]])


def _measure(target, actions, **changes):
  """Returns the overlap with a log of single steps in states 0, 1, ..."""
  count = len(actions)
  log = {'actions': np.asarray(actions), 'episodes': np.arange(count)}
  places = {
    'observations': np.arange(count, dtype=float)[:, None],
    'seed': 0,
    **{
      name: changes.pop(name)
      for name in ('observations', 'names', 'seed')
      if name in changes
    },
  }
  log.update({name: changes.pop(name) for name in log if name in changes})
  target = np.asarray(target, float)
  return overlap.measure(
    target,
    **log,
    **changes,
    seen=neighbours.nearby(target.shape[1], **log, **places),
  )


def test_weights_are_ratios_of_the_logged_actions():
  np.testing.assert_allclose(
    importance.step_weights(np.array([0.9, 0.4]), np.array([0.3, 0.8])),
    [3.0, 0.5],
  )


@pytest.mark.parametrize(
  'weights, size',
  [
    ([1.0, 1.0, 1.0, 1.0], 4.0),
    ([5.0, 5.0], 2.0),
    ([1.0, 0.0, 0.0], 1.0),
    ([1.0, 2.0, 3.0], 36.0 / 14.0),
    ([0.0, 0.0], 0.0),
  ],
)
def test_the_effective_size_is_that_of_kish(weights, size):
  with np.errstate(divide='ignore'):
    logs = np.log(weights)
  assert importance.effective_size(logs) == pytest.approx(size, rel=1e-12)


def test_products_over_long_episodes_do_not_overflow():
  # Weights 2 for 5,000 steps; the second episode has one 4 instead of a 2.
  logs = np.full(10_000, np.log(2.0))
  logs[5_000] = np.log(4.0)
  products = importance.episode_log_weights(logs, np.repeat([7, 3], 5_000))
  np.testing.assert_allclose(  # sorted by the episode's name
    products, [5_001 * np.log(2.0), 5_000 * np.log(2.0)]
  )
  assert importance.effective_size(products) == pytest.approx(9.0 / 5.0)


def test_a_weight_of_zero_ends_its_episode():
  logs = np.array([0.0, -np.inf, 0.0, 0.0])
  assert importance.effective_size(
    importance.episode_log_weights(logs, np.array([0, 0, 1, 1]))
  ) == pytest.approx(1.0)


def test_known_probabilities_give_the_known_effective_sizes():
  # Behaviour 1/2; the target takes action 1 with 3/4: weights 1.5 and 0.5.
  actions = np.tile([0, 1], 1_000)
  found = _measure(
    np.tile([[0.25, 0.75]], (2_000, 1)),
    actions,
    behaviour=np.full(2_000, 0.5),
    episodes=np.repeat(np.arange(1_000), 2),
  )
  assert found.agreement == pytest.approx(0.5)
  assert found.weights.effective_steps == pytest.approx(2_000 / 1.25)
  assert found.weights.effective_episodes == pytest.approx(1_000)
  assert found.weights.largest == pytest.approx(1.5)
  assert found.weights.largest_share == pytest.approx(1.5 / 2_000)
  assert found.weights.mean == pytest.approx(1.0)
  assert found.unseen == {}


def test_the_policy_of_the_log_has_good_overlap_and_no_warning():
  found = _measure(
    np.tile(_EVEN, (2_000, 1)),
    np.tile([0, 1], 1_000),
    behaviour=np.full(2_000, 0.5),
  )
  assert found.grade == 'good'
  assert 'good' in found.verdict
  assert found.warnings() == []
  assert found.weights.effective_steps == pytest.approx(2_000)


def test_actions_that_the_log_never_takes_are_named_with_their_mass():
  found = _measure(
    np.tile([[0.7, 0.1, 0.2, 0.0]], (500, 1)), np.zeros(500, int)
  )
  assert found.unseen == pytest.approx({1: 0.1, 2: 0.2})
  (warning, *_) = found.warnings(['stay', 'left', 'right', 'up'])
  assert warning.startswith('In 30 % of its decisions')
  assert '(left, right)' in warning
  assert '(1, 2)' in found.warnings()[0]
  assert found.grade == 'poor'


def test_half_of_the_states_have_no_neighbour_of_the_action():
  # Below 0.5 both actions are logged, above it only action 0.
  state = np.random.default_rng(0).uniform(size=4_000)
  actions = np.where(state < 0.5, np.arange(4_000) % 2, 0)
  found = _measure(
    np.tile([[0.0, 1.0]], (4_000, 1)), actions, observations=state[:, None]
  )
  assert found.coverage.share == pytest.approx(0.5, abs=0.04)
  assert (found.coverage.queries, found.coverage.references) == (2_000, 4_000)
  assert found.grade == 'poor'
  assert (
    'of the states the policy takes an action that the log never'
    in (found.warnings()[0])
  )


def test_acting_as_the_log_does_is_covered_to_the_stated_share():
  generator = np.random.default_rng(1)
  state = generator.normal(size=(3_000, 3))
  found = _measure(
    np.tile(_EVEN, (3_000, 1)),
    generator.integers(2, size=3_000),
    observations=state,
  )
  assert found.coverage.share == pytest.approx(neighbours.NEAR, abs=0.02)


def test_in_discrete_states_near_means_the_same_state():
  # Three states, all actions in the first, action 0 in the others.
  state = np.arange(3_000) % 3
  actions = np.where(state == 0, np.arange(3_000) // 3 % 2, 0)
  found = _measure(
    np.tile([[0.0, 1.0]], (3_000, 1)), actions, observations=np.eye(3)[state]
  )
  assert found.coverage.near == pytest.approx(0.0, abs=1e-6)  # rounding
  assert found.coverage.share == pytest.approx(1.0 / 3.0, abs=0.03)


def test_neighbours_of_the_same_episode_do_not_count():
  # Each episode stays in its own place; only the first takes action 1.
  episodes = np.repeat(np.arange(20), 50)
  actions = (episodes == 0).astype(int)
  target = np.eye(2)[actions]
  found = _measure(
    target, actions, episodes=episodes, observations=1.0 * episodes[:, None]
  )
  assert found.coverage.share == pytest.approx(0.95, abs=0.001)
  alone = _measure(
    target[:50],
    actions[:50],
    episodes=episodes[:50],
    observations=1.0 * episodes[:50, None],
  )
  assert alone.coverage.share == pytest.approx(1.0)


def test_scales_of_observations_do_not_matter():
  generator = np.random.default_rng(2)
  state = generator.normal(size=(1_000, 2))
  arguments = (np.tile(_EVEN, (1_000, 1)), generator.integers(2, size=1_000))
  shares = [
    _measure(
      *arguments, observations=encoding.fit(raw).apply(raw)
    ).coverage.share
    for raw in (state, state * [1e-3, 1e4] + 7.0)
  ]
  assert shares[0] == pytest.approx(shares[1])


def test_the_same_seed_takes_the_same_sample():
  generator = np.random.default_rng(3)
  log = {
    'target': np.tile(_EVEN, (30_000, 1)),
    'actions': generator.integers(2, size=30_000),
    'observations': generator.normal(size=(30_000, 2)),
  }
  first, again, other = (
    _measure(**log, seed=seed).coverage for seed in (0, 0, 1)
  )
  assert first == again != other
  assert first.references == 20_000


def test_few_steps_that_count_make_overlap_thin_and_are_told():
  # Weight 10 on a twentieth of the steps, none on the others.
  actions = (np.arange(4_000) % 20 == 0).astype(int)
  found = _measure(
    np.tile([[0.0, 1.0]], (4_000, 1)),
    actions,
    observations=np.zeros((4_000, 1)),
    behaviour=np.where(actions, 0.05, 0.95),
  )
  assert found.weights.effective_steps == pytest.approx(200.0)
  assert found.grade == 'thin'
  assert 'the 4,000 steps of the log are worth 200.' in found.warnings()[0]
  fewer = dataclasses.replace(
    found, weights=dataclasses.replace(found.weights, effective_steps=39.0)
  )
  assert fewer.grade == 'poor'


def test_a_small_log_is_thin_even_if_all_of_it_counts():
  found = _measure(np.tile(_EVEN, (50, 1)), np.tile([0, 1], 25))
  assert found.weights is None
  assert found.grade == 'thin'
  assert 'the 50 steps of the log are worth 50.' in found.warnings()[-1]


def test_wrong_probabilities_show_in_the_mean_weight():
  found = _measure(
    np.tile(_EVEN, (2_000, 1)),
    np.tile([0, 1], 1_000),
    behaviour=np.full(2_000, 0.9),
  )
  (warning,) = found.warnings()
  assert 'average 0.56 instead of 1: the logged probabilities' in warning
  (rough,) = dataclasses.replace(
    found, weights=dataclasses.replace(found.weights, estimated=True)
  ).warnings()
  assert rough.endswith('that were estimated from the log are rough.')


def test_a_single_heavy_step_is_told():
  behaviour = np.full(2_000, 0.5)
  behaviour[3] = 1e-3
  found = _measure(
    np.tile(_EVEN, (2_000, 1)),
    np.tile([0, 1], 1_000),
    behaviour=behaviour,
    estimated=True,
  )
  assert found.weights.largest == pytest.approx(500.0)
  assert any(
    'One step has 20 % of the weight' in each for each in found.warnings()
  )


@pytest.mark.parametrize('probability', [0.0, -0.1, 1.5, np.nan])
def test_an_impossible_probability_of_a_logged_action_is_refused(probability):
  with pytest.raises(ValueError, match='action of step 1 had probability'):
    _measure(
      np.tile(_EVEN, (3, 1)),
      [0, 1, 0],
      behaviour=np.array([0.5, probability, 0.5]),
    )


@pytest.mark.parametrize(
  'share, grade', [(0.5, 'good'), (0.2, 'thin'), (0.01, 'poor')]
)
def test_a_small_effective_sample_size_is_not_to_be_trusted(share, grade):
  assert overlap.share_grade(share) == grade
  assert overlap.worst('thin', grade) == ('poor' if grade == 'poor' else 'thin')
  words = overlap.share_words(
    share, features=300, bandwidth_scale=0.5, reduced=False
  )
  assert f'{100 * share:.2g} % of the rows, with 300 random features per' in (
    words
  )
  assert ('seldom shows' in words) == (grade != 'good')
  assert 'as many as rows allow' in overlap.share_words(
    share, features=40, bandwidth_scale=0.5, reduced=True
  )


def test_a_glance_looks_for_no_neighbours_and_no_weights():
  target = np.tile([[0.75, 0.25]], (2_000, 1))
  actions = np.tile([0, 1], 1_000)
  found = overlap.glance(target, actions)
  assert found == overlap.Overlap(
    steps=2_000, agreement=0.5, unseen={}, coverage=None, weights=None
  )
  assert (found.grade, found.warnings()) == ('good', [])
  # The rest of it is what a closer look finds.
  whole = _measure(target, actions)
  assert (whole.agreement, whole.unseen) == (found.agreement, found.unseen)


@pytest.mark.parametrize(
  'probability, grade', [(0.0005, 'good'), (0.01, 'thin'), (0.3, 'poor')]
)
def test_without_neighbours_unseen_actions_are_graded(probability, grade):
  found = overlap.glance(
    np.tile([[1.0 - probability, probability]], (500, 1)), np.zeros(500, int)
  )
  assert found.unseen == pytest.approx({1: probability})
  assert found.grade == grade
  assert 'an action that the log never takes (1)' in found.warnings()[0]
  assert not any('nearby' in each for each in found.warnings())


def test_a_small_log_is_thin_at_a_glance():
  found = overlap.glance(np.tile(_EVEN, (50, 1)), np.tile([0, 1], 25))
  assert found.grade == 'thin'
  assert found.warnings() == [
    'For this policy the 50 steps of the log are worth 50.'
  ]
