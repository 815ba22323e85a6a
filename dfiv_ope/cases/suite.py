"""The suite: cases with known answers, by name.

    from dfiv_ope.cases import suite
    made = suite.CASES['graph-long'].make(seed=0)
    made.log, made.policy, made.truth          # policy: for EvaluationTask

The halves were fixed before any estimate was looked at: within each family,
cases in the order of the SHA-256 of their names are for development and held
out in turn, and so on with the next family. Rules and defaults are chosen on
the first, and looked at once on the second. When both had been seen, a second
set of other kinds of problems was written; in the same order every third case
of it is for development, and the others are held out; the third set of random
problems was dealt likewise. Nothing here loads TensorFlow.
"""

from collections.abc import Iterable, Mapping, Sequence
import hashlib
import importlib.util
import itertools

from dfiv_ope.cases import (
  case,
  finite_cases,
  gym_tables,
  icu,
  physics_cases,
  second_set,
  service_cases,
  third_set,
)

# Of the logs and answers: raised when they change, which makes stored results
# others.
VERSION = 1
QUICK, ALL = 'quick', 'all'
_INSTALL = {gym_tables.PACKAGE: gym_tables.INSTALL, icu.PACKAGE: icu.INSTALL}


def _in_parts(
  entries: Iterable[finite_cases.Entry], parts: Sequence[str]
) -> list[case.Case]:
  """Returns cases, dealt to parts in the order of families and hashes."""
  ordered = sorted(
    entries,
    key=lambda entry: (
      entry.family,
      hashlib.sha256(f'{entry.family}-{entry.name}'.encode()).hexdigest(),
    ),
  )
  return [
    case.Case(
      name=f'{entry.family}-{entry.name}',
      family=entry.family,
      half=half,
      facts=entry.facts,
      setting=entry.setting,
      package=entry.package,
    )
    for entry, half in zip(ordered, itertools.cycle(parts), strict=False)
  ]


def _by_name(cases: Iterable[case.Case]) -> Mapping[str, case.Case]:
  return {each.name: each for each in sorted(cases, key=lambda each: each.name)}


CASES: Mapping[str, case.Case] = _by_name(
  [
    *_in_parts(
      itertools.chain(
        finite_cases.entries(), physics_cases.entries(), service_cases.entries()
      ),
      (case.DEVELOPMENT, case.HELD_OUT),
    ),
    *_in_parts(
      second_set.entries(),
      (case.DEVELOPMENT_2, case.HELD_OUT_2, case.HELD_OUT_2),
    ),
    *_in_parts(
      third_set.entries(),
      (case.DEVELOPMENT_3, case.HELD_OUT_3, case.HELD_OUT_3),
    ),
  ]
)


def first_of_families(names: Iterable[str]) -> list[str]:
  """Returns the first of some cases in each family."""
  first: dict[str, str] = {}
  for name in names:
    first.setdefault(CASES[name].family, name)
  return list(first.values())


def select(text: str) -> tuple[list[str], list[str]]:
  """Returns the cases whose names begin so, and what to know of others.

  Families take turns, so that a run that is not done has some of each.

  Args:
    text: the begin of names, or a part of `case.PARTS`; 'all' for all cases,
      'quick' for the first one in each half of each family of the first set.

  Raises:
    ValueError: there is none, or none that can be drawn here.
  """
  first: dict[tuple[str, str], str] = {}
  for name, each in CASES.items():
    if each.half in (case.DEVELOPMENT, case.HELD_OUT):
      first.setdefault((each.family, each.half), name)
  named = (
    list(first.values())
    if text == QUICK
    else [name for name, each in CASES.items() if each.half == text]
    if text in case.PARTS
    else [name for name in CASES if text == ALL or name.startswith(text)]
  )
  if not named:
    families = sorted({each.family for each in CASES.values()})
    raise ValueError(
      f'No case begins with {text!r}. Name a case, quick, all, a part '
      f'({", ".join(case.PARTS)}) or a family: {", ".join(families)}.'
    )
  lost = missing(named)
  notes = [
    f'{sum(each == install for each in lost.values())} cases are left out, '
    f'because their tables are not installed: {install}'
    for install in dict.fromkeys(lost.values())
  ]
  if len(lost) == len(named):
    raise ValueError(notes[0])
  return _in_turn(name for name in named if name not in lost), notes


def _in_turn(names: Iterable[str]) -> list[str]:
  """Returns names such that families take turns."""
  place: dict[str, int] = {}
  turns = []
  for name in names:
    family = CASES[name].family
    place[family] = place.get(family, 0) + 1
    turns.append((place[family], name))
  return [name for _, name in sorted(turns)]


def missing(names: Iterable[str]) -> dict[str, str]:
  """Returns how to install what cases need that cannot be drawn, by name."""
  return {
    name: _INSTALL[package]
    for name in names
    if (package := CASES[name].package)
    and importlib.util.find_spec(package) is None
  }
