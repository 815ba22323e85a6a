"""Forest plots: every method's estimate on one log, with its interval."""

from collections.abc import Callable, Sequence
import math
from typing import Any

from dfiv_ope.launch.reporting import figures, frames, log_results, tables
from dfiv_ope.results import problems

# Inches: for a line and for the rest, the width, what is left of the axes and
# above them. Across the page labels stand beside their lines, else above.
_WIDE = {'line': 0.25, 'rest': 0.8, 'width': 12.4, 'left': 2.9, 'top': 0.24}
_NARROW = {'line': 0.38, 'rest': 1.05, 'width': 3.6, 'left': 0.2, 'top': 0.45}
# Letters of a label beside its line.
_LONGEST_LABEL = 36
# The axis shows the log, the truth and the answer with so much of their width
# on either side, where all intervals are wider than several times theirs, on a
# wide figure and on a narrow one.
_MARGIN, _WIDER, _NARROW_WIDER = 1., 10., 4.
_LOG, _TRUTH = '#808080', '#000000'
# Standard errors of the truth on either side of its line.
TRUTH_ERRORS = 2.
# Letters of a title.
_LONGEST, _SHORT_TITLE = 44, 30


def figure(
    name: str, found: Sequence[log_results.LogResults], *, wide: bool,
) -> figures.Figure:
  """Returns estimates with their intervals, a panel for each question.

  The true value is a line where it is known; otherwise the log's average
  return is a band, as what an estimate is compared with.

  Args:
    name: of its files.
    found: what to draw.
    wide: whether it takes the width of a page, with labels beside the lines.
  """
  lines = 1 + max(len(each.methods) for each in found)
  size = dict(_WIDE if wide else _NARROW)
  return figures.Figure(
      name=name, caption=_caption(found, wide=wide),
      panels=[figures.Panel(
          '' if wide else _title(each), _panel(each, wide=wide), _words(each))
              for each in found],
      styles=[], columns=1 if wide else 3,
      height=size.pop('line') * lines + size.pop('rest'), **size)


def draw(found: log_results.LogResults, axes: Any) -> None:
  """Draws one question on axes of the caller."""
  _panel(found, wide=False)(axes)
  axes.set_title(_title(found), loc='left', pad=14.)
  for side in ('top', 'right'):
    axes.spines[side].set_visible(False)


def _caption(
    found: Sequence[log_results.LogResults], *, wide: bool) -> str:
  known = any(each.problem.truth is not None for each in found)
  single = all(each.single_runs for each in found)
  cut = any(
      end < low or end > high for each in found
      # A wide figure may be shown as a narrow one.
      for low, high in [_limits(each, wide=size) for size in {wide, False}]
      for method in each.methods for end in (method.estimate, *method.ends))
  lost = any(math.isnan(method.estimate)
             for each in found for method in each.methods)
  return ' '.join([
      'Estimates with 95 % confidence intervals; '
      + (f'the line is the true value, its band {TRUTH_ERRORS:g} standard '
         'errors.' if known else
         'the grey band is that of the log, and the answer is filled.'),
      *(['One run each: an interval covers which episodes the log holds, not '
         'the training.'] if single else []),
      *(['An arrow says that an interval goes on.'] if cut else []),
      *(['A method without a mark has no result to trust.'] if lost else [])])


def _title(found: log_results.LogResults) -> str:
  problem = found.problem
  if isinstance(problem, problems.SimulatedTask):
    return title(found)
  words = frames.policy_name(problem)
  if len(words) > _LONGEST:
    words = f'{words[:_LONGEST]}…'
  return words + found.note


def title(found: log_results.LogResults) -> str:
  """Returns what a question of a simulated task is called."""
  line = found.frame.iloc[0]
  target = (f', target epsilon {line.target_epsilon:g}'
            if line.target_epsilon else '')
  return f'{line.panel}, noise {line.action_noise:g}{target}{found.note}'


def _words(found: log_results.LogResults) -> str:
  truth = found.problem.truth
  known = '' if truth is None else f' The true value is {truth:.4g}.'
  said = '; '.join(
      f'{each.variant} none' if each.interval is None else
      f'{each.variant} ' + tables.interval(each.estimate, *each.ends).text
      for each in found.methods)
  return f'Estimate of each method with its interval: {said}.{known}'


def _panel(
    found: log_results.LogResults, *, wide: bool) -> Callable[[Any], None]:
  look = figures.styles(
      [each.variant for each in found.methods],
      {each.variant: each.method for each in found.methods})
  known = found.problem.truth is not None

  def draw(axes: Any) -> None:
    limits = _limits(found, wide=wide)
    lines = [-place for place in range(len(found.methods) + 1)]
    mean, low, high = found.log
    if known:
      _draw_truth(axes, found.problem, limits, lines, wide=wide)
    elif math.isfinite(high - low):
      axes.axvspan(low, high, color=_LOG, alpha=0.15, linewidth=0.)
    _line(axes, 0, 'average return of the log', (mean, low, high), limits,
          wide=wide, color=_LOG, marker='x')
    for place, each in enumerate(found.methods, start=1):
      style = look[each.variant]
      _line(axes, -place, each.variant, (each.estimate, *each.ends), limits,
            wide=wide, color=style.color, marker=style.marker,
            fillstyle='full' if known or each is found.preferred else 'none')
    if wide:  # Above the labels, or from the left edge if it is long.
      words, left = _title(found), 72. * _WIDE['left']
      axes.annotate(
          words, (0., 1.), xycoords='axes fraction', textcoords='offset points',
          fontsize=10, fontweight='bold', **(
              {'xytext': (-8., 3.), 'ha': 'right'}
              if len(words) <= _SHORT_TITLE else {'xytext': (-left, 3.)}))
    axes.set(xlim=limits, yticks=[], xlabel='discounted return of an episode',
             ylim=(-len(found.methods) - 0.5, 0.5 if wide else 0.9))
    axes.spines['left'].set_visible(False)
    axes.grid(visible=True, axis='x')
    axes.locator_params(axis='x', nbins=10 if wide else 5)

  return draw


def _draw_truth(
    axes: Any, problem: problems.OnDataset, limits: tuple[float, float],
    lines: list[int], *, wide: bool,
) -> None:
  """Draws the true value, where labels leave room for it."""
  truth = frames.number(problem.truth)
  half = TRUTH_ERRORS * (problem.truth_standard_error or 0.)
  axes.axvspan(truth - half, truth + half, color=_TRUTH, alpha=0.15,
               linewidth=0.)
  if wide:
    axes.axvline(truth, color=_TRUTH, linewidth=1.2)
  else:
    axes.vlines([truth] * len(lines), [place - 0.4 for place in lines],
                [place + 0.15 for place in lines], color=_TRUTH, linewidth=1.2)
  place = (truth - limits[0]) / (limits[1] - limits[0])
  edge = 0.05 if wide else 0.2  # Nearer than this, a label would be cut off.
  axes.annotate(
      f'true value {tables.digits(truth)}', (truth, 1.),
      xycoords=('data', 'axes fraction'), xytext=(0., 2.),
      textcoords='offset points', va='bottom', fontsize=9 if wide else 8,
      ha='left' if place < edge else 'right' if place > 1. - edge else 'center')


def _line(
    axes: Any, place: float, label: str, found: tuple[float, float, float],
    limits: tuple[float, float], *, wide: bool, **look: Any,
) -> None:
  """Draws one interval, its label beside it or above it."""
  where = ({'xytext': (-8., 0.), 'ha': 'right', 'va': 'center', 'fontsize': 10}
           if wide else {'xytext': (0., 5.), 'va': 'bottom', 'fontsize': 9})
  if wide and len(label) > _LONGEST_LABEL:
    label = f'{label[:_LONGEST_LABEL]}…'
  axes.annotate(
      label, (0., place), xycoords=('axes fraction', 'data'),
      textcoords='offset points', **where)
  estimate, low, high = found
  if math.isnan(estimate):
    return
  color = look['color']
  if limits[0] <= high and low <= limits[1]:
    ends = [min(max(end, limits[0]), limits[1]) for end in (low, high)]
    axes.plot(ends, [place] * 2, color=color, linewidth=1.6)
    for end, shown, arrow in zip((low, high), ends, '<>', strict=True):
      axes.plot(shown, place, color=color, markersize=6, clip_on=False,
                marker=arrow if end != shown else '|')
  if limits[0] <= estimate <= limits[1]:
    axes.plot(estimate, place, markersize=7, **look)
  else:  # It is told by an arrow where it would stand.
    left = estimate < limits[0]
    axes.plot(limits[0] if left else limits[1], place, color=color,
              markersize=7, clip_on=False, marker='<' if left else '>')


def _limits(
    found: log_results.LogResults, *, wide: bool) -> tuple[float, float]:
  """Returns the ends of the axis."""
  best = found.preferred
  core = [each for each in (
      *found.log, frames.number(found.problem.truth),
      *((best.estimate, *best.ends) if best else ()))
          if math.isfinite(each)] or [0.]
  every = core + [
      end for each in found.methods for end in (each.estimate, *each.ends)
      if math.isfinite(end)]
  width = max(core) - min(core) or 0.1 * abs(core[0]) or 1.
  if max(every) - min(every) > width * (_WIDER if wide else _NARROW_WIDER):
    every = [min(core) - _MARGIN * width, max(core) + _MARGIN * width]
  margin = 0.05 * (max(every) - min(every)) or 0.1 * width
  return min(every) - margin, max(every) + margin
