"""What the columns of a log mean: the mapping, and how it meets a file."""

import collections
from collections.abc import Iterable, Mapping, Sequence
import dataclasses
import re
from typing import Any, NamedTuple

from dfiv_ope import configs
from dfiv_ope.datasets import bounds as bounds_lib
from dfiv_ope.datasets.formats import source

BEHAVIOUR_PROBABILITY = 'behaviour_probability'
TARGET_PROBABILITY = 'target_probability_'
TERMINATED, TRUNCATED = 'terminated', 'truncated'

# Names that are taken without being asked for, where a file has them.
_USUAL = {'step': 'step', 'terminated': TERMINATED, 'truncated': TRUNCATED,
          'behaviour_probability': BEHAVIOUR_PROBABILITY}


@dataclasses.dataclass(frozen=True, kw_only=True)
class Columns:
  """The mapping as it is asked for; None means the usual name, if it is there.

  Attributes:
    episode: names the episode of a row.
    step: number of the row within its episode.
    observations: entries of the observation; a name that ends in * stands for
      all columns that start like it.
    action: a whole number or a label; several columns, or one of arrays, are
      the entries of a vector.
    reward: of the action.
    terminated: whether the action ended the episode for good.
    truncated: whether the episode was cut off after the action.
    behaviour_probability: of the action, in the policy that made the log; its
      density where actions are vectors.
    target_probabilities: of each action, in the policy to be evaluated.
    actions: labels of all actions in order, or their number.
    categorical: those of the observations whose values are names; x[2] is an
      entry of an array x.
    ends: how episodes end in a log without the column `terminated`.
    continuous: whether the action is a vector, if only of one number; several
      columns say it without.
    bounds: least and greatest value of each entry of such an action.
    categorical_actions: those of the entries whose values are names although
      they are written as numbers.
  """
  episode: str = 'episode'
  step: str | None = None
  observations: tuple[str, ...] = ('obs*',)
  action: tuple[str, ...] | None = None
  reward: str = 'reward'
  terminated: str | None = None
  truncated: str | None = None
  behaviour_probability: str | None = None
  target_probabilities: tuple[str, ...] | None = None
  actions: tuple[str, ...] | None = None
  categorical: tuple[str, ...] = ()
  ends: str | None = None
  continuous: bool = False
  bounds: tuple[bounds_lib.Pair, ...] | None = None
  categorical_actions: tuple[str, ...] = ()

  def __post_init__(self) -> None:
    if not self.observations:
      raise ValueError('observations must name at least one column.')
    if self.ends not in (None, TERMINATED, TRUNCATED):
      raise ValueError(
          f'ends must be {TERMINATED} or {TRUNCATED}, got {self.ends!r}.')
    if self.actions is not None:
      if len(self.actions) < 2:
        raise ValueError(
            'actions must be their number or at least two labels, got '
            f'{", ".join(self.actions)!r}.')
      _no_repetition('actions', self.actions)
    if self.actions is not None and self.vectors:
      raise discrete_only('actions (the labels or their number)')

  @property
  def vectors(self) -> bool:
    """Whether something besides the columns says that actions are vectors."""
    return bool(
        self.continuous or self.bounds is not None or self.categorical_actions)


class Layout(NamedTuple):
  """The mapping once it has met a file; None where the file has nothing.

  Attributes:
    target_labels: the actions that target probabilities are named after.
    ends: how an episode ends that no column says it of.
    continuous: whether it is known that actions are vectors.
    others: names of columns, as in `Columns`.
  """
  episode: str
  step: str | None
  observations: tuple[str, ...]
  action: tuple[str, ...]
  reward: str
  terminated: str | None
  truncated: str | None
  behaviour_probability: str | None
  target_probabilities: tuple[str, ...]
  target_labels: tuple[str, ...] | None
  ends: str
  categorical: tuple[str, ...] = ()
  continuous: bool = False
  bounds: tuple[bounds_lib.Pair, ...] | None = None
  categorical_actions: tuple[str, ...] = ()

  @property
  def names(self) -> tuple[str, ...]:
    """All columns that are read."""
    single = (self.episode, self.step, *self.action, self.reward,
              self.terminated, self.truncated, self.behaviour_probability)
    return (*(name for name in single if name is not None),
            *self.observations, *self.target_probabilities)

  @property
  def text(self) -> tuple[str, ...]:
    """Columns besides the actions that are kept as they are written."""
    return self.episode, *(
        name for name in self.categorical if name in self.observations)

  def record(self) -> dict[str, Any]:
    """Returns the mapping for the record of a dataset."""
    result = {
        name: list(value) if isinstance(value, tuple) else value
        for name, value in self._asdict().items() if name != 'target_labels'}
    if len(self.action) == 1:
      result['action'] = self.action[0]
    for name in ('continuous', 'bounds', 'categorical_actions'):
      if not result[name]:
        del result[name]  # What is said of vectors only.
    return result


def parse(data: Mapping[str, Any]) -> Columns:
  """Returns the mapping that options or a YAML file ask for.

  Args:
    data: by the names of `Columns`; lists may be written with commas.

  Raises:
    ValueError: a name is unknown, or its value not of its kind.
  """
  configs.check_names(data, Columns, what='A mapping', names='Its names')
  values: dict[str, Any] = {}
  for name, value in data.items():
    if name in ('observations', 'action', 'target_probabilities', 'actions',
                'categorical', 'categorical_actions'):
      values[name] = _list(name, value)
    elif name == 'bounds':
      values[name] = bounds_lib.parse(value)
    elif name == 'continuous':
      values[name] = _flag(name, value)
    elif isinstance(value, str) and value:
      values[name] = value
    else:
      raise ValueError(
          f'{name} should be the name of a column, got {value!r}.')
  return Columns(**values)


def _flag(name: str, value: Any) -> bool:
  flags = {'true': True, 'false': False}
  found = flags.get(str(value).strip().lower())
  if found is None:
    raise ValueError(f'{name} should be true or false, got {value!r}.')
  return found


def _list(name: str, value: Any) -> tuple[str, ...]:
  if name == 'actions' and str(value).isdecimal():
    if len(str(value)) > 9 or int(value) > source.MOST_ACTIONS:
      raise ValueError(
          f'There can be at most {source.MOST_ACTIONS:,} actions, got '
          f'{str(value)[:20]}.')
    return tuple(map(str, range(int(value))))
  if isinstance(value, str):
    value = [each.strip() for each in value.split(',')]
  for each in value if isinstance(value, list | tuple) else ():
    if isinstance(each, bool):
      raise ValueError(
          f'{name} has {each}, which YAML makes of yes, no, on and off, too. '
          'Write names in quotes.')
  if not isinstance(value, list | tuple) or not all(
      isinstance(each, str | int) and str(each) for each in value):
    wanted = 'a list of names' if name != 'action' else (
        'the name of a column, or a list of them')
    raise ValueError(f'{name} should be {wanted}, got {value!r}.')
  return tuple(map(str, value))


def resolve(columns: Columns, available: Sequence[str], *, file: str) -> Layout:
  """Finds the columns of a file.

  Args:
    columns: the mapping.
    available: names of the file's columns.
    file: its name, for messages.

  Raises:
    ValueError: a column is missing or used twice, or nothing says how
      episodes end.
  """
  _no_repetition(f'the columns of {file}', available)
  found: dict[str, str | None] = {}
  for name in ('episode', 'step', 'reward', 'terminated', 'truncated',
               'behaviour_probability'):
    wanted = getattr(columns, name)
    if wanted is None:
      usual = _USUAL[name]
      found[name] = usual if usual in available else None
    elif wanted in available:
      found[name] = wanted
    else:
      raise _missing(name, wanted, available, file)
  taken = {name for name in found.values() if name is not None}
  action = usual_action(available) if columns.action is None else tuple(
      name for wanted in columns.action
      for name in _matches('action', wanted, available, taken, file))
  if not action:
    raise _missing('action', source.ACTION, available, file)
  taken.update(action)
  vectors = columns.vectors or len(action) > 1
  targets, labels = _targets(columns, available, taken, file)
  observations = [
      name for wanted in columns.observations
      for name in _matches('observations', wanted, available,
                           taken.union(targets), file)]
  if vectors and columns.actions is not None:
    raise discrete_only('actions (the labels or their number)')
  if vectors and targets:
    raise discrete_only('target_probabilities')
  layout = Layout(
      **found, action=action, observations=tuple(observations),  # type: ignore[arg-type]
      target_probabilities=targets, target_labels=labels,
      ends=_ends(columns, found['terminated'], available, file),
      categorical=_categorical(columns, observations, file),
      continuous=vectors, bounds=columns.bounds,
      categorical_actions=columns.categorical_actions)
  _no_repetition('the mapping', layout.names)
  return layout


def usual_action(available: Sequence[str]) -> tuple[str, ...]:
  """Returns the columns that hold the action where nothing else is said."""
  if source.ACTION in available:
    return (source.ACTION,)
  return tuple(
      name for name in available
      if re.fullmatch(rf'{source.ACTION}_\d+', name))


def discrete_only(what: str) -> ValueError:
  """Returns the error of what actions that are vectors cannot have."""
  return ValueError(
      f'{what} cannot go with continuous actions, which are vectors and not '
      'some out of finitely many. Leave one of the two out.')


def _targets(
    columns: Columns, available: Sequence[str], taken: Iterable[str],
    file: str,
) -> tuple[tuple[str, ...], tuple[str, ...] | None]:
  """Returns columns of target probabilities and the actions they name."""
  wanted = columns.target_probabilities
  if wanted is None:
    wanted = (f'{TARGET_PROBABILITY}*',)
    if not any(name.startswith(TARGET_PROBABILITY) for name in available):
      return (), None
  names = [
      name for each in wanted for name in _matches(
          'target_probabilities', each, available, taken, file)]
  if len(wanted) == 1 and wanted[0].endswith('*'):
    prefix = wanted[0][:-1]
    return tuple(names), tuple(name.removeprefix(prefix) for name in names)
  return tuple(names), None


def _categorical(
    columns: Columns, observations: Sequence[str], file: str,
) -> tuple[str, ...]:
  """Returns the columns that were named categorical."""
  found: list[str] = []
  for name in columns.categorical:
    matches = [each for each in observations if name.endswith('*')
               and each.startswith(name[:-1])]
    if name.split('[')[0] in observations:
      matches = [name]
    if not matches:
      raise ValueError(
          f'{name!r} should be categorical, but it is no observation of '
          f'{file}. Its observations are: {", ".join(observations[:40])}.')
    found += matches
  _no_repetition('the categorical columns', found)
  return tuple(found)


def _matches(
    name: str, wanted: str, available: Sequence[str], taken: Iterable[str],
    file: str) -> list[str]:
  """Returns the columns that a name or a prefix with a star stands for."""
  if not wanted.endswith('*'):
    matches = [wanted] if wanted in available else []
  else:
    matches = [each for each in available
               if each.startswith(wanted[:-1]) and each not in taken]
  if not matches:
    raise _missing(name, wanted, available, file)
  return matches


def _ends(
    columns: Columns, terminated: str | None, available: Sequence[str],
    file: str) -> str:
  if terminated is not None:
    if columns.ends is not None:
      raise ValueError(
          f'--ends is for logs that do not say how episodes end, but {file} '
          f'has the column {terminated!r}. Leave it out.')
    return TRUNCATED
  if columns.ends is None:
    raise ValueError(
        f'{file} has no column {TERMINATED!r}, so how do its episodes end? '
        'After a termination nothing more can be earned; a truncated episode '
        'was cut off, and its continuation value is estimated. Say --ends '
        f'{TERMINATED} or --ends {TRUNCATED}, or name a column with --map '
        f'terminated=COLUMN. {_listing(available)}')
  return columns.ends


def _missing(
    name: str, wanted: str, available: Sequence[str], file: str) -> ValueError:
  hint = ''
  if len(available) == 1 and any(mark in available[0] for mark in ';\t|'):
    hint = ' Its columns must be separated by commas.'
  return ValueError(
      f'{file} has no column {wanted!r} for {name}.{hint} '
      f'{_listing(available)} Name another with --map {name}=COLUMN.')


def _listing(available: Sequence[str]) -> str:
  shown = ', '.join(map(repr, available[:40]))
  more = f' and {len(available) - 40} more' if len(available) > 40 else ''
  return f'Its columns are: {shown}{more}.'


def _no_repetition(what: str, names: Sequence[str]) -> None:
  counts = collections.Counter(names)
  twice = sorted(name for name, count in counts.items() if count > 1)
  if twice:
    raise ValueError(
        f'{", ".join(map(repr, twice[:20]))} occurs twice in {what}; each must '
        'occur once.')
