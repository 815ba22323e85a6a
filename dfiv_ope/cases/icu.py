"""ICU-Sepsis (Choudhary et al. 2024): 716 states, 25 doses, clinicians' policy.

Only the files of the package are read; its code is never imported.
"""

import functools
import importlib.util
import pathlib
from typing import NamedTuple

import numpy as np

from dfiv_ope import types
from dfiv_ope.cases import case, finite, mixtures

PACKAGE = 'icu_sepsis'
INSTALL = 'pip install --no-deps icu-sepsis==2.0.1'
_DISCOUNT = 0.99
_HORIZON = 200
CLINICIANS, HALF, OPTIMAL = 'clinicians', 'half', 'optimal'


class Hospital(NamedTuple):
  """ICU-Sepsis.

  Attributes:
    problem: the tables.
    clinicians: their policy, [S, A].
    best: the optimal one among admissible actions, [S, A].
    uniform: any admissible action, [S, A].
  """

  problem: finite.Finite
  clinicians: types.FloatArray
  best: types.FloatArray
  uniform: types.FloatArray


@functools.lru_cache(maxsize=2)
def hospital(*, centres: bool = False) -> Hospital:
  """Returns ICU-Sepsis.

  Args:
    centres: whether a state is observed by the centre of its cluster;
      otherwise by its name.

  Raises:
    ModuleNotFoundError: the package is not installed.
  """
  found = importlib.util.find_spec(PACKAGE)
  if found is None or not found.submodule_search_locations:
    raise ModuleNotFoundError(
      'The tables of ICU-Sepsis are not installed. Install them with '
      f'`{INSTALL}`.'
    )
  files = pathlib.Path(found.submodule_search_locations[0]) / 'envs' / 'assets'
  with np.load(files / 'dynamics.npz') as data:
    steps, clinicians, rewards, first, seen = (
      data[name]
      for name in (
        'tx_mat',
        'expert_policy',
        'r_mat',
        'd_0',
        'state_cluster_centers',
      )
    )
  # The states before the end have no clinicians' actions; any does there.
  clinicians[clinicians.sum(axis=1) == 0.0, -1] = 1.0
  admissible = np.zeros(clinicians.shape, bool)
  lines = (
    (files / 'admissible_actions.txt')
    .read_text(encoding='utf-8')
    .splitlines()[1:]
  )
  for state, line in enumerate(filter(str.strip, lines)):
    admissible[state, [int(each) for each in line.split()]] = True
  problem = finite.Finite(
    discount=_DISCOUNT,
    horizon=_HORIZON,
    num_actions=clinicians.shape[1],
    categorical=() if centres else (0,),
    steps=steps,
    rewards=rewards,
    ends=np.array([np.min(steps[s, :, s]) == 1.0 for s in range(len(steps))]),
    first=first,
    observations=seen if centres else finite.numbers(len(steps)),
  )
  return Hospital(
    problem,
    clinicians,
    problem.optimal(admissible),
    admissible / admissible.sum(axis=1, keepdims=True),
  )


def setting(target: str, *, centres: bool = False) -> case.Setting:
  """Returns a case whose log the clinicians wrote.

  Args:
    target: 'clinicians' for their own policy, 'half' for half of the time the
      optimal one, 'optimal' for nine times out of ten, and any admissible
      action otherwise.
    centres: as for `hospital`.
  """
  made = hospital(centres=centres)
  tables = {
    CLINICIANS: made.clinicians,
    HALF: 0.5 * (made.clinicians + made.best),
    OPTIMAL: 0.9 * made.best + 0.1 * made.uniform,
  }
  return case.Setting(
    problem=made.problem,
    behaviour=made.problem.policy(made.clinicians),
    target=case.tabulated(made.problem, tables[target]),
    others=mixtures.ranked(made.problem, made.best, made.clinicians),
  )
