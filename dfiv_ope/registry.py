"""What is known of a method before its module is loaded: an entry each.

A room with methods has a mapping of names to entries (`agents.ENTRIES`,
`iv.methods.ENTRIES`), collected from one small module a method beside it
(`agents.entries`). Commands, sweeps, reports and tests read them, so that a
new method is its module and its entry. Nothing here needs TensorFlow: what is
planned, such as which rows are missing, is planned without it.
"""

from collections.abc import Iterable, Mapping
import dataclasses
import importlib
import types
from typing import Any

from dfiv_ope import hints

# Of the configs that a method has, and how long a sweep trains.
PRESETS = ('default', 'paper')
BUDGETS = ('quick', 'full')
CLOSED_FORM = 'closed form'
IMPORTANCE_SAMPLING = 'importance sampling'
DOUBLY_ROBUST = 'doubly robust'
MODEL = 'model'
# The order in which reports have them.
FAMILIES = (
  CLOSED_FORM,
  'neural IV',
  'FQE',
  IMPORTANCE_SAMPLING,
  DOUBLY_ROBUST,
  MODEL,
  'other',
  'naive',
)
# Of methods that make no updates.
_UNTRAINED = (CLOSED_FORM, IMPORTANCE_SAMPLING, DOUBLY_ROBUST, MODEL)


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
      raise ValueError(hints.unknown('family', self.family, FAMILIES))


@dataclasses.dataclass(frozen=True, kw_only=True)
class Entry:
  """A method.

  Attributes:
    version: of its numbers: raised when they change, which makes stored
      results others. tests/test_fingerprints.py fails where that was forgotten.
    style: how it looks in reports.
    when: when to use it, in a sentence or two.
    configs: its presets by name; all have 'default'.
    quick: changes of its configs, as name=value, that make a run one of about
      ten CPU seconds; a sweep with the budget 'quick' takes them.
    tiny: fields of its configs for a run that is over at once, in tests.
    cost: CPU seconds of a run, roughly: of one unit of each field of its config
      that makes it longer, such as an update, and 'fixed' for the rest.
    paper_cost: those of a run with the paper's config, whose networks and
      batches are others. Without it, as with ours.
    variants: labels of named variants, for a field of the config by its value,
      such as {'solve': {'moment': 'DFIV (moment)'}}. Where a value has none,
      the style's label stands.
    direct: whether it weighs the log to a value at once, and has no Q-function
      that others could look at (`agents.direct`).
    imagines: whether it learns what the target policy does in states that the
      log does not have, so that one that is not known there is refused.
  """

  version: int
  style: Style
  when: str
  configs: Mapping[str, Any]
  quick: tuple[str, ...] = ()
  tiny: Mapping[str, Any] = dataclasses.field(default_factory=dict)
  cost: Mapping[str, float] = dataclasses.field(
    default_factory=lambda: {'fixed': 8.0}
  )
  paper_cost: Mapping[str, float] | None = None
  variants: Mapping[str, Mapping[str, str]] = dataclasses.field(
    default_factory=dict
  )
  direct: bool = False
  imagines: bool = False

  @property
  def trained(self) -> bool:
    """Whether it makes updates, rather than solve once."""
    return self.style.family not in _UNTRAINED

  def seconds(self, config: Any, preset: str = 'default') -> float:
    """Returns the CPU seconds that a run takes, roughly."""
    cost = self.cost
    if preset == 'paper' and self.paper_cost is not None:
      cost = self.paper_cost
    return of_fields(cost, config)

  @property
  def labels(self) -> tuple[str, ...]:
    """All labels that it may have."""
    return (
      self.style.label,
      *(
        label for labels in self.variants.values() for label in labels.values()
      ),
    )

  def label(self, config: Mapping[str, Any]) -> str:
    """Returns the label of an encoded config."""
    for name in self.told(config):
      return self.variants[name][str(config[name])]
    return self.style.label

  def told(self, config: Mapping[str, Any]) -> list[str]:
    """Returns the fields of an encoded config whose value has a label."""
    return [
      name
      for name, labels in self.variants.items()
      if name in config and str(config[name]) in labels
    ]


def of_fields(cost: Mapping[str, float], config: Any) -> float:
  """Returns what a config costs, by units of its fields and 'fixed'."""
  return cost.get('fixed', 0.0) + sum(
    each * (getattr(config, name) or 0)
    for name, each in cost.items()
    if name != 'fixed'
  )


def collect(modules: Iterable[types.ModuleType]) -> dict[str, Entry]:
  """Returns the entries of modules by the modules' own names, in order."""
  return {
    module.__name__.rpartition('.')[2]: module.ENTRY for module in modules
  }


def find(name: str, entries: Mapping[str, Entry]) -> Entry:
  """Returns the entry of a method.

  Raises:
    ValueError: there is no such method.
  """
  if name not in entries:
    raise ValueError(hints.unknown('method', name, list(entries)))
  return entries[name]


def load(
  name: str, entries: Mapping[str, Entry], package: str
) -> types.ModuleType:
  """Returns the module of a method.

  Args:
    name: of the method and of its module.
    entries: of the room.
    package: the room, by its dotted name.

  Raises:
    ValueError: there is no such method.
  """
  find(name, entries)
  return importlib.import_module(f'{package}.{name}')
