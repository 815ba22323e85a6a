"""Result rows as a data frame, one line a row."""

import collections
from collections.abc import Iterable, Mapping
import math
from typing import TYPE_CHECKING, Any

from dfiv_ope import agents, registry
from dfiv_ope.iv import methods
from dfiv_ope.results import problems
from dfiv_ope.results import rows as rows_lib

if TYPE_CHECKING:
  import pandas as pd

NAIVE, NAIVE_LABEL = 'naive', 'Log (naive)'
# What is not a method: the average of the log, a quadratic in the number of lit
# pixels, what the suite of designs is held against.
_BASELINES = {
  'log': registry.Style(
    label=NAIVE_LABEL, family=NAIVE, color='#808080', marker='x'
  ),
  'lit_pixels': registry.Style(
    label='Quadratic in lit pixels', family='other', color='#757575'
  ),
  'constant': registry.Style(label='Constant', family='other', color='#909090'),
  'plain_kiv': registry.Style(
    label='Plain regression (kernel)', family='other', color='#7d7d7d'
  ),
  'plain_dfiv': registry.Style(
    label='Plain regression (networks)', family='other', color='#6e6e6e'
  ),
  'oracle': registry.Style(
    label='Oracle without confounding', family='other', color='#8a8a8a'
  ),
}

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
# Longest value of a setting in a method's label.
_LONGEST = 24
# Parameters of a design that configs are tuned to.
_TUNED_TO = ('n', 'outcome', 'scenario')

PAPER, QUICK = 'paper', 'quick'


class Variant(str):
  """The label of a method, which knows its parts.

  Attributes:
    base: label of the method, or of a named variant of it.
    notes: what else sets it apart: the preset, the budget, settings.
  """

  base: str
  notes: tuple[str, ...]

  def __new__(cls, base: str, notes: Iterable[str] = ()) -> 'Variant':
    notes = tuple(notes)
    label = base
    if notes and base.endswith(')'):  # A base with a note of its own.
      label = f'{base[:-1]}, {", ".join(notes)})'
    elif notes:
      label = f'{base} ({", ".join(notes)})'
    made = super().__new__(cls, label)
    made.base, made.notes = base, notes
    return made


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
    rows, variants(rows), _opened(rows), strict=True
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
    rows, variants(rows), _opened(rows), strict=True
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


def variants(rows: list[rows_lib.Row]) -> list[Variant]:
  """Returns the label of each row's method: its name and what sets it apart.

  Settings that differ between tasks (or sizes, outcomes, scenarios) are those
  of one method tuned to each; settings that differ within one are different
  methods.
  """
  pools = collections.defaultdict(list)
  for row in rows:
    # A custom config is told by what differs from the default one.
    pools[_scope(row.problem), row.method, row.preset].append(row)
  apart: dict[tuple[str, str, bool], set[str]] = collections.defaultdict(set)
  for (_, method, preset), pool in pools.items():
    apart[method, preset, True] |= _differing(pool)
    apart[method, preset, False] |= _differing(
      [row for row in pool if not row.custom]
    )
  return [
    _variant(row, apart[row.method, row.preset, row.custom]) for row in rows
  ]


def budgets(rows: list[rows_lib.Row]) -> dict[str, list[str]]:
  """Returns the methods whose budget is not the default, by what it is."""
  found: dict[str, dict[str, None]] = {}
  for row, variant in zip(rows, variants(rows), strict=True):
    budget = next(
      (note for note in variant.notes if note in (PAPER, QUICK)),
      'custom' if row.custom else '',
    )
    if budget:
      found.setdefault(budget, {})[variant.base] = None
  return {budget: [*names] for budget, names in found.items()}


def style(method: str) -> registry.Style | None:
  """Returns how a method looks; None if nobody has registered it."""
  if method in _BASELINES:
    return _BASELINES[method]
  entry = agents.ENTRIES.get(method) or methods.ENTRIES.get(method)
  return entry.style if entry else None


def family(method: str) -> str:
  """Returns the family of a method; 'other' if nobody has registered it."""
  known = style(method)
  return known.family if known else 'other'


def preset(row: rows_lib.Row) -> str:
  """Returns what the config of a row is called."""
  if not row.custom:
    return row.preset
  return 'custom' if row.preset == 'default' else f'{row.preset}, custom'


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


def order(names: Iterable[str]) -> list[str]:
  """Returns labels of methods as the registries have them, others last."""
  known = _known_labels()

  def place(name: str) -> tuple[int, str]:
    base = name.base if isinstance(name, Variant) else name
    return known.index(base) if base in known else len(known), name

  return sorted(set(names), key=place)


def rank(method: str) -> int:
  """Returns the place of a method among all; the average return is first."""
  known = ['log', *agents.ENTRIES]
  return known.index(method) if method in known else len(known)


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


def _method(row: rows_lib.Row, variant: Variant) -> dict[str, Any]:
  return {
    'method': row.method,
    'variant': variant,
    'family': family(row.method),
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


def _known_labels() -> list[str]:
  """Returns labels in their order: off-policy evaluation by families, IV."""
  ranked = sorted(
    agents.ENTRIES.values(),
    key=lambda entry: registry.FAMILIES.index(entry.style.family),
  )
  return list(
    dict.fromkeys(
      (
        NAIVE_LABEL,
        *(
          label
          for entry in (*ranked, *methods.ENTRIES.values())
          for label in entry.labels
        ),
        *(each.label for each in _BASELINES.values()),
      )
    )
  )


def _variant(row: rows_lib.Row, apart: set[str]) -> Variant:
  """Returns the label of a row, by the settings that set it apart."""
  entries = (
    methods.ENTRIES
    if isinstance(row.problem, problems.IVDesign)
    else agents.ENTRIES
  )
  entry, known = entries.get(row.method), style(row.method)
  label, told = known.label if known else row.method, set[str]()
  notes = [PAPER] if row.preset == PAPER else []
  if entry:
    label, told = entry.label(row.config), set(entry.told(row.config))
    budget = dict(change.split('=', 1) for change in entry.quick)
    if (
      row.custom
      and budget
      and all(
        str(row.config.get(name)) == value for name, value in budget.items()
      )
    ):
      notes.append(QUICK)
      told |= set(budget)
  return Variant(
    label,
    [
      *notes,
      *(
        f'{name}={_shown(row.config[name])}'
        for name in sorted(apart - told)
        if name in row.config
      ),
    ],
  )


def _scope(problem: problems.Problem) -> str:
  """Returns what a config may be tuned to."""
  if isinstance(problem, problems.IVDesign):
    return repr([problem.name, *map(problem.parameters.get, _TUNED_TO)])
  about = on_dataset(problem) or problem
  return repr([problem.kind, getattr(about, 'task', None)])


def _differing(rows: list[rows_lib.Row]) -> set[str]:
  names = {name for row in rows for name in row.config}
  return {
    name
    for name in names
    if len({repr(row.config.get(name)) for row in rows}) > 1
  }


def _shown(value: Any) -> str:
  words = str(value)
  return words if len(words) <= _LONGEST else f'{words[:_LONGEST]}…'


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
