"""Which rows a report puts in one line: problems, logs, truths, discounts."""

import io
import json
import re

from matplotlib import figure as mpl_figure
import pandas as pd
import pytest

from dfiv_ope.launch.reporting import (
  build,
  chart_figure,
  details,
  forest,
  frames,
  log_results,
  ranking,
)
from dfiv_ope.results import problems
from dfiv_ope.results import rows as rows_lib


@pytest.mark.parametrize(
  'log_return, side', [(0.1, 'right'), (0.9, 'left'), (0.45, 'center')]
)
def test_the_label_of_the_truth_stays_inside(ope_row, log_return, side):
  rows = [
    ope_row('kiv', relative=0.0, problem={'log_return': log_return}),
    ope_row(
      'fqe',
      relative=0.2 * (side == 'center'),
      problem={'log_return': log_return},
    ),
  ]
  (found,) = log_results.collect(frames.ope(rows), rows)
  axes = mpl_figure.Figure(figsize=(3.6, 2.0)).add_axes((0.05, 0.2, 0.9, 0.6))
  chart_figure.draw(forest.chart('estimates', found), axes)
  (label,) = [
    text for text in axes.texts if text.get_text() == ('true value 0.5')
  ]
  assert label.get_ha() == side


def test_several_runs_of_few_problems_are_ranked_after_the_estimates(ope_row):
  rows = [
    ope_row(method, seed=seed, relative=0.01 * (1 + seed))
    for method in ('kiv', 'fqe')
    for seed in (0, 1)
  ]
  files = build.files(rows, 'runs')
  page = files['index.html'].decode()
  assert page.index('<section id="answer"') < page.index(
    '<section id="summary"'
  )
  assert '(interquartile mean' in page
  assert 'One run' not in page
  # Mean of 0.505 and 0.51, and of their errors.
  assert (
    '| KIV | 2 | **0.508** | – | – | 0.0075 | 1.5 % | do not |'
    in files['tables/estimates.md'].decode()
  )


def test_a_run_that_did_not_open_its_log_stands_with_the_others(ope_row):
  rows = [ope_row('kiv'), ope_row('kiv', seed=1)]
  unopened = dict.fromkeys(
    (
      'transitions',
      'episodes',
      'truth',
      'truth_standard_error',
      'overlap',
      'log_return',
      'log_standard_error',
      'size',
    )
  )
  rows.insert(
    0,
    ope_row(
      'fqe',
      metrics={},
      outcome='error',
      reason='no memory',
      problem={**unopened, 'dataset': ''},
    ),
  )
  frame = frames.ope(rows)
  assert frame.question.nunique() == frame.panel.nunique() == 1
  assert frame.truth.tolist() == [0.5] * 3
  table = build.files(rows, 'runs')['tables/estimates.md'].decode()
  assert '| FQE | 1 | – | – | – | – | – | – | – |' in table


def test_two_logs_of_one_problem_have_names_of_their_own(ope_row):
  files = build.files(
    [ope_row('kiv', problem={'digest': digest * 64}) for digest in 'de'], 'runs'
  )
  assert {
    f'tables/estimates-catch-noise-0-2-log-{8 * digest}.md' for digest in 'de'
  } <= set(files)
  names = re.findall(r'\bid="([^"]+)"', files['index.html'].decode())
  assert len(names) == len(set(names))


def test_several_policies_on_one_log_are_ranked(ope_row):
  rows = []
  for method, errors in (('kiv', (0.0, 0.0)), ('dfiv', (-0.3, 0.2))):
    for epsilon, error in zip((0.0, 0.5), errors, strict=True):
      truth = 0.5 - 0.2 * epsilon  # 0.5 and 0.4
      rows.append(
        ope_row(
          method,
          problem={'truth': truth, 'target_epsilon': epsilon},
          metrics={'estimate': truth + error},
        )
      )
  table = ranking.policies(frames.ope(rows))
  values = {
    line[0].text: [cell.value for cell in line[2:]] for line in table.rows
  }
  # One ranking of two policies; KIV is right, DFIV says 0.2 and 0.6.
  assert values['KIV'] == pytest.approx([1, 2, 0, 1.0, 0.0])
  assert values['DFIV'] == pytest.approx([1, 2, 0, -1.0, 0.1])
  assert ranking.policies(frames.ope(rows[:1])) is None


@pytest.fixture(scope='module')
def two_discounts(ope_row):
  """KIV is better at 0.99, FQE at 0.5, on the same log."""
  made = []
  for discount, truth, errors in (
    (0.99, 0.5, {'kiv': 0.01, 'fqe': 0.1}),
    (0.5, 0.2, {'kiv': 0.3, 'fqe': 0.02}),
  ):
    made += [
      ope_row(
        method,
        seed=seed,
        problem={'discount': discount, 'truth': truth},
        metrics={'estimate': truth * (1.0 + error), 'held_out_loss': discount},
        curves={'updates': (1.0, 2.0), 'estimate': (truth, truth)},
      )
      for method, error in errors.items()
      for seed in (0, 1)
    ]
  return made


def test_rows_of_two_discounts_are_in_no_line_together(two_discounts):
  files = build.files(two_discounts, 'runs')

  def lines(name):
    text = files[f'tables/{name}.md'].decode()
    return [
      line.strip('| ').split(' | ')
      for line in text.splitlines()
      if line.startswith('| ')
    ][1:]

  # Half first: groups are in the order of their labels.
  for number, best, error in ((1, 'FQE', '2 %'), (2, 'KIV', '1.00 %')):
    (line,) = lines(f'best-at-{number}')
    assert line[1] == f'**{best}**'
    assert line[2].startswith(error.split()[0].rstrip('0').rstrip('.'))
    assert {line[0]: line[3] for line in lines(f'methods-at-{number}')} == {
      'KIV': '2',
      'FQE': '2',
    }  # Two runs each, not four.
    (line,) = lines(f'log-families-at-{number}')
    assert len(lines(f'datasets-at-{number}')) == 1
    assert {line[-1] for line in lines(f'held-out-at-{number}')} == {
      ('0.5', '0.99')[number - 1]
    }
  caption = files['tables/best-at-1.md'].decode()
  assert caption.startswith('Discount 0.5. The method of smallest')
  page = files['index.html'].decode()
  assert '<dt>discount</dt><dd>0.5, 0.99</dd>' in page
  for label in ('0.5', '0.99'):
    assert f'>Ranking of estimators (discount {label})</h2>' in page
    assert f'Smallest relative error on catch, discount {label}: ' in page
  names = re.findall(r'\bid="([^"]+)"', page)
  assert len(names) == len(set(names))
  for number in (1, 2):
    assert {
      f'figures/{name}-at-{number}.svg'
      for name in ('estimates', 'curves', 'time')
    } <= set(files)
  data = json.loads(
    re.search(
      r'<script type="application/json" id="data">(.*?)</script>',
      page,
      re.DOTALL,
    )[1]
  )
  assert ['discount', 'discount', 'number'] in data['columns']
  assert 'catch, discount 0.5' in json.dumps(data)


def test_two_truths_and_two_policies_are_in_no_line_together(ope_row):
  truths = [
    ope_row(
      method,
      problem={'truth': truth, 'target_epsilon': 0.2},
      metrics={'estimate': 0.5},
    )
    for method, truth in (('kiv', 0.5), ('fqe', 0.4))
  ]
  policies = [
    ope_row(
      method, noise=0.5, problem={'target': target}, metrics={'estimate': 0.5}
    )
    for method, target in (('kiv', 'a' * 64), ('fqe', 'b' * 64))
  ]
  frame = frames.ope([*truths, *policies])
  assert frame.panel.tolist() == [
    'catch, truth 0.5',
    'catch, truth 0.4',
    'catch, policy aaaaaaaa',
    'catch, policy bbbbbbbb',
  ]
  assert frame.question.nunique() == 4
  table = details.families(frame)
  assert len(table.rows) == 4
  assert len(details.datasets(frame).rows) == 4
  # None of them is a problem that two methods share.
  assert {
    cell.text for line in ranking.improvement(frame).rows for cell in line[1:]
  } == {'–'}


def test_diagnostics_of_two_policies_are_in_no_line_together(ope_row):
  rows = [
    ope_row(
      problem={'target_epsilon': epsilon},
      metrics={'estimate': 0.5, 'held_out_loss': epsilon},
    )
    for epsilon in (0.0, 0.5)
  ]
  table = details.held_out(frames.ope(rows), rows)
  assert [[cell.text for cell in line[3:]] for line in table.rows] == [
    ['0', '0'],
    ['0.5', '0.5'],
  ]


def test_diagnostics_are_those_that_the_caption_names(ope_row):
  told = {
    'held_out_loss': 0.1,
    'penalty': 0.2,
    'stage1_rank': 3.0,
    'first_stage_r2': 0.4,
  }
  others = {'memory_z': 5.0, 'check_lstd': 6.0, 'effective_share': 0.7}
  rows = [ope_row(metrics={'estimate': 0.5, **told, **others})]
  table = details.held_out(frames.ope(rows), rows)
  assert table.columns[3:] == [
    'held out loss',
    'penalty',
    'stage1 rank',
    'first stage r2',
  ]
  assert [cell.text for cell in table.rows[0][3:]] == ['0.1', '0.2', '3', '0.4']
  (note,) = table.notes
  assert note.startswith('first stage r2')
  rows = [ope_row(metrics={'estimate': 0.5, **others})]
  assert details.held_out(frames.ope(rows), rows) is None


def test_a_method_that_misses_problems_is_not_the_best(ope_row):
  rows = [ope_row('dfiv', noise=noise, relative=0.1) for noise in (0.0, 0.5)]
  rows.append(ope_row('kiv', noise=0.0, relative=0.001))
  line = ranking.best(frames.ope(rows)).rows[-1]
  assert line[1].text == 'DFIV'


def test_without_a_truth_there_are_estimates_and_no_errors(ope_row):
  unknown = {'truth': None, 'truth_standard_error': None}
  files = build.files(
    [ope_row(method, problem=unknown) for method in ('kiv', 'fqe')], 'runs'
  )
  assert 'True value' not in files['index.html'].decode()
  assert 'figures/errors.svg' not in files
  assert 'tables/log-families.md' in files
  table = pd.read_csv(io.BytesIO(files['results.csv']))
  assert table.error.isna().all()
  assert table.estimate.notna().all()


def test_rows_of_the_demand_design_show_errors_and_effects():
  rows = [
    rows_lib.Row(
      problem=problems.IVDesign(name='demand', parameters={'n': n, 'rho': 0.5}),
      method=method,
      config={'type': 'Config'},
      seed=seed,
      version=1,
      metrics={'mse': error * (seed + 1)},
      curves={'ate': (1.0,) * 20, 'cate': (2.0,) * 20},
      cpu_seconds=0.5,
      versions={'dfiv-ope': '0.1.0'},
    )
    for n in (1000, 5000)
    for method, error in (('kiv', 50.0), ('dfiv', 3.0))
    for seed in (0, 1, 2)
  ]
  files = build.files(rows, 'runs')
  text = files['tables/demand.md'].decode()
  assert '| KIV | 1,000 | 0.5 | 3 | 0 | 100 | 50 | 150 | 0.5 |' in text
  assert '| DFIV | 5,000 | 0.5 | 3 | 0 | **6** | 3 | 9 | 0.5 |' in text
  for name in ('ate', 'cate', 'errors'):
    assert files[f'figures/demand-{name}.png'].startswith(b'\x89PNG')
  page = files['index.html'].decode()
  assert page.count('<svg viewBox') == 2
  assert 'n 5,000 and rho 0.5: smallest median error 6, of DFIV' in page
  assert 'http:' not in page
