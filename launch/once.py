"""What all commands have: options of one value come once, and `--quiet`.

Options that belong together may be one parameter of a command: a dataclass.
"""

import collections
from collections.abc import Callable
import dataclasses
import functools
import inspect
from typing import Annotated, Any

import typer
from typer import core

from dfiv_ope.launch import console

Quiet = Annotated[
  bool,
  typer.Option(
    '--quiet',
    '-q',
    help='Print results and errors only: no notes about the '
    'work, no progress bars.',
  ),
]


class Command(core.TyperCommand):
  """Takes each option once, unless it takes several values."""

  def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
    """Parses arguments as any command does, and counts options first.

    Raises:
      ValueError: an option is given twice, of which one would be ignored.
    """
    _, _, given = self.make_parser(ctx).parse_args(args=list(args))
    for option, times in collections.Counter(given).items():
      if (
        times > 1
        and isinstance(option, core.TyperOption)
        and not (option.multiple or option.is_flag or ctx.resilient_parsing)
      ):
        name = max(option.opts, key=len)
        raise ValueError(
          f'{name} was given {times} times, but takes one value. Leave out '
          'all but one, or run the command once for each.'
        )
    rest: list[str] = super().parse_args(ctx, args)
    return rest


def _spread(function: Callable[..., Any]) -> Callable[..., Any]:
  """Returns a function with one option more, and its groups as options.

  A parameter that is of a dataclass stands for the fields of it.
  """
  groups: dict[str, Any] = {}
  options: list[inspect.Parameter] = []
  for each in inspect.signature(function).parameters.values():
    if dataclasses.is_dataclass(each.annotation):
      kind: Any = each.annotation
      groups[each.name] = inspect.signature(kind).parameters
      options += groups[each.name].values()
    else:
      options.append(each.replace(kind=inspect.Parameter.KEYWORD_ONLY))

  @functools.wraps(function)
  def run(*, quiet: bool = False, **given: Any) -> Any:
    if quiet:
      console.be_quiet()
    for name, fields in groups.items():
      given[name] = function.__annotations__[name](
        **{field: given.pop(field) for field in fields}
      )
    return function(**given)

  options.append(
    inspect.Parameter(
      'quiet', inspect.Parameter.KEYWORD_ONLY, default=False, annotation=Quiet
    )
  )
  run.__signature__ = inspect.Signature(options)  # type: ignore[attr-defined]
  run.__annotations__ = {each.name: each.annotation for each in options}
  return run


def require(app: typer.Typer) -> None:
  """Makes all commands of an application, and of its parts, such commands."""
  for command in app.registered_commands:
    command.cls = Command
    if command.callback is not None:
      command.callback = _spread(command.callback)
  for group in app.registered_groups:
    if group.typer_instance is not None:
      require(group.typer_instance)
