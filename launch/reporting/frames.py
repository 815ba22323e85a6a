"""Result rows as a data frame, one line a row."""

import collections
from collections.abc import Mapping
import math
import re
from typing import Any

import pandas as pd

from dfiv_ope import agents, registry, results
from dfiv_ope.iv import methods

NAIVE, NAIVE_LABEL = 'naive', 'Log (naive)'
# What is not a method: the average of the log, a quadratic in the number of lit
# pixels.
_BASELINES = {
    'log': registry.Style(
        label=NAIVE_LABEL, family=NAIVE, color='#808080', marker='x'),
    'lit_pixels': registry.Style(
        label='Quadratic in lit pixels', family='other', color='#000000')}

# A selection on a dataset with a policy of its own says no policy.
_OWN_POLICY = {'target': '', 'policy': 'the target policy'}
_NUMBERS = (
    'action_noise',
    'epsilon', 'target_epsilon', 'discount', 'transitions', 'episodes',
    'truth', 'truth_standard_error', 'log_return', 'log_standard_error',
    'overlap')
# Digits of a digest that tell two apart.
_DIGITS = 8
# Metrics that the report knows; all others are diagnostics.
OUTCOMES = ('estimate', 'error', 'relative_error', 'mse')
# Longest value of a setting in a method's label.
_LONGEST = 24


def ope(rows: list[results.ResultRow]) -> pd.DataFrame:
  """Returns rows of off-policy evaluation as a frame.

  A row that failed, or has no finite estimate, is `failed` and its errors are
  inf. Errors are nan where the truth is not known. `question` tells the
  numbers apart that are estimated, and their truths. `cell` names the problem
  that runs repeat, `panel` is the cell without noise and target policy.
  """
  lines = []
  for row, variant in zip(rows, variants(rows), strict=True):
    problem: dict[str, Any] = {
        **{name: str(row.problem[name])
           for name in ('dataset', 'digest', 'task')},
        'target': str(row.problem.get('target', '')),
        **{name: number(row.problem.get(name)) for name in _NUMBERS}}
    lines.append({
        **problem, 'asked': results.question(row.problem),
        **_outcome(row, problem['truth']), 'method': row.method,
        'variant': variant, 'preset': row.preset,
        'family': family(row.method),
        'seed': row.seed, 'cpu_seconds': number(row.cpu_seconds),
        'size': _size(problem)})
  frame = pd.DataFrame(lines)
  frame['question'] = [f'{asked} {truth}' for asked, truth in zip(
      frame.asked, frame.truth, strict=True)]
  frame['panel'] = _panels(frame)
  frame['cell'] = list(zip(
      frame.panel, frame.action_noise, frame.target_epsilon.fillna(-1.),
      strict=True))
  return frame


def log(rows: list[results.ResultRow]) -> pd.DataFrame:
  """Returns rows of users' logs, and of selections on them, as a frame.

  `question` tells apart what is asked, and `panel` names it: a log, a policy,
  and the `note` of what else tells it from others. The overlap is the
  agreement of log and policy.
  """
  lines = []
  for row, variant in zip(rows, variants(rows), strict=True):
    selection = row.problem['name'] == 'selection'
    said = {**(_OWN_POLICY if selection else {}), **row.problem}
    overlap = row.problem.get('overlap')
    lines.append({
        **{name: str(said[name])
           for name in ('dataset', 'digest', 'target', 'policy')},
        'question': results.question(row.problem),
        'own_policy': 'policy' not in row.problem,
        **{name: number(row.problem.get(name)) for name in (
            'discount', 'transitions', 'episodes', 'log_return',
            'log_standard_error', 'target_epsilon')},
        'overlap': number(overlap.get('agreement')) if isinstance(
            overlap, Mapping) else math.nan,
        **({'estimate': math.nan, 'failed': bool(row.failure),
            'failure': row.failure} if selection
           else _outcome(row, math.nan)),
        'kind': row.problem['name'], 'choice': repr([
            row.problem.get(name) for name in ('candidates', 'judge')]),
        'method': row.method, 'variant': variant,
        'family': family(row.method), 'seed': row.seed,
        'cpu_seconds': number(row.cpu_seconds)})
  frame = pd.DataFrame(lines)
  frame['note'] = _notes(frame)
  frame['panel'] = frame.dataset + ': ' + frame.policy + frame.note
  return frame


def variants(rows: list[results.ResultRow]) -> list[str]:
  """Returns the label of each row's method: its name and what sets it apart.

  Settings that differ between tasks (or sizes, outcomes, scenarios) are those
  of one method tuned to each; settings that differ within one are different
  methods.
  """
  pools = collections.defaultdict(list)
  for row in rows:
    # A custom config is told by what differs from the default one.
    pools[_scope(row), row.method, _paper(row)].append(row)
  apart = collections.defaultdict(set)
  for (_, method, paper), pool in pools.items():
    for preset in {row.preset for row in pool}:
      peers = pool if preset not in ('default', 'paper') else [
          row for row in pool if row.preset == preset]
      apart[method, paper, preset].update(_differing(peers))
  labels = []
  for row in rows:
    names = sorted(apart[row.method, _paper(row), row.preset])
    notes = ['paper'] if _paper(row) else []
    label, told = _label(row)
    notes += [
        f'{name}={_shown(row.config[name])}' for name in names
        if name in row.config and name not in told]
    if notes and label.endswith(')'):  # A variant with a note of its own.
      labels.append(f'{label[:-1]}, {", ".join(notes)})')
    else:
      labels.append(f'{label} ({", ".join(notes)})' if notes else label)
  return labels


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


def number(value: Any) -> float:
  """Returns a value as a float, nan if it is none."""
  if isinstance(value, bool) or not isinstance(value, int | float):
    return math.nan
  return float(value)


def diagnostics(metrics: Mapping[str, Any]) -> dict[str, float]:
  """Returns the metrics that are not outcomes."""
  return {
      name: number(value) for name, value in metrics.items()
      if name not in OUTCOMES and not math.isnan(number(value))}


def order(names: Any) -> list[str]:
  """Returns labels of methods as the registries have them, others last."""
  known = _known_labels()

  def place(name: str) -> tuple[int, str]:
    base = name.split(' (')[0] if name not in known else name
    return known.index(base) if base in known else len(known), name

  return sorted(set(names), key=place)


def _known_labels() -> list[str]:
  """Returns labels in their order: off-policy evaluation by families, IV."""
  ranked = sorted(agents.ENTRIES.values(), key=lambda entry: (
      registry.FAMILIES.index(entry.style.family)))
  return list(dict.fromkeys((
      NAIVE_LABEL,
      *(label for entry in (*ranked, *methods.ENTRIES.values())
        for label in entry.labels),
      *(each.label for each in _BASELINES.values()))))


def _label(row: results.ResultRow) -> tuple[str, list[str]]:
  """Returns the label of a row's method, and the settings that it tells."""
  entries = agents.ENTRIES if 'digest' in row.problem else methods.ENTRIES
  if row.method in entries:
    entry = entries[row.method]
    return entry.label(row.config), entry.told(row.config)
  known = style(row.method)
  return known.label if known else row.method, []


def _outcome(row: results.ResultRow, truth: float) -> dict[str, Any]:
  """Returns estimate and errors, and why there are none."""
  estimate = number(row.metrics.get('estimate'))
  failure = row.failure
  if not failure and not math.isfinite(estimate):
    failure = 'The row has no finite estimate.'
  known = not math.isnan(truth)
  if failure:
    error = relative = math.inf if known else math.nan
  else:
    error = abs(estimate - truth)
    relative = error / abs(truth) if truth else math.nan
  return {
      'estimate': estimate, 'error': error, 'relative_error': relative,
      'failed': bool(failure), 'failure': failure}


def _scope(row: results.ResultRow) -> str:
  """Returns what a config may be tuned to."""
  return repr([row.problem.get(name) for name in (
      'name', 'task', 'n', 'outcome', 'scenario')])


def _paper(row: results.ResultRow) -> bool:
  """Whether a config is the paper's, changed or not."""
  return row.preset.startswith('paper')


def _differing(rows: list[results.ResultRow]) -> set[str]:
  names = {name for row in rows for name in row.config}
  return {
      name for name in names
      if len({repr(row.config.get(name)) for row in rows}) > 1}


def _shown(value: Any) -> str:
  words = str(value)
  return words if len(words) <= _LONGEST else f'{words[:_LONGEST]}…'


def _size(problem: Mapping[str, Any]) -> str:
  """Returns the rows a dataset was asked to have, as its id says."""
  found = re.search(r'-(\d+)-seed-\d+$', problem['dataset'])
  return found[1] if found else ''


def _panels(frame: pd.DataFrame) -> list[str]:
  """Returns for each row its task, and what else sets its problem apart."""
  by_task = frame.groupby('task')
  several = {
      'size': by_task['size'].transform('nunique') > 1,
      'epsilon': by_task.epsilon.transform('nunique') > 1,
      # One log may be asked for several policies, a policy for several truths.
      'target': frame.groupby(['digest', 'target_epsilon'], dropna=False)
      .target.transform('nunique') > 1,
      'truth': frame.groupby('asked').question.transform('nunique') > 1}
  titles = frame.task + discounts(frame)
  for name, words in (
      ('size', ', {} rows'), ('epsilon', ', log epsilon {:g}'),
      ('target', f', policy {{:.{_DIGITS}}}'), ('truth', ', truth {:.6g}')):
    titles += pd.Series([
        words.format(value) if needed else '' for value, needed in zip(
            frame[name], several[name], strict=True)], frame.index)
  return titles.tolist()


def discounts(frame: pd.DataFrame) -> pd.Series:
  """Returns the discount of each row in words, empty where all have one."""
  if frame.discount.nunique(dropna=False) < 2:
    return pd.Series('', frame.index)
  return frame.discount.map(lambda value: (
      ', discount unknown' if math.isnan(value)
      else f', discount {value:.10g}'))


def _notes(frame: pd.DataFrame) -> pd.Series:
  """Returns what tells the question of each row from others of its name."""
  notes = discounts(frame)
  by_name = frame.groupby(['dataset', 'policy', 'discount'], dropna=False)
  for name, word in (('digest', 'log'), ('target', 'policy')):
    notes += (f', {word} ' + frame[name].str[:_DIGITS]).where(
        by_name[name].transform('nunique') > 1, '')
  return notes
