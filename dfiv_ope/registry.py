"""What is known of a method before its module is loaded: an entry each.

A room with methods has a mapping of names to entries (`agents.ENTRIES`,
`iv.methods.ENTRIES`). Commands, sweeps, reports and tests read them, so that a
new method is its module and its entry. Nothing here needs TensorFlow.
"""

from collections.abc import Mapping
import dataclasses
import importlib
import types
from typing import Any

CLOSED_FORM = 'closed form'
# The order in which reports have them.
FAMILIES = (CLOSED_FORM, 'neural IV', 'FQE', 'other', 'naive')


@dataclasses.dataclass(frozen=True, kw_only=True)
class Style:
  """How a method looks in every table and figure.

  Attributes:
    label: what tables call it.
    family: one of FAMILIES, which reports compare.
    color: of its lines, as #rrggbb.
    marker: of its points, in matplotlib's letters.
  """
  label: str
  family: str
  color: str
  marker: str = '*'

  def __post_init__(self) -> None:
    if self.family not in FAMILIES:
      raise ValueError(
          f'There is no family {self.family!r}. Choose one of '
          f'{", ".join(FAMILIES)}.')


@dataclasses.dataclass(frozen=True, kw_only=True)
class Entry:
  """A method.

  Attributes:
    version: of its numbers: raised when they change, which makes stored
      results others. tests/test_fingerprints.py fails where that was forgotten.
    style: how it looks in reports.
    quick: changes of its configs, as name=value, that make a run one of about
      ten CPU seconds; a sweep with the budget 'quick' takes them.
    tiny: fields of its configs for a run that is over at once, in tests.
    variants: labels of named variants, for a field of the config by its value,
      such as {'solve': {'moment': 'DFIV (moment)'}}. Where a value has none,
      the style's label stands.
  """
  version: int
  style: Style
  quick: tuple[str, ...] = ()
  tiny: Mapping[str, Any] = dataclasses.field(default_factory=dict)
  variants: Mapping[str, Mapping[str, str]] = dataclasses.field(
      default_factory=dict)

  @property
  def trained(self) -> bool:
    """Whether it makes updates, rather than solve once."""
    return self.style.family != CLOSED_FORM

  @property
  def labels(self) -> tuple[str, ...]:
    """All labels that it may have."""
    return (self.style.label, *(
        label for labels in self.variants.values()
        for label in labels.values()))

  def label(self, config: Mapping[str, Any]) -> str:
    """Returns the label of an encoded config."""
    for name in self.told(config):
      return self.variants[name][str(config[name])]
    return self.style.label

  def told(self, config: Mapping[str, Any]) -> list[str]:
    """Returns the fields of an encoded config whose value has a label."""
    return [name for name, labels in self.variants.items()
            if name in config and str(config[name]) in labels]


def load(
    name: str, entries: Mapping[str, Entry], package: str,
) -> types.ModuleType:
  """Returns the module of a method.

  Args:
    name: of the method and of its module.
    entries: of the room.
    package: the room, by its dotted name.

  Raises:
    ValueError: there is no such method.
  """
  if name not in entries:
    raise ValueError(
        f'There is no method {name!r}. Choose one of {", ".join(entries)}.')
  return importlib.import_module(f'{package}.{name}')
