"""A method with its hyper-parameters, before anything heavy is loaded."""

from collections.abc import Iterable
from typing import Any, NamedTuple

from dfiv_ope import agents, configs, overrides


class Configured(NamedTuple):
  """A method with its config.

  Attributes:
    method: its name.
    config: its hyper-parameters.
    preset: where these are from.
    custom: whether fields of the preset were changed.
  """

  method: str
  config: Any
  preset: str = 'default'
  custom: bool = False

  @property
  def encoded(self) -> dict[str, Any]:
    """The config as rows have it."""
    data: dict[str, Any] = configs.encode(self.config)
    return data


def configure(
  method: str, preset: str = 'default', settings: Iterable[str] = ()
) -> Configured:
  """Returns a method with its preset, changed as some texts say.

  Args:
    method: one of `agents.NAMES`.
    preset: name of a config of it.
    settings: changes, each name=value.

  Raises:
    ValueError: a change is not valid.
  """
  default = agents.ENTRIES[method].configs[preset]
  config = overrides.apply(default, settings)
  return Configured(method, config, preset, config != default)
