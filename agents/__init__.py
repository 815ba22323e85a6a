"""Acme learners: DQN for target policies, and the agents that evaluate them.

An agent of off-policy evaluation is a module with `make(config, problem, *,
seed)`, which returns a `base.Agent`; and its entry (`entries`), which all
others read: its configs, its version, how it looks.
"""

from collections.abc import Mapping
import types

from dfiv_ope import registry
from dfiv_ope.agents import entries

ENTRIES: Mapping[str, registry.Entry] = entries.ENTRIES
NAMES = tuple(ENTRIES)


def load(name: str) -> types.ModuleType:
  """Returns the module of an agent; only this imports TensorFlow."""
  return registry.load(name, ENTRIES, __name__)
