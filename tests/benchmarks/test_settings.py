"""Configs of the designs with pictures: the tables of the paper."""

import pytest

from dfiv_ope.benchmarks import (
  demand_mnist,
  dsprites,
  mnist_scenarios,
  settings,
)
from dfiv_ope.iv import methods
from dfiv_ope.nn import layers as layers_lib
from dfiv_ope.nn import networks

SPRITES = dsprites.DSprites().problem
DEMAND = demand_mnist.DemandMNIST(mnist='unused').problem


def dense(layers):
  return [
    (layer.size, layer.spectral)
    for layer in layers
    if isinstance(layer, layers_lib.Dense)
  ]


def test_networks_of_dsprites_are_those_of_the_tables():
  config = settings.config(SPRITES, 'dfiv', paper=True)
  assert dense(config.instrument_net) == [
    (256, True),
    (128, True),
    (128, True),
    (32, True),
  ]
  assert dense(config.treatment_net) == [
    (1024, True),
    (512, True),
    (128, True),
    (32, True),
  ]
  assert (config.stage1_penalty, config.stage2_penalty) == (0.01, 0.01)
  critic = settings.config(SPRITES, 'deepgmm', paper=True).instrument_net
  assert dense(critic)[-1] == (1, False)
  assert settings.config(SPRITES, 'kiv', paper=True).random_features == 100


def test_the_extractor_of_digits_has_the_inputs_of_the_table():
  config = settings.config(DEMAND, 'dfiv', paper=True)
  branch = config.covariate_net[0]
  assert branch.columns == 784
  network = networks.Network(branch.layers[:4], input_size=784, seed=0)
  assert network.output_size == 9216
  whole = networks.Network(config.covariate_net, input_size=785, seed=0)
  assert whole.output_size == 32
  # FC(65, 32): the time of the year beside 64 features of the picture.
  sizes = [tuple(each.shape) for each in whole.trainable_variables]
  assert (65, 32) in sizes


@pytest.mark.parametrize(
  'scenario, treatment, instrument',
  [('x', True, False), ('z', False, True), ('xz', True, True)],
)
@pytest.mark.parametrize('method', ['dfiv', 'deepgmm'])
def test_what_a_scenario_shows_is_read_as_a_picture(
  scenario, treatment, instrument, method
):
  problem = mnist_scenarios.MNISTScenario(scenario=scenario).problem
  config = settings.config(problem, method)
  assert layers_lib.has_pictures(config.treatment_net) is treatment
  assert layers_lib.has_pictures(config.instrument_net) is instrument


@pytest.mark.parametrize(
  'problem, names',
  [
    (SPRITES, ('two_sls', 'kiv', 'deepiv', 'deepgmm', 'dfiv')),
    (DEMAND, ('kiv', 'deepiv', 'deepgmm', 'dfiv')),
  ],
)
def test_every_setting_is_a_config_of_its_method(problem, names):
  for name in names:
    assert isinstance(settings.config(problem, name), methods.load(name).Config)
  with pytest.raises(ValueError, match="no setting for 'sieve'"):
    settings.config(problem, 'sieve')
