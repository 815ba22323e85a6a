r"""Turns the equations of pages, $$ ... $$ and $` ... `$, into MathML.

Browsers draw MathML themselves, so pages need no script for it.
"""

import re

from latex2mathml import converter

_BLOCK = re.compile(r'^\$\$\n(.*?)\n\$\$$', re.DOTALL | re.MULTILINE)
_INLINE = re.compile(r'\$`([^`\n]+)`\$')


def rendered(markdown: str) -> str:
  """Returns a page with its equations as MathML."""
  markdown = _BLOCK.sub(
    lambda found: converter.convert(
      ' '.join(found[1].split()), display='block'
    ),
    markdown,
  )
  # In a span, because Markdown takes a line that begins with math for a block.
  return _INLINE.sub(
    lambda found: f'<span>{converter.convert(found[1])}</span>', markdown
  )
