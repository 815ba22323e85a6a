"""A name that is not known is answered by the nearest one and by all."""

import subprocess
import sys

import pytest

from dfiv_ope import configs, envs, hints, registry
from dfiv_ope.datasets import columns

_METHODS = ('lstd', 'kiv', 'dfiv', 'fqe', 'deepgmm', 'deepiv', 'all')


@pytest.mark.parametrize(
  'name, nearest',
  [
    ('lsdt', 'lstd'),
    ('LSTD', 'lstd'),
    ('deepgm', 'deepgmm'),
    ('al', 'all'),
    ('fqe2', 'fqe'),
    ('magic', None),
    ('', None),
  ],
)
def test_the_nearest_name_is_like_the_one_that_was_written(name, nearest):
  assert hints.near(name, _METHODS) == nearest


def test_the_sentence_has_the_nearest_name_if_there_is_one():
  assert hints.unknown('method', 'lsdt', _METHODS) == (
    "There is no method 'lsdt': did you mean lstd? Choose from lstd, kiv, "
    'dfiv, fqe, deepgmm, deepiv, all.'
  )
  assert hints.unknown('figure', 'roc', ['ate', 'mse']) == (
    "There is no figure 'roc'. Choose from ate, mse."
  )


def test_a_long_name_is_compared_at_once():
  assert hints.near('l' * 10**6, _METHODS) is None


def test_methods_and_tasks_are_refused_with_the_nearest():
  with pytest.raises(ValueError, match="'dfvi': did you mean dfiv"):
    registry.load('dfvi', {'dfiv': None, 'kiv': None}, 'dfiv_ope.agents')
  with pytest.raises(ValueError, match='did you mean mountain_car'):
    envs.make('mountain-car', seed=0)


def test_keys_of_a_file_are_refused_each_with_the_nearest():
  with pytest.raises(ValueError) as refused:
    configs.check_names(
      {'rewrad': 'r', 'colour': 'red'},
      columns.Columns,
      what='A mapping',
      names='Its names',
    )
  assert str(refused.value).startswith(
    'A mapping has no rewrad (did you mean reward?), colour. Its names are: '
    'episode, step, '
  )


def test_names_of_tasks_are_known_without_numpy():
  code = (
    'import sys\nfrom dfiv_ope import envs\n'
    'print(envs.TASKS, "numpy" in sys.modules)\n'
    'print(envs.make.__name__, "numpy" in sys.modules)'
  )
  shown = subprocess.run(
    [sys.executable, '-c', code], capture_output=True, text=True, check=True
  )
  assert shown.stdout.splitlines() == [
    "('catch', 'mountain_car', 'cartpole') False",
    'make True',
  ]


def test_a_known_name_passes_and_another_is_refused():
  hints.require('method', 'lstd', _METHODS)
  with pytest.raises(ValueError, match="no method 'lsdt': did you mean lstd"):
    hints.require('method', 'lsdt', _METHODS)
