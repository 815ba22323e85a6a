"""Result rows: keys, round trips, what is refused."""

import dataclasses
import json
import math

import numpy as np
import pytest

from dfiv_ope.results import rows


def test_a_row_of_every_kind_comes_back(problem, make_row):
  row = make_row(
    problem,
    curves={'loss': (1.0, None, 3.0)},
    inference={'resamples': 2},
    resamples=(0.5, -0.5),
    preset='paper',
    custom=True,
    command='run it',
  )
  if row.problem.measured:
    row = dataclasses.replace(row, metrics={**row.metrics, 'correction': 0.1})
  data = json.loads(json.dumps(rows.encode(row), allow_nan=False))
  assert data['format'] == rows.FORMAT == 3
  assert data['problem']['kind'] == problem.kind
  assert rows.decode(data) == row
  assert rows.decode(data).key == row.key


# Another value of every field but the problem, and whether it is another key.
CHANGES = {
  'method': ('dfiv', True),
  'config': ({'tolerance': 1.0}, True),
  'seed': (4, True),
  'version': (3, True),
  'inference': ({'a': 1}, True),
  'versions': ({'python': '3.12'}, False),
  'metrics': ({'mse': 0.0}, False),
  'curves': ({'loss': (1.0,)}, False),
  'resamples': ((1.0,), False),
  'cpu_seconds': (9.0, False),
  'outcome': ('diverged', False),
  'reason': ('far', False),
  'preset': ('paper', False),
  'custom': (True, False),
  'command': ('run', False),
}


def test_the_key_is_the_experiment_and_not_its_outcome(make_row):
  row = make_row()
  assert {'problem', *CHANGES} == {
    field.name for field in dataclasses.fields(row)
  }
  for name, (value, differs) in CHANGES.items():
    changed = dataclasses.replace(row, **{name: value})
    assert (changed.key != row.key) == differs, name


def test_the_key_does_not_depend_on_the_order_of_names(make_row):
  row = make_row(config={'a': 1, 'b': 2})
  assert make_row(config={'b': 2, 'a': 1}).key == row.key


def test_a_setting_is_a_method_and_its_config(make_row, kinds):
  row = make_row()
  assert make_row(kinds['coverage'], seed=9).setting == row.setting
  assert make_row(method='dfiv').setting != row.setting
  assert make_row(config={'tolerance': 1.0}).setting != row.setting


@pytest.mark.parametrize(
  'outcome, failed, retry',
  [
    ('finished', False, False),
    ('diverged', True, False),
    ('error', True, True),
  ],
)
def test_a_divergence_is_a_result_and_an_error_is_tried_again(
  make_row, outcome, failed, retry
):
  row = make_row(outcome=outcome)
  assert (row.failed, row.retry) == (failed, retry)


def test_the_last_row_of_an_experiment_counts_whatever_its_version(
  make_row, kinds
):
  most = make_row(kinds['user_log'])
  half = make_row(dataclasses.replace(kinds['user_log'], discount=0.5))
  assert rows.latest([most, half]) == [most, half]
  again = dataclasses.replace(most, inference={'resamples': 9}, version=7)
  assert rows.latest([most, half, again]) == [half, again]


def test_policies_of_users_have_the_names_that_are_asked_for(make_row, kinds):
  found = [make_row(kinds['user_log']), make_row(kinds['simulated_task'])]
  mine, other = rows.renamed(found, {'t1': 'new', 't2': 'another'})
  assert mine.problem.policy == 'new' and mine.key == found[0].key
  assert other == found[1]
  assert rows.renamed(found, {'t2': 'another'}) == found


def test_a_row_that_failed_needs_no_metrics(problem, make_row):
  row = make_row(problem, metrics={}, outcome='diverged', reason='far')
  assert rows.decode(rows.encode(row)) == row


def test_numbers_that_are_not_finite_are_left_out(make_row):
  row = make_row(
    metrics={'mse': np.float64(1.0), 'effective_f': math.inf},
    curves={'watched_mse': (math.inf, 2.0, math.nan)},
  )
  found = rows.decode(json.loads(json.dumps(rows.encode(row))))
  assert found.metrics == {'mse': 1.0}
  assert found.curves == {'watched_mse': (None, 2.0, None)}


def test_a_row_without_its_number_cannot_be_kept(make_row):
  with pytest.raises(
    ValueError,
    match=(
      r'The row of kiv with seed 3 cannot be kept: its metrics lack mse\.'
    ),
  ):
    rows.encode(make_row(metrics={'mse': math.nan}))
  with pytest.raises(ValueError, match=r'cannot be kept: resamples\[1\]'):
    rows.encode(make_row(resamples=(1.0, math.nan)))


@pytest.mark.parametrize(
  'fields, words',
  [
    ({'method': ''}, 'it does not say its method'),
    ({'config': {}}, 'it does not say its config'),
    ({'versions': {}}, 'it does not say its versions'),
    (
      {'outcome': 'lost'},
      "its outcome is 'lost', not one of finished, diverged, refused",
    ),
    ({'cpu_seconds': -1.0}, 'its cpu_seconds must not be negative, got -1.0'),
    ({'cpu_seconds': math.nan}, 'cpu_seconds must not be negative, got nan'),
  ],
)
def test_a_row_says_what_it_is(make_row, fields, words):
  with pytest.raises(ValueError) as refusal:
    make_row(**fields)
  assert words in str(refusal.value)


@pytest.mark.parametrize(
  'kind, changes, words',
  [
    (
      'user_log',
      {'metrics': {'estimate': 'abc'}},
      "metrics.estimate should be of type float, got 'abc'",
    ),
    (
      'user_log',
      {'metrics': {'estimate': math.nan}},
      'metrics.estimate should be of type float, got nan',
    ),
    ('user_log', {'metrics': {'estimate': 10**400}}, 'metrics.estimate'),
    ('user_log', {'metrics': {'estimate': True}}, 'metrics.estimate'),
    (
      'user_log',
      {'metrics': {'estimate': 1.0, 'data_error': None}},
      'metrics.data_error should be of type float, got None',
    ),
    ('user_log', {'metrics': {}}, 'its metrics lack estimate'),
    ('user_log', {'metrics': [1]}, 'metrics should be of type Mapping'),
    ('user_log', {'resamples': [1.0, math.nan]}, 'resamples[1] should be'),
    ('user_log', {'resamples': 'x'}, 'resamples should be of type tuple'),
    (
      'user_log',
      {'resamples': [1.0], 'inference': {'resamples': 1}},
      'its metrics lack correction',
    ),
    (
      'user_log',
      {'curves': {'loss': [1.0, 'x']}},
      "curves.loss[1] should be of type float, got 'x'",
    ),
    ('user_log', {'curves': {'loss': 3}}, 'curves.loss should be of type'),
    ('user_log', {'cpu_seconds': 'long'}, 'cpu_seconds should be of type'),
    ('user_log', {'cpu_seconds': -1.0}, 'cpu_seconds must not be negative'),
    ('user_log', {'seed': 1.5}, 'seed should be of type int, got 1.5'),
    ('user_log', {'seed': True}, 'seed should be of type int, got True'),
    ('user_log', {'version': 'v1'}, 'version should be of type int'),
    ('user_log', {'method': 3}, 'method should be of type str, got 3'),
    ('user_log', {'custom': 1}, 'custom should be of type bool, got 1'),
    ('user_log', {'reason': None}, 'reason should be of type str, got None'),
    ('user_log', {'versions': {'python': 3}}, 'versions.python should be of'),
    ('user_log', {'config': [1]}, 'config should be of type Mapping, got [1]'),
    (
      'user_log',
      {'config': {'net': [{'rate': math.inf}]}},
      'config.net should be finite, got inf',
    ),
    (
      'user_log',
      {'failure': ''},
      "it misses a field or has one too many: 'failure'",
    ),
    ('user_log', {'problem': 3}, 'its problem is of the kind None'),
    (
      'user_log',
      {'format': 2},
      'its format is 2, but this version of dfiv-ope reads format 3',
    ),
    (
      'coverage',
      {'metrics': {'estimate': 1.0, 'low': 0.0}},
      'its metrics lack high, data_error, covered',
    ),
    (
      'selection',
      {'metrics': {'chosen': 1.0}},
      'its metrics lack tournament, projected_bellman_error',
    ),
    ('iv_design', {'metrics': {'estimate': 1.0}}, 'its metrics lack mse'),
  ],
)
def test_a_row_that_a_reader_would_stumble_over_is_refused(
  kinds, make_row, kind, changes, words
):
  data = {**rows.encode(make_row(kinds[kind])), **changes}
  with pytest.raises(ValueError) as refusal:
    rows.decode(data)
  assert words in str(refusal.value)


@pytest.mark.parametrize('data', [3, None, [1], 'row'])
def test_what_is_no_object_is_no_row(data):
  with pytest.raises(ValueError, match='not names and values'):
    rows.decode(data)
