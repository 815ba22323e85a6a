"""What there is to say of a log or of a column of it: numbers first.

A note holds what was found; its sentence is made when it is shown.
"""

from collections.abc import Callable, Mapping
import dataclasses

CUT, EMPTY = 'cut_episodes', 'empty_episodes'
CONSTANT, PRECISION = 'constant', 'precision'
OUTLIERS, CATEGORICAL = 'outliers', 'categorical'
IRRELEVANT, TRANSITIONS = 'irrelevant', 'transitions'
SAMPLED = 'sampled'


@dataclasses.dataclass(frozen=True, kw_only=True)
class Note:
  """Something about a log or a column of it.

  Attributes:
    kind: what it is, one of the names of this module.
    column: name of the column of observations; empty if it is of the log.
    numbers: what was found, by name.
  """

  kind: str
  column: str = ''
  numbers: Mapping[str, float] = dataclasses.field(default_factory=dict)

  def __post_init__(self) -> None:
    if self.kind not in _SENTENCES:
      raise ValueError(
        f'There is no note {self.kind!r}. Choose one of '
        f'{", ".join(_SENTENCES)}.'
      )
    try:
      self.sentence  # noqa: B018
    except KeyError as error:
      raise ValueError(
        f'A note {self.kind!r} has the number {error}, but this one has only '
        f'{", ".join(self.numbers) or "none"}.'
      ) from error

  @property
  def doubt(self) -> bool:
    """Whether it speaks against an estimate."""
    return self.kind in (PRECISION, OUTLIERS, CATEGORICAL, TRANSITIONS)

  @property
  def sentence(self) -> str:
    """What it is, and what to do."""
    return _SENTENCES[self.kind](self.column, self.numbers)


def _episodes(count: float) -> str:
  return f'{count:,.0f} episode{"s" if count > 1 else ""}'


def _precision(column: str, numbers: Mapping[str, float]) -> str:
  return (
    f'Observation {column} has mean {numbers["mean"]:.2g} and spread '
    f'{numbers["spread"]:.2g}: float64 keeps {numbers["digits"]:.0f} digits '
    'of its changes. Subtract an offset before the log is written.'
  )


def _outliers(column: str, numbers: Mapping[str, float]) -> str:
  about = 'About ' if numbers['sampled'] else ''
  return (
    f'{about}{numbers["far"]:,.0f} of {numbers["rows"]:,.0f} values of '
    f'observation {column} lie more than {numbers["ranges"]:g} times its '
    'interquartile range from its median. Long tails are drawn in, but errors '
    'of measurement are not told from them: correct them, or take logarithms.'
  )


def _categorical(column: str, numbers: Mapping[str, float]) -> str:
  return (
    f'Observation {column} takes {numbers["values"]:.0f} whole numbers and '
    'looks categorical. Methods take near numbers for similar states: if '
    'these are names of states, import the log with --categorical '
    f'{column} (categorical=[...] of dfiv_ope.Log).'
  )


def _irrelevant(column: str, numbers: Mapping[str, float]) -> str:
  several = numbers['columns'] > 1
  them, they = ('them', 'they predict') if several else ('it', 'it predicts')
  return (
    f'Observation{"s" * several} {column} {"are" if several else "is"} left '
    f'out: the target policy does not look at {them}, and {they} nothing on '
    f'held-out episodes. Say --all-columns (all_columns=True) to keep {them}.'
  )


_SENTENCES: dict[str, Callable[[str, Mapping[str, float]], str]] = {
  CUT: lambda column, numbers: (
    f'{_episodes(numbers["episodes"])} ended without a final observation: '
    'the last step was dropped.'
  ),
  EMPTY: lambda column, numbers: (
    f'{_episodes(numbers["episodes"])} had no transition left: dropped.'
  ),
  CONSTANT: lambda column, numbers: (
    f'Observation {column} is constant, so it tells nothing.'
  ),
  PRECISION: _precision,
  OUTLIERS: _outliers,
  CATEGORICAL: _categorical,
  IRRELEVANT: _irrelevant,
  TRANSITIONS: lambda column, numbers: (
    'The log is of transitions without episodes: intervals resample pieces '
    'of rows that chain, often single rows, and are too narrow where '
    'pieces of one trajectory depend on each other. The average return of '
    'the log is that of pieces, not of a policy.'
  ),
  SAMPLED: lambda column, numbers: (
    'The log was read in parts: estimates, intervals and the effective '
    f'sample size are of all {numbers["of_rows"]:,.0f} rows; overlap, columns '
    'that are left out and what unrelated estimators say are of a seeded '
    f'sample of {numbers["episodes"]:,.0f} of {numbers["of_episodes"]:,.0f} '
    f'whole episodes ({numbers["rows"]:,.0f} rows).'
  ),
}
