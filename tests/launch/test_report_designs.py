"""The IV designs in a report: tables, figures and headlines of made-up rows."""

import dataclasses
import html
import io
import json
import math
import re

import numpy as np
import pandas as pd
import pytest

from dfiv_ope.benchmarks import sprites
from dfiv_ope.launch.reporting import (
  build,
  designs,
  image_figures,
  iv_figures,
  method_labels,
)
from dfiv_ope.results import files as rows_files
from dfiv_ope.results import problems
from dfiv_ope.results import rows as rows_lib

RUNS = 'runs'


def _design(name, **parameters):
  return problems.IVDesign(name=name, parameters=parameters)


DSPRITES = _design('dsprites', n=5000, outcome='area')
DIGITS = _design('demand_mnist', n=5000, rho=0.5)


def _row(problem, method, seed=0, mse=1.0, **fields):
  return rows_lib.Row(
    **{
      'problem': problem,
      'method': method,
      'config': {'type': 'Config'},
      'seed': seed,
      'version': 1,
      'metrics': {'mse': mse},
      'cpu_seconds': 2.0,
      'versions': {'dfiv-ope': '0.1.0'},
      **fields,
    }
  )


def _seeds(problem, method, errors, **fields):
  return [
    _row(problem, method, seed, error, **fields)
    for seed, error in enumerate(errors)
  ]


def _watched(problem, method, length, curves, **fields):
  return [
    _row(
      problem,
      method,
      seed,
      curve[-1] / 2.0,
      config={'type': 'Config', 'checks': len(curve), **length},
      curves={'watched_mse': curve},
      **fields,
    )
    for seed, curve in enumerate(curves)
  ]


def _mnist(scenario, method, errors):
  # A config tuned to the scenario is still one method.
  return [
    _row(
      _design('mnist', scenario=scenario, n=20_000),
      method,
      seed,
      config={'type': 'Config', 'treatment_net': scenario},
      metrics={'mse': 2.0 * error, 'mse_standardised': error},
    )
    for seed, error in enumerate(errors)
  ]


@pytest.fixture(scope='module')
def sprite_rows():
  """Two outcomes; DeepGMM failed once in three on the first."""
  hard = _design('dsprites', n=5000, outcome='orientation')
  rows = [
    *_watched(
      DSPRITES,
      'dfiv',
      {'iterations': 100},
      [[20.0, 4.0, 2.0, 3.0], [18.0, 5.0, 2.5, 2.0], [22.0, 3.0, 2.0, 2.2]],
    ),
    *_watched(
      DSPRITES,
      'deepgmm',
      {'steps': 500},
      [
        [90.0, 30.0, 9.0, 12.0],
        [80.0, 9.0, 200.0, 16.0],
        [70.0, 20.0, 8.0, 11.0],
      ],
    ),
    *_seeds(DSPRITES, 'kiv', (30.0, 20.0, 10.0)),
    *_seeds(
      DSPRITES,
      'kiv',
      (50.0, 60.0, 70.0),
      preset='paper',
      config={'type': 'Config', 'random_features': 9},
    ),
    *_seeds(DSPRITES, 'lit_pixels', (0.3, 0.2, 0.4)),
    *_seeds(hard, 'dfiv', (9.0, 8.0)),
    *_seeds(hard, 'kiv', (20.0, 21.0)),
    *_seeds(hard, 'lit_pixels', (25.0, 26.0)),
  ]
  rows[4] = dataclasses.replace(
    rows[4], metrics={}, outcome='diverged', reason='its critic broke down'
  )
  return rows


@pytest.fixture(scope='module')
def all_rows(sprite_rows):
  """All designs together."""
  return [
    *sprite_rows,
    *_seeds(DIGITS, 'dfiv', (300.0, 100.0, 200.0)),
    *_seeds(DIGITS, 'deepiv', (900.0, math.nan)),
    *_mnist('x', 'dfiv', (0.2, 0.1, 0.3)),
    *_mnist('x', 'deepgmm', (0.15,)),
    *_mnist('z', 'dfiv', (0.06,)),
    *_mnist('xz', 'dfiv', (0.11,)),
    *_mnist('x', 'kiv', (0.4,)),
    *_seeds(
      _design('demand', n=1000, rho=0.1),
      'kiv',
      (50.0, 70.0),
      curves={'ate': [1.0] * 20, 'cate': [2.0] * 20},
    ),
  ]


@pytest.fixture(scope='module')
def sprites_report(sprite_rows):
  return build.files(sprite_rows, RUNS)


@pytest.fixture(scope='module')
def full_report(all_rows):
  return build.files(all_rows, RUNS)


def _lines(report, name):
  """Returns the lines of a Markdown table, each by its headings."""
  text = report[f'tables/{name}.md'].decode()
  cells = [
    line.strip('| ').split(' | ')
    for line in text.splitlines()
    if line.startswith('| ')
  ]
  return [dict(zip(cells[0], line, strict=True)) for line in cells[1:]]


def test_errors_of_a_setting_are_medians_and_the_least_is_marked(
  sprites_report,
):
  lines = _lines(sprites_report, 'dsprites')
  assert list(lines[0]) == [
    'method',
    'outcome',
    'n',
    'seeds',
    'failed',
    'median',
    'least',
    'most',
    'CPU s (median)',
  ]
  assert [(line['method'], line['median']) for line in lines] == [
    ('KIV', '20'),
    ('KIV (paper)', '60'),
    ('DFIV', '**1.1**'),
    ('DeepGMM', '6'),
    ('Quadratic in lit pixels', '0.3'),
    ('KIV', '20.5'),
    ('DFIV', '**8.5**'),
    ('Quadratic in lit pixels', '25.5'),
  ]
  assert [line['outcome'] for line in lines] == ['area'] * 5 + [
    'orientation'
  ] * 3
  assert lines[0]['n'] == '5,000'
  assert (lines[0]['least'], lines[0]['most']) == ('10', '30')


def test_a_failure_is_an_infinite_error(sprites_report):
  line = _lines(sprites_report, 'dsprites')[3]
  # Errors 6, inf and 5.5.
  assert (line['seeds'], line['failed'], line['least'], line['most']) == (
    '3',
    '1',
    '5.5',
    '∞',
  )
  table = pd.read_csv(io.BytesIO(sprites_report['results.csv']))
  failed = table[table.outcome == 'diverged']
  assert failed.method.item() == 'deepgmm'
  assert failed.case.item() == 'area'
  assert failed.reason.item() == 'its critic broke down'
  assert math.isnan(failed.mse.item())


def test_where_all_failed_nothing_is_marked():
  rows = [
    _row(DIGITS, method, outcome='diverged') for method in ('dfiv', 'kiv')
  ]
  report = build.files(rows, RUNS)
  assert [line['median'] for line in _lines(report, 'demand_mnist')] == [
    '∞',
    '∞',
  ]
  assert 'n 5,000 and rho 0.5: no method has a result.' in (
    report['index.html'].decode()
  )
  assert not [name for name in report if name.startswith('figures/')]


def test_the_reference_has_a_name_of_its_own():
  assert (
    method_labels.style(designs.REFERENCE).label == 'Quadratic in lit pixels'
  )


def test_pictures_of_the_archive_are_another_setting():
  rows = [
    _row(DSPRITES, 'kiv', mse=3.0),
    _row(
      _design('dsprites', n=5000, outcome='area', images='archive'),
      'kiv',
      mse=4.0,
    ),
  ]
  lines = _lines(build.files(rows, RUNS), 'dsprites')
  assert [(line['outcome'], line['median']) for line in lines] == [
    ('area', '**3**'),
    ('area (archive)', '**4**'),
  ]


def test_the_published_errors_stand_beside_the_standardised_ones(full_report):
  lines = _lines(full_report, 'mnist')
  assert [
    tuple(
      line[name]
      for name in (
        'scenario',
        'method',
        'median',
        'standardised',
        'in the paper',
      )
    )
    for line in lines
  ] == [
    ('x', 'KIV', '0.8', '0.4', '–'),
    ('x', 'DFIV', '0.4', '0.2', '0.18 ± 0.01'),
    ('x', 'DeepGMM', '**0.3**', '0.15', '0.15 ± 0.02'),
    ('z', 'DFIV', '**0.12**', '0.06', '0.07 ± 0.001'),
    ('xz', 'DFIV', '**0.22**', '0.11', '0.10 ± 0.003'),
  ]


def test_all_designs_stand_on_one_page(full_report, all_rows):
  page = full_report['index.html'].decode()
  assert (
    '<h1>Instrumental variables on the demand design, the demand design with '
    'digits, dSprites and the MNIST scenarios</h1>'
  ) in page
  headline = ' '.join(re.findall(r'<p class="headline">(.*?)</p>', page))
  for sentence in (
    'Demand design, n 1,000 and rho 0.1: smallest median error 60, of KIV.',
    'Demand design with digits, n 5,000 and rho 0.5: smallest median error '
    '200, of DFIV.',
    'dSprites area, n 5,000: smallest median error 1.1, of DFIV; a quadratic '
    'in the lit pixels has 0.3.',
    'dSprites orientation, n 5,000: smallest median error 8.5, of DFIV; a '
    'quadratic in the lit pixels has 25.5.',
    'MNIST x, n 20,000: smallest median error 0.3, of DeepGMM.',
    'MNIST xz, n 20,000: smallest median error 0.22, of DFIV.',
  ):
    assert sentence in headline
  # Effects of demand, training on dSprites.
  assert page.count('<svg viewBox') == 2 + 1
  for name in (
    'demand-errors',
    'demand-ate',
    'demand_mnist-errors',
    'dsprites-errors',
    'dsprites-instability',
    'mnist-errors',
  ):
    assert full_report[f'figures/{name}.png'].startswith(b'\x89PNG')
    assert full_report[f'figures/{name}.svg'].startswith(b'<?xml')
  names = re.findall(r'\bid="([^"]+)"', page)
  assert len(names) == len(set(names))
  table = pd.read_csv(io.BytesIO(full_report['results.csv']))
  assert len(table) == len(all_rows)
  one = table[(table.problem == 'mnist x n=20000') & (table.seed == 2)]
  assert (one.case.item(), one.mse.item(), one.mse_standardised.item()) == (
    'x',
    0.6,
    0.3,
  )


def test_a_line_leads_to_its_rows_and_no_others(full_report):
  page = full_report['index.html'].decode()
  data = json.loads(
    re.search(
      r'<script type="application/json" id="data">(.*?)</script>',
      page,
      re.DOTALL,
    )[1]
  )
  names = [column[0] for column in data['columns']]
  panel = len(names)
  columns = {
    **{name: place for place, name in enumerate(names)},
    'panel': panel,
  }
  link = {'method': 'DFIV', 'panel': 'dsprites area', 'n': 5000}
  links = [
    json.loads(html.unescape(text))
    for text in re.findall(r'data-rows="([^"]*)"', page)
  ]
  assert links.count(link) == 1
  found = [
    row
    for row in data['rows']
    if all(row[columns[name]] == value for name, value in link.items())
  ]
  assert [row[columns['mse']] for row in found] == [1.5, 1.0, 1.1]


def test_the_same_rows_make_the_same_report(sprite_rows, sprites_report):
  assert build.files(sprite_rows, RUNS) == sprites_report


def test_one_design_alone_has_its_own_title(sprites_report):
  page = sprites_report['index.html'].decode()
  assert '<h1>Instrumental variables on dSprites</h1>' in page
  # Of the training; among the errors it is a line of its own.
  assert (
    page.count('The dotted line is the quadratic in lit pixels.</figcaption>')
    == 1
  )
  assert '<span class="name">Quadratic in lit pixels</span>' in page


def test_beside_off_policy_evaluation_the_title_is_that(ope_row, sprite_rows):
  page = build.files([ope_row(), *sprite_rows], RUNS)['index.html'].decode()
  assert '<h1>What a policy is worth</h1>' in page
  assert 'dSprites area, n 5,000: smallest median error 1.1' in page


@pytest.mark.parametrize(
  'problem, message',
  [
    (
      _design('dsprites', n=10),
      'A row of dfiv on dSprites does not say its outcome, so',
    ),
    (
      _design('dsprites', outcome='area', n='many'),
      'on dSprites does not say its n, so',
    ),
    (
      _design('demand_mnist', n=10),
      'on the demand design with digits does not say its rho, so',
    ),
    (
      _design('mnist'),
      'on the MNIST scenarios does not say its scenario, n, so',
    ),
  ],
)
def test_rows_without_their_setting_are_refused(problem, message):
  with pytest.raises(ValueError, match=message):
    build.files([_row(problem, 'dfiv')], RUNS)


def test_the_command_refuses_them_with_a_sentence(command, tmp_path):
  rows_files.append(tmp_path / 'runs', _row(_design('dsprites', n=9), 'kiv'))
  assert 'does not say its outcome' in command.refuses(
    'report', tmp_path / 'runs', '--out', tmp_path / 'out'
  )
  assert not (tmp_path / 'out').exists()


def test_errors_are_drawn_by_method_with_failures(sprite_rows, tmp_path):
  png, drawing = iv_figures.draw('errors', sprite_rows, tmp_path)
  assert png.read_bytes().startswith(b'\x89PNG')
  text = drawing.read_text()
  for words in (
    'area, n = 5,000',
    'orientation, n = 5,000',
    'DFIV',
    'KIV (paper)',
    'Quadratic in lit pixels',
    '✕1',
  ):
    assert f'>{words}<' in text


def test_errors_of_several_designs_are_one_figure(all_rows, tmp_path):
  text = iv_figures.draw('errors', all_rows, tmp_path)[1].read_text()
  for words in (
    'Demand design: n = 1,000',
    'dSprites: area, n = 5,000',
    'Demand design with digits: n = 5,000',
    'MNIST: n = 20,000',
    'scenario',
    'xz',
    'rho',
  ):
    assert f'>{words}<' in text


def test_the_training_of_both_methods_is_drawn(sprite_rows, tmp_path):
  figure = image_figures.instability(sprite_rows)
  (axes,) = (each for each in figure.axes if each.get_visible())
  lines = [line.get_ydata() for line in axes.lines if len(line.get_xdata()) > 2]
  assert len(lines) == 6
  assert lines[4].tolist() == [80.0, 9.0, 200.0, 16.0]
  assert axes.lines[0].get_xdata().tolist() == [25.0, 50.0, 75.0, 100.0]
  assert axes.get_yscale() == 'log'
  text = iv_figures.draw('instability', sprite_rows, tmp_path)[1].read_text()
  for words in (
    'DFIV, 100 iterations',
    'DeepGMM, 500 steps',
    'training (%)',
    'dSprites: area, n = 5,000',
  ):
    assert f'>{words}<' in text


def test_a_gap_stands_where_an_error_was_not_finite(tmp_path):
  rows = _watched(
    DSPRITES, 'deepgmm', {'steps': 9}, [[3.0, None, math.inf, 2.0]]
  )
  axes = image_figures.instability(rows).axes[0]
  np.testing.assert_array_equal(
    axes.lines[0].get_ydata(), [3.0, math.nan, math.nan, 2.0]
  )


@pytest.mark.parametrize(
  'name, message',
  [
    ('instability', 'run `dfiv-ope iv dsprites --watch`'),
    ('mse', 'There are no rows to draw the errors of'),
    ('ate', 'There are no rows of the demand design'),
    (
      'roc',
      "There is no figure 'roc'. Choose from ate, cate, joint, mse, "
      'errors, instability.',
    ),
  ],
)
def test_a_figure_says_what_it_lacks(tmp_path, name, message):
  with pytest.raises(ValueError, match=re.escape(message)):
    iv_figures.draw(name, [_row(DSPRITES, 'kiv')], tmp_path)
  assert not list(tmp_path.iterdir())


def test_sprites_are_drawn_the_same_twice(tmp_path):
  (tmp_path / 'again').mkdir()
  first = image_figures.draw_sprites(tmp_path)
  second = image_figures.draw_sprites(tmp_path / 'again')
  assert [path.name for path in first] == ['sprites.png', 'sprites.svg']
  for one, other in zip(first, second, strict=True):
    assert one.read_bytes() == other.read_bytes()
  text = first[1].read_text()
  assert text.count('<image ') == 12
  assert '>hearts<' in text
  assert '>ellipses<' in text


def test_real_pictures_stand_beside_drawn_ones(tmp_path):
  latents = np.array(
    [(sprites.HEART, 5, 3, 8, 9), (sprites.ELLIPSE, 2, 0, 1, 1)]
  )
  real = sprites.Rendered().images(*latents.T)
  real[1, 0, 0] = 1
  text = image_figures.draw_comparison(latents, real, tmp_path)[1].read_text()
  for words in ('drawn', 'real', 'difference', '0 pixels', '1 pixel'):
    assert f'>{words}<' in text
  assert text.count('<image ') == 6
  with pytest.raises(ValueError, match=r'latents has the shape \(1, 5\)'):
    image_figures.draw_comparison(latents[:1], real, tmp_path)
