"""Acme learners: DQN for target policies, and the agents that evaluate them.

An estimator of policy values is a module and its entry (`entries`), which all
others read: its configs, its version, how it looks. There are two kinds:

- one that learns a Q-function has `make(config, problem, *, seed)`, which
  returns a `base.Agent`;
- one that weighs the log has `estimate(config, task, *, seed)`, which returns
  a `direct.Direct`; its entry says `direct`.

`evaluation.runs.Evaluator.run` runs either.
"""

from collections.abc import Mapping
import types

from dfiv_ope import registry
from dfiv_ope.agents import entries

ENTRIES: Mapping[str, registry.Entry] = entries.ENTRIES
NAMES = tuple(ENTRIES)
# Those that learn a Q-function.
LEARNERS = tuple(name for name, entry in ENTRIES.items() if not entry.direct)


def load(name: str) -> types.ModuleType:
  """Returns the module of an estimator; only this imports TensorFlow."""
  return registry.load(name, ENTRIES, __name__)
