"""Interval coverage in a report and on a terminal, of rows made by hand."""

import dataclasses
import io
import json
import math
import re

import pandas as pd
import pytest

from dfiv_ope.launch.reporting import build, coverage, coverage_page
from dfiv_ope.results import problems
from dfiv_ope.results import rows as rows_lib

PROBLEM = problems.Coverage(
  dataset='catch-0p2',
  task='catch',
  action_noise=0.2,
  epsilon=0.2,
  discount=0.99,
  actions=3,
  target='a1' * 32,
  simulation=1,
  first_seed=1_000_000,
  log=0,
  seeds=3,
  level=0.95,
  truth=1.0,
)
DIVERGED = {
  'metrics': {'diverged': 3.0},
  'outcome': 'diverged',
  'reason': 'all seeds',
}


def _row(log, **fields):
  """An interval of half width 0.4; it misses the truth for logs 0 and 9."""
  estimate = 1.0 + 0.1 * (log - 4.5)
  problem = fields.pop('problem', PROBLEM)
  return rows_lib.Row(
    **{
      'problem': dataclasses.replace(problem, log=log),
      'method': 'lstd',
      'config': {'type': 'Config'},
      'seed': 0,
      'version': 1,
      'inference': {'resamples': 200},
      'versions': {'dfiv-ope': '0.1.0'},
      'cpu_seconds': 2.0,
      'metrics': {
        'estimate': estimate,
        'low': estimate - 0.4,
        'high': estimate + 0.4,
        'data_error': 0.2,
        'covered': float(0 < log < 9),
        'paired_estimate': 0.5,
        'paired_low': 0.0,
        'paired_high': 1.0,
        'paired_truth': 0.5,
        'paired_covered': float(log < 9),
        'diverged': float(log == 3),
      },
      **fields,
    }
  )


def _ten(**fields):
  return [_row(log, **fields) for log in (9, *range(9))]


def test_ten_logs_are_counted():
  (study,) = coverage.studies(_ten())
  assert (study.variant, study.task, study.level) == ('LSTD-Q', 'catch', 0.95)
  assert (study.logs, study.held, study.share) == (10, 8, 0.8)
  # Clopper-Pearson, of the tables of the binomial distribution.
  assert study.range == pytest.approx((0.4439045, 0.9747893), abs=1e-7)
  assert study.paired == 0.9
  assert study.error == pytest.approx(0.25)
  assert study.half_width == pytest.approx(0.4)
  assert (study.diverged, study.narrow) == (1, False)
  assert [row.problem.log for row in study.rows] == [*range(10)]


def test_a_log_without_an_interval_holds_nothing():
  rows = [*_ten()[:-1], _row(8, **DIVERGED)]
  (study,) = coverage.studies(rows)
  assert (study.logs, study.held, len(study.sound)) == (10, 7, 9)
  assert study.range == pytest.approx((0.3475471, 0.9332605), abs=1e-7)
  assert study.diverged == 4
  assert study.error == pytest.approx((2.5 - 0.35) / 9.0)


def test_nothing_but_divergences_has_no_error():
  (study,) = coverage.studies([_row(log, **DIVERGED) for log in range(3)])
  assert (study.held, study.share, study.narrow) == (0, 0.0, False)
  assert study.range == pytest.approx((0.0, 0.7075982), abs=1e-7)
  assert math.isnan(study.error) and math.isnan(study.half_width)
  assert math.isnan(study.paired)


def test_a_run_that_broke_down_is_no_log():
  rows = [*_ten(), _row(11, metrics={}, outcome='error', reason='no memory')]
  assert [study.logs for study in coverage.studies(rows)] == [10]


@pytest.mark.parametrize(
  'change',
  [
    {'level': 0.9},
    {'seeds': 1},
    {'target': 'b2' * 32},
    {'truth': 2.0},
    {'discount': 0.9},
    {'action_noise': 0.0},
  ],
)
def test_logs_of_another_kind_are_another_study(change):
  other = dataclasses.replace(PROBLEM, **change)
  found = coverage.studies([*_ten(), *_ten(problem=other)])
  assert [study.logs for study in found] == [10, 10]


def test_measured_studies_are_those_of_the_same_intervals(log_row):
  row = log_row(
    'lstd', config={'type': 'Config'}, version=1, inference={'resamples': 200}
  )
  elsewhere = dataclasses.replace(PROBLEM, task='cartpole', dataset='pole')
  # Logs 9 and 0 to 3, of which the first two miss.
  rows = [row, *_ten(), *_ten(problem=elsewhere)[:5]]
  assert [
    (study.task, study.share, study.logs, study.level)
    for study in coverage.measured(rows, row)
  ] == [('catch', 0.8, 10, 0.95), ('cartpole', 0.6, 5, 0.95)]


@pytest.mark.parametrize(
  'fields',
  [
    {'version': 2},
    {'method': 'kiv'},
    {'config': {'type': 'Other'}},
    {'inference': {'resamples': 500}},
    {'inference': {}},
  ],
)
def test_other_intervals_say_nothing_of_a_method(fields):
  assert coverage.measured(_ten(), _row(0, **fields)) == []


def test_the_headline_says_how_often_and_how_surely():
  found = coverage.studies(_ten())
  assert coverage_page.headline(found) == (
    '95 % confidence intervals of LSTD-Q held the true value on 8 of 10 logs '
    'of catch (80 %; exact binomial range 44 to 97 %).'
  )


def test_thirty_eight_of_forty_logs():
  rows = [_row(1 + log % 8, problem=PROBLEM) for log in range(40)]
  rows = [
    dataclasses.replace(
      row,
      problem=dataclasses.replace(PROBLEM, log=log),
      metrics={**row.metrics, 'covered': float(log > 1)},
    )
    for log, row in enumerate(rows)
  ]
  assert coverage_page.headline(coverage.studies(rows)) == (
    '95 % confidence intervals of LSTD-Q held the true value on 38 of 40 '
    'logs of catch (95 %; exact binomial range 83 to 99 %).'
  )


def test_intervals_that_are_too_narrow_and_logs_without_one_are_said():
  rows = [_row(0), _row(9), _row(1)]
  rows += [
    dataclasses.replace(_row(0), problem=dataclasses.replace(PROBLEM, log=log))
    for log in range(20, 25)
  ]
  rows.append(_row(30, **DIVERGED))
  assert coverage_page.headline(coverage.studies(rows)).endswith(
    'on 1 of 9 logs of catch (11.1 %; exact binomial range 0 to 48 %). They '
    'are too narrow. 1 log has none: all runs diverged.'
  )


def test_many_studies_are_told_by_the_lowest():
  noises = (0.0, 0.1, 0.2, 0.3)
  rows = [
    row
    for noise in noises
    for row in _ten(
      problem=dataclasses.replace(
        PROBLEM, action_noise=noise, dataset=f'catch-{noise:g}'
      )
    )
  ]
  rows += [
    _row(
      40,
      problem=dataclasses.replace(
        PROBLEM, action_noise=0.1, dataset='catch-0.1'
      ),
      **DIVERGED,
    )
  ]
  found = coverage.studies(rows)
  assert coverage_page.headline(found) == (
    'Coverage of confidence intervals was measured in 4 studies; the lowest, '
    'against its level: 95 % confidence intervals of LSTD-Q held the true '
    'value on 8 of 11 logs of catch with noise 0.1 (72.7 %; exact binomial '
    'range 39 to 94 %). 1 log has none: all runs diverged.'
  )
  ((section,), _) = coverage_page.sections(found)
  assert len(section.points) == 4


def test_the_table_has_the_exact_range():
  table = coverage_page.table(coverage.studies(_ten()))
  assert dict(
    zip(table.columns, (cell.text for cell in table.rows[0]), strict=True)
  ) == {
    'method': 'LSTD-Q',
    'log': 'catch-0p2',
    'level': '95 %',
    'logs': '10',
    'held': '80 %',
    'exact range': '44 to 97 %',
    'paired held': '90 %',
    'mean error': '0.25',
    'mean half width': '0.4',
    'diverged': '1',
  }


def test_what_names_do_not_tell_apart_has_a_column():
  other = dataclasses.replace(PROBLEM, target='b2' * 32)
  found = coverage.studies([*_ten(), *_ten(problem=other)])
  table = coverage_page.table(found)
  assert table.columns[:3] == ['method', 'log', 'target']
  assert [row[2].text for row in table.rows] == ['a1a1a1a1', 'b2b2b2b2']
  assert [coverage.place(study, found) for study in found] == [
    'catch, target a1a1a1a1',
    'catch, target b2b2b2b2',
  ]
  # Each line leads to its own rows.
  lines, rows = coverage_page.lines(found)
  for link, study in zip(table.links, found, strict=True):
    behind = lines[
      (lines.method == link['method']) & (lines.panel == link['panel'])
    ]
    assert [rows[index] for index in behind.index] == [*study.rows]


def _printed(capsys, rows):
  coverage.show(rows)
  return [
    ' '.join(line.split()) for line in capsys.readouterr().out.splitlines()
  ]


def test_the_terminal_has_a_line_for_each_study(capsys):
  other = dataclasses.replace(PROBLEM, target='b2' * 32)
  printed = _printed(
    capsys,
    [
      *_ten(problem=dataclasses.replace(PROBLEM, dataset='catch')),
      *(
        _row(
          log, problem=dataclasses.replace(other, dataset='catch'), **DIVERGED
        )
        for log in range(2)
      ),
    ],
  )
  assert [line for line in printed if line.startswith('lstd')] == [
    'lstd catch a1a1a1a1 95 % 10 80 % 90 % 0.25 0.4 1',
    'lstd catch b2b2b2b2 95 % 2 0 % - - 6',
  ]


def test_two_configs_of_a_method_are_told_apart_on_a_terminal(capsys):
  small = {'type': 'Config', 'random_features': 20}
  rows = [
    *_ten(config={'type': 'Config', 'random_features': 300}),
    *_ten(config=small, custom=True),
  ]
  assert [study.variant for study in coverage.studies(rows)] == [
    'LSTD-Q',
    'LSTD-Q (random_features=20)',
  ]
  printed = _printed(capsys, rows)
  assert [line.split()[0] for line in printed if '95 %' in line] == [
    'LSTD-Q',
    'LSTD-Q',
  ]


def test_studies_are_json():
  (one,) = json.loads(
    json.dumps(
      coverage.data([*_ten()[:-1], _row(8, **DIVERGED)]), allow_nan=False
    )
  )
  assert one['range'] == pytest.approx([0.3475471, 0.9332605], abs=1e-7)
  assert {
    name: one[name]
    for name in (
      'method',
      'label',
      'dataset',
      'task',
      'level',
      'logs',
      'held',
      'share',
      'paired_share',
      'diverged',
    )
  } == {
    'method': 'lstd',
    'label': 'LSTD-Q',
    'dataset': 'catch-0p2',
    'task': 'catch',
    'level': 0.95,
    'logs': 10,
    'held': 7,
    'share': 0.7,
    'paired_share': 0.8,
    'diverged': 4,
  }
  (none,) = coverage.data([_row(0, **DIVERGED)])
  assert none['mean_error'] is none['paired_share'] is None


@pytest.fixture(scope='module')
def report():
  return build.files([*_ten()[:-1], _row(8, **DIVERGED)], 'runs')


def test_coverage_alone_is_a_report(report):
  page = report['index.html'].decode()
  assert '<h1>How often confidence intervals hold the true value</h1>' in page
  headline = re.search(r'<p class="headline">(.*?)</p>', page, re.DOTALL)[1]
  assert headline.startswith(
    '95 % confidence intervals of LSTD-Q held the true value on 7 of 10 logs '
    'of catch (70 %; exact binomial range 35 to 93 %). 1 log has none: all '
    'runs diverged.'
  )
  assert '<h2 id="coverage-title">Interval coverage</h2>' in page
  assert 'LSTD-Q, catch: 7 of 10 intervals hold the true value 1.' in page
  assert report['figures/coverage.png'].startswith(b'\x89PNG')
  assert '35 to 93 %' in report['tables/coverage.md'].decode()
  assert r'35 to 93 \%' in report['tables/coverage.tex'].decode()


def test_every_interval_is_in_the_spreadsheet(report):
  table = pd.read_csv(io.BytesIO(report['results.csv']))
  assert len(table) == 10 and set(table.kind) == {'coverage'}
  one = table[table.problem == 'catch-0p2, log 2'].iloc[0]
  assert (one.estimate, one.low, one.high, one.truth, one.covered) == (
    0.75,
    pytest.approx(0.35),
    pytest.approx(1.15),
    1.0,
    1.0,
  )
  lost = table[table.outcome == 'diverged'].iloc[0]
  assert (lost.problem, lost.reason) == ('catch-0p2, log 8', 'all seeds')
  assert math.isnan(lost.estimate)


def test_coverage_stands_beside_other_results(ope_row, report):
  both = build.files([ope_row(), *_ten()], 'runs')
  page = both['index.html'].decode()
  assert '<h1>What a policy is worth</h1>' in page
  assert 'held the true value on 8 of 10 logs of catch' in page
  assert '<h2 id="coverage-title">Interval coverage</h2>' in page
  assert len(pd.read_csv(io.BytesIO(both['results.csv']))) == 11
