"""What result rows call a method, and how it looks."""

import collections
from collections.abc import Iterable
from typing import Any

from dfiv_ope import agents, registry
from dfiv_ope.iv import methods
from dfiv_ope.results import problems
from dfiv_ope.results import rows as rows_lib

NAIVE, NAIVE_LABEL = 'naive', 'Log (naive)'
# What is not a method: the average of the log, a quadratic in the number of lit
# pixels, what the suite of designs is held against.
_BASELINES = {
  'log': registry.Style(
    label=NAIVE_LABEL, family=NAIVE, color='#808080', marker='x'
  ),
  'lit_pixels': registry.Style(
    label='Quadratic in lit pixels', family='other', color='#757575'
  ),
  'constant': registry.Style(label='Constant', family='other', color='#909090'),
  'plain_kiv': registry.Style(
    label='Plain regression (kernel)', family='other', color='#7d7d7d'
  ),
  'plain_dfiv': registry.Style(
    label='Plain regression (networks)', family='other', color='#6e6e6e'
  ),
  'oracle': registry.Style(
    label='Oracle without confounding', family='other', color='#8a8a8a'
  ),
}
# Longest value of a setting in a method's label.
_LONGEST = 24
# Parameters of a design that configs are tuned to.
_TUNED_TO = ('n', 'outcome', 'scenario')

PAPER, QUICK = 'paper', 'quick'


class Variant(str):
  """The label of a method, which knows its parts.

  Attributes:
    base: label of the method, or of a named variant of it.
    notes: what else sets it apart: the preset, the budget, settings.
  """

  base: str
  notes: tuple[str, ...]

  def __new__(cls, base: str, notes: Iterable[str] = ()) -> 'Variant':
    notes = tuple(notes)
    label = base
    if notes and base.endswith(')'):  # A base with a note of its own.
      label = f'{base[:-1]}, {", ".join(notes)})'
    elif notes:
      label = f'{base} ({", ".join(notes)})'
    made = super().__new__(cls, label)
    made.base, made.notes = base, notes
    return made


def variants(rows: list[rows_lib.Row]) -> list[Variant]:
  """Returns the label of each row's method: its name and what sets it apart.

  Settings that differ between tasks (or sizes, outcomes, scenarios) are those
  of one method tuned to each; settings that differ within one are different
  methods.
  """
  pools = collections.defaultdict(list)
  for row in rows:
    # A custom config is told by what differs from the default one.
    pools[_scope(row.problem), row.method, row.preset].append(row)
  apart: dict[tuple[str, str, bool], set[str]] = collections.defaultdict(set)
  for (_, method, preset), pool in pools.items():
    apart[method, preset, True] |= _differing(pool)
    apart[method, preset, False] |= _differing(
      [row for row in pool if not row.custom]
    )
  return [
    _variant(row, apart[row.method, row.preset, row.custom]) for row in rows
  ]


def budgets(rows: list[rows_lib.Row]) -> dict[str, list[str]]:
  """Returns the methods whose budget is not the default, by what it is."""
  found: dict[str, dict[str, None]] = {}
  for row, variant in zip(rows, variants(rows), strict=True):
    budget = next(
      (note for note in variant.notes if note in (PAPER, QUICK)),
      'custom' if row.custom else '',
    )
    if budget:
      found.setdefault(budget, {})[variant.base] = None
  return {budget: [*names] for budget, names in found.items()}


def style(method: str) -> registry.Style | None:
  """Returns how a method looks; None if nobody has registered it."""
  if method in _BASELINES:
    return _BASELINES[method]
  entry = agents.ENTRIES.get(method) or methods.ENTRIES.get(method)
  return entry.style if entry else None


def family(method: str) -> str:
  """Returns the family of a method; 'other' if nobody has registered it."""
  known = style(method)
  return known.family if known else 'other'


def preset(row: rows_lib.Row) -> str:
  """Returns what the config of a row is called."""
  if not row.custom:
    return row.preset
  return 'custom' if row.preset == 'default' else f'{row.preset}, custom'


def order(names: Iterable[str]) -> list[str]:
  """Returns labels of methods as the registries have them, others last."""
  known = _known_labels()

  def place(name: str) -> tuple[int, str]:
    base = name.base if isinstance(name, Variant) else name
    return known.index(base) if base in known else len(known), name

  return sorted(set(names), key=place)


def rank(method: str) -> int:
  """Returns the place of a method among all; the average return is first."""
  known = ['log', *agents.ENTRIES]
  return known.index(method) if method in known else len(known)


def _known_labels() -> list[str]:
  """Returns labels in their order: off-policy evaluation by families, IV."""
  ranked = sorted(
    agents.ENTRIES.values(),
    key=lambda entry: registry.FAMILIES.index(entry.style.family),
  )
  return list(
    dict.fromkeys(
      (
        NAIVE_LABEL,
        *(
          label
          for entry in (*ranked, *methods.ENTRIES.values())
          for label in entry.labels
        ),
        *(each.label for each in _BASELINES.values()),
      )
    )
  )


def _variant(row: rows_lib.Row, apart: set[str]) -> Variant:
  """Returns the label of a row, by the settings that set it apart."""
  entries = (
    methods.ENTRIES
    if isinstance(row.problem, problems.IVDesign)
    else agents.ENTRIES
  )
  entry, known = entries.get(row.method), style(row.method)
  label, told = known.label if known else row.method, set[str]()
  notes = [PAPER] if row.preset == PAPER else []
  if entry:
    label, told = entry.label(row.config), set(entry.told(row.config))
    budget = dict(change.split('=', 1) for change in entry.quick)
    if (
      row.custom
      and budget
      and all(
        str(row.config.get(name)) == value for name, value in budget.items()
      )
    ):
      notes.append(QUICK)
      told |= set(budget)
  return Variant(
    label,
    [
      *notes,
      *(
        f'{name}={_shown(row.config[name])}'
        for name in sorted(apart - told)
        if name in row.config
      ),
    ],
  )


def _scope(problem: problems.Problem) -> str:
  """Returns what a config may be tuned to."""
  if isinstance(problem, problems.IVDesign):
    return repr([problem.name, *map(problem.parameters.get, _TUNED_TO)])
  about = problem.asked if isinstance(problem, problems.Selection) else problem
  return repr([problem.kind, getattr(about, 'task', None)])


def _differing(rows: list[rows_lib.Row]) -> set[str]:
  names = {name for row in rows for name in row.config}
  return {
    name
    for name in names
    if len({repr(row.config.get(name)) for row in rows}) > 1
  }


def _shown(value: Any) -> str:
  words = str(value)
  return words if len(words) <= _LONGEST else f'{words[:_LONGEST]}…'
