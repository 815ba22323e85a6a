"""A tiny sweep, and records of datasets that need not be there."""

import dataclasses

import pytest

from dfiv_ope.datasets import spec as spec_lib
from dfiv_ope.evaluation import sweep_spec
from dfiv_ope.launch.experiments import plan
from dfiv_ope.policies import episode_returns

_TINY = {
  'tasks': 'catch',
  'noises': '0.2',
  'methods': 'lstd,dfiv',
  'seeds': 2,
  'policy': {'transitions': 2000, 'trial_episodes': 4},
  'transitions': 1000,
  'truth_episodes': 200,
  'settings': {
    'lstd': {'random_features': 4},
    'dfiv': {'updates': 4, 'checks': 2, 'batch_size': 32},
  },
}


@pytest.fixture
def swept():
  """Makes the experiments of a tiny sweep."""
  return lambda **changes: plan.sweep(sweep_spec.parse({**_TINY, **changes}))


_SPEC = spec_lib.Spec(task='catch', transitions=1000)


def file_of(content):
  """Returns what a record says of a file."""
  return {'bytes': 1, 'sha256': content}


@pytest.fixture
def metadata():
  """Makes the record of a dataset; `spec` names changes of its spec."""

  def make(**changes):
    moments = episode_returns.MonteCarlo(
      mean=0.5, standard_error=0.1, episodes=9, mean_length=9.0
    )
    spec = dataclasses.replace(_SPEC, **changes.pop('spec', {}))
    return spec_lib.Metadata(
      **{
        'spec': spec,
        'num_observations': 50,
        'num_actions': 3,
        'transitions': 1007,
        'episodes': 9,
        'truncated': 0,
        'digest': 'a digest',
        'files': {
          'policy/variables/variables.index': file_of('weights'),
          'policy/saved_model.pb': file_of('written differently each time'),
        },
        'truth': moments,
        'behaviour': moments,
        'policy': {'dqn': {'hidden': [50]}, 'cpu_seconds': 1.2},
        'versions': {},
        **changes,
      }
    )

  return make
