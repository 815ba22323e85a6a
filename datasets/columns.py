"""What the columns of a log mean: the mapping as it is asked for."""

import collections
from collections.abc import Mapping, Sequence
import dataclasses
from typing import Any

from dfiv_ope import configs, limits
from dfiv_ope.datasets import bounds as bounds_lib
from dfiv_ope.datasets.formats import source

BEHAVIOUR_PROBABILITY = 'behaviour_probability'
TARGET_PROBABILITY = 'target_probability_'
TERMINATED, TRUNCATED = 'terminated', 'truncated'
# A name that no one gives to a price reduction.
STEP_DISCOUNT = 'step_discount'
# What the step number is called as an observation.
TIME = 'step'

# Names that are taken without being asked for, where a file has them.
USUAL = {
  'step': 'step',
  'terminated': TERMINATED,
  'truncated': TRUNCATED,
  'behaviour_probability': BEHAVIOUR_PROBABILITY,
  'discount': STEP_DISCOUNT,
}
# Of these a bandit log has none.
OF_EPISODES = ('step', 'terminated', 'truncated', 'discount')


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
    discount: the environment's own discount of the step, in [0, 1].
    bandit: whether every row is an episode of one step.
    transitions: whether rows are transitions without episodes, with columns of
      the next observation (`transition_logs`).
    time_feature: whether the number of the step, from 0, becomes the last
      observation, which policies do not see.
    horizon: episodes of as many steps are complete: they terminated.
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
  discount: str | None = None
  bandit: bool = False
  transitions: bool = False
  time_feature: bool = False
  horizon: int | None = None
  continuous: bool = False
  bounds: tuple[bounds_lib.Pair, ...] | None = None
  categorical_actions: tuple[str, ...] = ()

  def __post_init__(self) -> None:
    if self.horizon is not None:
      limits.count('horizon', self.horizon, most=limits.TRANSITIONS)
    if self.time_feature and TIME in self.observations:
      raise ValueError(
        f'time_feature adds the observation {TIME!r}, but the observations '
        'have it already. Leave one of them out.'
      )
    if self.bandit:
      self._check_bandit()
    if self.transitions:
      self._check_transitions()
    if not self.observations:
      raise ValueError('observations must name at least one column.')
    if self.ends not in (None, TERMINATED, TRUNCATED):
      raise ValueError(
        f'ends must be {TERMINATED} or {TRUNCATED}, got {self.ends!r}.'
      )
    if self.actions is not None:
      if len(self.actions) < 2:
        raise ValueError(
          'actions must be their number or at least two labels, got '
          f'{", ".join(self.actions)!r}.'
        )
      no_repetition('actions', self.actions)
    if self.actions is not None and self.vectors:
      raise discrete_only('actions (the labels or their number)')

  @property
  def vectors(self) -> bool:
    """Whether something besides the columns says that actions are vectors."""
    return bool(
      self.continuous or self.bounds is not None or self.categorical_actions
    )

  @property
  def row_names(self) -> tuple[str, ...]:
    """Columns that a data frame may have as levels of its index."""
    return self.episode, self.step or USUAL['step']

  def _check_transitions(self) -> None:
    """Refuses what transitions without episodes cannot have."""
    given = [
      name
      for name in ('step', 'truncated', 'ends', 'horizon')
      if getattr(self, name) is not None
    ]
    given += [
      name for name in ('bandit', 'time_feature') if getattr(self, name)
    ]
    if self.episode != Columns.episode:
      given.append('episode')
    if given:
      raise ValueError(
        'Transitions without episodes have no beginning and no number of a '
        f'step, so {", ".join(given)} cannot go with them. Leave out '
        'transitions, or the rest.'
      )

  def _check_bandit(self) -> None:
    """Refuses what only episodes of several steps have."""
    given = [
      name
      for name in (*OF_EPISODES, 'horizon')
      if getattr(self, name) is not None
    ]
    if self.time_feature:
      given.append('time_feature')
    if self.ends == TRUNCATED:
      given.append(f'ends {TRUNCATED}')
    if self.episode != Columns.episode:
      given.append('episode')
    if given:
      raise ValueError(
        'Every row of a bandit log is an episode of one step that '
        f'terminates, so {", ".join(given)} cannot go with it. Leave out '
        'bandit, or the rest.'
      )


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
    if name in (
      'observations',
      'action',
      'target_probabilities',
      'actions',
      'categorical',
      'categorical_actions',
    ):
      values[name] = _list(name, value)
    elif name == 'bounds':
      values[name] = bounds_lib.parse(value)
    elif name in ('bandit', 'transitions', 'time_feature', 'continuous'):
      values[name] = _flag(name, value)
    elif name == 'horizon':
      if type(value) is not int:
        raise ValueError(
          f'horizon should be a whole number of steps, got {value!r}.'
        )
      values[name] = value
    elif isinstance(value, str) and value:
      values[name] = value
    else:
      raise ValueError(f'{name} should be the name of a column, got {value!r}.')
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
        f'{str(value)[:20]}.'
      )
    return tuple(map(str, range(int(value))))
  if isinstance(value, str):
    value = [each.strip() for each in value.split(',')]
  for each in value if isinstance(value, list | tuple) else ():
    if isinstance(each, bool):
      raise ValueError(
        f'{name} has {each}, which YAML makes of yes, no, on and off, too. '
        'Write names in quotes.'
      )
  if not isinstance(value, list | tuple) or not all(
    isinstance(each, str | int) and str(each) for each in value
  ):
    wanted = (
      'a list of names'
      if name != 'action'
      else ('the name of a column, or a list of them')
    )
    raise ValueError(f'{name} should be {wanted}, got {value!r}.')
  return tuple(map(str, value))


def discrete_only(what: str) -> ValueError:
  """Returns the error of what actions that are vectors cannot have."""
  return ValueError(
    f'{what} cannot go with continuous actions, which are vectors and not '
    'some out of finitely many. Leave one of the two out.'
  )


def no_repetition(what: str, names: Sequence[str]) -> None:
  """Refuses names of which one comes twice."""
  counts = collections.Counter(names)
  twice = sorted(name for name, count in counts.items() if count > 1)
  if twice:
    raise ValueError(
      f'{", ".join(map(repr, twice[:20]))} occurs twice in {what}; each must '
      'occur once.'
    )
