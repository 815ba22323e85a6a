"""`dfiv-ope report` on a user's log: the answer, its interval, the advice."""

import dataclasses
import io

import numpy as np
import pandas as pd
import pytest

from dfiv_ope.evaluation import row_intervals
from dfiv_ope.launch.reporting import (
  advice,
  build,
  first_stage_words,
  frames,
  log_results,
  log_tables,
  why,
)
from dfiv_ope.ope import log_notes

HOSTILE = '</script><script>alert(1)</script> | & $x_1$'


@pytest.fixture(scope='module')
def row(log_row):
  return log_row


@pytest.fixture(scope='module')
def sweep(row):
  """Makes the log's row and three seeds of each method."""

  def make(**methods):
    return [row('log', estimate=8.0)] + [
      row(method, seed, **fields)
      for method, fields in methods.items()
      for seed in range(3)
    ]

  return make


def case_of(rows):
  (case,) = log_results.collect(frames.log(rows), rows)
  return case


def lines_of(files, name):
  """Returns the lines of a Markdown table by their first cell."""
  text = files[f'tables/{name}.md'].decode()
  cells = [
    line.strip('| ').split(' | ')
    for line in text.splitlines()
    if line.startswith('| ')
  ]
  return {line[0]: dict(zip(cells[0], line, strict=True)) for line in cells[1:]}


@pytest.fixture(scope='module')
def files(row, sweep, selection_row):
  """LSTD-Q is narrow, KIV wide; FQE diverged once and has a correction."""
  rows = sweep(
    lstd={},
    kiv={
      'estimate': 10.5,
      'scale': 2.0,
      'metrics': {'stage1_held_out_r2': 0.86, 'instrument_condition': 3e9},
    },
    fqe={'estimate': 11.0, 'correction': 3.0},
  )
  rows[-1] = dataclasses.replace(
    rows[-1], metrics={}, resamples=(), outcome='diverged', reason=HOSTILE
  )
  rows += [
    selection_row(row('lstd'), 0.5, 0.02, 1.0),
    selection_row(row('kiv'), 0.75, 0.01, 0.0),
  ]
  return build.files(rows, 'runs')


def test_every_kind_of_file_is_there(files):
  for name in ('estimates', 'log-overlap', 'log-families', 'log-selection'):
    assert {f'tables/{name}.md', f'tables/{name}.tex'} <= set(files)
  assert files['figures/log.png'].startswith(b'\x89PNG')
  figure = files['figures/log.svg'].decode()
  for words in ('LSTD-Q', 'KIV', 'FQE', 'log’s average 8'):
    assert f'>{words}<' in figure


def test_the_answer_is_one_a_manager_can_read(files):
  page = files['index.html'].decode()
  assert '<h1>What a policy is worth</h1>' in page
  # The log: 8 and 1.97 standard errors of 0.25.
  assert (
    'The value of the Python function offers:generous is estimated at 10 '
    '(95 % interval 8.1 to 11.9, by LSTD-Q), against the average return '
    'of the log, 8 (7.51 to 8.49). The difference is +2 (+1.05 to +2.95, '
    'from the same resampled episodes). The target policy does better than '
    'the behaviour policy. Nothing that was measured speaks against the '
    'interval.'
  ) in page


def test_the_table_has_the_intervals_and_where_they_come_from(files):
  lines = lines_of(files, 'estimates')
  assert list(lines) == ['Log (average return)', 'LSTD-Q', 'KIV', 'FQE']
  found = lines['LSTD-Q']
  assert [
    found[name]
    for name in (
      'seeds',
      'estimate',
      'low',
      'high',
      'paired difference',
      'data error',
      'training error',
      'share of data',
      'correction',
      'diverged',
      'CPU s',
    )
  ] == [
    '3',
    '**10**',
    '8.1',
    '11.9',
    '2.00 [1.05, 2.95]',
    '1.16',
    '0',
    '100 %',
    '0',
    '0',
    '2',
  ]
  assert lines['KIV']['low'] == '6.7'
  # Of the two runs that are left; the upper end holds the correction.
  assert lines['FQE']['diverged'] == '1'
  assert lines['FQE']['low'] == '9.1'
  assert lines['FQE']['high'] == '15.9'
  assert lines['Log (average return)']['low'] == '7.51'


def test_what_overlap_was_not_measured_has_no_line(sweep):
  (*rows,) = sweep(lstd={})
  known = rows[0].problem.overlap
  bare = dataclasses.replace(known, weights=None, coverage=None)
  for overlap, more in (
    (known, ['support coverage', 'effective steps', 'effective episodes']),
    (bare, []),
  ):
    made = [
      dataclasses.replace(
        row, problem=dataclasses.replace(row.problem, overlap=overlap)
      )
      for row in rows
    ]
    lines = lines_of(build.files(made, 'runs'), 'log-overlap')
    assert list(lines) == [
      'effective sample size',
      'agreement',
      *more,
      *(['largest weight'] if more else []),
      'actions never logged',
    ]


@pytest.mark.parametrize('weighs', [False, True])
def test_only_methods_that_weigh_no_episodes_are_said_not_to(sweep, weighs):
  found = {'effective_episodes': 50.0} if weighs else {}
  files = build.files(sweep(lstd={'metrics': found}), 'runs')
  words = lines_of(files, 'log-overlap')['effective episodes']['what it is']
  assert words.endswith('no method here does') is not weighs


def test_overlap_selection_and_families_are_shown(files):
  overlap = lines_of(files, 'log-overlap')
  assert overlap['effective sample size']['value'] == '50 %'
  assert overlap['effective steps']['value'] == '2,500'
  assert overlap['effective steps']['what it is'].startswith('of 5,000, by')
  assert overlap['support coverage']['value'] == '94 %'
  selection = lines_of(files, 'log-selection')
  assert list(selection) == ['LSTD-Q', 'KIV']
  assert selection['LSTD-Q']['tournament'] == '**0.5**'
  assert selection['LSTD-Q']['chosen'] == 'yes'
  # Medians of 10 and 10.5, and of FQE.
  families = lines_of(files, 'log-families')['median estimate']
  assert families['closed form'] == '10.2'
  assert families['FQE'] == '11'
  assert families['gap'] == '0.75'


def test_the_page_says_what_to_do_and_what_the_first_stage_is_like(files):
  page = files['index.html'].decode()
  for words in (
    '<li>The log says that 3 is missing from the estimate of FQE, whose '
    'standard error is 1.16. Take this method with care: its interval reaches '
    'there, and another method may be nearer.</li>',
    '<li>1 of 3 runs of FQE diverged. Do not trust its other runs; prefer '
    'another method.</li>',
    '<li>KIV: states and actions explain 86 % of the next features on '
    'held-out rows.</li>',
    'features of states and actions is 3.0e+09, so some of them are nearly '
    'the same.</li>',
  ):
    assert words in page
  assert 'alert(1)</script>' not in page


def test_the_csv_has_every_row(files):
  table = pd.read_csv(io.BytesIO(files['results.csv']))
  assert len(table) == 12
  assert table.outcome.value_counts().to_dict() == {
    'finished': 11,
    'diverged': 1,
  }
  assert table.kind.value_counts().to_dict() == {'user_log': 10, 'selection': 2}
  found = table[(table.method == 'kiv') & (table.kind == 'user_log')]
  assert found.estimate.tolist() == [10.5] * 3
  assert found.policy.unique() == ['the Python function offers:generous']
  assert found.overlap.tolist() == [0.6] * 3
  assert found.effective_share.tolist() == [0.5] * 3


def test_the_csv_has_the_intervals_of_the_runs(sweep):
  rows = sweep(lstd={}, kiv={'scale': 2.0, 'correction': 1.0})
  table = pd.read_csv(
    io.BytesIO(build.files(rows, 'runs')['results.csv'])
  ).set_index('method')
  for method in ('lstd', 'kiv'):
    found = row_intervals.of(
      [row for row in rows if row.method == method], level=0.95
    )
    assert table.loc[method, ['low', 'high']].to_numpy() == pytest.approx(
      np.array([[found.low, found.high]] * 3)
    )
  assert table.loc['log', ['low', 'high']].tolist() == pytest.approx(
    row_intervals.of_log(rows[0].problem, level=0.95)
  )


def test_the_same_rows_make_the_same_report(sweep):
  rows = sweep(lstd={})
  assert build.files(rows, 'runs') == build.files(rows, 'runs')


def test_without_a_reason_for_doubt_the_policy_is_to_be_tried(sweep):
  case = case_of(sweep(lstd={'estimate': 14.0}, fqe={'estimate': 14.2}))
  assert advice.trust(case) == 'trust'
  assert advice.headline(case).endswith(
    'Nothing that was measured speaks against the interval.'
  )
  (step,) = advice.next_steps(case)
  assert 'Try the policy on a small share of decisions' in step


def test_doubts_of_another_method_are_none_of_the_answer(sweep):
  methods = {'lstd': {}, 'kiv': {'correction': 3.0}}
  case = case_of(sweep(**methods))
  assert advice.trust(case) == 'trust'
  assert advice.next_steps(case)[0].startswith(
    'The log says that 3 is missing from the estimate of KIV'
  )
  alone = case_of(sweep(kiv={'correction': 3.0}))
  assert advice.trust(alone) == 'with care'


@pytest.mark.parametrize(
  'correction, grade, words',
  [
    (0.1, 'trust', 'is little beside the value'),
    (1.0, 'with care', 'Take this method with care'),
    (3.0, 'do not', 'Do not trust this method here.'),
  ],
)
def test_advice_on_a_contradicted_method_is_its_verdict(
  sweep, correction, grade, words
):
  kiv = {'correction': correction, 'scale': 0.02}
  case = case_of(sweep(lstd={}, kiv=kiv))
  result = next(each for each in case.methods if each.method == 'kiv')
  assert result.contradicted
  (step,) = (
    each for each in advice.next_steps(case) if 'estimate of KIV' in each
  )
  assert case.trust(result).grade == grade and words in step
  # Alone it is the answer, and the page has one verdict on it.
  alone = case_of(sweep(kiv=kiv))
  assert advice.trust(alone) == alone.trust(alone.preferred).grade == grade


@pytest.mark.parametrize(
  'share, grave, words',
  [
    (
      0.04,
      True,
      'The effective sample size is 4 % of the rows of the log, '
      'which is poor. Collect data with a policy closer to this one, or '
      'evaluate a policy nearer to the log.',
    ),
    (
      0.2,
      False,
      'The effective sample size is 20 % of the rows of the log, '
      'which is thin. Collect data',
    ),
  ],
)
def test_a_value_that_rests_on_few_rows_is_doubted(share, grave, words, sweep):
  case = case_of(sweep(lstd={'share': share}))
  assert advice.trust(case) == ('do not' if grave else 'with care')
  assert ('Do not rely on it.' in advice.headline(case)) == grave
  assert advice.next_steps(case)[0].startswith(words)


def test_an_open_question_needs_more_episodes_or_seeds(row, sweep):
  assert advice.next_steps(case_of(sweep(lstd={'estimate': 8.5}))) == [
    'The interval of the difference of policy and log holds 0. To tell them '
    'apart, log more episodes: four times as many halve the interval.'
  ]
  spread = [row(seed=seed, estimate=6.0 + 3.0 * seed) for seed in range(3)]
  assert advice.next_steps(case_of([row('log'), *spread])) == [
    'The interval of the difference of policy and log holds 0. Most of the '
    'width comes with the training: run more --seeds.'
  ]


@pytest.mark.parametrize(
  'estimate, words',
  [
    (14.0, 'The target policy does better than the behaviour policy.'),
    (2.0, 'The target policy does worse than the behaviour policy.'),
    (8.0, 'The log does not tell which of the two policies is better.'),
  ],
)
def test_the_answer_is_compared_with_the_log(estimate, words, sweep):
  assert words in advice.headline(case_of(sweep(lstd={'estimate': estimate})))
  # An estimate that cannot be relied on is compared with nothing.
  assert words not in advice.headline(
    case_of(sweep(lstd={'estimate': estimate, 'share': 0.01}))
  )


def test_poor_overlap_is_grave_whatever_the_rows_say(sweep):
  case = case_of(sweep(lstd={}))
  seen = case.problem.overlap
  case = dataclasses.replace(
    case,
    problem=dataclasses.replace(
      case.problem,
      overlap=dataclasses.replace(
        seen, coverage=dataclasses.replace(seen.coverage, share=0.5)
      ),
    ),
  )
  assert advice.headline(case).endswith(
    'Do not rely on it. Overlap of the log and the target policy is poor. '
    'Collect data with a policy closer to this one, or evaluate a policy '
    'nearer to the log.'
  )


def test_families_that_disagree_are_distrusted(sweep):
  case = case_of(sweep(lstd={}, fqe={'estimate': 14.0}))
  assert advice.next_steps(case)[0] == (
    'Families of estimators differ by 4, more than the widest interval, 3.8. '
    'Collect more data near the policy.'
  )
  assert advice.trust(case) == 'do not'
  near = case_of(sweep(lstd={}, fqe={'estimate': 11.0}))
  assert advice.trust(near) == 'trust'


def test_a_range_of_equal_digits_is_one_number():
  for values, text in (((1.0, 1.0001), '1'), ((1.0, 1.1), '1 to 1.1')):
    (track,) = why._spread('closed form', values, 1.0).tracks
    assert track.text == text


def test_one_seed_and_few_episodes_make_an_interval_rough(row):
  few = {'episodes': 40}
  # Cross-checks tell of another draw of LSTD-Q's features.
  closed = case_of([row('log', problem=few), row('lstd', problem=few)])
  rough = 'The log has 40 episodes, so the interval is rough. Log at least 50.'
  assert advice.next_steps(closed) == [rough]
  trained = case_of([row('log', problem=few), row('fqe', problem=few)])
  assert advice.next_steps(trained) == [
    'One run: the interval leaves out the training. Run with --seeds 3 '
    '(seeds=3).',
    rough,
  ]
  assert advice.trust(trained) == 'with care'
  assert (
    lines_of(
      build.files([row('log', problem=few), row('lstd', problem=few)], 'runs'),
      'estimates',
    )['LSTD-Q']['training error']
    == '–'
  )


def test_a_weak_first_stage_is_said(sweep):
  case = case_of(sweep(kiv={'metrics': {'stage1_held_out_r2': 0.2}}))
  assert first_stage_words.sentences(case) == [
    'KIV: states and actions explain 20 % of the next features on held-out '
    'rows, which is weak: what an action leads to is hardly predicted.'
  ]
  assert advice.next_steps(case) == [
    'The first stage of KIV is weak. Add observations that tell what happens '
    'next, or more rows.'
  ]


STAGE = {
  'first_stage_r2': 0.82,
  'first_stage_f': 28_536.0,
  'first_stage_rank': 35.6,
  'first_stage_value_1': 1.0,
  'first_stage_value_10': 0.99,
  'first_stage_value_40': 0.61,
  'first_stage_lost_share': 0.0,
}


def test_the_first_stage_of_every_method_is_told(sweep):
  rows = sweep(
    lstd={'metrics': STAGE},
    kiv={
      'metrics': {**STAGE, 'first_stage_r2': 0.8, 'stage1_held_out_r2': 0.86}
    },
  )
  case = case_of(rows)
  assert first_stage_words.sentences(case) == [
    'LSTD-Q: states and actions explain 82 % of the value that follows on '
    'held-out rows (F of the held-out index 28,536).',
    'KIV: states and actions explain 80 % of the value that follows on '
    'held-out rows (F of the held-out index 28,536).',
    'KIV: states and actions explain 86 % of the next features on held-out '
    'rows.',
    '0 % of what states and actions tell of the reward lies along directions '
    'that stage 1 hardly keeps (singular values below 0.1).',
  ]
  assert advice.trust(case) == 'trust'
  files = build.files(rows, 'runs')
  lines = lines_of(files, 'log-stage')
  assert lines['LSTD-Q']['R² of the value that follows'] == '0.82'
  assert lines['LSTD-Q']['R² of next features'] == '–'
  assert lines['KIV']['R² of next features'] == '0.86'
  assert float(
    lines['KIV']['F of the held-out index'].replace(',', '')
  ) == pytest.approx(28_536.0, rel=0.01)
  caption = log_tables.first_stage(case).caption
  assert (
    'Singular values of stage 1, by their place: 1 (1), 0.99 (10), '
    '0.61 (40); it keeps 36 directions.'
  ) in caption


def test_values_that_follow_by_chance_are_doubted(sweep):
  weak = {**STAGE, 'first_stage_r2': 0.12, 'first_stage_f': 2_345.6}
  case = case_of(
    sweep(lstd={'metrics': weak}, kiv={'scale': 2.0, 'metrics': (STAGE)})
  )
  assert advice.trust(case) == 'with care'
  assert advice.next_steps(case) == [
    'Weak first stage: of the discounted next value (s, a) predicts 12 % by '
    'LSTD-Q (F of the held-out index 2,346) on held-out rows (R2). Either '
    'transitions are very noisy or the state is partially observed: add '
    'observations, or trust the closed forms less.'
  ]
  assert (
    'which is weak: what an action leads to'
    in first_stage_words.sentences(case)[0]
  )
  # Of a method that is not the answer it is only a note.
  other = case_of(
    sweep(lstd={'metrics': STAGE}, kiv={'scale': 2.0, 'metrics': weak})
  )
  assert advice.trust(other) == 'trust'
  assert '12 % by KIV' in advice.next_steps(other)[0]


def test_a_reward_where_stage_1_keeps_nothing_is_doubted(sweep):
  lost = {**STAGE, 'first_stage_lost_share': 0.62}
  case = case_of(sweep(lstd={'metrics': lost}))
  assert advice.trust(case) == 'with care'
  assert advice.next_steps(case) == [
    '62 % of what states and actions tell of the reward lies along '
    'directions that stage 1 hardly keeps (singular values below 0.1), so '
    'small errors there become large ones in the answer. Log more episodes, '
    'and see if families of estimators agree.'
  ]


def test_the_answer_is_the_first_that_nothing_speaks_against(
  row, sweep, selection_row
):
  methods = {
    'lstd': {'correction': 3.0, 'scale': 0.1},
    'kiv': {'scale': 2.0},
    'fqe': {},
  }
  assert case_of(sweep(**methods)).preferred.method == 'kiv'
  methods = {name: methods[name] for name in ('fqe', 'lstd', 'kiv')}
  assert case_of(sweep(**methods)).preferred.method == 'fqe'
  chosen = selection_row(row('kiv'))
  assert case_of([*sweep(**methods), chosen]).preferred.method == 'kiv'


def test_a_log_without_an_estimate_says_so(row):
  case = case_of([row('log', estimate=8.0)])
  assert case.preferred is None
  assert advice.headline(case) == (
    'There is no estimate of the value of the Python function '
    'offers:generous with an interval yet, only the average return of the '
    'log, 8 (7.51 to 8.49).'
  )
  files = build.files([row('log', estimate=8.0)], 'runs')
  assert 'figures/log.svg' in files


def test_measured_coverage_is_that_of_the_rows(row, sweep, coverage_row):
  case = case_of(sweep(lstd={}))
  study = [
    coverage_row(row('lstd'), log, covered=log < 37) for log in range(40)
  ]
  words = (
    'On 40 simulated logs of catch (noise 0.2, number of seeds 3), the '
    '95 % interval of LSTD-Q held the truth in 92.5 %.'
  )
  assert log_tables.methods(case, coverage=study).notes[-1] == words
  # Intervals of another method, config, version or settings are others.
  other = [
    coverage_row(each, 99, covered=False)
    for each in (
      row('kiv'),
      row('lstd', config={'type': 'Config', 'width': 1}),
      row('lstd', version=2),
      row('lstd', inference={'features': 9}),
    )
  ]
  assert (
    log_tables.methods(case, coverage=other).notes
    == log_tables.methods(case).notes
  )
  files = build.files([*sweep(lstd={}), *study, *other], 'runs')
  assert words in files['index.html'].decode()


def test_a_log_without_an_interval_does_not_hold_the_truth(
  row, sweep, coverage_row
):
  study = [coverage_row(row('lstd'), log, covered=True) for log in range(2)]
  study[0] = dataclasses.replace(
    study[0], metrics={}, outcome='diverged', reason='all seeds'
  )
  assert (
    log_tables.methods(case_of(sweep(lstd={})), coverage=study)
    .notes[-1]
    .endswith('held the truth in 50 %.')
  )


def test_several_policies_are_compared_in_one_table(row, sweep):
  other = {'target': 'b2', 'policy': HOSTILE}
  rows = [
    *sweep(lstd={}),
    row('log', problem=other),
    *(
      row('lstd', seed, estimate=5.0, share=0.01, problem=other)
      for seed in range(3)
    ),
  ]
  files = build.files(rows, 'runs')
  lines = lines_of(files, 'answers')
  assert lines['the Python function offers:generous']['trust'] == 'trust'
  assert [(line['estimate'], line['trust']) for line in lines.values()] == [
    ('10', 'trust'),
    ('5', 'do not'),
  ]
  assert 'tables/estimates-2.md' in files
  drawing = files['figures/log.svg'].decode()
  # One plot of both, the greatest estimate on top.
  assert drawing.index('>the Python function offers:generous<') < (
    drawing.index('alert(1)')
  )
  page = files['index.html'].decode()
  assert 'alert(1)</script>' not in page
  names = pd.Series([part.split('"')[0] for part in page.split(' id="')[1:]])
  assert names.is_unique


def test_an_interval_far_off_does_not_hide_the_others(sweep):
  case = case_of(sweep(lstd={}, dfiv={'scale': 1e6}))
  assert case.preferred.method == 'lstd'
  drawn = build.files(sweep(lstd={}, dfiv={'scale': 1e6}), 'runs')
  # Ticks of the axis are near the answer.
  assert '>10<' in drawn['figures/log.svg'].decode()


def test_two_discounts_are_two_answers(row, sweep, selection_row):
  short = {'discount': 0.5, 'log_return': 2.0}
  rows = [
    *sweep(lstd={}),
    row('log', estimate=2.0, problem=short),
    *(row(seed=seed, estimate=3.0, problem=short) for seed in range(3)),
    *(
      selection_row(row(method, problem={'discount': discount}))
      for method, discount in (('lstd', 0.95), ('kiv', 0.5), ('lstd', 0.5))
    ),
  ]
  found = log_results.collect(frames.log(rows), rows)
  assert [
    (len(case.frame), case.log[0], list(case.selection.index)) for case in found
  ] == [(4, 8.0, ['LSTD-Q']), (4, 2.0, ['KIV', 'LSTD-Q'])]
  files = build.files(rows, 'runs')
  lines = lines_of(files, 'answers')
  policy = 'the Python function offers:generous, discount'
  assert [
    lines[f'{policy} {discount}']['estimate'] for discount in ('0.95', '0.5')
  ] == ['10', '3']
  assert lines_of(files, 'estimates-2')['LSTD-Q']['seeds'] == '3'
  page = files['index.html'].decode()
  assert f'The value of {policy} 0.95 is estimated at 10' in page
  assert f'The value of {policy} 0.5 is estimated at 3' in page
  assert '<dt>discount</dt><dd>0.5, 0.95</dd>' in page
  assert '["discount","discount","number"]' in page
  assert '>shop, discount 0.5<' in files['figures/log.svg'].decode()


def test_one_discount_needs_no_label(files):
  page = files['index.html'].decode()
  assert ', discount' not in page
  assert '"discount","number"' not in page


def test_a_policy_or_a_log_that_changed_under_its_name_is_another(row):
  changed = {'target': 'b2' * 8}
  other = {'digest': 'e' * 64}
  rows = [
    row(problem={'target': 'a1' * 8}),
    row(problem={'target': 'a1' * 8, **other}),
    row(estimate=5.0, problem=changed),
  ]
  found = log_results.collect(frames.log(rows), rows)
  assert [case.policy.split('generous')[1] for case in found] == [
    ', log dddddddd, policy a1a1a1a1',
    ', log eeeeeeee, policy a1a1a1a1',
    ', log dddddddd, policy b2b2b2b2',
  ]


def test_resamples_of_an_older_number_are_not_mixed_with_others(row):
  old = row(
    seed=0, resamples=row().resamples[::2], inference={'resamples': 101}
  )
  case = case_of([old, row(seed=1, estimate=12.0), row(seed=2, estimate=12.0)])
  (result,) = case.methods
  assert result.interval.estimate == 12.0


def test_a_column_that_may_hold_names_is_a_reason_for_doubt(sweep):
  rows = sweep(lstd={'estimate': 14.0}, fqe={'estimate': 14.2})
  notes = (
    log_notes.Note(
      kind=log_notes.CATEGORICAL, column='state', numbers={'values': 4.0}
    ),
    log_notes.Note(kind=log_notes.CONSTANT, column='x'),
  )
  rows = [
    dataclasses.replace(
      row, problem=dataclasses.replace(row.problem, notes=notes)
    )
    for row in rows
  ]
  assert advice.trust(case_of(rows)) == 'with care'
  words = advice.headline(case_of(rows)).split('Take it with care. ')[1]
  assert words.startswith('Observation state takes 4 whole numbers')
  assert 'constant' not in words


def test_a_log_of_few_episodes_has_estimates_without_intervals(row):
  few = {'episodes': 3, 'log_standard_error': 3.0}
  rows = [row('log', problem=few), row('lstd', problem=few)]
  case = case_of(rows)
  assert case.preferred.interval is None and case.preferred.difference is None
  assert advice.trust(case) == 'do not'
  assert advice.headline(case).startswith(
    'The value of the Python function offers:generous is estimated at 10 '
    '(without an interval, by LSTD-Q), against the average return of the '
    'log, 8. Do not rely on it. No interval: 3 episodes say too little of '
    'how much episodes differ. Log at least 20.'
  )
  line = lines_of(build.files(rows, 'runs'), 'estimates')
  for name in ('LSTD-Q', 'Log (average return)'):
    assert (line[name]['low'], line[name]['high']) == ('–', '–')
  assert line['LSTD-Q']['estimate'] == '**10**'


def test_fewer_rows_than_columns_have_no_interval(sweep):
  case = case_of(
    sweep(
      lstd={'metrics': {'columns': 5_001}}, fqe={'metrics': {'columns': 500}}
    )
  )
  assert [bool(each.interval) for each in case.methods] == [False, True]
  assert case.preferred.method == 'fqe'


def test_heavy_rows_are_told(sweep):
  case = case_of(sweep(lstd={'metrics': {'heavy_share': 0.97}}))
  assert advice.trust(case) == 'with care'
  assert advice.next_steps(case)[0].startswith(
    '97 % of the estimate of LSTD-Q rests on its largest 0.1 % of rows'
  )


def test_the_verdict_names_the_features_of_the_answer(sweep):
  features = {
    'overlap_features': 40,
    'overlap_bandwidth_scale': 0.1,
    'overlap_reduced': 0.0,
  }
  files = build.files(sweep(lstd={'share': 0.048, 'metrics': features}), 'runs')
  page = files['index.html'].decode()
  assert 'Overlap is poor' in page
  assert (
    'The effective sample size is 4.8 % of the rows, with 40 random '
    'features per action, bandwidth 0.1'
  ) in page
