"""Numbers and drawings as a report shows them."""

import math

import pytest

from dfiv_ope.launch.reporting import svg, tables


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
