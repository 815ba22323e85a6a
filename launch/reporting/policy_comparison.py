"""Several policies on one log, compared by the same resampled episodes."""

from collections.abc import Iterable, Sequence
import json
import math
import pathlib
from typing import Any

from dfiv_ope.evaluation import (
  inference,
  policy_ranking,
  result_rows,
  row_intervals,
)
from dfiv_ope.launch import console
from dfiv_ope.launch.reporting import summary
from dfiv_ope.results import problems
from dfiv_ope.results import rows as rows_lib

# Numbers of policies that could be tried, of which the best counts.
_TRIES = (1, 3, 5)
# How policies compare, or a line of that, as JSON data.
Entry = dict[str, Any]
# Runs of one method, by policy.
_Runs = dict[str, list[rows_lib.Row]]


def data(rows: Iterable[rows_lib.Row], *, level: float) -> list[Entry]:
  """Returns how policies compare: an entry for each log and method.

  Lines have the value, the difference to the policy of the greatest estimate,
  paired by resampled episodes, and how likely the policy is the best.
  """
  return [_compare(method, runs, level) for method, runs in _groups(rows)]


def answer(
  rows: Iterable[rows_lib.Row],
  out: pathlib.Path,
  *,
  level: float,
  as_json: bool,
) -> None:
  """Prints how policies compare and how far to trust it, and draws it.

  Args:
    rows: of runs.
    out: where the pictures are written.
    level: of the intervals.
    as_json: whether programs read it.
  """
  from dfiv_ope.launch.reporting import policy_figure

  rows = list(rows)
  answers = summary.summarise(rows, level=level)
  paths = [
    path
    for found in data(rows, level=level)
    for path in policy_figure.write(found, out)
  ]
  if as_json:
    console.say_json(
      json.dumps(
        {
          'answers': [each.data() for each in answers],
          'comparisons': data(rows, level=level),
          'pictures': list(map(str, paths)),
        },
        indent=2,
      )
    )
    return
  show(rows, level=level)
  for each in answers:
    assert isinstance(each.problem, problems.UserLog)
    for sentence in each.verdicts:
      console.say(f'{each.problem.policy} by {sentence}')
  for row in rows:
    if row.failed:
      problem = row.problem
      assert isinstance(problem, problems.UserLog)
      console.say(
        f'{problem.policy}: {row.method} seed {row.seed} '
        f'{row.outcome}: {row.reason}; excluded from averages.'
      )
  for problem in {row.problem.question: row.problem for row in rows}.values():
    assert isinstance(problem, problems.UserLog)
    if problem.overlap is not None and problem.overlap.grade != 'good':
      console.say(f'{problem.policy}: {problem.overlap.verdict}')
  for path in paths:
    console.say(path)


def show(rows: Iterable[rows_lib.Row], *, level: float) -> None:
  """Prints a table for each log and method with several policies."""
  for found in data(rows, level=level):
    table = console.Table(
      f'Policies on {found["dataset"]} by {found["method"]}',
      caption=(
        'Paired difference to the greatest estimate, '
        f'{100 * level:g} % confidence interval from the same '
        'resampled episodes; P(best): share of resamples in which the '
        'policy is the best. Neither tells of a thin overlap.' + _ranked(found)
      ),
      boxed=False,
    )
    known = 'rank_correlation' in found
    for column in (
      'policy',
      *(('truth',) if known else ()),
      'estimate',
      'difference',
      'low',
      'high',
      'P(best)',
    ):
      table.add_column(
        column, justify='left' if column == 'policy' else 'right'
      )
    for line in found['policies']:
      table.add_row(
        line['policy'],
        *(
          ('' if line['truth'] is None else f'{line["truth"]:.5g}',)
          if known
          else ()
        ),
        f'{line["estimate"]:.5g}',
        *(
          '' if line[name] is None else f'{line[name]:+.4g}'
          for name in ('difference', 'low', 'high')
        ),
        ''
        if line['probability_of_best'] is None
        else f'{line["probability_of_best"]:.2f}',
      )
    table.show()


def _ranked(found: Entry) -> str:
  """Says how well the estimates rank policies whose values are known."""
  if 'rank_correlation' not in found:
    return ''
  correlation = found['rank_correlation']
  return (
    f' Rank correlation with the truth {correlation:.2f}.'
    if correlation is not None
    else ''
  ) + ''.join(
    f' Regret@{k} {value:.4g}.' for k, value in found['regret'].items()
  )


def _groups(rows: Iterable[rows_lib.Row]) -> list[tuple[str, _Runs]]:
  """Returns the runs of each method on each log, where policies differ."""
  found: dict[tuple[str, float, str, str], _Runs] = {}
  for row in rows:
    problem = row.problem
    if (
      isinstance(problem, problems.UserLog)
      and not row.failed
      and row.method != result_rows.LOG
    ):
      name = (problem.digest, problem.discount, row.method, row.setting)
      found.setdefault(name, {}).setdefault(problem.target, []).append(row)
  return [
    (method, runs) for (_, _, method, _), runs in found.items() if len(runs) > 1
  ]


def _compare(method: str, runs: _Runs, level: float) -> Entry:
  draws = {target: row_intervals.draws(each) for target, each in runs.items()}
  known = not any(row_intervals.missing(each) for each in runs.values())
  ranked = sorted(
    draws, key=lambda target: -float(draws[target].estimates.mean())
  )
  best = draws[ranked[0]]
  chances = (
    dict(
      zip(
        draws,
        inference.probability_of_best(list(draws.values())).tolist(),
        strict=True,
      )
    )
    if known
    else {}
  )
  first = next(iter(runs.values()))[0].problem
  assert isinstance(first, problems.UserLog)
  lines = [
    _line(
      runs[target],
      draws[target],
      best if known else None,
      level,
      chances.get(target),
    )
    for target in ranked
  ]
  return {
    'dataset': first.dataset,
    'digest': first.digest,
    'discount': first.discount,
    'method': method,
    'level': level,
    'policies': lines,
    **_scores(lines),
  }


def _scores(lines: Sequence[Entry]) -> Entry:
  """Returns rank correlation and regret of policies with known values."""
  known = [line for line in lines if line['truth'] is not None]
  if len(known) < 2:
    return {}
  estimates, truths = (
    [line[name] for line in known] for name in ('estimate', 'truth')
  )
  correlation = policy_ranking.rank_correlation(estimates, truths)
  return {
    'rank_correlation': None if math.isnan(correlation) else correlation,
    'regret': {
      str(k): policy_ranking.regret(estimates, truths, k)
      for k in _TRIES
      if k < len(known)
    },
  }


def _line(
  runs: Sequence[rows_lib.Row],
  own: inference.Draws,
  best: inference.Draws | None,
  level: float,
  chance: float | None,
) -> Entry:
  problem = runs[0].problem
  assert isinstance(problem, problems.UserLog)
  paired = (
    own.less(best).interval(level)
    if best is not None and best is not own
    else None
  )
  return {
    'policy': problem.policy,
    'target': problem.target,
    'estimate': float(own.estimates.mean()),
    'truth': problem.truth,
    'interval': None if best is None else list(own.interval(level)[1:3]),
    'difference': paired.estimate if paired else None,
    'low': paired.low if paired else None,
    'high': paired.high if paired else None,
    'probability_of_best': chance,
  }
