"""The log that users hand in, whatever they have it in.

    log = Log.from_arrays(
        observations, actions, rewards, terminals, truncations, discount=0.99)
    log = Log.from_frame(frame, discount=0.99, action='dose')
    log = Log.from_minari('~/.minari/datasets/mine')
    log = Log.open('data/mine')          # of `dfiv-ope dataset import` or make

All are read by what reads log files, so they are refused by the same sentences.
"""

from collections.abc import Iterable, Sequence
import dataclasses
import pathlib
from typing import Any, Self

import numpy as np

from dfiv_ope import actions as actions_lib
from dfiv_ope.datasets import columns as columns_lib
from dfiv_ope.datasets import layout as layout_lib
from dfiv_ope.datasets import (
  log_arrays,
  log_fields,
  reading,
  start_states,
  transition_logs,
)
from dfiv_ope.datasets import spec as spec_lib
from dfiv_ope.datasets import steps as steps_lib
from dfiv_ope.datasets.formats import in_memory, source
from dfiv_ope.ope import episodes, log_notes
from dfiv_ope.policies import rollout

# What is known of a log of one-step episodes.
_OF_BANDITS = (
  'behaviour_probabilities',
  'num_actions',
  'categorical',
  'continuous',
  'bounds',
  'categorical_actions',
  'name',
)
_OF_TRANSITIONS = (*_OF_BANDITS, 'discounts')


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Log(episodes.Episodes):
  """Whole episodes of a user; see `ope.episodes.Episodes` for what it holds.

  Attributes:
    metadata: the record of a dataset's directory; None for a log that was
      never written to one.
    steps: the rows, with the final observations of episodes among them.
  """

  metadata: spec_lib.Metadata | None = None
  steps: steps_lib.Steps | None = None

  @classmethod
  def from_arrays(
    cls,
    observations: Any,
    actions: Any,
    rewards: Any,
    terminals: Any,
    truncations: Any = None,
    *,
    discount: float,
    next_observations: Any = None,
    episode_ids: Any = None,
    behaviour_probabilities: Any = None,
    num_actions: int | None = None,
    categorical: Sequence[int | str] = (),
    continuous: bool = False,
    bounds: Any = None,
    categorical_actions: Sequence[int] = (),
    discounts: Any = None,
    time_feature: bool = False,
    horizon: int | None = None,
    initial_observations: Any = None,
    name: str = 'log',
  ) -> Self:
    """Returns the log of arrays, one entry a step, in order.

    An episode ends where `terminals` or `truncations` is true. After a
    truncation the next observation matters: without `next_observations` the
    last step of a truncated episode is dropped.

    Args:
      observations: [N, D] or [N], numbers, or with text in the categorical
        columns; or columns by name.
      actions: whole numbers from 0, or labels, [N]; or continuous ones, [N, d],
        or [N] with fractions.
      rewards: [N].
      terminals: whether the action ended the episode for good, [N].
      truncations: whether the episode was cut off after the action, [N].
      discount: of the value that will be asked for, in [0, 1]; 1 if all
        episodes terminate.
      next_observations: the observation after each action, as `observations`.
      episode_ids: names the episode of each step, [N]; None if ends tell.
      behaviour_probabilities: of the logged actions in the policy that took
        them, [N], if they are known; densities if actions are continuous.
      num_actions: how many there are; None if the largest was logged.
      categorical: columns of the observations whose values are names.
      discounts: the environment's own, in [0, 1], which multiply `discount`
        step by step, [N]; 0 where the episode terminated. None for 1.
      time_feature: whether the number of the step, from 0, becomes a last
        column of the observations, which policies do not see.
      horizon: episodes of as many steps are complete: they terminated.
      continuous: whether actions are amounts though they are whole numbers.
      bounds: least and greatest value of each entry of continuous actions, a
        list of d pairs; None in a pair where there is none.
      categorical_actions: entries of continuous actions whose values are names
        though they are numbers; text is so without.
      initial_observations: states that the value is the mean over, [M, D], if
        not those that episodes start from (`starting_from`).
      name: what to call the log.

    Raises:
      ValueError: the arrays do not fit each other or are no log.
    """
    given = {
      source.OBSERVATION: observations,
      source.ACTION: actions,
      source.REWARD: rewards,
      source.TERMINATED: terminals,
      source.TRUNCATED: truncations,
      'next_observation': next_observations,
      source.EPISODE: episode_ids,
      columns_lib.BEHAVIOUR_PROBABILITY: behaviour_probabilities,
      columns_lib.STEP_DISCOUNT: discounts,
    }
    rows, columns = log_arrays.as_source(
      given,
      num_actions=num_actions,
      categorical=categorical,
      time_feature=time_feature,
      horizon=horizon,
      continuous=continuous,
      bounds=bounds,
      categorical_actions=categorical_actions,
    )
    log = cls(**log_fields.read(rows, columns, discount=discount, name=name))
    return (
      log
      if initial_observations is None
      else log.starting_from(initial_observations)
    )

  @classmethod
  def bandit(
    cls,
    observations: Any,
    actions: Any,
    rewards: Any,
    *,
    discount: float = 1.0,
    **known: Any,
  ) -> Self:
    """Returns a log of one-step episodes: a context, an action, its reward.

    Args:
      observations: [N, D] or [N].
      actions: whole numbers from 0, or labels, [N].
      rewards: [N].
      discount: nothing follows a step, so that the value is the same.
      **known: behaviour_probabilities, num_actions, categorical, continuous,
        bounds, categorical_actions and name of `from_arrays`.

    Raises:
      ValueError: the arrays do not fit each other or are no log.
    """
    for given in known:
      if given not in _OF_BANDITS:
        raise ValueError(
          'Every row of a bandit log is an episode of one step that '
          f'terminates, so it has no {given}. Beside the arrays it may have '
          f'{", ".join(_OF_BANDITS)}.'
        )
    return cls.from_arrays(
      observations,
      actions,
      rewards,
      np.ones(np.shape(rewards), bool),
      discount=discount,
      **known,
    )

  @classmethod
  def from_transitions(
    cls,
    observations: Any,
    actions: Any,
    rewards: Any,
    next_observations: Any,
    terminals: Any,
    *,
    initial_observations: Any,
    discount: float,
    **known: Any,
  ) -> Self:
    """Returns a log of transitions that do not say their episodes.

    Rows whose next observation is the observation of the next row chain to
    pieces. Intervals resample pieces: they are too narrow where pieces of one
    trajectory depend on each other.

    Args:
      observations: [N, D].
      actions: as in `from_arrays`, [N].
      rewards: [N].
      next_observations: [N, D].
      terminals: whether the action ended its episode for good, [N].
      initial_observations: states that the value is the mean over, [M, D]; or
        which rows episodes start with, boolean [N].
      discount: of the value that will be asked for, in [0, 1].
      **known: what `bandit` takes, and discounts, of `from_arrays`.

    Raises:
      ValueError: the arrays do not fit each other or are no log.
    """
    for given in known:
      if given not in _OF_TRANSITIONS:
        raise ValueError(
          f'Transitions without episodes have no {given}. Beside the arrays '
          f'they may have {", ".join(_OF_TRANSITIONS)}.'
        )
    pieces = transition_logs.as_episodes(
      {
        source.OBSERVATION: observations,
        'next_observation': next_observations,
        source.ACTION: actions,
        source.TERMINATED: terminals,
      }
    )
    log = cls.from_arrays(
      observations,
      actions,
      rewards,
      terminals,
      discount=discount,
      next_observations=next_observations,
      **pieces,
      **known,
    )
    starts = np.asarray(initial_observations)
    if starts.dtype == bool and starts.shape == (len(log),):
      starts = log.transitions.observation[starts]
    return dataclasses.replace(
      log,
      transitions_only=True,
      notes=(log_notes.Note(kind=log_notes.TRANSITIONS), *log.notes),
    ).starting_from(starts)

  @classmethod
  def from_frame(
    cls, frame: Any, *, discount: float, name: str = 'log', **columns: Any
  ) -> Self:
    """Returns the log of a pandas data frame, a row for each step.

    Args:
      frame: the rows, each episode's one after another.
      discount: of the value that will be asked for, in [0, 1].
      name: what to call the log.
      **columns: what the columns are called where they have not the usual
        names, as `--map` of `dfiv-ope dataset import`: episode, step,
        observations (a list, or a pattern such as obs*), action, reward,
        terminated, truncated, behaviour_probability, target_probabilities,
        actions, categorical, ends, discount (of the steps: `step_discount`);
        bandit, time_feature and horizon, as its options; and of continuous
        actions, which several columns or fractions are: continuous, bounds,
        categorical_actions.

    Raises:
      ValueError: the frame is no log.
    """
    asked = columns_lib.parse(columns)
    log = in_memory.of_frame(frame, labels=asked.row_names)
    layout = layout_lib.resolve(asked, log.columns, file=name)
    named = [
      column
      for column in layout.observations
      if column in log.categorical and column not in asked.categorical
    ]
    fractions = (
      asked.actions is None
      and len(layout.action) == 1
      and (log_arrays.are_vectors(log.column(layout.action[0])))
    )
    return cls(
      **log_fields.read(
        log,
        dataclasses.replace(
          asked,
          categorical=(*asked.categorical, *named),
          continuous=asked.continuous or fractions,
        ),
        discount=discount,
        name=name,
      )
    )

  @classmethod
  def from_minari(
    cls, dataset: Any, *, discount: float, **columns: Any
  ) -> Self:
    """Returns the log of a Minari dataset.

    Args:
      dataset: its directory, or what `minari.load_dataset` returns.
      discount: of the value that will be asked for, in [0, 1].
      **columns: as in `from_frame`.

    Raises:
      FileNotFoundError: there is no such directory.
      ValueError: it is no log.
    """
    storage = getattr(dataset, 'storage', dataset)
    path = pathlib.Path(getattr(storage, 'data_path', storage)).expanduser()
    return cls(
      **log_fields.read(
        path,
        columns_lib.parse(columns),
        discount=discount,
        name=path.name,
        format_name='minari',
      )
    )

  @classmethod
  def open(
    cls,
    directory: str | pathlib.Path,
    *,
    discount: float | None = None,
    initial: str | pathlib.Path | None = None,
  ) -> Self:
    """Returns the log of a directory that `dfiv-ope dataset` wrote.

    Args:
      directory: of `dfiv-ope dataset import` or `dfiv-ope dataset make`.
      discount: of the value that will be asked for; None for the recorded one.
      initial: a file of start states (`start_states`); None for those of the
        episodes.

    Raises:
      FileNotFoundError: it holds no dataset.
      ValueError: its content is not what its record says.
    """
    log = cls(
      **log_fields.of_directory(pathlib.Path(directory).expanduser(), discount)
    )
    if initial is None:
      return log
    metadata = log.metadata
    assert metadata is not None
    names = metadata.observations or tuple(
      f'{source.OBSERVATION}[{place}]' for place in range(log.num_observations)
    )
    return log.starting_from(
      start_states.read(
        pathlib.Path(initial).expanduser(),
        names[: len(names) - log.time_feature],
        metadata.categories,
      )
    )

  @classmethod
  def from_episodes(
    cls,
    collected: Iterable[rollout.Episode],
    *,
    num_actions: int,
    discount: float,
    name: str = 'log',
    continuous: actions_lib.Continuous | None = None,
  ) -> Self:
    """Returns the log of episodes that were simulated.

    Args:
      collected: the episodes.
      num_actions: A; 0 if actions are vectors.
      discount: of the value that will be asked for, in [0, 1].
      name: what to call the log.
      continuous: what the actions are if they are vectors.
    """
    steps = steps_lib.concatenate(map(steps_lib.from_episode, collected))
    return cls(
      **log_fields.of_steps(
        steps,
        {},
        num_actions=num_actions,
        discount=discount,
        name=name,
        continuous=continuous,
        digest=reading.digest(steps, continuous=continuous),
      )
    )
