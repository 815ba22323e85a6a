"""What a result row must hold, so that every reader can rely on it.

A file of rows is anyone's text. `check` looks at the data of one row before it
becomes one, and says in a few words what is wrong with it.
"""

from collections.abc import Mapping, Sequence
import math
from typing import Any

_FIELDS: dict[str, tuple[type, str]] = {
    **dict.fromkeys(
        ('problem', 'config', 'metrics', 'curves', 'versions', 'inference'),
        (Mapping, 'names and values')),
    **dict.fromkeys(
        ('method', 'failure', 'preset', 'command'), (str, 'a text')),
    **dict.fromkeys(('seed', 'version', 'format'), (int, 'a whole number')),
    'resamples': (list, 'a list of numbers')}
# What rows of a problem must say of it, and which metrics a sound one has.
_SAID = {
    'ope': ('dataset', 'digest', 'task', 'action_noise'),
    'log': ('dataset', 'digest', 'target', 'policy'),
    'selection': ('dataset', 'digest'),
    'coverage': ('dataset', 'log', 'level', 'truth')}
_MEASURED = {
    'ope': ('estimate',), 'log': ('estimate',),
    'selection': ('tournament', 'projected_bellman_error', 'chosen'),
    'coverage': ('estimate', 'low', 'high', 'data_error', 'covered'),
    **dict.fromkeys(
        ('demand', 'demand_mnist', 'dsprites', 'mnist'), ('mse',))}
_TEXTS = ('name', 'dataset', 'digest', 'task', 'target', 'policy',
          'candidates', 'outcome', 'scenario', 'images')
_NUMBERS = ('action_noise', 'n', 'rho', 'log', 'level')
# Numbers that may be missing: None where they are not known.
_OPTIONAL = ('actions', 'discount', 'epsilon', 'target_epsilon', 'transitions',
             'episodes', 'log_return', 'log_standard_error', 'truth',
             'truth_standard_error', 'seeds')


def check(fields: Any) -> None:
  """Refuses data that is not a sound row; a diverged row is sound.

  Args:
    fields: of a row, as read from JSON.

  Raises:
    ValueError: something is missing, of another type, or not finite.
  """
  if not isinstance(fields, Mapping):
    raise ValueError(f'it is {_shown(fields)}, not names and values')
  for name, (kind, words) in _FIELDS.items():
    value = fields.get(name)
    if name in fields and (
        not isinstance(value, kind) or isinstance(value, bool)):
      raise ValueError(f'its {name} must be {words}, got {_shown(value)}')
  seconds = fields.get('cpu_seconds', 0.)
  _need_number('cpu_seconds', seconds)
  if seconds < 0.:
    raise ValueError(f'its cpu_seconds must not be negative, got {seconds}')
  for name, value in fields.get('metrics', {}).items():
    _need_number(f'metric {name}', value)
  for name, values in fields.get('curves', {}).items():
    _need_numbers(f'curve {name}', values, gaps=True)
  _need_numbers('resamples', fields.get('resamples', []))
  for name, value in fields.get('versions', {}).items():
    _need_text(f'version of {name}', value)
  problem = fields.get('problem', {})
  _check_problem(problem)
  if not fields.get('failure'):
    # The log's own average has draws of its episodes, and nothing to correct.
    corrected = fields.get('resamples') and fields.get('method') != 'log'
    measured = [*_MEASURED.get(problem['name'], ()),
                *(['correction'] if corrected else [])]
    _need_all('metrics', measured, fields.get('metrics', {}))


def is_finite(value: Any) -> bool:
  """Returns whether a value is a number, and neither nan nor infinite."""
  if isinstance(value, bool) or not isinstance(value, int | float):
    return False
  try:
    return math.isfinite(value)
  except OverflowError:  # A whole number that is no float.
    return False


def _check_problem(problem: Mapping[str, Any]) -> None:
  if 'name' not in problem:
    raise ValueError('it does not say the name of its problem')
  for name, value in problem.items():
    if name in _TEXTS:
      _need_text(name, value)
    elif name in _NUMBERS or name in _OPTIONAL and value is not None:
      _need_number(name, value)
    elif name == 'overlap':
      _check_overlap(value)
    elif name == 'columns':
      _check_columns(value)
    else:
      _need_finite(name, value)
  _need_all('problem', _SAID.get(problem['name'], ()), problem)


def _check_overlap(overlap: Any) -> None:
  """An agreement, or all that is known of log and policy."""
  if not isinstance(overlap, Mapping):
    if overlap is not None:
      _need_number('overlap', overlap)
    return
  for name, value in overlap.items():
    words = f'overlap {name}'
    if name in ('grade', 'verdict'):
      _need_text(words, value)
    elif name == 'warnings':
      if not isinstance(value, list) or not all(
          isinstance(each, str) for each in value):
        raise ValueError(
            f'its {words} must be a list of texts, got {_shown(value)}')
    elif name in ('weights', 'coverage', 'unseen'):
      if value is not None and not isinstance(value, Mapping):
        raise ValueError(
            f'its {words} must be names and values, got {_shown(value)}')
      for part, number in (value or {}).items():
        if number is not None and not isinstance(number, bool):
          _need_number(f'{words} {part}', number)
    elif name in ('agreement', 'steps', 'resting'):
      if value is not None:
        _need_number(words, value)
    else:
      _need_finite(words, value)


def _check_columns(notes: Any) -> None:
  """Sentences on columns of observations, and whether they raise doubt."""
  if not isinstance(notes, list) or not all(
      isinstance(note, Mapping) and set(note) == {'sentence', 'doubt'}
      and isinstance(note['sentence'], str) and isinstance(note['doubt'], bool)
      for note in notes):
    raise ValueError(
        'its columns must be a list of sentences and doubts, got '
        f'{_shown(notes)}')


def _need_all(
    kind: str, names: Sequence[str], known: Mapping[str, Any]) -> None:
  missing = [name for name in names if known.get(name) is None]
  if missing:
    raise ValueError(f'its {kind} does not say its {", ".join(missing)}'
                     if kind == 'problem' else
                     f'its {kind} lack {", ".join(missing)}')


def _need_number(name: str, value: Any) -> None:
  if not is_finite(value):
    raise ValueError(
        f'its {name} must be a finite number, got {_shown(value)}')


def _need_numbers(name: str, values: Any, *, gaps: bool = False) -> None:
  if not isinstance(values, list) or not all(
      is_finite(each) or gaps and each is None for each in values):
    raise ValueError(
        f'its {name} must be a list of finite numbers, got {_shown(values)}')


def _need_text(name: str, value: Any) -> None:
  if not isinstance(value, str):
    raise ValueError(f'its {name} must be a text, got {_shown(value)}')


def _need_finite(name: str, value: Any) -> None:
  """Refuses a number that is not finite, however deep inside."""
  if isinstance(value, Mapping):
    value = list(value.values())
  if isinstance(value, list):
    for each in value:
      _need_finite(name, each)
  elif isinstance(value, int | float) and not isinstance(value, bool):
    _need_number(name, value)


def _shown(value: Any) -> str:
  words = repr(value)
  return words if len(words) <= 60 else f'{words[:60]}…'
