"""The mapping of a log's columns once it has met a file."""

from collections.abc import Iterable, Sequence
import re
from typing import Any, NamedTuple

from dfiv_ope.datasets import bounds as bounds_lib
from dfiv_ope.datasets import columns as columns_lib
from dfiv_ope.datasets.formats import source

TARGET_PROBABILITY = columns_lib.TARGET_PROBABILITY
TERMINATED, TRUNCATED = columns_lib.TERMINATED, columns_lib.TRUNCATED


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
  discount: str | None = None
  bandit: bool = False
  transitions: bool = False
  time_feature: bool = False
  horizon: int | None = None
  continuous: bool = False
  bounds: tuple[bounds_lib.Pair, ...] | None = None
  categorical_actions: tuple[str, ...] = ()

  @property
  def names(self) -> tuple[str, ...]:
    """All columns that are read."""
    single = (
      self.episode,
      self.step,
      *self.action,
      self.reward,
      self.terminated,
      self.truncated,
      self.behaviour_probability,
      self.discount,
    )
    return (
      *(name for name in single if name is not None),
      *self.observations,
      *self.target_probabilities,
    )

  @property
  def text(self) -> tuple[str, ...]:
    """Columns besides the actions that are kept as they are written."""
    return self.episode, *(
      name for name in self.categorical if name in self.observations
    )

  def record(self) -> dict[str, Any]:
    """Returns the mapping for the record of a dataset."""
    result = {
      name: list(value) if isinstance(value, tuple) else value
      for name, value in self._asdict().items()
      if name != 'target_labels'
    }
    if len(self.action) == 1:
      result['action'] = self.action[0]
    for name in ('continuous', 'bounds', 'categorical_actions', 'transitions'):
      if not result[name]:
        del result[name]  # What is said of few logs only.
    return result


def resolve(
  columns: columns_lib.Columns, available: Sequence[str], *, file: str
) -> Layout:
  """Finds the columns of a file.

  Args:
    columns: the mapping.
    available: names of the file's columns.
    file: its name, for messages.

  Raises:
    ValueError: a column is missing or used twice, or nothing says how
      episodes end.
  """
  if len(set(available)) < len(available) and all(map(is_number, available)):
    raise ValueError(
      f'The first row of {file} has numbers alone, but it should name the '
      'columns. Add a row of names before it.'
    )
  columns_lib.no_repetition(f'the columns of {file}', available)
  if columns.bandit:  # `one_step` numbers the episodes, whatever a column says.
    available = [name for name in available if name != columns.episode]
  found: dict[str, str | None] = {}
  for name in (
    'episode',
    'step',
    'reward',
    'terminated',
    'truncated',
    'behaviour_probability',
    'discount',
  ):
    wanted = getattr(columns, name)
    if columns.bandit and name in columns_lib.OF_EPISODES:
      found[name] = None
    elif wanted is None:
      usual = columns_lib.USUAL[name]
      found[name] = usual if usual in available else None
    elif wanted in available or columns.bandit and name == 'episode':
      found[name] = wanted
    else:
      raise _missing(name, wanted, available, file)
  taken = {name for name in found.values() if name is not None}
  action = (
    usual_action(available)
    if columns.action is None
    else tuple(
      name
      for wanted in columns.action
      for name in _matches('action', wanted, available, taken, file)
    )
  )
  if not action:
    raise _missing('action', source.ACTION, available, file)
  taken.update(action)
  vectors = columns.vectors or len(action) > 1
  targets, labels = _targets(columns, available, taken, file)
  observations = [
    name
    for wanted in columns.observations
    for name in _matches(
      'observations', wanted, available, taken.union(targets), file
    )
  ]
  if vectors and columns.actions is not None:
    raise columns_lib.discrete_only('actions (the labels or their number)')
  if vectors and targets:
    raise columns_lib.discrete_only('target_probabilities')
  layout = Layout(
    **found,  # type: ignore[arg-type]
    action=action,
    observations=tuple(observations),
    target_probabilities=targets,
    target_labels=labels,
    ends=_ends(columns, found['terminated'], available, file),
    categorical=_categorical(columns, observations, file),
    bandit=columns.bandit,
    transitions=columns.transitions,
    time_feature=columns.time_feature,
    horizon=columns.horizon,
    continuous=vectors,
    bounds=columns.bounds,
    categorical_actions=columns.categorical_actions,
  )
  columns_lib.no_repetition('the mapping', layout.names)
  return layout


def usual_action(available: Sequence[str]) -> tuple[str, ...]:
  """Returns the columns that hold the action where nothing else is said."""
  if source.ACTION in available:
    return (source.ACTION,)
  return tuple(
    name for name in available if re.fullmatch(rf'{source.ACTION}_\d+', name)
  )


def is_number(name: str) -> bool:
  """Returns whether a name reads as a number."""
  try:
    float(name)
  except ValueError:
    return False
  return True


def _targets(
  columns: columns_lib.Columns,
  available: Sequence[str],
  taken: Iterable[str],
  file: str,
) -> tuple[tuple[str, ...], tuple[str, ...] | None]:
  """Returns columns of target probabilities and the actions they name."""
  wanted = columns.target_probabilities
  if wanted is None:
    wanted = (f'{TARGET_PROBABILITY}*',)
    if not any(name.startswith(TARGET_PROBABILITY) for name in available):
      return (), None
  names = [
    name
    for each in wanted
    for name in _matches('target_probabilities', each, available, taken, file)
  ]
  if len(wanted) == 1 and wanted[0].endswith('*'):
    prefix = wanted[0][:-1]
    return tuple(names), tuple(name.removeprefix(prefix) for name in names)
  return tuple(names), None


def _categorical(
  columns: columns_lib.Columns, observations: Sequence[str], file: str
) -> tuple[str, ...]:
  """Returns the columns that were named categorical."""
  found: list[str] = []
  if columns.time_feature:
    observations = [*observations, columns_lib.TIME]
  for name in columns.categorical:
    matches = [
      each
      for each in observations
      if name.endswith('*') and each.startswith(name[:-1])
    ]
    if name.split('[')[0] in observations:
      matches = [name]
    if not matches:
      raise ValueError(
        f'{name!r} should be categorical, but it is no observation of '
        f'{file}. Its observations are: {", ".join(observations[:40])}.'
      )
    found += matches
  columns_lib.no_repetition('the categorical columns', found)
  return tuple(found)


def _matches(
  name: str,
  wanted: str,
  available: Sequence[str],
  taken: Iterable[str],
  file: str,
) -> list[str]:
  """Returns the columns that a name or a prefix with a star stands for."""
  if not wanted.endswith('*'):
    matches = [wanted] if wanted in available else []
  else:
    matches = [
      each
      for each in available
      if each.startswith(wanted[:-1]) and each not in taken
    ]
  if not matches:
    raise _missing(name, wanted, available, file)
  return matches


def _ends(
  columns: columns_lib.Columns,
  terminated: str | None,
  available: Sequence[str],
  file: str,
) -> str:
  if columns.bandit:
    if TRUNCATED in available:
      raise ValueError(
        f'{file} has the column {TRUNCATED!r}, but every step of a bandit '
        'log terminates its episode. Remove the column, or leave out '
        '--bandit.'
      )
    return TERMINATED
  if terminated is not None:
    if columns.ends is not None:
      raise ValueError(
        f'--ends is for logs that do not say how episodes end, but {file} '
        f'has the column {terminated!r}. Leave it out.'
      )
    return TRUNCATED
  if columns.ends is None:
    raise ValueError(
      f'{file} has no column {TERMINATED!r}, so how do its episodes end? '
      'After a termination nothing more can be earned; a truncated episode '
      'was cut off, and its continuation value is estimated. Say --ends '
      f'{TERMINATED} or --ends {TRUNCATED} (in Python ends={TERMINATED!r}), '
      'or name a column with --map terminated=COLUMN (terminated=COLUMN). '
      f'{_listing(available)}'
    )
  return columns.ends


def _missing(
  name: str, wanted: str, available: Sequence[str], file: str
) -> ValueError:
  hint = ''
  if len(available) == 1 and any(mark in available[0] for mark in ';\t|'):
    hint = ' Its columns must be separated by commas.'
  return ValueError(
    f'{file} has no column {wanted!r} for {name}.{hint} '
    f'{_listing(available)} Name another with --map {name}=COLUMN '
    f'(in Python {name}=...).'
  )


def _listing(available: Sequence[str]) -> str:
  shown = ', '.join(map(repr, available[:40]))
  more = f' and {len(available) - 40} more' if len(available) > 40 else ''
  return f'Its columns are: {shown}{more}.'
