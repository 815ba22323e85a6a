"""What can be wrong with the rows of whole episodes."""

from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

import numpy as np

from dfiv_ope import actions as actions_lib
from dfiv_ope.datasets import bounds, decoded_rows, decoding, labels
from dfiv_ope.datasets import columns as columns_lib
from dfiv_ope.datasets import layout as layout_lib

# Probabilities in files are rounded.
_SUM_TOLERANCE = 1e-3
_TOLERANCE = 1e-6
_LARGEST_STEP = 2.0**53
# Of numbers: fourth powers of them, of which there may be many, are finite.
_LARGEST = 1e70
_BEYOND = f'beyond {_LARGEST:.0e} in size'
# Rows that a sentence names, and findings that an error does.
_ROWS = 5
LISTED = 20
# From the number of a row to the file that has it and its number there.
Place = Callable[[int], tuple[str, int]]


def _only(row: int) -> tuple[str, int]:
  """Of a log in one file."""
  return '', row


class Finding(NamedTuple):
  """Something wrong, in one or more rows.

  Attributes:
    sentence: what is wrong, the same for all rows.
    places: of the rows among those that were searched.
    rows: their numbers in the file.
    episode: name of the first row's episode; empty if it has none.
    example: what is wrong with the first row, if the sentence has not all.
  """

  sentence: str
  places: np.ndarray
  rows: np.ndarray
  episode: str = ''
  example: str = ''

  @property
  def words(self) -> str:
    """What is wrong with the first row."""
    return self.example or self.sentence

  def describe(self, file: str, place: Place = _only) -> str:
    """Says what is wrong, where, and how often.

    Args:
      file: name of the log.
      place: returns the file of a row, if the log has several, and its number
        there.
    """
    name = self.episode if self.episode.isprintable() else ascii(self.episode)
    episode = f' (episode {name})' if name else ''
    first, row = place(int(self.rows[0]))
    return (
      f'{first or file}, row {row}{episode}: {self.words}'
      f'{self._also(first, place)}.'
    )

  def _also(self, first: str, place: Place) -> str:
    more = len(self.rows) - 1
    if not more:
      return ''
    next_rows = ', '.join(
      f'{row}' if name == first else f'{name} {row}'
      for name, row in map(place, map(int, self.rows[1:_ROWS]))
    )
    return (
      f'; so in {more:,} more row{"s" if more > 1 else ""} ({next_rows}'
      f'{", ..." if more >= _ROWS else ""})'
    )


def joined(found: Iterable[Finding]) -> list[Finding]:
  """Returns findings with those of one sentence joined, by their first row.

  Args:
    found: in the order of the file.
  """
  groups: dict[str, list[Finding]] = {}
  for each in found:
    groups.setdefault(each.sentence, []).append(each)
  result = [
    group[0]._replace(
      **{
        name: np.concatenate([getattr(each, name) for each in group])
        for name in ('places', 'rows')
      }
    )
    for group in groups.values()
  ]
  return sorted(result, key=lambda each: int(each.rows[0]))


def refusal(
  found: Iterable[Finding], *, file: str, advice: str, place: Place = _only
) -> ValueError:
  """Returns the error of a log: its first finding, all of them as its notes.

  Args:
    found: at least one, in the order of the file.
    file: name of the log.
    advice: what to do.
    place: as `Finding.describe` takes it.
  """
  sentences = [each.describe(file, place) for each in joined(found)]
  if len(sentences) == 1:
    return ValueError(f'{sentences[0]} {advice}')
  error = ValueError(
    f'{file} is not sound: {len(sentences)} things are wrong with it. The '
    f'first: {sentences[0]} {advice}'
  )
  for sentence in sentences[:LISTED]:
    error.add_note(sentence)
  if len(sentences) > LISTED:
    error.add_note(f'... and {len(sentences) - LISTED} more.')
  return error


class Shape:
  """Where the episodes of some rows start and end.

  Attributes:
    ends: index of each episode's last row, [E].
    lengths: rows of each episode, [E].
    final: whether a row is a final observation, [N].
    has_final: whether an episode's last row is one, [E].
    last_transition: index of each episode's last action, [E]; of an episode
      that has none, it is no index of its own.
    terminated: whether an episode ended by termination, [E].
  """

  def __init__(
    self, rows: decoded_rows.Rows, *, ends: str, horizon: int | None = None
  ):
    """Initialises the shape.

    Args:
      rows: of whole episodes.
      ends: how they end where no column says it.
      horizon: an episode of as many steps terminated.
    """
    self.ends = np.flatnonzero(np.diff(rows.episode, append=-1))
    self.lengths = np.diff(self.ends, prepend=-1)
    is_end = np.zeros(len(rows.episode), bool)
    is_end[self.ends] = True
    self.final = is_end & rows.no_action & np.isnan(rows.reward)
    self.has_final = self.final[self.ends]
    self.last_transition = self.ends - self.has_final
    self.terminated = rows.terminated[self.last_transition] > 0
    if ends == columns_lib.TERMINATED:
      self.terminated |= ~(rows.truncated[self.last_transition] > 0)
    if horizon is not None:
      self.terminated |= self.lengths - self.has_final == horizon


def search(
  rows: decoded_rows.Rows, shape: Shape, decoder: decoding.Decoder
) -> Iterator[Finding]:
  """Yields everything that is wrong with some whole episodes."""
  masks = [
    *_steps(rows),
    *_actions(rows, shape, decoder),
    *_flags(rows, shape, decoder.layout),
    *_horizon(shape, decoder.layout.horizon),
    *_discounts(rows, shape, decoder.layout.discount),
    *_observations(rows, decoder),
    *_probabilities(rows, shape, decoder),
  ]
  for sentence, mask, *example in masks:
    index = np.flatnonzero(mask)
    if index.size:
      yield Finding(
        sentence,
        index,
        rows.row[index],
        decoder.episode_name(rows.episode[index[0]]),
        *example,
      )


# What is wrong, in which rows, and if need be what is wrong with the first.
Masks = Iterator[tuple[Any, ...]]


def _steps(rows: decoded_rows.Rows) -> Masks:
  """Steps must go up by one within an episode."""
  if rows.step is None:
    return
  whole = np.isfinite(rows.step) & (rows.step == np.floor(rows.step))
  yield (
    'step is not a whole number',
    ~whole & ~rows.unread[:, decoded_rows.STEP],
  )
  exact = np.abs(rows.step) < _LARGEST_STEP
  yield (
    (
      'step is 2^53 or more, where numbers that differ by one are not told '
      'apart; count from 0'
    ),
    whole & ~exact,
  )
  whole &= exact
  same = np.append(False, np.diff(rows.episode) == 0)
  same[1:] &= whole[1:] & whole[:-1]
  change = np.where(same, np.diff(rows.step, prepend=0.0), 1.0)
  yield 'the same step is there twice', change == 0
  wrong = (change != 0) & (change != 1)
  if wrong.any():
    first = int(np.argmax(wrong))
    before, after = rows.step[first - 1], rows.step[first]
    words = 'but steps must go up by one'
    yield (
      f'a step follows another, {words}',
      wrong,
      f'step {after:.0f} follows step {before:.0f}, {words}',
    )


def _actions(
  rows: decoded_rows.Rows, shape: Shape, decoder: decoding.Decoder
) -> Masks:
  """Every row but a final observation has an action and a reward."""
  no_action, no_reward = rows.no_action, np.isnan(rows.reward)
  yield (
    (
      'action and reward are empty, which only the last row of an episode '
      'may have'
    ),
    no_action & no_reward & ~shape.final,
  )
  yield 'action is empty', no_action & ~no_reward
  if decoder.actions.continuous is not None:
    yield from _entries(rows.action, no_action, decoder.actions.continuous)
  else:
    known = decoder.actions.labels
    more = ', ...' if len(known) > 20 else ''
    yield (
      f'action is not one of {", ".join(known[:20])}{more}',
      rows.action == labels.UNKNOWN,
    )
  yield 'reward is empty or nan', no_reward & ~no_action
  yield f'reward is infinite or {_BEYOND}', np.abs(rows.reward) > _LARGEST


def _entries(
  action: np.ndarray, empty: np.ndarray, continuous: actions_lib.Continuous
) -> Masks:
  """Entries of an action are finite and within their bounds."""
  low, high = continuous.bounds
  for place, x in enumerate(action.T):
    name = continuous.entry(place)
    if place in continuous.categories:
      yield f'{name} is empty or none of its names', np.isnan(x) & ~empty
      continue
    yield f'{name} is empty or nan', np.isnan(x) & ~empty
    yield f'{name} is infinite or {_BEYOND}', np.abs(x) > _LARGEST
    outside = np.isfinite(x) & ((x < low[place]) | (x > high[place]))
    if outside.any():
      words = 'outside its bounds ' + bounds.interval(
        continuous.low[place], continuous.high[place]
      )
      yield (
        f'{name} is {words}',
        outside,
        f'{name} is {x[outside][0]:g}, {words}',
      )


def _observations(rows: decoded_rows.Rows, decoder: decoding.Decoder) -> Masks:
  broken = ~(np.abs(rows.observation) <= _LARGEST)
  for column in np.flatnonzero(broken.any(axis=0)):
    yield (
      (
        f'{decoder.observation_names[column]} is empty, nan, infinite or '
        f'{_BEYOND}'
      ),
      broken[:, column],
    )


def _flags(
  rows: decoded_rows.Rows, shape: Shape, layout: layout_lib.Layout
) -> Masks:
  """Flags stand in the row of an episode's last action and nowhere else."""
  goes_on = np.ones(len(rows.row), bool)
  goes_on[shape.last_transition] = False
  goes_on[shape.ends] = False
  for name, flags in (
    (layout.terminated, rows.terminated),
    (layout.truncated, rows.truncated),
  ):
    if name is not None:
      yield f'{name} is empty', (flags == decoded_rows.ABSENT) & ~shape.final
      yield f'{name} is set, but the episode goes on', (flags > 0) & goes_on
      yield (
        (
          f'{name} is set in a row without an action; it belongs to the '
          'row of the last action'
        ),
        (flags > 0) & shape.final,
      )


def _horizon(shape: Shape, horizon: int | None) -> Masks:
  """No episode is longer than the horizon."""
  if horizon is not None:
    starts = shape.ends - shape.lengths + 1
    step = np.arange(len(shape.final)) - np.repeat(starts, shape.lengths)
    yield (
      (
        f'the episode goes on after step {horizon}, which was said to be '
        'the horizon'
      ),
      (step == horizon) & ~shape.final,
    )


def _discounts(
  rows: decoded_rows.Rows, shape: Shape, name: str | None
) -> Masks:
  """A discount of a step is a share, and none follows a termination."""
  if rows.discount is None:
    return
  sound = (rows.discount >= 0.0) & (rows.discount <= 1.0)
  yield f'{name} is empty or not in [0, 1]', ~sound & ~shape.final
  ended = np.zeros(len(rows.row), bool)
  ended[shape.last_transition[shape.terminated]] = True
  yield (
    (f'{name} is above 0, but the step terminated the episode; write 0 there'),
    sound & (rows.discount > 0.0) & ended,
  )


def _probabilities(
  rows: decoded_rows.Rows, shape: Shape, decoder: decoding.Decoder
) -> Masks:
  """Probabilities are wanted wherever a value may be asked for."""
  first = int(decoder.has_behaviour)
  if first:
    taken = rows.annotations[:, 0]
    density = decoder.actions.continuous is not None
    sound = (taken > 0.0) & (
      np.isfinite(taken) if density else taken <= 1.0 + _TOLERANCE
    )
    wanted = (
      'a density of float32, positive and finite' if density else 'in (0, 1]'
    )
    yield (
      (
        f'{decoder.layout.behaviour_probability} is not {wanted}, though '
        'the action was taken'
      ),
      ~sound & ~shape.final,
    )
  target = rows.annotations[:, first:]
  if target.shape[1]:
    asked = np.ones(len(rows.row), bool)
    asked[shape.ends[shape.has_final & shape.terminated]] = False
    unread = rows.unread[:, decoded_rows.TARGET]
    sound = (
      (target >= 0.0) & (target <= 1.0 + _TOLERANCE)
      | (np.isnan(target) & unread[:, None])
    ).all(axis=1)
    yield (
      (
        'a target probability is empty or not in [0, 1] (the last row of a '
        'truncated episode needs them as well)'
      ),
      asked & ~sound,
    )
    total = target.sum(axis=1)
    wrong = asked & sound & (np.abs(total - 1.0) > _SUM_TOLERANCE)
    if wrong.any():
      yield (
        'the target probabilities do not sum to 1',
        wrong,
        f'the target probabilities sum to {total[wrong][0]:.4g}, not to 1',
      )
