"""The answer to one question: what is read first, and the plot beside it."""

import math

from dfiv_ope.evaluation import trust as trust_lib
from dfiv_ope.launch.reporting import (
  advice,
  forest,
  frames,
  log_results,
  page,
  tables,
)

_VERDICTS = dict(
  zip(
    trust_lib.GRADES,
    (
      ('Trust', 'Nothing that was measured speaks against it.'),
      ('With care', ''),
      ('Do not rely on it', ''),
    ),
    strict=True,
  )
)
# Letters of what is said below a verdict; the rest is among the next steps.
_LONGEST = 110


def section(
  case: log_results.LogResults, *, mark: str = '', title: str = 'Answer'
) -> page.Section:
  """Returns the numbers of the answer, a sentence, and the forest plot.

  Args:
    case: what was run on one log and policy.
    mark: what sets its names apart.
    title: its heading.
  """
  return page.Section(
    name=f'answer{mark}',
    title=title,
    lead=True,
    numbers=numbers(case),
    text=advice.headline(case),
    charts=[forest.chart(f'estimates{mark}', case, verdict=advice.trust(case))],
  )


def numbers(case: log_results.LogResults) -> list[page.Number]:
  """Returns estimate, difference to the log, the log, the truth, verdict."""
  best = case.preferred
  mean, low, high = case.log
  made = [
    _estimate(best),
    _difference(case),
    page.Number(
      'Log’s average', tables.digits(mean), _ends(low, high, 'no interval')
    ),
  ]
  truth = frames.number(case.problem.truth)
  if not math.isnan(truth):
    made.append(
      page.Number(
        'True value (simulated)',
        tables.digits(truth),
        ''
        if best is None or best.interval is None
        else 'inside the interval'
        if best.ends[0] <= truth <= best.ends[1]
        else 'outside the interval',
      )
    )
  return [*made, _verdict(case)]


def _estimate(best: log_results.MethodResult | None) -> page.Number:
  if best is None:
    return page.Number('Estimate', '–', 'no method has a result')
  return page.Number(
    f'Estimate, {best.variant}',
    tables.digits(best.estimate),
    _ends(*best.ends, 'no interval'),
  )


def _difference(case: log_results.LogResults) -> page.Number:
  best = case.preferred
  found = best and best.difference
  name = 'Difference to the log’s average'
  if not found:
    return page.Number(name, '–', 'no paired interval')
  if advice.trust(case) == trust_lib.DO_NOT:
    return page.Number(name, '–', 'not told: do not rely on the estimate')
  return page.Number(
    name,
    advice.signed(found.estimate),
    f'95 % interval {advice.signed(found.low)} to '
    f'{advice.signed(found.high)}, paired',
  )


def _verdict(case: log_results.LogResults) -> page.Number:
  if case.preferred is None:
    return page.Number(
      'Verdict', 'No answer', 'Nothing was estimated.', page.GRADES[2]
    )
  grade = advice.trust(case)
  value, note = _VERDICTS[grade]
  note = note or advice.reasons(case)
  if len(note) > _LONGEST:
    note = f'{note[:_LONGEST].rsplit(" ", 1)[0]} …'
  return page.Number(
    'Verdict', value, note, page.GRADES[trust_lib.GRADES.index(grade)]
  )


def _ends(low: float, high: float, without: str) -> str:
  if math.isnan(low + high):
    return without
  return f'95 % interval {tables.digits(low)} to {tables.digits(high)}'
