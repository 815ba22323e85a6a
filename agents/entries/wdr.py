"""Weighted doubly robust evaluation: registry entry."""

from dfiv_ope import registry
from dfiv_ope.agents.entries import doubly_robust

Config = doubly_robust.Config
CONFIGS = doubly_robust.CONFIGS
ENTRY = registry.Entry(
  version=9,
  configs=CONFIGS,
  cost=doubly_robust.COST,
  direct=True,
  tiny={'folds': 2, 'random_features': 10},
  style=registry.Style(
    label='WDR', family=registry.DOUBLY_ROBUST, color='#ff1ed5', marker='s'
  ),
  when=(
    'In place of DR where its weights vary: they are divided by their sum '
    'at each step. Of those that weigh episodes the first to try.'
  ),
)
