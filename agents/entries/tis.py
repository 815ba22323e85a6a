"""Importance sampling of whole episodes: registry entry."""

from dfiv_ope import registry
from dfiv_ope.agents.entries import weighing

Config = weighing.Config
CONFIGS = weighing.CONFIGS
ENTRY = registry.Entry(
  version=3,
  configs=CONFIGS,
  cost=weighing.COST,
  direct=True,
  tiny={'folds': 2},
  style=registry.Style(
    label='IS', family=registry.IMPORTANCE_SAMPLING, color='#9f4c35', marker='x'
  ),
  when=(
    'As a check without any model of the states: unbiased where the '
    'behaviour probabilities are known. For bandits and episodes of a few '
    'steps; on longer ones a few episodes have all the weight.'
  ),
)
