"""Result rows as a data frame, one line a row."""

from collections.abc import Mapping
import math
from typing import TYPE_CHECKING, Any

from dfiv_ope.launch.reporting import method_labels
from dfiv_ope.results import problems
from dfiv_ope.results import rows as rows_lib

if TYPE_CHECKING:
  import pandas as pd

# Of rows on a dataset, by the name of the column.
_NUMBERS = (
  'discount',
  'transitions',
  'episodes',
  'truth',
  'truth_standard_error',
  'log_return',
  'log_standard_error',
)
# Digits of a digest that tell two apart.
_DIGITS = 8
# Metrics that the report knows; all others are diagnostics.
OUTCOMES = ('estimate', 'error', 'relative_error', 'mse')


def ope(rows: list[rows_lib.Row]) -> 'pd.DataFrame':
  """Returns rows of simulated tasks as a frame.

  A row that failed, or has no finite estimate, is `failed` and its errors are
  inf. Errors are nan where the truth is not known. `question` tells the
  numbers apart that are estimated, and their truths. `cell` names the problem
  that runs repeat, `panel` is the cell without noise and target policy, and
  `note` tells logs of one cell apart.
  """
  import pandas as pd  # Takes half a second; the terminal's table has none.

  lines = []
  for row, variant, problem in zip(
    rows, method_labels.variants(rows), _opened(rows), strict=True
  ):
    assert isinstance(problem, problems.SimulatedTask)
    lines.append(
      {
        **_described(problem),
        'asked': problem.question,
        'task': problem.task,
        'action_noise': problem.action_noise,
        'epsilon': problem.epsilon,
        'target_epsilon': problem.target_epsilon,
        'size': '' if problem.size is None else str(problem.size),
        **_outcome(row, number(problem.truth)),
        **_method(row, variant),
      }
    )
  frame = pd.DataFrame(lines)
  frame['question'] = [
    f'{asked} {truth}'
    for asked, truth in zip(frame.asked, frame.truth, strict=True)
  ]
  frame['panel'] = _panels(frame)
  frame['cell'] = list(
    zip(frame.panel, frame.action_noise, frame.target_epsilon, strict=True)
  )
  # A problem may have several logs.
  frame['note'] = (', log ' + frame.digest.str[:_DIGITS]).where(
    frame.groupby('cell').question.transform('nunique') > 1, ''
  )
  return frame


def log(rows: list[rows_lib.Row]) -> 'pd.DataFrame':
  """Returns rows of users' logs, and of all selections, as a frame.

  `question` tells apart what is asked, and `panel` names it: a log, a policy,
  and the `note` of what else tells it from others. The overlap is the
  agreement of log and policy.
  """
  import pandas as pd  # Takes half a second; the terminal's table has none.

  lines = []
  for row, variant, problem in zip(
    rows, method_labels.variants(rows), _opened(rows), strict=True
  ):
    selection = isinstance(row.problem, problems.Selection)
    # A simulated dataset has a policy of its own.
    own = isinstance(problem, problems.SimulatedTask)
    lines.append(
      {
        **_described(problem),
        'question': problem.question,
        'policy': policy_name(problem),
        'own_policy': own,
        'target_epsilon': problem.target_epsilon
        if isinstance(problem, problems.SimulatedTask)
        else math.nan,
        **(
          {
            'estimate': math.nan,
            'failed': row.failed,
            'reason': row.reason,
            'effective_episodes': math.nan,
          }
          if selection
          else _outcome(row, number(problem.truth))
        ),
        'kind': row.problem.kind,
        'choice': repr((row.problem.candidates, row.problem.judge))
        if isinstance(row.problem, problems.Selection)
        else '',
        **_method(row, variant),
      }
    )
  frame = pd.DataFrame(lines)
  frame['note'] = _notes(frame)
  frame['panel'] = frame.dataset + ': ' + frame.policy + frame.note
  return frame


def on_dataset(problem: problems.Problem) -> problems.OnDataset | None:
  """Returns the dataset and policy that a problem is about, if it is one."""
  if isinstance(problem, problems.Selection):
    return problem.asked
  return problem if isinstance(problem, problems.OnDataset) else None


def policy_name(problem: problems.OnDataset) -> str:
  """Returns what the target policy of a problem is called."""
  if isinstance(problem, problems.UserLog):
    return problem.policy
  return 'the target policy'


def number(value: Any) -> float:
  """Returns a value as a float, nan if it is none."""
  if isinstance(value, bool) or not isinstance(value, int | float):
    return math.nan
  return float(value)


def diagnostics(metrics: Mapping[str, Any]) -> dict[str, float]:
  """Returns the metrics that are not outcomes."""
  return {
    name: number(value)
    for name, value in metrics.items()
    if name not in OUTCOMES and not math.isnan(number(value))
  }


def discounts(frame: 'pd.DataFrame') -> 'pd.Series':
  """Returns the discount of each row in words, empty where all have one."""
  import pandas as pd

  if frame.discount.nunique(dropna=False) < 2:
    return pd.Series('', frame.index)
  return frame.discount.map(lambda value: f', discount {value:.10g}')


def _opened(rows: list[rows_lib.Row]) -> list[problems.OnDataset]:
  """Returns the dataset and policy of each row, as they are described.

  A run that failed may not have opened the log: then the description is that
  of another run on it.
  """
  made: list[problems.OnDataset] = []
  known: dict[str, problems.OnDataset] = {}
  for row in rows:
    problem = on_dataset(row.problem)
    assert problem is not None
    made.append(problem)
    if problem.transitions is not None:
      known.setdefault(problem.question, problem)
  return [
    each if each.transitions is not None else known.get(each.question, each)
    for each in made
  ]


def _described(problem: problems.OnDataset) -> dict[str, Any]:
  """Returns the columns that every problem on a dataset has."""
  return {
    'dataset': problem.dataset,
    'digest': problem.digest,
    'target': problem.target,
    **{name: number(getattr(problem, name)) for name in _NUMBERS},
    'overlap': problem.overlap.agreement if problem.overlap else math.nan,
  }


def _method(
  row: rows_lib.Row, variant: method_labels.Variant
) -> dict[str, Any]:
  return {
    'method': row.method,
    'variant': variant,
    'family': method_labels.family(row.method),
    'seed': row.seed,
    'cpu_seconds': row.cpu_seconds,
    'outcome': row.outcome,
  }


def _outcome(row: rows_lib.Row, truth: float) -> dict[str, Any]:
  """Returns estimate and errors, and why there are none."""
  estimate = number(row.metrics.get('estimate'))
  failed = row.failed or not math.isfinite(estimate)
  error = math.inf if failed else abs(estimate - truth)
  known = not math.isnan(truth)
  return {
    'estimate': estimate,
    'error': error if known else math.nan,
    'effective_episodes': number(row.metrics.get('effective_episodes')),
    'relative_error': error / abs(truth) if known and truth else math.nan,
    'failed': failed,
    'reason': row.reason or ('The estimate is not finite.' if failed else ''),
  }


def _panels(frame: 'pd.DataFrame') -> list[str]:
  """Returns for each row its task, and what else sets its problem apart."""
  import pandas as pd

  by_task = frame.groupby('task')
  several = {
    'size': by_task['size'].transform('nunique') > 1,
    'epsilon': by_task.epsilon.transform('nunique') > 1,
    # One log may be asked for several policies, a policy for several truths.
    'target': frame.groupby(['digest', 'target_epsilon']).target.transform(
      'nunique'
    )
    > 1,
    'truth': frame.groupby('asked').question.transform('nunique') > 1,
  }
  titles = frame.task + discounts(frame)
  for name, words in (
    ('size', ', {} rows'),
    ('epsilon', ', log epsilon {:g}'),
    ('target', f', policy {{:.{_DIGITS}}}'),
    ('truth', ', truth {:.6g}'),
  ):
    titles += pd.Series(
      [
        words.format(value) if needed else ''
        for value, needed in zip(frame[name], several[name], strict=True)
      ],
      frame.index,
    )
  return titles.tolist()


def _notes(frame: 'pd.DataFrame') -> 'pd.Series':
  """Returns what tells the question of each row from others of its name."""
  notes = discounts(frame)
  by_name = frame.groupby(['dataset', 'policy', 'discount'])
  for name, word in (('digest', 'log'), ('target', 'policy')):
    notes += (f', {word} ' + frame[name].str[:_DIGITS]).where(
      by_name[name].transform('nunique') > 1, ''
    )
  return notes
