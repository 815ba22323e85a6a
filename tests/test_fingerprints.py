"""The numbers of every estimator on tiny problems, against stored ones.

A stored result is used again as long as the version in its key is the same, so
a version must be raised whenever numbers change. Here the numbers are compared
with tests/fingerprints.json, which also says of which version they are:

    python tests/test_fingerprints.py             compares
    python tests/test_fingerprints.py --write     stores those of new versions

Both take names such as agents/lstd. Numbers that changed under the same version
are never written.
"""

import argparse
from collections.abc import Callable
import dataclasses
import functools
import json
import pathlib
import re
import sys
import types
from typing import NamedTuple
import warnings

import numpy as np
import pytest
import tensorflow as tf

from dfiv_ope import agents, envs, testing
from dfiv_ope import types as types_lib
from dfiv_ope.agents import base, fixed_features, memory, network_agent
from dfiv_ope.agents.entries import random_features
from dfiv_ope.benchmarks import demand, dsprites, lit_pixels, settings, trials
from dfiv_ope.evaluation import (
  inference,
  influence,
  interval_settings,
  result_rows,
  runs,
  selection,
)
from dfiv_ope.iv import methods
from dfiv_ope.nn import layers
from dfiv_ope.ope import bellman
from dfiv_ope.ope import episodes as episodes_lib
from dfiv_ope.ope import task as task_lib
from dfiv_ope.policies import rollout, simulation
from dfiv_ope.results import problems

_FILE = pathlib.Path(__file__).with_name('fingerprints.json')
_WRITE = 'python tests/test_fingerprints.py --write'
# Relative to the largest of some numbers: of float64 sums, and of features and
# networks in float32, whose last digits differ between processors. Data moved
# by a last digit move the latter by up to 4e-6.
_EXACT, _ROUNDED = 1e-6, 1e-4
# DFIV's losses are differences of float32 products, whose order is another on
# other processors: 2e-4 of the largest. The sieve's of its smallest penalties,
# with more splines than rows tell of, are left by rounding: 1e-4.
_DIFFERENCES = 1e-3
# What rounding leaves of a zero.
_NOTHING = 1e-12

Numbers = dict[str, list[float]]

_LAYERS = (layers.Dense(8), layers.Dense(4, 'tanh'))
# Fields of an agent's configs that are changed besides its tiny settings.
_SMALLER = {'dfiv': {'treatment_net': _LAYERS, 'instrument_net': _LAYERS}}
# Fields of a method's default config that lead to other branches.
_BRANCHES = {
  'kiv': [{'random_features': 10, 'folds': 1, 'search_bandwidths': False}]
}
_POLICY = testing.Mixed(np.array([0.3, 0.7]))


class _Log(NamedTuple):
  problem: bellman.Problem
  rows: types_lib.IVBatch
  episodes: np.ndarray
  initial: tf.Tensor


@functools.cache
def _log() -> _Log:
  """Returns 30 episodes of 20 steps in two dimensions; every other is cut."""
  generator = np.random.default_rng(0)
  count, steps = 30, 20
  action = generator.integers(2, size=(count, steps)).astype(np.int32)
  state = np.zeros((count, steps + 1, 2))
  state[:, 0] = generator.normal(size=(count, 2))
  for step in range(steps):
    push = np.stack([2.0 * action[:, step] - 1.0, np.sin(state[:, step, 0])], 1)
    state[:, step + 1] = (
      0.8 * state[:, step]
      + 0.3 * push
      + (0.2 * generator.normal(size=(count, 2)))
    )
  reward = np.cos(state[:, :-1].sum(axis=2)) + 0.5 * action
  going_on = np.ones((count, steps), np.float32)
  going_on[::2, -1] = 0.0
  transitions = types_lib.Transition(
    *map(
      tf.constant,
      (
        state[:, :-1].reshape(-1, 2).astype(np.float32),
        action.ravel(),
        reward.ravel().astype(np.float32),
        going_on.ravel(),
        state[:, 1:].reshape(-1, 2).astype(np.float32),
      ),
    )
  )
  return _posed(transitions, np.repeat(np.arange(count), steps), state[:, 0])


@functools.cache
def _table() -> _Log:
  """Returns transitions between five states, each an episode."""
  transitions = testing.TabularMDP(seed=3).transitions(500)
  return _posed(transitions, np.arange(500), np.eye(5))


def _posed(
  transitions: types_lib.Transition, episodes: np.ndarray, initial: np.ndarray
) -> _Log:
  problem = bellman.pose(transitions, _POLICY, discount=0.9, num_actions=2)
  return _Log(
    problem,
    problem.rows(transitions),
    episodes,
    tf.constant(initial.astype(np.float32)),
  )


def _agent(name: str) -> Numbers:
  presets = agents.ENTRIES[name].configs
  cases = [(preset, _log(), config) for preset, config in presets.items()]
  if isinstance(presets['default'], random_features.Config):
    cases.append(('table', _table(), presets['default']))
  numbers = {}
  for run, log, config in cases:
    config = dataclasses.replace(
      config, **agents.ENTRIES[name].tiny, **_SMALLER.get(name, {})
    )
    learner = base.OPELearner(
      agents.load(name).make(config, log.problem, seed=0),
      log.problem,
      memory.InMemory(log.rows, batch_size=config.batch_size, seed=0),
      initial_observations=log.initial,
    )
    learner.run()
    numbers[f'{run} values'] = learner.q_function.values(log.initial[:3])
    for measure, values in learner.history.items():
      numbers[f'{run} {measure}'] = values
  return numbers


@functools.cache
def _weighed() -> dict[str, task_lib.EvaluationTask]:
  """Returns logs to be weighed: with probabilities, and of a table without."""
  generator = np.random.default_rng(0)
  count, steps = 40, 4
  action = generator.integers(2, size=count * steps).astype(np.int32)
  number = generator.normal(size=(count * steps + 1, 2))
  name = generator.integers(3, size=(count * steps + 1, 1)).astype(float)
  going_on = np.ones(count * steps, np.float32)
  going_on[steps - 1 :: steps] = 0.0

  def task(state, **known):
    later = np.where(going_on[:, None] > 0.0, state[1:], state[:-1])
    return task_lib.EvaluationTask(
      episodes_lib.Episodes(
        transitions=types_lib.Transition(
          state[:-1],
          action,
          np.cos(state[:-1, 0]) + 0.5 * action,
          going_on,
          later,
        ),
        episodes=np.repeat(np.arange(count), steps),
        initial_observations=state[:-1:steps],
        num_actions=2,
        discount=0.9,
        **known,
      ),
      _POLICY,
    )

  return {
    'numbers': task(number, behaviour_probabilities=np.where(action, 0.6, 0.4)),
    'table': task(name, categorical=(0,)),
  }


def _direct(name: str) -> Numbers:
  numbers = {}
  for preset, config in agents.ENTRIES[name].configs.items():
    config = dataclasses.replace(config, **agents.ENTRIES[name].tiny)
    for log, task in _weighed().items():
      found = agents.load(name).estimate(config, task, seed=0)
      numbers[f'{preset} {log} value'] = found.value
      numbers[f'{preset} {log} added'] = found.added[::8]
      for measure, value in found.metrics.items():
        numbers[f'{preset} {log} {measure}'] = value
  return numbers


def _method(name: str) -> Numbers:
  design = demand.Demand(n=120)
  numbers = {}
  tiny = methods.ENTRIES[name].tiny
  for index, changes in enumerate([tiny, *_BRANCHES.get(name, ())]):
    config = settings.config(design.problem, name)
    with warnings.catch_warnings():
      warnings.simplefilter('ignore')  # It is not trained to its end.
      row = trials.run(
        design, name, dataclasses.replace(config, **changes), seed=0
      )
    curves = {measure: values[::4] for measure, values in row.curves.items()}
    for measure, values in {**row.metrics, **curves}.items():
      numbers[f'{measure} {index}'] = values
  return numbers


class _Known(network_agent.NetworkAgent):
  """What an agent would be that never learns: fixed values."""

  def __init__(self):
    super().__init__('known')
    self._psi = fixed_features.make(
      _log().problem,
      random_features.Config(random_features=4, bandwidth_scale=1.0).settings,
      seed=1,
    )

  def predict(self, decision):
    size = self._psi.output_size
    weights = tf.constant(np.cos(np.arange(size))[:, None], tf.float32)
    return self._psi.dot(decision, weights)


def _intervals() -> Numbers:
  problem, table, episodes, initial = _log()
  measured = influence.Influence(
    problem,
    memory.InMemory(table, batch_size=1, seed=0).parts,
    episodes=episodes,
    initial_observations=initial,
    features=random_features.Config(
      random_features=10, bandwidth_scale=0.5
    ).settings,
  )
  effect = measured.measure(_Known())
  changes = inference.resample(effect.added)
  degrees = inference.degrees(effect.added)
  ends = [
    inference.interval(
      estimates,
      np.stack([changes] * len(estimates)),
      [effect.correction] * len(estimates),
      level=0.9,
      degrees=degrees,
    )
    for estimates in ([1.0], [1.0, 1.5, 3.0])
  ]
  return {
    'weights': measured.weights[::60],
    'contributions': effect.added[::3],
    'correction': effect.correction,
    'resamples': changes[:5],
    'data_error': np.std(changes),
    'degrees': degrees,
    'effective_share': measured.effective_share,
    'heavy_share': measured.heavy_share,
    'default_features': [
      interval_settings.settings(
        None, random_features.Size(count, 10**6)
      ).random_features
      for count in (2, 50)
    ],
    'ends': [each for one in ends for each in (one.low, one.high)],
    'mean_interval': inference.mean_interval(1.0, 0.5, 30, level=0.9),
    **measured.first_stage.measure(_Known()),
  }


def _selection() -> Numbers:
  generator = np.random.default_rng(0)
  instruments = np.concatenate(
    [generator.normal(size=(100, 3)), np.ones((100, 1))], axis=1
  )
  return selection.judge(
    generator.normal(size=(100, 4)),
    generator.normal(size=(100, 4)),
    instruments,
  )._asdict()


def _log_average() -> Numbers:
  returns = np.random.default_rng(0).normal(size=40)
  mean = float(returns.mean())
  task = types.SimpleNamespace(
    log=types.SimpleNamespace(
      returns=returns, average_return=types.SimpleNamespace(mean=mean)
    )
  )
  row = result_rows.of_run(
    problems.UserLog(
      digest='', discount=0.9, actions=2, target='', log_return=mean, truth=0.5
    ),
    result_rows.LOG,
    result_rows.LOG_CONFIG,
    runs.Evaluator(task).log_average(),
  )
  return {**row.metrics, 'resamples': row.resamples[:5]}


def _lit_pixels() -> Numbers:
  design = dsprites.DSprites(n=60)
  return design.metrics(dsprites.lit_pixels_baseline(design.sample(0)))


def _simulation() -> Numbers:
  return dataclasses.asdict(
    simulation.monte_carlo(
      envs.maker('catch', action_noise=0.2),
      testing.Mixed(np.array([0.2, 0.3, 0.5])),
      discount=0.9,
      seed=0,
      max_episodes=100,
    )
  )


class Subject(NamedTuple):
  """Something whose numbers are stored.

  Attributes:
    place: where its version stands.
    version: of its numbers.
    measure: returns them.
    tolerance: how much they may differ between processors.
  """

  place: str
  version: int
  measure: Callable[[], Numbers]
  tolerance: float = _ROUNDED


def _subjects() -> dict[str, Subject]:
  tolerances = {'two_sls': _EXACT, 'sieve': _DIFFERENCES}
  return {
    **{
      f'agents/{name}': Subject(
        f'{agents.__name__}.ENTRIES[{name!r}].version',
        entry.version,
        functools.partial(_direct if entry.direct else _agent, name),
        _DIFFERENCES if name == 'dfiv' else _ROUNDED,
      )
      for name, entry in agents.ENTRIES.items()
    },
    **{
      f'methods/{name}': Subject(
        f'{methods.__name__}.ENTRIES[{name!r}].version',
        entry.version,
        functools.partial(_method, name),
        tolerances.get(name, _ROUNDED),
      )
      for name, entry in methods.ENTRIES.items()
    },
    'intervals': Subject(
      f'{interval_settings.__name__}.VERSION',
      interval_settings.VERSION,
      _intervals,
    ),
    'selection': Subject(
      f'{selection.__name__}.VERSION', selection.VERSION, _selection, _EXACT
    ),
    'log': Subject(
      f'{result_rows.__name__}.LOG_VERSION',
      result_rows.LOG_VERSION,
      _log_average,
      _EXACT,
    ),
    'lit_pixels': Subject(
      f'{lit_pixels.__name__}.VERSION', lit_pixels.VERSION, _lit_pixels, _EXACT
    ),
    'simulation': Subject(
      f'{rollout.__name__}.VERSION', rollout.VERSION, _simulation, _EXACT
    ),
  }


def _measure(subject: Subject) -> Numbers:
  return {
    name: [
      float(f'{value:.10g}')
      for value in np.ravel(np.asarray(values, np.float64))
    ]
    for name, values in subject.measure().items()
  }


def _change(stored: Numbers, numbers: Numbers, tolerance: float) -> str:
  """Returns what is different in a few words; empty if nothing is."""
  for name in sorted({*stored, *numbers}):
    before, after = stored.get(name), numbers.get(name)
    if before is None or after is None:
      return f'{name} is {"new" if before is None else "missing"}'
    if len(before) != len(after) or not np.allclose(
      after,
      before,
      rtol=0.0,
      equal_nan=True,
      atol=max(tolerance * np.nanmax(np.abs([*before, 0.0])), _NOTHING),
    ):
      return f'{name} was {before[:3]}, is {after[:3]}'
  return ''


def complaint(name: str, subject: Subject, numbers: Numbers, stored) -> str:
  """Returns why numbers may not be stored under their version, or are not.

  Args:
    name: of the subject.
    subject: with the version in the source.
    numbers: that it has now.
    stored: 'version' and 'numbers' of the file; None if it has none.
  """
  if stored is None:
    return f'{name} has no fingerprint. Run `{_WRITE} {name}`.'
  if subject.version > stored['version']:
    return (
      f'{name} is of version {subject.version}, its fingerprint of '
      f'{stored["version"]}. Run `{_WRITE} {name}`.'
    )
  change = _change(stored['numbers'], numbers, subject.tolerance)
  if subject.version == stored['version'] and not change:
    return ''
  return (
    f'The numbers of {name} have changed ({change or "version"}), but '
    f'stored results of version {stored["version"]} would be taken for '
    f'new ones. Raise {subject.place} to {stored["version"] + 1} and run '
    f'`{_WRITE} {name}`.'
  )


def _stored() -> dict:
  return json.loads(_FILE.read_text()) if _FILE.exists() else {}


@pytest.mark.parametrize('name', _subjects())
def test_numbers_are_those_of_their_version(name):
  subject = _subjects()[name]
  assert not complaint(name, subject, _measure(subject), _stored().get(name))


def test_no_estimator_is_missing_and_none_is_gone():
  assert set(_stored()) == set(_subjects())
  assert all(each.version >= 1 for each in _subjects().values())


_SUBJECT = Subject('the place', 2, dict, tolerance=1e-4)


@pytest.mark.parametrize(
  'version, numbers, words',
  [
    (2, {'a': [1.0, 3.0]}, ''),
    (2, {'a': [1.0, 3.0002]}, ''),  # Rounding, beside the largest.
    (2, {'a': [1.0, 3.001]}, 'Raise the place to 3 and run'),
    (2, {'a': [1.0]}, 'Raise the place to 3'),
    (2, {'a': [1.0, 3.0], 'b': [1.0]}, 'b is new'),
    (2, {}, 'a is missing'),
    (2, {'a': [1.0, float('nan')]}, 'Raise the place to 3'),
    (3, {'a': [1.0, 3.0]}, 'version 3, its fingerprint of 2. Run'),
    (3, {'a': [1.0, 9.0]}, 'version 3, its fingerprint of 2. Run'),
    (1, {'a': [1.0, 3.0]}, 'Raise the place to 3'),
  ],
)
def test_other_numbers_need_another_version(version, numbers, words):
  stored = {'version': 2, 'numbers': {'a': [1.0, 3.0]}}
  said = complaint('it', _SUBJECT._replace(version=version), numbers, stored)
  assert words in said and bool(words) == bool(said)
  assert 'no fingerprint' in complaint('it', _SUBJECT, numbers, None)


def test_only_numbers_of_a_new_version_are_written(
  tmp_path, monkeypatch, capsys
):
  file = tmp_path / 'fingerprints.json'
  subjects = {}
  monkeypatch.setitem(globals(), '_FILE', file)
  monkeypatch.setitem(globals(), '_subjects', lambda: subjects)

  def write(version, number):
    subjects['it'] = _SUBJECT._replace(
      version=version, measure=lambda: {'a': number}
    )
    return main(['--write']), json.loads(file.read_text())['it']

  first = {'version': 1, 'numbers': {'a': [1.0]}}
  assert write(1, 1.0) == (0, first)
  assert write(1, 2.0) == (1, first)
  assert 'Raise the place to 2' in capsys.readouterr().out
  assert write(1, 1.00001) == (0, first)  # Rounding does not add up.
  second = {'version': 2, 'numbers': {'a': [2.0]}}
  assert write(2, 2.0) == (0, second)
  assert write(1, 1.0) == (1, second)


def _may_write(subject: Subject, stored) -> bool:
  return stored is None or subject.version > stored['version']


def main(arguments: list[str] | None = None) -> int:
  """Compares or writes; returns 1 if something is to be done, else 0."""
  parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
  parser.add_argument('--write', action='store_true')
  subjects = _subjects()
  parser.add_argument(
    'names', nargs='*', metavar='name', help=', '.join(subjects)
  )
  options = parser.parse_args(arguments)
  if unknown := set(options.names) - set(subjects):
    parser.error(f'There is no {", ".join(sorted(unknown))}.')
  stored = _stored()
  failed = False
  for name in options.names or subjects:
    subject, before = subjects[name], stored.get(name)
    numbers = _measure(subject)
    said = complaint(name, subject, numbers, before)
    if said and options.write and _may_write(subject, before):
      stored[name] = {'version': subject.version, 'numbers': numbers}
    elif said:
      failed = True
      print(said)
  if options.write:
    _FILE.write_text(
      _text({name: stored[name] for name in subjects if name in stored})
    )
  return int(failed)


def _text(stored: dict) -> str:
  """Returns JSON with a line for each list."""
  return (
    re.sub(
      r'\[[^\]]*\]',
      lambda found: ' '.join(found[0].split()),
      json.dumps(stored, indent=1),
    )
    + '\n'
  )


if __name__ == '__main__':
  sys.exit(main())
