"""What all commands have: options of one value come once, and `--quiet`."""

import collections
from collections.abc import Callable
import functools
import inspect
from typing import Annotated, Any

import typer
from typer import core

from dfiv_ope.launch import console

Quiet = Annotated[bool, typer.Option(
    '--quiet', '-q', help='Print results and errors only: no notes about the '
    'work, no progress bars.')]


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
          option.multiple or option.is_flag or ctx.resilient_parsing):
        name = max(option.opts, key=len)
        raise ValueError(
            f'{name} was given {times} times, but takes one value. Leave out '
            'all but one, or run the command once for each.')
    rest: list[str] = super().parse_args(ctx, args)
    return rest


def _with_quiet(function: Callable[..., Any]) -> Callable[..., Any]:
  """Returns a function with one option more."""

  @functools.wraps(function)
  def run(*args: Any, quiet: bool = False, **kwargs: Any) -> Any:
    if quiet:
      console.be_quiet()
    return function(*args, **kwargs)

  signature = inspect.signature(function)
  more = inspect.Parameter(
      'quiet', inspect.Parameter.KEYWORD_ONLY, default=False, annotation=Quiet)
  run.__signature__ = signature.replace(  # type: ignore[attr-defined]
      parameters=[*signature.parameters.values(), more])
  run.__annotations__ = {**function.__annotations__, 'quiet': Quiet}
  return run


def require(app: typer.Typer) -> None:
  """Makes all commands of an application, and of its parts, such commands."""
  for command in app.registered_commands:
    command.cls = Command
    if command.callback is not None:
      command.callback = _with_quiet(command.callback)
  for group in app.registered_groups:
    if group.typer_instance is not None:
      require(group.typer_instance)
