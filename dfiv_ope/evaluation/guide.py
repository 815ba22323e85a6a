"""Which estimator when: what the suite's stored results say.

`suite_results.csv` is the `guide.csv` of a report of `dfiv-ope reproduce
suite`. In each group of cases the method of the least median error on the
development half is advised, and what it did on the held-out half stands beside
it, so that nobody has to take the advice on trust.
"""

from collections.abc import Sequence
import dataclasses
import importlib.resources
import math

from dfiv_ope.cases import case as case_lib
from dfiv_ope.evaluation import suite_tables

RESULTS = 'suite_results.csv'
# A method that refuses more of the cases than this is no advice for them.
_ANSWERED = 0.75
# Fewer logs than this in a half tell nothing.
_LEAST_LOGS = 2
_FAMILIES = 'family '
# The family whose states are hidden is a situation that users may be in.
_HIDDEN = 'family graph_hidden'
_NAMES = {_HIDDEN: 'hidden state'}

Line = suite_tables.Line


@dataclasses.dataclass(frozen=True, kw_only=True)
class Advice:
  """What to use on logs of a kind.

  Attributes:
    group: the kind of logs.
    chosen: what the advised method did on the development half.
    held_out: what it did on the held-out half; None if it was not run there.
    best: what was best on the held-out half; None if nothing was run there.
  """

  group: str
  chosen: Line
  held_out: Line | None
  best: Line | None


def stored() -> list[Line]:
  """Returns the stored results of the suite."""
  file = importlib.resources.files('dfiv_ope.evaluation') / RESULTS
  return suite_tables.from_csv(file.read_text(encoding='utf-8'))


def told(lines: Sequence[Line]) -> list[Line]:
  """Returns the lines that advice rests on: halves of what logs may be."""
  return [
    line
    for line in lines
    if line.half != suite_tables.BOTH
    and (not line.group.startswith(_FAMILIES) or line.group == _HIDDEN)
  ]


def advise(lines: Sequence[Line]) -> list[Advice]:
  """Returns the advice for each group of cases that has enough results.

  Args:
    lines: of `suite_tables.summary`.
  """
  found = []
  for group in dict.fromkeys(line.group for line in told(lines)):
    chosen = _best(lines, group, case_lib.DEVELOPMENT)
    if chosen is None or chosen.logs < _LEAST_LOGS:
      continue
    held_out = [
      line
      for line in lines
      if (line.group, line.half, line.method)
      == (group, case_lib.HELD_OUT, chosen.method)
    ]
    found.append(
      Advice(
        group=_NAMES.get(group, group),
        chosen=chosen,
        held_out=held_out[0] if held_out else None,
        best=_best(lines, group, case_lib.HELD_OUT),
      )
    )
  return found


def _best(lines: Sequence[Line], group: str, half: str) -> Line | None:
  """Returns the line of the least median error, among those that answer."""
  members = [
    line
    for line in lines
    if line.group == group
    and line.half == half
    and line.answered >= _ANSWERED * line.logs
    and not math.isnan(line.median_error)
  ]
  return min(
    members, key=lambda line: (line.median_error, line.method), default=None
  )
