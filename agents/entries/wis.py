"""Weighted importance sampling of whole episodes: registry entry."""

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
    label='WIS',
    family=registry.IMPORTANCE_SAMPLING,
    color='#646a36',
    marker='v',
  ),
  when=(
    'In place of IS where its weights vary: they are divided by their sum, '
    'which costs a bias that fades with the number of episodes.'
  ),
)
