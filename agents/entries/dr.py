"""Doubly robust evaluation: registry entry."""

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
    label='DR', family=registry.DOUBLY_ROBUST, color='#fd1e4b', marker='o'
  ),
  when=(
    'Where behaviour probabilities are recorded: right if either they or '
    'the values of LSTD-Q are, unlike LSTD-Q itself. Episodes of some tens '
    'of steps at most.'
  ),
)
