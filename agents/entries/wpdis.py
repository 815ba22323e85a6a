"""Weighted importance sampling per decision: registry entry."""

from dfiv_ope import registry
from dfiv_ope.agents.entries import weighing

Config = weighing.Config
CONFIGS = weighing.CONFIGS
ENTRY = registry.Entry(
    version=1, configs=CONFIGS, cost=weighing.COST, direct=True,
    tiny={'folds': 2},
    style=registry.Style(
        label='WPDIS', family=registry.IMPORTANCE_SAMPLING,
        color='#811aff', marker='D'),
    when=(
        'The steadiest of the four without a model: weights per decision, '
        'divided by their sum at each step.'))
