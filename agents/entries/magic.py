"""MAGIC: registry entry."""

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
    label='MAGIC', family=registry.DOUBLY_ROBUST, color='#3467f9', marker='P'
  ),
  when=(
    'When it is not known whether the model or the weights are better: '
    'a blend of LSTD-Q and WDR, by their estimated mean squared errors.'
  ),
)
