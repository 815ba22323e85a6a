"""What runs on the designs with pictures take, for plans.

CPU seconds as in `registry.Entry.cost`, measured on one thread at 5,000 rows
(`mnist`: 20,000), but for DFIV of the paper on `demand_mnist`: computed from
steps of DeepGMM with the same networks.
"""

from collections.abc import Mapping

_Costs = Mapping[str, Mapping[str, Mapping[str, float]]]
OURS: _Costs = {
  'dsprites': {
    'dfiv': {'iterations': 0.25},
    'kiv': {'fixed': 8.0},
    'deepgmm': {'steps': 0.3},
    'deepiv': {'density_steps': 0.06, 'response_steps': 0.06},
    'two_sls': {'fixed': 13.0},
  },
  'demand_mnist': {
    'dfiv': {'iterations': 2.0},
    'kiv': {'fixed': 16.0},
    'deepiv': {'density_steps': 0.12, 'response_steps': 0.12},
    'deepgmm': {'steps': 0.5},
  },
  'mnist': {
    'dfiv': {'iterations': 2.6, 'spectral_steps': 0.05},
    'deepgmm': {'steps': 0.8},
  },
}
PAPER: _Costs = {
  'dsprites': {
    'dfiv': {'iterations': 1.7},
    'kiv': {'fixed': 3.0},
    'deepgmm': {'steps': 0.34},
  },
  'demand_mnist': {
    'dfiv': {'iterations': 60.0},
    'kiv': {'fixed': 3.0},
    'deepiv': {'density_steps': 1.1, 'response_steps': 1.1},
    'deepgmm': {'steps': 2.8},
  },
  'mnist': {},
}
