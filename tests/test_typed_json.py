"""Dataclasses from JSON data: what type annotations allow and refuse."""

from collections.abc import Mapping
import dataclasses
import math
from typing import Any

import numpy as np
import pytest

from dfiv_ope import typed_json


@dataclasses.dataclass(frozen=True, kw_only=True)
class Inner:
  size: int
  rate: float = 0.5


@dataclasses.dataclass(frozen=True, kw_only=True)
class Outer:
  name: str
  inner: Inner
  counts: Mapping[int, float] = dataclasses.field(default_factory=dict)
  layers: tuple[Inner, ...] = ()
  shown: bool = False
  other: Inner | float | None = None
  free: Any = None


class Own:
  """A class that reads itself."""

  def __init__(self, word):
    self.word = word

  @classmethod
  def from_json(cls, data, *, name):
    return cls(f'{name}: {data}')


def test_nested_dataclasses_are_built():
  assert typed_json.build(
    Outer,
    {
      'name': 'a',
      'inner': {'size': 3},
      'counts': {'7': 1, '-2': 0.5},
      'layers': [{'size': 1}, {'size': 2, 'rate': 1}],
      'shown': True,
      'other': {'size': 4},
      'free': {'deep': [1, 'x', None, True]},
    },
  ) == Outer(
    name='a',
    inner=Inner(size=3),
    counts={7: 1.0, -2: 0.5},
    layers=(Inner(size=1), Inner(size=2, rate=1.0)),
    shown=True,
    other=Inner(size=4),
    free={'deep': [1, 'x', None, True]},
  )


@pytest.mark.parametrize(
  'kind, value, result',
  [
    (float, 3, 3.0),
    (float | None, None, None),
    (int | str, 'x', 'x'),
    (int | str, 2, 2),
    (tuple[float, ...], [], ()),
    (Any, None, None),
    (dict[int, str], {'3': 'x'}, {3: 'x'}),
    (int, 2**53, 2**53),
    (float, np.float64(0.5), 0.5),
  ],
)
def test_plain_values_are_what_they_are(kind, value, result):
  found = typed_json.build(kind, value)
  assert found == result and type(found) is type(result)


def test_a_class_may_read_itself():
  found = typed_json.build(tuple[Own, ...], [3], name='words')
  assert found[0].word == 'words[0]: 3'


def test_a_missing_number_is_nan_only_where_gaps_are_allowed():
  found = typed_json.build(
    Outer,
    {'name': 'a', 'inner': {'size': 1, 'rate': None}, 'counts': {'0': None}},
    gaps=True,
  )
  assert math.isnan(found.inner.rate) and math.isnan(found.counts[0])
  with pytest.raises(
    ValueError, match=(r'inner\.rate should be of type float, got None')
  ):
    typed_json.build(Outer, {'name': 'a', 'inner': {'size': 1, 'rate': None}})
  with pytest.raises(ValueError, match='size should be of type int, got None'):
    typed_json.build(Inner, {'size': None}, gaps=True)


@pytest.mark.parametrize(
  'changes, words',
  [
    ({'name': 3}, 'name should be of type str, got 3'),
    ({'name': None}, 'name should be of type str, got None'),
    ({'shown': 1}, 'shown should be of type bool, got 1'),
    ({'inner': [1]}, 'inner should be an object, got [1]'),
    ({'inner': {}}, "inner misses a field or has one too many: 'size'"),
    (
      {'inner': {'size': 1, 'x': 2}},
      "inner misses a field or has one too many: 'x'",
    ),
    ({'inner': {'size': True}}, 'inner.size should be of type int, got True'),
    ({'inner': {'size': 1.0}}, 'inner.size should be of type int, got 1.0'),
    ({'inner': {'size': 2**53 + 1}}, 'inner.size should be of type int'),
    (
      {'inner': {'size': 1, 'rate': math.nan}},
      'inner.rate should be of type float, got nan',
    ),
    ({'inner': {'size': 1, 'rate': math.inf}}, 'got inf'),
    ({'inner': {'size': 1, 'rate': '1'}}, "of type float, got '1'"),
    (
      {'counts': {'one': 1.0}},
      "counts should have whole numbers as keys, got 'one'",
    ),
    ({'counts': [1.0]}, 'counts should be of type Mapping, got [1.0]'),
    ({'counts': {'3': 'x'}}, "counts.3 should be of type float, got 'x'"),
    ({'layers': {'size': 1}}, 'layers should be of type tuple'),
    ({'layers': [{'size': 1}, 7]}, 'layers[1] should be an object, got 7'),
    ({'other': 'x'}, "other should be an object, got 'x'"),
    ({'free': {'a': [math.inf]}}, 'free should be finite, got inf'),
    ({'name': ['x' * 99]}, f"got ['{'x' * 38}..."),
  ],
)
def test_other_types_are_refused_by_their_place(changes, words):
  with pytest.raises(ValueError) as refusal:
    typed_json.build(Outer, {'name': 'a', 'inner': {'size': 1}, **changes})
  assert words in str(refusal.value)


def test_the_whole_is_called_it():
  with pytest.raises(ValueError, match="^it misses a field .*: 'name', 'inn"):
    typed_json.fields(Outer, {})


@pytest.mark.parametrize(
  'value, number',
  [
    (1, True),
    (1.5, True),
    (np.float64(1.0), True),
    (True, False),
    ('1', False),
    (None, False),
    (math.nan, False),
    (-math.inf, False),
    (2**53, True),
    (-(2**53) - 1, False),
  ],
)
def test_numbers_are_finite_and_exact(value, number):
  assert typed_json.is_number(value) is number
