"""Configs survive JSON."""

import dataclasses
import inspect
import json
import re

import pytest

from dfiv_ope import agents, configs
from dfiv_ope.iv import bases, methods
from dfiv_ope.iv.methods import sieve
from dfiv_ope.nn import layers as layers_lib


def test_a_config_with_layers_and_bases_comes_back():
  layers = (
    layers_lib.Dense(8),
    layers_lib.Dropout(0.5),
    layers_lib.Dense(1, None),
  )
  text = json.dumps(configs.encode(layers))
  assert (
    configs.decode(json.loads(text), (layers_lib.Dense, layers_lib.Dropout))
    == layers
  )
  config = sieve.Config(treatment_bases=(bases.BSpline(5),))
  known = (sieve.Config, bases.BSpline, bases.Hermite)
  assert (
    configs.decode(json.loads(json.dumps(configs.encode(config))), known)
    == config
  )


def test_what_json_cannot_hold_is_refused():
  with pytest.raises(ValueError, match='of type object'):
    configs.encode((object(),))


def test_unknown_types_are_refused():
  with pytest.raises(ValueError, match="the type 'Dense'"):
    configs.decode(configs.encode(layers_lib.Dense(3)), ())


def _explanations(config):
  """Returns what the docstrings of a config and its bases say of fields."""
  found = {}
  for base in reversed(config.__mro__):
    text = inspect.cleandoc(base.__dict__.get('__doc__') or '')
    section = text.partition('Attributes:\n')[2]
    for name, words in re.findall(
      r'^  (\w+): (.*(?:\n    .*)*)', section, re.MULTILINE
    ):
      found[name] = ' '.join(words.split())
  return found


@pytest.mark.parametrize(
  'package, name',
  [(package, name) for package in (agents, methods) for name in package.NAMES],
)
def test_every_option_of_a_config_is_explained(package, name):
  config = package.load(name).Config
  fields = {field.name for field in dataclasses.fields(config)}
  found = _explanations(config)
  assert fields <= set(found)
  assert all(hasattr(config, name) for name in set(found) - fields)
  for field in fields:
    words = found[field]
    assert words.endswith('.'), f'{field} has no sentence: {words!r}'
    assert words.rstrip('.').replace(' ', '_').lower() != field
  assert len({found[field] for field in fields}) == len(fields)
