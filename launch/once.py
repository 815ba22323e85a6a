"""A command that refuses an option of one value that is given twice."""

import collections
from typing import Any

import typer
from typer import core


class Command(core.TyperCommand):
  """Takes each option once, unless it takes several values."""

  def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
    """Parses arguments as any command does, and counts options first.

    Raises:
      ValueError: an option is given twice, of which one would be ignored.
    """
    _, _, given = self.make_parser(ctx).parse_args(args=list(args))
    for option, times in collections.Counter(given).items():
      if times > 1 and isinstance(option, core.TyperOption) and not (
          option.multiple or option.is_flag):
        name = max(option.opts, key=len)
        raise ValueError(
            f'{name} was given {times} times, but takes one value. Leave out '
            'all but one, or run the command once for each.')
    rest: list[str] = super().parse_args(ctx, args)
    return rest


def require(app: typer.Typer) -> None:
  """Makes all commands of an application, and of its parts, such commands."""
  for command in app.registered_commands:
    command.cls = Command
  for group in app.registered_groups:
    if group.typer_instance is not None:
      require(group.typer_instance)
