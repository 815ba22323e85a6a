"""The bandwidth that the log chooses, against formulas and known biases."""

import dataclasses

import numpy as np
import pytest

import dfiv_ope
from dfiv_ope.agents import bandwidth_choice, fixed_features, kiv, lstd
from dfiv_ope.agents.entries import random_features
from dfiv_ope.evaluation import comparison, estimates, runs
from dfiv_ope.nn import encoding
from dfiv_ope.ope import bellman
from dfiv_ope.ope import task as task_lib


def _task(log, policy, **known):
  return task_lib.EvaluationTask(
    log, task_lib.find_policy(policy, log).policy, dropped=(), **known
  )


def _walk(episodes, steps, seed=0, noise=0.3):
  """A walk that an action pushes; rewards where it is near zero."""
  generator = np.random.default_rng(seed)
  state = generator.uniform(-1.0, 1.0, (episodes, steps + 1))
  action = generator.integers(2, size=(episodes, steps))
  for step in range(steps):
    state[:, step + 1] = (
      0.7 * state[:, step]
      + 0.4 * (2 * action[:, step] - 1)
      + 0.2 * generator.normal(size=episodes)
    )
  truncated = np.zeros((episodes, steps), bool)
  truncated[:, -1] = True
  return dfiv_ope.Log.from_arrays(
    state[:, :-1].reshape(-1, 1),
    action.ravel(),
    (
      np.exp(-np.square(state[:, :-1]))
      + noise * generator.normal(size=(episodes, steps))
    ).ravel(),
    np.zeros(episodes * steps, bool),
    truncated.ravel(),
    discount=0.8,
    next_observations=state[:, 1:].reshape(-1, 1),
    num_actions=2,
  )


def _inwards(states):
  return (states[:, 0] < 0.0).astype(int)


def _rough(rows, waves, seed=0):
  """One-step episodes: the better action changes `waves` times."""
  generator = np.random.default_rng(seed)
  state = generator.uniform(0.0, 1.0, (rows, 1))
  action = generator.integers(2, size=rows)
  better = np.sin(2.0 * np.pi * waves * state[:, 0])
  log = dfiv_ope.Log.from_arrays(
    state,
    action,
    better * (2 * action - 1) + 0.1 * generator.normal(size=rows),
    np.ones(rows, bool),
    discount=0.9,
    num_actions=2,
  )
  return _task(
    log, lambda s: (np.sin(2.0 * np.pi * waves * s[:, 0]) > 0.0).astype(int)
  )


def _values(values, *episodes, squares=None):
  added = np.stack(episodes, axis=1).astype(float)
  # Without others the narrow one has the least errors.
  narrow = np.tile([1.0, 2.0, 2.0, 2.0], (len(added), 1))
  return bandwidth_choice.Values(
    np.array(values), added, narrow if squares is None else squares
  )


def _draws(*values, sizes, squares=None):
  return bandwidth_choice.Draws(
    [
      _values(each, *(size * _EVEN for size in sizes), squares=squares)
      for each in values
    ]
  )


def test_values_and_what_episodes_add_are_those_of_a_formula():
  task = _task(_walk(40, 10), _inwards)
  problem, rows, episodes = task.problem, task.rows, task.log.episodes
  scales = (0.5, 2.0)
  found = bandwidth_choice.measure(
    problem, rows, episodes, task.initial_observations, scales
  )
  for place, scale in enumerate(scales):
    # 400 rows: 25 columns of half of them, with a constant for each action.
    psi = fixed_features.make(
      problem,
      random_features.Config(
        random_features=10, bandwidth_scale=scale
      ).settings,
      seed=0,
    )
    now = np.asarray(psi(rows.instrument), np.float64)
    move = np.asarray(bellman.difference(psi, rows.treatment), np.float64)
    reward = np.asarray(rows.outcome)[:, 0].astype(float)
    start = np.concatenate(
      [
        psi(each)
        for each in problem.target.in_parts(np.asarray(task.log.start_states))
      ]
    ).mean(axis=0)

    def system(which, now=now, move=move):
      ridge = 1e-8 * np.sum(which) * np.eye(now.shape[1])
      ridge[-1, -1] = 0.0
      return now[which].T @ move[which] + ridge

    everything = np.ones(len(reward), bool)
    value = start @ np.linalg.solve(system(everything), now.T @ reward)
    assert found.values[place] == pytest.approx(
      problem.value_scale * value, rel=1e-4
    )
    added, squares = np.zeros((2, 40))
    for half in (0, 1):
      fit, held = episodes % 2 == half, episodes % 2 != half
      weights = np.linalg.solve(system(fit), now[fit].T @ reward[fit])
      dual = np.linalg.solve(system(fit).T, start)
      errors = reward[held] - move[held] @ weights
      left = (now[held] @ dual) * errors
      added += np.bincount(episodes[held], weights=left / 2.0, minlength=40)
      squares += np.bincount(episodes[held], weights=errors**2, minlength=40)
    np.testing.assert_allclose(
      found.episodes[:, place],
      problem.value_scale * added,
      rtol=1e-3,
      atol=1e-4 * np.abs(problem.value_scale * added).max(),
    )
    np.testing.assert_allclose(
      found.squares[:, place], problem.value_scale**2 * squares, rtol=1e-3
    )


_EVEN = np.array([1.0, -1.0] * 8)  # A standard error of 4.


@pytest.mark.parametrize(
  ('values', 'sizes', 'taken'),
  [
    ([1.0, 1.0, 1.0, 1.0], [1.0, 1.0, 1.0, 1.0], 0.5),
    # The paired difference of the two narrow ones has an error of 0.4.
    ([1.0, 0.1, 1.0, 1.0], [1.1, 1.0, 1.0, 1.0], 0.25),
    ([1.0, 0.3, 1.0, 1.0], [1.1, 1.0, 1.0, 1.0], 0.5),
    # Much smaller errors of wide ones, and no contradiction.
    ([9.0, 1.0, 3.0, 2.0], [90.0, 10.0, 2.0, 1.9], 1.0),
    ([9.0, 1.0, 3.0, 2.0], [90.0, 10.0, 2.0, 0.5], 2.0),
    # The widest is contradicted by the next.
    ([9.0, 1.0, 3.0, 30.0], [90.0, 10.0, 2.0, 0.5], 1.0),
    ([9.0, 1.0, np.nan, 2.0], [90.0, 10.0, 2.0, 0.5], 0.5),
  ],
)
def test_a_bandwidth_is_left_only_where_the_log_says_so(values, sizes, taken):
  found = _draws(values, sizes=sizes)
  assert found.error(1) == pytest.approx(4.0 * sizes[1])
  assert bandwidth_choice.CANDIDATES[bandwidth_choice.pick(found)] == taken


@pytest.mark.parametrize(
  ('values', 'sizes', 'taken'),
  [
    # Smaller errors of a part of the log are no reason for a wider one,
    ([9.0, 1.0, 3.0, 2.0], [90.0, 10.0, 2.0, 0.5], 0.5),
    # but a bias that shows there is one for the narrow one.
    ([1.0, 9.0, 9.0, 9.0], [1.1, 1.0, 1.0, 1.0], 0.25),
  ],
)
def test_a_part_of_a_log_never_takes_a_wider_bandwidth(values, sizes, taken):
  found = _draws(values, sizes=sizes)
  place = bandwidth_choice.pick(found, whole=False)
  assert bandwidth_choice.CANDIDATES[place] == taken


def test_a_narrow_bandwidth_that_predicts_no_better_is_wrong_itself():
  values, sizes = [1.0, 9.0, 9.0, 9.0], [1.1, 1.0, 0.4, 1.0]
  narrow = np.tile([1.0, 2.0, 2.0, 2.0], (16, 1))
  noise = np.zeros((16, 4))
  noise[:, 0] = 1.9 * _EVEN  # 16 less, and two standard errors of 15.2 or 17.6.
  for squares, ample, taken in (
    (narrow + noise, True, 0.25),
    (narrow + 2.2 / 1.9 * noise, True, 1.0),
    (narrow[:, ::-1], True, 1.0),
    (narrow, False, 1.0),
  ):
    found = _draws(values, sizes=sizes, squares=squares)
    place = bandwidth_choice.pick(found, ample=ample)
    assert bandwidth_choice.CANDIDATES[place] == taken


def test_narrow_features_must_be_enough_for_the_rows_and_for_the_columns():
  # Eight rows for each of 2 x 301 columns are 4,816.
  few, enough = (
    _task(_walk(episodes, 10), _inwards).problem for episodes in (481, 482)
  )
  assert not bandwidth_choice.ample(few)
  assert bandwidth_choice.ample(enough)
  # 4^4 places are less than 300 features, and 4^5 are more.
  for columns, ample in ((4, True), (5, False)):
    wide = dataclasses.replace(
      enough,
      observations=encoding.fit(
        np.random.default_rng(0).normal(size=(50, columns))
      ),
    )
    assert bandwidth_choice.ample(wide) == ample


def test_what_draws_of_the_features_differ_by_is_chance():
  sizes = [1.1, 1.0, 1.0, 1.0]
  # Differences of 1.2, 1.0 and 0.8: 1.0 +- 0.2 beside the episodes' 0.4.
  sure = [[1.2, 0.0, 1.0, 1.0], [1.0, 0.0, 1.0, 1.0], [0.8, 0.0, 1.0, 1.0]]
  found = _draws(*sure, sizes=sizes)
  assert found.error(0) == pytest.approx(np.hypot(4.4, 0.2))
  assert found.differ(0, 1)
  assert bandwidth_choice.CANDIDATES[bandwidth_choice.pick(found)] == 0.25
  # The first draw alone says the same; the others do not.
  loud = [[1.2, 0.0, 1.0, 1.0], [-0.9, 0.0, 1.0, 1.0], [0.9, 0.0, 1.0, 1.0]]
  assert _draws(loud[0], sizes=sizes).differ(0, 1)
  assert not _draws(*loud, sizes=sizes).differ(0, 1)
  for values, seeds, scale in ((sure, [0, 1, 2], 0.25), (loud, [0, 1, 2], 0.5)):
    asked = []

    def draw(seed, values=values, asked=asked):
      asked.append(seed)
      return _values(values[seed], *(size * _EVEN for size in sizes))

    place = bandwidth_choice.decide(draw)
    assert bandwidth_choice.CANDIDATES[place] == scale
    assert asked == seeds


def test_one_draw_is_enough_to_stay_with_the_default():
  asked = []

  def draw(seed):
    asked.append(seed)
    return _values([1.0, 1.0, 1.0, 1.0], *(_EVEN for _ in range(4)))

  assert bandwidth_choice.decide(draw) == 1
  assert asked == [0]


def test_a_log_is_whole_up_to_as_many_rows_as_are_looked_at(monkeypatch):
  told = []

  def pick(found, *, whole, ample):
    assert not ample
    told.append(whole)
    return 1

  monkeypatch.setattr(bandwidth_choice, 'pick', pick)
  task = _task(_walk(60, 10), _inwards)
  for rows in (600, 599):
    monkeypatch.setattr(bandwidth_choice, '_ROWS', rows)
    bandwidth_choice.choose(task)
  # All rows of few episodes are looked at, though they are more.
  task = _task(_walk(20, 30), _inwards)
  assert len(bandwidth_choice.looked_at(np.full(20, 30))) == 600
  bandwidth_choice.choose(task)
  assert told == [True, False, False]


def test_the_narrow_one_is_taken_where_the_default_is_biased():
  # The truth is the mean of |sin|.
  truth = 2.0 / np.pi
  for seed in (0, 1):
    rough = _rough(6_000, 4, seed)
    assert bandwidth_choice.choose(rough) == 0.25
    answers = {
      scale: runs.Evaluator(rough, checked=False)
      .run('lstd', lstd.Config(bandwidth_scale=scale), seed=0)
      .metrics['estimate']
      for scale in (None, 0.25, 1.0)
    }
    assert answers[None] == answers[0.25] == pytest.approx(truth, rel=0.03)
    assert answers[1.0] < 0.8 * truth
  assert bandwidth_choice.choose(_rough(6_000, 1)) == 0.5


def test_settings_that_are_given_are_kept():
  task = _task(_walk(60, 5), _inwards)
  evaluator = runs.Evaluator(task, checked=False)
  bandwidth_choice.settle([task])
  task.problem = dataclasses.replace(task.problem, bandwidth_scale=2.0)
  for method in ('lstd', 'kiv'):
    config = {'lstd': lstd, 'kiv': kiv}[method].Config
    said = {
      scale: evaluator.run(
        method, config(bandwidth_scale=scale), seed=0
      ).metrics['overlap_bandwidth_scale']
      for scale in (None, 0.5)
    }
    assert said == {None: 2.0, 0.5: 0.5}


def test_policies_of_one_log_share_a_bandwidth(monkeypatch):
  log = _walk(60, 5)
  asked = comparison.tasks(
    log,
    {
      str(each): task_lib.find_policy(
        lambda s, each=each: (s[:, 0] < each / 10.0).astype(int), log
      ).policy
      for each in range(7)
    },
  )
  answers = iter([2.0, 0.25, 1.0])
  monkeypatch.setattr(bandwidth_choice, 'choose', lambda task: next(answers))
  bandwidth_choice.settle(list(asked.values()))
  assert {each.problem.bandwidth_scale for each in asked.values()} == {1.0}
  assert next(answers, None) is None
  bandwidth_choice.settle(list(asked.values()))  # Nothing is asked again.
  # Another policy of the log has a choice of its own.
  other = task_lib.EvaluationTask(
    log, asked['0'].policy, like=asked['0'], dropped=()
  )
  assert other.problem.bandwidth_scale is None


def test_few_episodes_and_tables_have_the_default():
  assert bandwidth_choice.choose(_task(_walk(19, 30), _inwards)) == 0.5
  generator = np.random.default_rng(0)
  log = dfiv_ope.Log.from_arrays(
    generator.integers(3, size=(200, 1)),
    generator.integers(2, size=200),
    generator.normal(size=200),
    np.ones(200, bool),
    discount=0.9,
    categorical=[0],
  )
  assert (
    bandwidth_choice.choose(_task(log, lambda s: (s[:, 0] % 2).astype(int)))
    == 0.5
  )


def test_a_short_log_has_an_interval_that_holds():
  # What _inwards is worth: from 20,000 walks of 60 steps.
  generator = np.random.default_rng(9)
  state, truth = generator.uniform(-1.0, 1.0, 20_000), 0.0
  for step in range(60):
    truth += 0.8**step * float(np.mean(np.exp(-np.square(state))))
    push = 0.4 * np.where(state < 0.0, 1.0, -1.0)
    state = 0.7 * state + push + 0.2 * generator.normal(size=len(state))
  held, widths = 0, []
  for seed in range(40):
    task = _task(_walk(50, 4, seed), _inwards)
    found = estimates.estimate(
      runs.Evaluator(task, checked=False), 'lstd', lstd.Config(), seeds=1
    )
    # 200 rows, less the last: 300 features an action would leave no interval.
    assert found.missing == ''
    assert found.metrics['overlap_reduced'] == 1.0
    ends = found.interval(0.95)
    held += ends.low <= truth <= ends.high
    widths.append((ends.high - ends.low) / truth)
  assert held >= 35
  assert np.median(widths) < 0.4
