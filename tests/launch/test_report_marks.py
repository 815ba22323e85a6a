"""Numbers and drawings as a report shows them."""

import math

from matplotlib import figure as mpl_figure
import pytest

from dfiv_ope.launch.reporting import chart_figure, charts, svg, tables


@pytest.mark.parametrize(
  'value, text',
  [
    (0.0, '0'),
    (0.5, '0.5'),
    (0.012345, '0.0123'),
    (98.76, '98.8'),
    (12345.6, '12,346'),
    (-72.13, '-72.1'),
    (1e9, '1.00e+09'),
    (2e-6, '2.00e-06'),
    (math.inf, '∞'),
    (math.nan, '–'),
  ],
)
def test_numbers_have_three_digits(value, text):
  assert tables.digits(value) == text


def test_svgs_keep_their_labels_and_lose_their_colours():
  drawing = svg.inline(
    '<?xml version="1.0"?><svg xmlns="http://www.w3.org/2000/svg" '
    'width="9pt" viewBox="0 0 9 9"><g id="a"><path d="M 1.23456 7.00001" '
    'style="stroke: #000000; opacity: 0.25"/></g><text>0.0001</text>'
    '<use xlink:href="#a"/></svg>',
    'p',
    'a "line"',
  )
  assert drawing == (
    '<svg viewBox="0 0 9 9" role="img" aria-label="a &quot;line&quot;">'
    '<g id="p-a"><path d="M 1.2 7" style="stroke: currentColor; '
    'opacity: 0.25"/></g><text>0.0001</text><use href="#p-a"/></svg>'
  )


def _errors(*values, columns=('noise 0', 'noise 0.5')):
  return charts.Chart(
    name='errors',
    caption='',
    axis='relative error',
    lanes=[
      charts.Lane(
        label='LSTD-Q',
        color='#000000',
        tracks=tuple(
          charts.Track(middle=values[0], points=values) for _ in columns
        ),
      )
    ],
    columns=columns,
    logarithmic=True,
  )


def test_a_tiny_error_does_not_hide_the_others():
  chart = _errors(1.0, 1e-2, 1e-9)
  low, high = chart.ends
  assert 1e-5 < low < 1e-4 and 1.0 < high < 2.0
  assert chart.arrows(chart.lanes[0].tracks[0]) == [True, False]
  near = _errors(1.0, 1e-3)
  assert near.ends[0] == pytest.approx(10.0 ** (-3.0 - 3.0 * 0.04))
  assert near.arrows(near.lanes[0].tracks[0]) == [False, False]


def test_numbers_of_neighbouring_columns_stay_apart():
  drawn = mpl_figure.Figure().add_subplot()
  chart_figure.draw(_errors(1.0, 1e-3), drawn)
  sides = [each.get_horizontalalignment() for each in drawn.get_xticklabels()]
  assert sides[0] == 'left' and sides[-1] == 'right'
