"""Acme learners: DQN for target policies, and the agents that evaluate them.

An agent of off-policy evaluation is a module with `Config` (a `base.Config`),
`CONFIGS` ('default' and 'paper') and `make(config, problem, *, seed)`, which
returns a `base.Agent`; and its entry here, which all others read.
"""

from collections.abc import Mapping
import types

from dfiv_ope import registry
from dfiv_ope.iv import methods

_FEW_FEATURES = {'random_features': 10}
_LSTD_ON_DFIV = 'LSTD-Q on DFIV features'
_FEW_UPDATES = {'updates': 4, 'checks': 2, 'batch_size': 32}

# With the default configs DFIV loses little or nothing by the quick budget, FQE
# a little, DeepGMM and DeepIV much (docs/results: reproduce.md against ope.md).
ENTRIES: Mapping[str, registry.Entry] = {
    'lstd': registry.Entry(
        version=1, tiny=_FEW_FEATURES, style=registry.Style(
            label='LSTD-Q', family=registry.CLOSED_FORM, color='#009e73',
            marker='s')),
    'kiv': registry.Entry(
        version=1, tiny=_FEW_FEATURES, style=methods.ENTRIES['kiv'].style),
    # By its solve on the whole log: what solves as LSTD-Q does, as version
    # 0.1.0 did, is not called DFIV.
    'dfiv': registry.Entry(
        version=2, tiny=_FEW_UPDATES, quick=('checks=3', 'updates=300'),
        style=methods.ENTRIES['dfiv'].style, variants={
            'solve': {'plug-in': 'DFIV (plug-in)', 'moment': 'DFIV (moment)',
                      'lstd': _LSTD_ON_DFIV},
            'own_instruments': {'True': _LSTD_ON_DFIV}}),
    'fqe': registry.Entry(
        version=1, tiny=_FEW_UPDATES, quick=('checks=4', 'updates=4000'),
        style=registry.Style(
            label='FQE', family='FQE', color='#d55e00', marker='P')),
    'deepgmm': registry.Entry(
        version=1, tiny=_FEW_UPDATES, quick=('checks=3', 'updates=1500'),
        style=methods.ENTRIES['deepgmm'].style),
    'deepiv': registry.Entry(
        version=1, tiny=_FEW_UPDATES, quick=('checks=3', 'updates=600'),
        style=methods.ENTRIES['deepiv'].style),
}
NAMES = tuple(ENTRIES)


def load(name: str) -> types.ModuleType:
  """Returns the module of an agent; only this imports TensorFlow."""
  return registry.load(name, ENTRIES, __name__)
