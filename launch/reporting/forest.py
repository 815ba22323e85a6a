"""Forest plots: every method's estimate on one log, with its interval."""

from collections.abc import Sequence
import math

from dfiv_ope.launch.reporting import (
  charts,
  figures,
  frames,
  log_results,
  tables,
)
from dfiv_ope.results import problems

# The axis shows the log, the truth and the answer with so much of their width
# on either side, where all intervals are wider than several times theirs.
_MARGIN, _WIDER = 1.0, 6.0
# Standard errors of the truth on either side of its line.
TRUTH_ERRORS = 2.0
# Letters of a title.
_LONGEST = 44
LOG_LABEL = 'Log (average return)'


def chart(
  name: str,
  found: log_results.LogResults,
  title: str = '',
  *,
  verdict: str = '',
) -> charts.Chart:
  """Returns estimates with their intervals, the answer first, the log last.

  The true value and the log's average return are lines through all of them.

  Args:
    name: of the chart and its files.
    found: what was run on one log.
    title: of the chart, if it stands with others.
    verdict: on the answer, where the page gives one; it weighs more than what
      is known of its method alone.
  """
  styles = figures.styles(
    [each.variant for each in found.methods],
    {each.variant: each.method for each in found.methods},
  )
  best = found.preferred
  ordered = sorted(found.methods, key=lambda each: each is not best)
  return charts.Chart(
    name=name,
    title=title,
    caption=_caption(found),
    axis='value: discounted return',
    limits=_limits(found),
    references=references(found),
    lanes=[
      *(_lane(each, found, styles[each.variant], verdict) for each in ordered),
      charts.Lane(label=LOG_LABEL, tracks=(_track(*found.log),)),
    ],
  )


def references(found: log_results.LogResults) -> list[charts.Reference]:
  """Returns the true value and the log's average, where they are known."""
  truth, mean = frames.number(found.problem.truth), found.log[0]
  return [
    each
    for each in (
      charts.Reference(
        truth,
        f'true value {tables.digits(truth)}',
        charts.TRUTH,
        TRUTH_ERRORS * frames.number(found.problem.truth_standard_error or 0.0),
      ),
      charts.Reference(
        mean, f'log’s average {tables.digits(mean)}', charts.LOG
      ),
    )
    if not math.isnan(each.value)
  ]


def heading(found: log_results.LogResults) -> str:
  """Returns what a question is called where it stands with others."""
  if isinstance(found.problem, problems.SimulatedTask):
    return title(found)
  words = frames.policy_name(found.problem)
  if len(words) > _LONGEST:
    words = f'{words[:_LONGEST]}…'
  return words + found.note


def title(found: log_results.LogResults) -> str:
  """Returns what a question of a simulated task is called."""
  line = found.frame.iloc[0]
  target = (
    f', target epsilon {line.target_epsilon:g}' if line.target_epsilon else ''
  )
  return f'{line.panel}, noise {line.action_noise:g}{target}{found.note}'


def untold(methods: Sequence[log_results.MethodResult]) -> str:
  """Says what intervals of methods that ran once leave out."""
  hidden: dict[str, list[str]] = {}
  for each in methods:
    if each.hidden_randomness:
      hidden.setdefault(each.hidden_randomness, []).append(each.variant)
  return ' '.join(
    f'One run: the interval{"s" * (len(names) > 1)} of {_listed(names)} '
    f'leave{"s" * (len(names) == 1)} out {what}.'
    for what, names in hidden.items()
  )


def _caption(found: log_results.LogResults) -> str:
  return ' '.join(
    filter(
      None,
      (
        'Estimates with 95 % confidence intervals'
        + (
          f'; the band of the true value is {TRUTH_ERRORS:g} standard errors.'
          if found.problem.truth is not None
          else '.'
        ),
        untold(found.methods),
      ),
    )
  )


def _lane(
  method: log_results.MethodResult,
  found: log_results.LogResults,
  style: figures.Style,
  verdict: str,
) -> charts.Lane:
  grade = verdict if method is found.preferred else ''
  return charts.Lane(
    label=method.variant,
    color=style.color,
    hollow=style.dash != '-',
    strong=method is found.preferred,
    tracks=(_track(method.estimate, *method.ends),),
    note=(grade or found.trust(method).grade)
    if math.isfinite(method.estimate)
    else '',
  )


def _track(estimate: float, low: float, high: float) -> charts.Track:
  return charts.Track(
    middle=estimate,
    low=low,
    high=high,
    text=charts.interval_text(estimate, low, high),
  )


def _limits(found: log_results.LogResults) -> tuple[float, float]:
  """Returns the ends of the axis."""
  best = found.preferred
  core = [
    each
    for each in (
      *found.log,
      frames.number(found.problem.truth),
      *((best.estimate, *best.ends) if best else ()),
    )
    if math.isfinite(each)
  ] or [0.0]
  every = core + [
    end
    for each in found.methods
    for end in (each.estimate, *each.ends)
    if math.isfinite(end)
  ]
  width = max(core) - min(core) or 0.1 * abs(core[0]) or 1.0
  if max(every) - min(every) > width * _WIDER:
    every = [
      max(min(every), min(core) - _MARGIN * width),
      min(max(every), max(core) + _MARGIN * width),
    ]
  margin = 0.04 * (max(every) - min(every)) or 0.1 * width
  return min(every) - margin, max(every) + margin


def _listed(names: list[str]) -> str:
  *first, last = names
  return f'{", ".join(first)} and {last}' if first else last
