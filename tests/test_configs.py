"""Configs survive JSON."""

import json

import pytest

from dfiv_ope import configs
from dfiv_ope.iv import dictionaries
from dfiv_ope.iv.methods import sieve
from dfiv_ope.nn import networks


def test_a_config_with_layers_and_bases_comes_back():
  layers = (networks.Dense(8), networks.Dropout(0.5), networks.Dense(1, None))
  text = json.dumps(configs.encode(layers))
  assert configs.decode(
      json.loads(text), (networks.Dense, networks.Dropout)) == layers
  config = sieve.Config(treatment_bases=(dictionaries.BSpline(5),))
  known = (sieve.Config, dictionaries.BSpline, dictionaries.Hermite)
  assert configs.decode(
      json.loads(json.dumps(configs.encode(config))), known) == config


def test_what_json_cannot_hold_is_refused():
  with pytest.raises(ValueError, match='of type object'):
    configs.encode((object(),))


def test_unknown_types_are_refused():
  with pytest.raises(ValueError, match="the type 'Dense'"):
    configs.decode(configs.encode(networks.Dense(3)), ())
