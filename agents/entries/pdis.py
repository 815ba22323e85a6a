"""Importance sampling per decision: registry entry."""

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
    label='PDIS',
    family=registry.IMPORTANCE_SAMPLING,
    color='#a449bd',
    marker='^',
  ),
  when=(
    'In place of IS where rewards come at every step: each has the weight '
    'of the steps up to it alone.'
  ),
)
