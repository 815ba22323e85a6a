"""Acme learners: DQN for target policies, and the agents that evaluate them.

An agent of off-policy evaluation is a module with `Config` (a `base.Config`),
`CONFIGS` ('default' and 'paper') and `make(config, problem, *, seed)`, which
returns a `base.Agent`.
"""

import importlib
import types

NAMES = ('lstd', 'kiv', 'dfiv', 'fqe', 'deepgmm', 'deepiv')


def load(name: str) -> types.ModuleType:
  """Returns the module of an agent; only this imports TensorFlow."""
  if name not in NAMES:
    raise ValueError(
        f'There is no method {name!r}. Choose one of {", ".join(NAMES)}.')
  return importlib.import_module(f'dfiv_ope.agents.{name}')
