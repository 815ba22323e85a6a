"""The front door: a value with an interval in three lines of Python."""

import dataclasses
import math
import subprocess
import sys
import textwrap
import types

import matplotlib as mpl
import numpy as np
import pytest

import dfiv_ope
from dfiv_ope.agents import fqe, lstd
from dfiv_ope.ope import task as task_lib
from dfiv_ope.results import files

mpl.use('agg')


def test_the_interval_holds_the_value_and_leaves_out_the_log(answer, truth):
  low, high = answer.interval(0.95)
  assert low < truth < high
  assert low < answer.value < high
  assert answer.value == pytest.approx(truth, rel=0.1)
  # Uniform actions are worth nothing.
  assert answer.log_average.value == pytest.approx(0.0, abs=0.2)
  assert low > answer.log_average.value


def test_a_higher_level_gives_a_wider_interval(answer):
  narrow, wide = answer.interval(0.5), answer.interval(0.99)
  assert wide.low < narrow.low < narrow.high < wide.high


def test_the_difference_to_the_log_is_paired(answer, truth):
  found = answer.versus_log()
  assert found.value == pytest.approx(answer.value - answer.log_average.value)
  low, high = found.interval()
  assert low < truth < high and low > 0.0
  draws = answer.estimates['lstd'].draws, answer.log_average.draws
  expected = np.std(
    draws[0].changes.mean(axis=0) - draws[1].changes.mean(axis=0)
  )
  assert found.draws.interval(0.95).data_error == pytest.approx(expected)


def test_the_first_method_is_the_answer_and_others_stand_beside_it(answer):
  assert answer.method == 'lstd'
  assert answer.value == answer.estimates['lstd'].value
  assert answer.interval(method='fqe') != answer.interval()
  frame = answer.to_frame()
  assert list(frame.index) == ['log_average', 'lstd', 'fqe']
  assert frame.estimate['lstd'] == answer.value
  assert tuple(frame.loc['lstd', ['low', 'high']]) == answer.interval()
  assert tuple(frame.loc['fqe', ['difference_low', 'difference_high']]) == (
    answer.versus_log(method='fqe').interval()
  )
  assert math.isnan(frame.difference['log_average'])
  assert list(frame.seeds) == [1, 2, 2]
  with pytest.raises(ValueError, match="no estimate by 'kiv'"):
    answer.interval(method='kiv')


def test_the_warnings_are_those_of_the_command_line(answer):
  text = ' '.join(answer.warnings)
  assert answer.overlap.grade == 'good'
  assert 'Overlap is good' in text
  assert (
    'Paired difference to the behaviour policy by lstd: '
    f'{answer.versus_log().value:+.3g} (95 % confidence interval'
  ) in text
  # The next state does not depend on this one.
  assert 'explain' in text or 'Weak first stage' in text


def test_a_thin_log_has_no_interval_and_says_why(answer):
  few = dfiv_ope.Log.from_arrays(
    **{name: values[:64] for name, values in _arrays().items()}, discount=0.8
  )
  found = dfiv_ope.evaluate(
    few,
    'uniform',
    methods='lstd',
    seeds=1,
    configs={'lstd': lstd.Config(random_features=4)},
  )
  assert math.isfinite(found.value)
  assert all(math.isnan(end) for end in found.interval())
  assert all(math.isnan(end) for end in found.versus_log().interval())
  assert 'No interval: 8 episodes say too little' in found.warnings[0]
  assert '[' not in repr(found)


def test_a_run_that_diverges_is_excluded_and_told(log):
  found = dfiv_ope.evaluate(
    log,
    'uniform',
    methods=('fqe', 'lstd'),
    seeds=1,
    configs={
      'fqe': fqe.Config(updates=4, checks=2, learning_rate=1e30),
      'lstd': {'random_features': 10},
    },
  )
  assert math.isnan(found.value)
  assert found.warnings[0].startswith('fqe seed 0: diverged')
  assert math.isfinite(found.to_frame().estimate['lstd'])


def test_the_same_seed_gives_the_same_numbers(log, answer):
  again = dfiv_ope.evaluate(
    log,
    _right,
    methods='lstd',
    seeds=2,
    configs={'lstd': {'random_features': 40}},
  )
  assert again.value == answer.value
  assert again.interval() == answer.interval()


def test_two_policies_on_one_log_are_compared_by_pairs(log, policies, truth):
  found = dfiv_ope.compare(
    log, policies, seeds=1, configs={'lstd': {'random_features': 40}}
  )
  assert found.ranking == ['right', 'uniform', 'wrong']
  frame = found.to_frame()
  assert list(frame.index) == found.ranking
  assert frame.probability_of_best.to_dict() == {
    'right': 1.0,
    'uniform': 0.0,
    'wrong': 0.0,
  }
  assert frame.best_difference['right'] == 0.0
  low, high = found.difference('right', 'wrong').interval()
  assert low < 2.0 * truth < high
  # Each policy uses the other's rewards with the opposite sign: paired, the
  # difference is known better than from independent intervals.
  for name, value in (('right', truth), ('uniform', 0.0), ('wrong', -truth)):
    assert frame.low[name] - 0.1 < value < frame.high[name] + 0.1
  assert found['right'].value == frame.estimate['right']
  assert 'right' in found._repr_html_()
  assert found.plot().get_yticklabels()[-1].get_text() == 'right'


def test_a_policy_like_another_is_as_likely_the_best(log):
  half = dfiv_ope.compare(
    log,
    {'a': 'uniform', 'b': _right, 'c': _right},
    seeds=1,
    configs={'lstd': {'random_features': 10}},
  )
  # Of equal values the first is taken.
  assert half.probability_of_best == {'a': 0.0, 'b': 1.0, 'c': 0.0}
  assert half.difference('b', 'c').interval() == pytest.approx(
    (0.0, 0.0), abs=1e-6
  )


def test_policies_on_two_logs_are_not_paired(answer):
  other = dfiv_ope.Log.from_arrays(**_arrays(seed=1), discount=0.8)
  found = dfiv_ope.evaluate(
    other,
    'uniform',
    methods='lstd',
    seeds=1,
    configs={'lstd': {'random_features': 10}},
  )
  with pytest.raises(ValueError, match='two policies on one log'):
    answer.less(found)


def test_two_discounts_of_one_log_are_not_paired(answer, log):
  later = dataclasses.replace(
    answer,
    task=task_lib.EvaluationTask(
      dataclasses.replace(log, discount=0.5), answer.task.policy
    ),
  )
  with pytest.raises(ValueError, match='at one discount'):
    answer.less(later)


def test_the_picture_and_the_notebook_show_every_method(answer):
  axes = answer.plot()
  labels = [each.get_text() for each in axes.get_yticklabels()]
  assert labels == ['LSTD-Q', 'FQE', 'Log (average return)']
  page = answer._repr_html_()
  assert '<svg' in page and '<table' in page
  assert 'log_average' in page and 'lstd' in page


def test_the_report_is_that_of_the_command_line(answer, tmp_path):
  page = answer.to_html(tmp_path / 'report')
  text = page.read_text()
  assert 'What a policy is worth' in text
  assert f'{answer.value:.3g}' in text
  assert (tmp_path / 'report/results.csv').is_file()
  (tmp_path / 'mine').mkdir()
  (tmp_path / 'mine/file').touch()
  with pytest.raises(FileExistsError, match='not a report'):
    answer.to_html(tmp_path / 'mine')


def test_rows_are_those_that_the_command_line_writes(answer, tmp_path):
  for row in answer.rows():
    files.append(tmp_path, row)
  back = files.read(tmp_path)
  assert [row.method for row in back] == ['log', 'lstd', 'lstd', 'fqe', 'fqe']
  assert back[1].metrics['estimate'] == pytest.approx(
    answer.estimates['lstd'].runs[0].metrics['estimate']
  )
  assert back[1].problem == answer.rows()[1].problem
  assert back[1].problem.discount == 0.8
  assert [row.custom for row in back] == [False, True, True, True, True]


def test_a_result_is_saved_for_the_report_once(answer, tmp_path):
  assert answer.save(tmp_path / 'runs') == tmp_path / 'runs'
  answer.save(tmp_path / 'runs')
  back = files.read(tmp_path / 'runs')
  assert [row.key for row in back] == [row.key for row in answer.rows()]
  assert back[1].metrics == answer.rows()[1].metrics


def test_the_method_of_the_least_estimated_error_is_chosen(log):
  found = dfiv_ope.evaluate(
    log, _right, methods=('wis', 'lstd', 'nearest'), seeds=1
  )
  rows = {row.method: row for row in found.rows() if row.resamples}
  spread = {name: np.std(row.resamples) for name, row in rows.items()}
  chosen = found.least_error()
  assert chosen in ('lstd', 'nearest')
  # Weights of few episodes do not tell their error; biases are near nothing.
  assert spread[chosen] <= 1.5 * min(spread['lstd'], spread['nearest'])
  alone = dfiv_ope.evaluate(log, 'uniform', methods='nearest', seeds=1)
  assert alone.least_error() == 'nearest'


@pytest.mark.parametrize(
  'arguments, message',
  [
    ({'methods': ()}, 'Name at least one method of lstd'),
    ({'methods': 'lsdt'}, "There is no method 'lsdt'"),
    ({'seeds': 0}, 'seeds must be a whole number from 1, got 0'),
    ({'seeds': 1.5}, 'seeds must be a whole number from 1, got 1.5'),
    ({'configs': {'kiv': {}}}, 'configs has kiv, which is not among'),
    ({'configs': {'lstd': {'width': 3}}}, "no hyper-parameter 'width'"),
    ({'configs': {'lstd': fqe.Config()}}, 'should be a .*lstd.Config'),
    (
      {'configs': {'lstd': {'penalty': 'big'}}},
      "penalty is of type float .*, got 'big'",
    ),
  ],
)
def test_arguments_that_are_refused(log, arguments, message):
  with pytest.raises(ValueError, match=message):
    dfiv_ope.evaluate(log, 'uniform', **arguments)


def test_numbers_of_numpy_are_numbers(log):
  plain = dfiv_ope.evaluate(
    log, 'uniform', methods='lstd', seeds=2, configs={'lstd': {'penalty': 0.5}}
  )
  found = dfiv_ope.evaluate(
    log,
    'uniform',
    methods='lstd',
    seeds=np.int64(2),
    configs={'lstd': {'penalty': np.float32(0.5)}},
  )
  assert [row.key for row in found.rows()] == [row.key for row in plain.rows()]
  assert found.value == plain.value


def test_what_is_no_log_is_refused(log):
  for ask in (
    lambda given: dfiv_ope.evaluate(given, 'uniform'),
    lambda given: dfiv_ope.compare(given, {'chance': 'uniform'}),
  ):
    with pytest.raises(ValueError, match='A log is what .*, got dict'):
      ask({'observations': log.transitions.observation})


def test_rows_with_all_columns_are_others(log):
  keys = [
    dfiv_ope.evaluate(log, 'uniform', methods='wis', all_columns=every)
    .rows()[-1]
    .key
    for every in (False, True)
  ]
  assert keys[0] != keys[1]


def test_a_difference_shows_its_interval(answer):
  found = answer.versus_log()
  low, high = found.interval()
  assert (
    repr(found) == f'<Difference {found.value:.4g} [{low:.4g}, {high:.4g}]>'
  )


@pytest.mark.parametrize(
  'policy, message',
  [
    (lambda s: np.tile([3.0, -1.0], (len(s), 1)), 'add a softmax'),
    (lambda s: np.ones((len(s), 3)) / 3.0, r'of shape \[\d+, 3\]'),
    (lambda s: np.full(len(s), 5), 'returned the action 5'),
    (
      lambda s: np.random.default_rng().integers(2, size=len(s)),
      'instead of drawing one',
    ),
    ('no-such-policy', 'There is no file or directory'),
    (None, 'A policy is a function of observations'),
    (
      types.SimpleNamespace(predict=lambda s: np.zeros(len(s))),
      'got SimpleNamespace. Pass its method predict.',
    ),
  ],
)
def test_policies_that_are_refused(log, policy, message):
  with pytest.raises((ValueError, FileNotFoundError), match=message):
    dfiv_ope.evaluate(log, policy, methods='lstd', seeds=1)


def test_compare_needs_policies_by_name(log):
  with pytest.raises(ValueError, match='compare takes policies by name'):
    dfiv_ope.compare(log, [_right])


def test_the_first_use_prints_nothing_and_leaves_reverb_alone(tmp_path):
  script = textwrap.dedent("""
      import dfiv_ope
      import sys
      heavy = {'tensorflow', 'numpy', 'pandas', 'reverb', 'matplotlib'}
      assert not heavy & set(sys.modules)
      import numpy as np
      generator = np.random.default_rng(0)
      states = generator.normal(size=(400, 2))
      log = dfiv_ope.Log.from_arrays(
          states, generator.integers(2, size=400), states[:, 0],
          np.arange(400) % 10 == 9, discount=0.9)
      result = dfiv_ope.evaluate(
          log, lambda s: (s[:, 0] > 0).astype(int), seeds=1, configs={
              'lstd': {'random_features': 10},
              'fqe': {'updates': 4, 'checks': 2}})
      assert result.interval()[0] < result.value < result.interval()[1]
      assert 'reverb' not in sys.modules
      """)
  environment = {'PATH': '/usr/bin:/bin', 'HOME': str(tmp_path)}
  (tmp_path / 'here').mkdir()
  done = subprocess.run(
    [sys.executable, '-c', script],
    capture_output=True,
    text=True,
    cwd=tmp_path / 'here',
    env=environment,
    check=False,
  )
  assert (done.returncode, done.stdout, done.stderr) == (0, '', '')
  assert not list((tmp_path / 'here').iterdir())


def _arrays(seed=0):
  generator = np.random.default_rng((seed, 7))
  states = generator.uniform(-1.0, 1.0, size=(400, 2))
  return {
    'observations': states,
    'actions': generator.integers(2, size=400),
    'rewards': states[:, 0],
    'terminals': np.arange(400) % 8 == 7,
  }


def _right(observations):
  return (observations[:, 0] > 0.0).astype(int)
