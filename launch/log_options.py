"""Options that say what the columns of a log mean."""

import dataclasses
import pathlib
from typing import Annotated, Any

import typer

from dfiv_ope.datasets import formats
from dfiv_ope.launch import completion


@dataclasses.dataclass(frozen=True, kw_only=True)
class OfLog:
  """What the columns of a log mean, by the names of `logs.open_mapped`."""

  format_name: Annotated[
    str | None,
    typer.Option(
      '--format',
      help=f'{", ".join(formats.NAMES[:-1])} or {formats.NAMES[-1]}; '
      'without it, told by name and content.',
      autocompletion=completion.among(formats.NAMES),
    ),
  ] = None
  mapping: Annotated[
    pathlib.Path | None,
    typer.Option(
      '--mapping',
      help='A YAML file that says what the columns mean.',
      metavar='FILE',
    ),
  ] = None
  assignments: Annotated[
    list[str] | None,
    typer.Option(
      '--map',
      help='NAME=COLUMN; may be repeated. Names: episode, step, '
      'observations, action, reward, terminated, truncated, discount, '
      'behaviour_probability, target_probabilities, categorical_actions. Lists '
      'have commas, and a * at the end stands for all columns that start so.',
      metavar='NAME=COLUMN',
    ),
  ] = None
  actions: Annotated[
    str | None,
    typer.Option(
      '--actions',
      help='Number of actions or their labels in order, where the '
      'log does not hold them all.',
      metavar='NUMBER|LABELS',
    ),
  ] = None
  ends: Annotated[
    str | None,
    typer.Option(
      '--ends',
      help='terminated or truncated: how episodes end in a log '
      'without a column that says so.',
      autocompletion=completion.among(('terminated', 'truncated')),
    ),
  ] = None
  categorical: Annotated[
    list[str] | None,
    typer.Option(
      '--categorical',
      help='Observations whose values are names of states, '
      'not amounts; with commas, may be repeated.',
      metavar='NAMES',
    ),
  ] = None
  bandit: Annotated[
    bool | None,
    typer.Option(
      '--bandit',
      help='Every row is an episode of one step: a context, an '
      'action, its reward.',
      show_default=False,
    ),
  ] = None
  transitions: Annotated[
    bool | None,
    typer.Option(
      '--transitions',
      help='Rows are transitions without episodes, with '
      'columns next_* of the next observation.',
      show_default=False,
    ),
  ] = None
  time_feature: Annotated[
    bool | None,
    typer.Option(
      '--time-feature',
      help='Add the number of the step as the last '
      'observation; policies do not see it.',
      show_default=False,
    ),
  ] = None
  horizon: Annotated[
    int | None,
    typer.Option(
      '--horizon',
      help='Episodes of as many steps are complete: they terminated.',
      metavar='STEPS',
    ),
  ] = None
  continuous: Annotated[
    bool | None,
    typer.Option(
      '--continuous',
      help='The action is an amount, though it is written in '
      'whole numbers or has fractions; several columns of actions say it '
      'without.',
    ),
  ] = None
  bounds: Annotated[
    str | None,
    typer.Option(
      '--bounds',
      help='Least and greatest value of each entry of a continuous '
      'action, with commas; either may be left out. Actions outside are '
      'refused.',
      metavar='LOW:HIGH,...',
    ),
  ] = None

  @property
  def given(self) -> dict[str, Any]:
    """What was said, without what was not."""
    return {
      name: value
      for name, value in vars(self).items()
      if value is not None and value is not False
    }


# Nothing was said.
OF_LOG = OfLog()
