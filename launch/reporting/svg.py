"""Matplotlib's SVG made small and fit to stand inside a page."""

import html
import re

# In this order: what is left out, then what is made shorter.
_LEFT_OUT = (
  r'^.*?(?=<svg)',
  r'<metadata>.*?</metadata>',
  r'<!--.*?-->',
  r'\sxmlns(:\w+)?="[^"]*"',
  r'<style type="text/css">.*?</style>',
  r' (clip-path="[^"]*"\s*)?id="(figure|axes|patch|text|line2d|xtick|ytick|'
  r'matplotlib\.axis|legend|PathCollection|FillBetweenPolyCollection|'
  r'LineCollection|PolyCollection)_\d+"',
)


def inline(text: str, prefix: str, alternative: str) -> str:
  """Returns an SVG file as an element of a page.

  Black becomes the colour of the page's text and white becomes transparent,
  so that the figure is readable in light and dark. Names get a prefix, as
  they are shared by all figures of a page.

  Args:
    text: the file.
    prefix: letters and digits that no other figure of the page has.
    alternative: what the figure shows, for those who do not see it.
  """
  for pattern in _LEFT_OUT:
    text = re.sub(pattern, '', text, flags=re.DOTALL)
  text = text.replace('xlink:href', 'href')
  text = re.sub(r'\bid="([^"]+)"', rf'id="{prefix}-\1"', text)
  text = re.sub(r'url\(#([^)]+)\)', rf'url(#{prefix}-\1)', text)
  text = re.sub(r'href="#([^"]+)"', rf'href="#{prefix}-\1"', text)
  text = re.sub(r'#000000\b', 'currentColor', text)
  text = re.sub(r'fill: #ffffff\b(; opacity: [\d.]+)?', 'fill: none', text)
  text = re.sub(r'\b(d|x|y|transform)="[^"]*"', _rounded, text)
  text = re.sub(r'\s+', ' ', text).replace('> <', '><')
  head, tag, tail = text.partition('<svg')
  # The size is the page's; the viewBox keeps the proportions.
  start, end, rest = tail.partition('>')
  start = re.sub(r'\s(width|height|version)="[^"]*"', '', start)
  return (
    f'{head}{tag}{start} role="img" '
    f'aria-label="{html.escape(alternative)}"{end}{rest}'.strip()
  )


def _rounded(attribute: re.Match[str]) -> str:
  """Rounds the coordinates of an attribute to a tenth of a point."""
  return re.sub(
    r'\d+\.\d{2,}',
    lambda found: f'{float(found[0]):.1f}'.removesuffix('.0'),
    attribute[0],
  )
