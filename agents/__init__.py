"""Acme learners: DQN for target policies, and the agents that evaluate them.

An agent of off-policy evaluation is a module with `Config` (a `base.Config`),
`CONFIGS` ('default' and 'paper') and `make(config, problem, *, seed)`, which
returns a `base.Agent`.
"""

from collections.abc import Mapping
import importlib
import types

# Of each agent's numbers: raised when they change, which makes stored results
# others. tests/test_fingerprints.py fails where that was forgotten.
VERSIONS: Mapping[str, int] = {
    'lstd': 1,
    'kiv': 1,
    'dfiv': 2,
    'fqe': 1,
    'deepgmm': 1,
    'deepiv': 1,
}
NAMES = tuple(VERSIONS)


def load(name: str) -> types.ModuleType:
  """Returns the module of an agent; only this imports TensorFlow."""
  if name not in NAMES:
    raise ValueError(
        f'There is no method {name!r}. Choose one of {", ".join(NAMES)}.')
  return importlib.import_module(f'dfiv_ope.agents.{name}')
