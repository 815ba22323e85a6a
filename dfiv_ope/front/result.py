"""What `dfiv_ope.evaluate` returns: an answer, and how far to trust it."""

from collections.abc import Mapping
import dataclasses
import functools
import html
import math
import pathlib
from typing import TYPE_CHECKING, NamedTuple

from dfiv_ope import agents, visible_text
from dfiv_ope.agents.entries import base
from dfiv_ope.evaluation import estimates as estimates_lib
from dfiv_ope.evaluation import inference, result_rows, verdict
from dfiv_ope.evaluation import trust as trust_lib
from dfiv_ope.ope import overlap, streamed
from dfiv_ope.ope import task as task_lib
from dfiv_ope.results import files
from dfiv_ope.results import rows as rows_lib

if TYPE_CHECKING:
  from matplotlib import axes as mpl_axes
  import pandas as pd

  from dfiv_ope.launch.reporting import log_results


class ConfidenceInterval(NamedTuple):
  """The ends of a confidence interval; nan where the log is too small."""

  low: float
  high: float


@dataclasses.dataclass(frozen=True, repr=False)
class Difference:
  """A difference of two values, paired by resampled episodes.

  Attributes:
    value: the difference.
    draws: what its intervals are made of; None if there is none.
  """

  value: float
  draws: inference.Draws | None

  def interval(self, level: float = 0.95) -> ConfidenceInterval:
    """Returns the confidence interval of the difference."""
    return _ends(self.draws, level)

  def __repr__(self) -> str:
    return f'<Difference {_shown(self.value, self.interval())}>'


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False)
class Result:
  """The value of a policy, by one or more estimators.

  Attributes:
    task: the log and the target policy.
    policy: what the policy is called.
    digest: identifies what the policy does.
    configs: hyper-parameters of each method.
    estimates: of each method; the first is the answer.
    log_average: the naive estimate, the average return of the log.
    truth: the policy's value, if the user knows it; nothing is fitted to it.
    survey: of a log that was read in parts; `task` has a sample of it then.
    all_columns: whether methods saw irrelevant columns, too.
  """

  task: task_lib.EvaluationTask
  policy: str
  digest: str
  configs: Mapping[str, base.MethodConfig]
  estimates: Mapping[str, estimates_lib.Estimate]
  log_average: estimates_lib.Estimate
  truth: float | None = None
  survey: streamed.Survey | None = None
  all_columns: bool = False

  @property
  def method(self) -> str:
    """The estimator whose estimate is the answer: the first one named."""
    return next(iter(self.estimates))

  @property
  def value(self) -> float:
    """The estimate of the policy's value; nan if all runs diverged."""
    return self.estimates[self.method].value

  def interval(
    self, level: float = 0.95, *, method: str | None = None
  ) -> ConfidenceInterval:
    """Returns the confidence interval of the value.

    Args:
      level: such as 0.95.
      method: another than the first.

    Returns:
      Both ends; nan if the log is too small, which `warnings` says.
    """
    return _ends(self._of(method).draws, level)

  def versus_log(self, *, method: str | None = None) -> Difference:
    """Returns the value less the behaviour policy's, paired by episodes."""
    return _difference(self._of(method), self.log_average)

  def less(self, other: 'Result', *, method: str | None = None) -> Difference:
    """Returns the value less that of another policy on the same log, paired.

    Raises:
      ValueError: the other is of another log or discount.
    """
    ours, theirs = self.task.log, other.task.log
    if (ours.digest, ours.discount) != (theirs.digest, theirs.discount):
      raise ValueError(
        'A paired difference needs two policies on one log at one discount, '
        'but these logs differ in their content or discount.'
      )
    return _difference(self._of(method), other.estimates[method or self.method])

  def trust(self, *, method: str | None = None) -> trust_lib.Trust:
    """Returns how far to trust an estimate: a word, and reasons against it.

    Args:
      method: another than the first.
    """
    self._of(method)
    return self._judged[method or self.method]

  @functools.cached_property
  def _judged(self) -> dict[str, trust_lib.Trust]:
    return trust_lib.judge_all(
      {name: self._answer(name, each) for name, each in self.estimates.items()},
      self._support,
    )

  @property
  def _support(self) -> verdict.Support:
    return verdict.support(
      self.overlap, self.task.log.action_labels, self.task.notes
    )

  @property
  def overlap(self) -> overlap.Overlap:
    """How far the log holds what the target policy would do."""
    return self.task.overlap

  @functools.cached_property
  def warnings(self) -> list[str]:
    """What to beware of, in sentences; the paired differences among them."""
    failed = [
      f'{name} seed {run.seed}: {result_rows.outcome(run)}: '
      f'{run.failure.rstrip(".")}; excluded from averages.'
      for name, each in self.estimates.items()
      for run in each.runs
      if run.failure
    ]
    judged = {
      name: self.trust(method=name)
      for name, each in self.estimates.items()
      if each.sound
    }
    return (
      failed
      + trust_lib.sentences(judged)
      + verdict.collect(
        {
          name: self._answer(name, each)
          for name, each in self.estimates.items()
          if each.sound
        },
        support=self._support,
        level=0.95,
        notes=[note.sentence for note in self.task.notes if not note.doubt],
        distrusted=trust_lib.distrusted(judged),
      )
    )

  def to_frame(self, level: float = 0.95) -> 'pd.DataFrame':
    """Returns a line for each method, the average of the log first.

    Args:
      level: of the intervals.
    """
    import pandas as pd

    lines = []
    for name, each in (
      ('log_average', self.log_average),
      *self.estimates.items(),
    ):
      own = _ends(each.draws, level)
      paired = Difference(math.nan, None)
      if each is not self.log_average:
        paired = _difference(each, self.log_average)
      lines.append(
        {
          'method': name,
          'seeds': len(each.runs),
          'diverged': len(each.runs) - len(each.sound),
          'estimate': each.value,
          'low': own.low,
          'high': own.high,
          'difference': paired.value,
          'difference_low': paired.interval(level).low,
          'difference_high': paired.interval(level).high,
          'trust': ''
          if each is self.log_average
          else self.trust(method=name).grade,
          'effective_share': each.metrics.get('effective_share', math.nan),
          'cpu_seconds': sum(run.cpu_seconds for run in each.runs),
          **(
            {}
            if self.truth is None
            else {'truth': self.truth, 'error': abs(each.value - self.truth)}
          ),
        }
      )
    return pd.DataFrame(lines).set_index('method')

  def rows(self) -> list[rows_lib.Row]:
    """Returns the result rows that the command line would write."""
    problem = dataclasses.replace(
      result_rows.user_log(
        self.task, target=self.digest, policy=self.policy, survey=self.survey
      ),
      all_columns=self.all_columns,
    )
    made = result_rows.of_estimates(
      problem, self.log_average, self.estimates, self.configs
    )
    return result_rows.told(
      made, {}, {} if self.truth is None else {self.digest: self.truth}
    )

  def save(self, directory: str | pathlib.Path) -> pathlib.Path:
    """Adds the result rows to a run directory, which it returns.

    `dfiv-ope report` and `dfiv_ope.results.files.read` read it; a row that is
    there already stays as it is.

    Args:
      directory: of results; made if it is missing.
    """
    place = pathlib.Path(directory).expanduser()
    there = {row.key for row in files.known(place)}
    for row in self.rows():
      if row.key not in there:
        files.append(place, row)
    return place

  def least_error(self) -> str:
    """Returns the method of the least estimated error, without the truth.

    It is the choice of `--method auto` among methods that weigh the log and
    others (docs/intervals.md), by the first sound run of each.

    Raises:
      ValueError: no method has an estimate that tells its own error.
    """
    from dfiv_ope.evaluation import error_selection  # It loads scipy.stats.

    first: dict[str, rows_lib.Row] = {}
    for row in self.rows():
      if row.method != result_rows.LOG and not row.failed:
        first.setdefault(row.method, row)
    return next(
      row.method
      for row in error_selection.judge(list(first.values()))
      if row.metrics['chosen']
    )

  def plot(self, axes: 'mpl_axes.Axes | None' = None) -> 'mpl_axes.Axes':
    """Draws estimates with intervals beside the log's average return.

    Args:
      axes: of matplotlib; new ones if None.
    """
    from matplotlib import pyplot

    from dfiv_ope.launch.reporting import chart_figure, forest

    if axes is None:
      _, axes = pyplot.subplots(
        figsize=(6.0, 1.2 + 0.45 * (len(self.estimates) + 1)),
        layout='constrained',
      )
    chart_figure.draw(forest.chart('result', self._shown), axes)
    return axes

  def to_html(self, directory: str | pathlib.Path) -> pathlib.Path:
    """Writes the report of `dfiv-ope report`; returns its page.

    Args:
      directory: new, empty, or an older report, which is replaced.
    """
    from dfiv_ope.launch.reporting import publish

    return publish.publish(
      self.rows(), 'dfiv_ope.evaluate', pathlib.Path(directory).expanduser()
    )

  def __repr__(self) -> str:
    return (
      f'<Result {self.policy} on {self.task.log.name}: '
      f'{_shown(self.value, self.interval())} by {self.method}, '
      f'{self.trust().grade}, log average '
      f'{visible_text.number(self.log_average.value)}>'
    )

  def _repr_html_(self) -> str:
    """Returns the table, the figure and the warnings, for a notebook."""
    from dfiv_ope.launch.reporting import chart_figure, forest

    table = self.to_frame().drop(columns=['cpu_seconds']).rename_axis(None)
    drawn = chart_figure.inline(forest.chart('result', self._shown))
    said = ''.join(f'<li>{html.escape(each)}</li>' for each in self.warnings)
    return (
      f'<h4>Value of {html.escape(self.policy)}</h4>'
      + table.to_html(float_format='{:.4g}'.format, na_rep='')
      + f'<div style="max-width: 40rem">{drawn}</div>'
      + f'<ul>{said}</ul>'
    )

  @property
  def _shown(self) -> 'log_results.LogResults':
    """What reports show of the estimates."""
    from dfiv_ope.launch.reporting import frames, log_results

    rows = self.rows()
    (found,) = log_results.collect(frames.log(rows), rows)
    return found

  def _answer(
    self, method: str, found: estimates_lib.Estimate
  ) -> verdict.Answer:
    return verdict.Answer(
      found.metrics,
      found.difference(self.log_average),
      found.missing,
      found.interval(),
      agents.ENTRIES[method].style.family,
      verdict.hidden_randomness(method, len(found.sound), found.metrics),
    )

  def _of(self, method: str | None) -> estimates_lib.Estimate:
    if method is not None and method not in self.estimates:
      raise ValueError(
        f'There is no estimate by {method!r}. There are '
        f'{", ".join(self.estimates)}.'
      )
    return self.estimates[method or self.method]


def _shown(value: float, interval: ConfidenceInterval) -> str:
  """Returns a value with its interval, if there is one."""
  shown = visible_text.number(value)
  if math.isnan(interval.low):
    return shown
  low, high = map(visible_text.number, interval)
  return f'{shown} [{low}, {high}]'


def _ends(draws: inference.Draws | None, level: float) -> ConfidenceInterval:
  if not 0.0 < level < 1.0:
    raise ValueError(f'An interval needs a level in (0, 1), got {level:g}.')
  if draws is None:
    return ConfidenceInterval(math.nan, math.nan)
  found = draws.interval(level)
  return ConfidenceInterval(found.low, found.high)


def _difference(
  first: estimates_lib.Estimate, second: estimates_lib.Estimate
) -> Difference:
  known = first.draws is not None and second.draws is not None
  return Difference(
    first.value - second.value,
    first.draws.less(second.draws)  # type: ignore[union-attr, arg-type]
    if known
    else None,
  )
