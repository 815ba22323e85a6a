"""How much may be asked for at once; more is refused before any work."""

from collections.abc import Sequence
import math
import numbers

# Far more than anyone needs, and still less than a machine breaks down at.
SEEDS = 10_000
LOGS = 100_000
JOBS = 1_024
TRANSITIONS = 100_000_000
TRUTH_EPISODES = 100_000_000
RUNS = 1_000_000
SAMPLE = 10_000_000
PICTURES = 200_000
UPDATES = 100_000_000
OBSERVATIONS = 100_000
ACTIONS = 10_000
# Numbers of a made-up log, or of a batch of it: 2 GB in float32.
ENTRIES = 500_000_000
# Seeds of generators fit into 64 bits.
SEED = 2**63 - 1


def count(name: str, number: int, *, least: int = 1, most: int) -> None:
  """Refuses a number of things that is too small or too large.

  Args:
    name: of the option or the key, as the user wrote it.
    number: what was asked for.
    least: the smallest number that makes sense.
    most: the largest that is allowed.

  Raises:
    ValueError: the number is out of range.
  """
  if number < least:
    raise ValueError(
      f'{name} must be at least {least:,}, got {_shown(number)}.'
    )
  if number > most:
    raise ValueError(f'{name} must be at most {most:,}, got {_shown(number)}.')


def share(name: str, number: float, *, open_ends: bool = False) -> None:
  """Refuses what is not a probability, a level or a discount.

  Args:
    name: of the option or the key, as the user wrote it.
    number: what was asked for.
    open_ends: whether 0 and 1 are refused, too.

  Raises:
    ValueError: the number is out of range, or not a number.
  """
  if not isinstance(number, numbers.Real):
    raise ValueError(f'{name} must be a number, got {number!r}.')
  low = number > 0.0 if open_ends else number >= 0.0
  high = number < 1.0 if open_ends else number <= 1.0
  if not (low and high):  # nor is nan
    ends = '(0, 1)' if open_ends else '[0, 1]'
    raise ValueError(f'{name} must lie in {ends}, got {number:g}.')


def finite_value(
  discount: float, *, truncated: int, largest: float = 1.0
) -> None:
  """Refuses a discount of 1 where the value may have no end.

  Args:
    discount: of the value that is asked for.
    truncated: number of episodes that were cut off.
    largest: of the environment's own discounts of steps.

  Raises:
    ValueError: rewards that no one saw would count in full, without an end.
  """
  if truncated and discount * largest >= 1.0:
    were = '1 episode was' if truncated == 1 else f'{truncated:,} episodes were'
    raise ValueError(
      f'Discount 1 needs episodes that all terminate, but {were} truncated. '
      'Choose a discount below 1; or, if episodes end at a fixed number of '
      'steps, say so with horizon and time_feature (--horizon, '
      '--time-feature).'
    )


def _shown(number: int) -> str:
  """Returns a number as it was written, or its size if that is a long one."""
  if abs(number) < 10**30:
    return f'{number:,}'
  # The text of a huge number takes minutes, and Python refuses to make it.
  return f'a number of about {math.floor(math.log10(abs(number)))} digits'


def not_empty(arguments: Sequence[str]) -> None:
  """Refuses empty arguments: a path without a name is the current directory.

  Args:
    arguments: of a command line.

  Raises:
    ValueError: an argument or the value of an option is empty.
  """
  for place, argument in enumerate(arguments):
    name, equals, value = argument.partition('=')
    if not argument:
      before = f' after {arguments[place - 1]}' if place else ''
      raise ValueError(
        f'The argument{before} is empty. Is a variable of the shell not set?'
      )
    if name.startswith('--') and equals and not value:
      raise ValueError(f'{name} is empty. Is a variable of the shell not set?')
