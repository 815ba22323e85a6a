"""Weighted importance sampling per decision: registry entry."""

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
    label='WPDIS',
    family=registry.IMPORTANCE_SAMPLING,
    color='#811aff',
    marker='D',
  ),
  when=(
    'In place of PDIS where its weights vary: they are divided by their '
    'sum at each step. Where rewards come at the end, WIS is better.'
  ),
)
