"""Texts of anyone as they may be printed, and numbers as people write them.

Nothing that a user or a file says steers a terminal.
"""

import re

# Characters of a text that anyone reads.
_LONGEST = 2_000
# C0, C1, ends of lines, what turns the direction of text, lone surrogates.
_CONTROL = re.compile(
  '[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069'
  '\ud800-\udfff]'
)


def line(text: object) -> str:
  """Returns a text as it may be printed: one line without control characters.

  Args:
    text: anything; what is longer than 2,000 characters is cut in the middle.
  """
  words = str(text)
  if len(words) > _LONGEST:
    half = _LONGEST // 2
    words = (
      f'{words[:half]} [... {len(words) - 2 * half:,} characters ...] '
      f'{words[-half:]}'
    )
  return _CONTROL.sub(_escape, words)


def lines(text: str) -> str:
  """Returns a whole file's text with its lines, else as `line` does."""
  return _CONTROL.sub(
    lambda found: found[0] if found[0] in '\n\t' else _escape(found), text
  )


def number(value: float, digits: int = 4) -> str:
  """Returns a number by its first digits: 120 and not 1.2e+02.

  Args:
    value: any.
    digits: that are not rounded to zero.
  """
  text = f'{value:.{digits}g}'
  return f'{float(text):.0f}' if 'e+' in text and abs(value) < 1e9 else text


def _escape(found: re.Match[str]) -> str:
  return found[0].encode('unicode_escape', 'surrogatepass').decode()
