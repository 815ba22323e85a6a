"""`dfiv-ope benchmark`: run end to end at tiny size."""

import json

import pytest

from dfiv_ope.agents import costs as costs_lib
from dfiv_ope.launch.reporting import cost_table

TINY = (
  '--updates',
  '3',
  '--batch-size',
  '16',
  '--observations',
  '4',
  '--actions',
  '2',
  '--rows',
  '100',
)


@pytest.fixture(scope='module')
def costs(command):
  result = command(
    'benchmark',
    'learners',
    '--method',
    'deepiv',
    '--method',
    'lstd',
    '--method',
    'kiv',
    '--json',
    *TINY,
  )
  assert result.returncode == 0, result.stderr
  return {cost['learner']: cost for cost in json.loads(result.stdout)}


def test_a_trained_learner_is_timed_in_three_ways(costs):
  cost = costs['deepiv, values']
  assert cost['unit'] == 'ms/update'
  # At this size products cost next to nothing beside all the rest.
  assert 0.0 < cost['bare_products'] < cost['one_graph']
  assert 0.0 < cost['bare_products'] < cost['call_each']


def test_products_of_the_value_update_are_counted(costs):
  # Paper networks of 4 observations and 2 actions. The density looks at the
  # batch; the values look at it and at ten draws a row, and all but the
  # inputs have gradients; the policy is asked at the draws.
  density = 6 * 50 + 50 * 50 + 50 * 28
  values = 6 * 50 + 50 * 50 + 50
  gradients = 2 * values - 6 * 50
  policy = 4 * 64 + 64 * 64 + 64 * 2
  total = 2 * 16 * (density + 11 * (values + gradients) + 10 * policy)
  assert costs['deepiv, values']['megaflop'] == pytest.approx(total / 1e6)


def test_a_closed_form_is_timed_by_its_solve(costs):
  cost = costs['lstd']
  assert cost['unit'] == 's/solve'
  assert cost['call_each'] is None
  assert cost['one_graph'] > 0.0


def test_products_of_sums_of_closed_forms_are_counted(costs):
  # 100 rows of 100 cosines and sines and a constant: h(s)'h(s), h(s)'h(s') and
  # h(s)'r, a multiplication and an addition each.
  total = 2 * 100 * (101 * 101 + 101 * 101 + 101)
  for name in ('lstd', 'kiv'):
    assert costs[name]['megaflop'] == pytest.approx(total / 1e6)
    assert 0.0 < costs[name]['bare_products'] < costs[name]['one_graph']


def test_the_table_names_learners_and_ways(capsys):
  cost_table.show(
    [
      costs_lib.Cost(
        learner='fqe',
        unit='ms/update',
        one_graph=1.25,
        call_each=2.5,
        bare_products=0.5,
        megaflop=32.0,
      ),
      costs_lib.Cost(
        learner='lstd',
        unit='s/solve',
        one_graph=3.0,
        call_each=None,
        bare_products=1.0,
        megaflop=1e3,
      ),
    ],
    1024,
  )
  text = capsys.readouterr().out
  for part in (
    'batches of 1024',
    'one graph',
    'a call each',
    'bare products',
    'fqe',
    '1.25',
    '2.50',
    '0.50',
    '32.0',
    's/solve',
    '1000.0',
  ):
    assert part in text


@pytest.mark.parametrize(
  'arguments, message',
  [
    (('--method', 'ols'), "no method 'ols'. Choose from lstd"),
    (('--updates', '0'), '--updates must be at least 1, got 0'),
    (('--batch-size', '0'), '--batch-size must be at least 1, got 0'),
    (('--actions', '1'), '--actions must be at least 2, got 1'),
  ],
)
def test_wrong_arguments_are_answered_with_a_sentence(
  command, arguments, message
):
  assert message in command.refuses('benchmark', 'learners', *arguments)


@pytest.mark.parametrize(
  'arguments, words',
  [
    (('--method', 'lstd'), "no method 'lstd'"),
    (('--config', 'quick'), "no config 'quick'"),
    (('--truth', 'nan'), '--truth must be a finite number'),
    ((), 'There is no dataset nowhere'),
  ],
)
def test_time_to_accuracy_is_of_what_trains_on_a_dataset(
  command, tmp_path, arguments, words
):
  assert words in command.refuses(
    *('benchmark', 'time-to-accuracy', 'nowhere', '--out', tmp_path / 'times'),
    *arguments,
    cwd=tmp_path,
  )
  assert not list(tmp_path.iterdir())
