"""The first screen of a report: estimates with intervals, and one run each."""

import re

from dfiv_ope.launch.reporting import build


def test_one_run_each_is_shown_as_such(demo):
  files = build.files(demo, 'runs')
  page = files['index.html'].decode()
  assert (
    'One run: the intervals of DFIV (quick), DeepIV (quick) and FQE '
    '(quick) leave out the training.</figcaption>'
  ) in page
  for name, value in (
    ('log', 'catch-noise-0.2-epsilon-0p2-20000-seed-0'),
    ('discount', '0.99'),
    ('budget', 'quick for DFIV, FQE, DeepIV'),
  ):
    assert f'<dt>{name}</dt><dd>{value}</dd>' in page.split('<main')[0]
  for words in (
    'interquartile',
    'IQM',
    'bootstrap',
    'beats',
    'P(',
    'Summary',
    'Probability of improvement',
    'standard deviation',
    'Smallest relative error',
    'median over seeds',
  ):
    assert words not in page.split('<script')[0], words
  for name in ('best', 'methods', 'improvement', 'error-catch'):
    assert f'tables/{name}.md' not in files


def test_the_estimates_come_first_with_intervals_and_the_truth(demo):
  files = build.files(demo, 'runs')
  page = files['index.html'].decode()
  assert page.split('<section id="')[1].startswith('answer"')
  numbers = re.findall(
    r'<dt>([^<]*)</dt><dd class="large">([^<]*)</dd>(?:<dd>([^<]*)<)?', page
  )
  assert numbers == [
    ('Estimate, LSTD-Q', '0.505', '95 % interval 0.41 to 0.6'),
    ('Difference to the log’s average', '–', 'no paired interval'),
    ('Log’s average', '0.6', '95 % interval 0.58 to 0.62'),
    ('True value (simulated)', '0.5', 'inside the interval'),
    (
      'Verdict',
      'Do not rely on it',
      'Families of estimators differ by 0.25, '
      'more than the widest interval, 0.19. Collect more data near the policy.',
    ),
  ]
  drawing = files['figures/estimates.svg'].decode()
  for words in (
    'true value 0.5',
    'log’s average 0.6',
    'LSTD-Q',
    'DFIV (quick)',
    'FQE (quick)',
    'DeepIV (quick)',
  ):
    assert f'>{words}<' in drawing
  text = files['tables/estimates.md'].decode()
  assert text.startswith(
    'Estimates over seeds with 95 % confidence intervals (low, high) and '
    'errors against the true value 0.5 ± 0.0005.'
  )
  line = '| LSTD-Q | 1 | **0.505** | 0.41 | 0.6 | 0.005 | 1 % | do not |'
  assert line in text
  assert '| FQE (quick) | 1 | 0.48 | 0.385 | 0.575 |' in text
  assert '| Log (average return) | – | 0.6 | 0.58 | 0.62 | 0.1 | 20 % |' in text


def test_measured_coverage_stands_beside_the_estimates(demo, coverage_row):
  study = [coverage_row(demo[1], log, covered=log < 9) for log in range(10)]
  files = build.files([*demo, *study], 'runs')
  assert (
    'On 10 simulated logs of catch (noise 0.2, number of seeds 3), the '
    '95 % interval of LSTD-Q held the truth in 90 %.'
  ) in files['tables/estimates.md'].decode()
