"""Importance sampling of a log in parts says what it says of one in memory."""

import dataclasses

import numpy as np
import pandas as pd
import pytest

from dfiv_ope.agents import memory
from dfiv_ope.agents.entries import weighing as entry
from dfiv_ope.datasets import columns as columns_lib
from dfiv_ope.datasets import importing, logs, stored_streams, streams
from dfiv_ope.datasets.formats import source
from dfiv_ope.evaluation import (
  cross_checks,
  estimates,
  runs,
  streamed_passes,
  streamed_weights,
)
from dfiv_ope.launch.experiments import inputs, long_run, stream_run
from dfiv_ope.ope import task as task_lib

_EPISODES = 60
# The policy never takes action 2.
_BEHAVIOUR = np.array([0.5, 0.46, 0.04])


def _policy(observations):
  right = (observations[:, 0] > 0.0).astype(int)
  return 0.3 * np.array([1.0, 1.0, 0.0]) + 0.4 * np.eye(3)[right]


def _frame(lengths, *, cut=0):
  """Episodes whose steps have discounts; the first ones are cut off."""
  generator = np.random.default_rng(0)
  count, ends = int(lengths.sum()), np.cumsum(lengths) - 1
  terminated, truncated = np.zeros((2, count), bool)
  terminated[ends[cut:]] = truncated[ends[:cut]] = True
  observation = generator.normal(size=(count, 2))
  action = generator.choice(3, size=count, p=_BEHAVIOUR)
  return pd.DataFrame(
    {
      'episode': np.repeat(np.arange(len(lengths)), lengths),
      'obs_0': observation[:, 0],
      'obs_1': 1e3 + 10.0 * observation[:, 1],
      'action': action,
      'reward': observation[:, 0] * (2 * action - 1)
      + 0.2 * generator.normal(size=count),
      'discount': generator.choice([0.8, 1.0], size=count),
      'behaviour_probability': _BEHAVIOUR[action],
      'terminated': terminated,
      'truncated': truncated,
    }
  )


def _stream(frame, path):
  """Three Parquet files that cut episodes."""
  path.mkdir()
  count = len(frame)
  for place, start in enumerate(range(0, count, count // 3 + 1)):
    frame[start : start + count // 3 + 1].to_parquet(
      path / f'{place}.parquet', row_group_size=50
    )
  return streams.Stream(
    path=path, columns=columns_lib.parse({'actions': 3}), discount=0.9
  )


@pytest.fixture
def short_parts(monkeypatch):
  """Parts of some 16 rows; unrelated estimators take seconds."""
  monkeypatch.setattr(memory, '_PART_ROWS', 16)
  monkeypatch.setattr(
    cross_checks, 'measure', lambda *args, **kwargs: {'check_lstd': 2.0}
  )


@pytest.fixture
def stream(short_parts, tmp_path):
  lengths = np.random.default_rng(1).integers(1, 9, size=_EPISODES)
  lengths[30] = 40  # More than a part has.
  return _stream(_frame(lengths), tmp_path / 'log')


def _stored(stream, path):
  """Returns the same log as a dataset."""
  importing.build(
    logs.LogReader(stream.path, columns=stream.columns),
    path,
    discount=stream.discount,
    request={},
  )
  return stored_streams.StoredStream(path=path)


def _configs(**settings):
  return {name: entry.Config(**settings) for name in streamed_weights.METHODS}


def _in_memory(stream, configs):
  log = stream.in_memory()
  task = task_lib.EvaluationTask(log, task_lib.find_policy(_policy, log).policy)
  return estimates.each_of(runs.Evaluator(task), configs, seeds=2)


def _in_parts(stream, configs, survey=None, *, scratch=None):
  survey = survey or stream.survey(copy=scratch and scratch / 'transitions')
  return stream_run.evaluate(
    stream, _policy, configs, seeds=2, scratch=scratch, survey=survey, group=2
  )


def _same(ours, theirs):
  """Asserts that all numbers are the same to 1e-10."""
  assert list(ours) == list(theirs)
  for name, found in ours.items():
    for one, other in zip(found.runs, theirs[name].runs, strict=True):
      assert (one.seed, one.failure) == (other.seed, other.failure)
      assert list(one.metrics) == list(other.metrics)
      assert one.metrics == pytest.approx(other.metrics, rel=1e-10, abs=1e-10)
      np.testing.assert_allclose(one.resamples, other.resamples, atol=1e-10)
    assert found.missing == theirs[name].missing
    if found.draws is not None:
      np.testing.assert_allclose(
        found.interval(0.95)[:6], theirs[name].interval(0.95)[:6], atol=1e-10
      )


@pytest.mark.parametrize('cap', [None, 1.5])
def test_parts_are_in_memory_whatever_the_batches(
  stream, tmp_path, monkeypatch, cap
):
  configs = _configs(cap=cap)
  whole = _in_memory(stream, configs)
  for found in whole.values():
    metrics = found.runs[0].metrics
    assert metrics['estimated_propensities'] == 0.0
    assert 3.0 < metrics['effective_episodes'] < _EPISODES
    assert metrics['check_lstd'] == 2.0
  assert len({round(found.value, 6) for found in whole.values()}) == 2
  stored = _stored(stream, tmp_path / 'stored')
  for batch in (1, 7, 1000):
    monkeypatch.setattr(source, 'CHUNK_ROWS', batch)
    for each in (stream, stored):
      answer = _in_parts(each, configs)
      assert answer.survey.complete
      _same(answer.estimates, whole)


def test_text_and_steps_of_one_are_the_same(stream, tmp_path):
  configs = _configs()
  text = tmp_path / 'text'
  text.mkdir()
  for path in stream.path.iterdir():
    pd.read_parquet(path).to_csv(
      text / f'{path.stem}.csv', index=False, float_format='%.17g'
    )
  copied = dataclasses.replace(stream, path=text)
  _same(
    _in_parts(copied, configs, scratch=tmp_path / 'scratch').estimates,
    _in_memory(stream, configs),
  )
  short = _stream(_frame(np.ones(200, int)), tmp_path / 'short')
  _same(_in_parts(short, configs).estimates, _in_memory(short, configs))


def test_a_sample_is_only_asked_by_unrelated_estimators(stream, monkeypatch):
  asked = []

  def measure(task, **options):
    asked.append(len(task.log))
    return {'check_lstd': 2.0}

  monkeypatch.setattr(cross_checks, 'measure', measure)
  configs = _configs(cap=1.5)
  survey = stream.survey(sampled=150)
  found = _in_parts(stream, configs, survey)
  assert asked == [len(survey.sample)]
  assert 100 < asked[0] <= 150 < survey.transitions
  _same(found.estimates, _in_memory(stream, configs))


def test_what_weights_cannot_tell_is_refused_in_the_same_words(
  short_parts, tmp_path
):
  lengths = np.full(30, 3)
  configs = _configs()
  cut = _stream(_frame(lengths, cut=4), tmp_path / 'cut')
  whole = _in_memory(cut, configs)
  assert whole['wis'].runs[0].failure.startswith('4 of 30 episodes are trunc')
  never = _frame(lengths)
  never.loc[never.index % 3 == 1, 'action'] = 2
  never = _stream(never, tmp_path / 'never')
  for each in (cut, never):
    found = _in_parts(each, configs).estimates
    _same(found, _in_memory(each, configs))
    assert all(run.refused for one in found.values() for run in one.runs)
  assert found['tis'].runs[0].failure.startswith('None of the 30 episodes')


def test_without_recorded_probabilities_the_log_is_held(
  stream, tmp_path, monkeypatch
):
  assert stream.recorded
  stream_run.require(stream, [], _configs(), ray='local')
  frame = _frame(np.full(20, 3)).drop(columns='behaviour_probability')
  plain = _stream(frame, tmp_path / 'plain')
  assert not plain.recorded
  with pytest.raises(
    ValueError, match='^WIS needs the log in memory where no behaviour prob'
  ):
    stream_run.require(plain, [], {'wis': entry.Config()})
  survey = plain.survey()
  with pytest.raises(ValueError, match='^IS reads logs in parts that record'):
    streamed_weights.Runner(
      survey,
      task_lib.EvaluationTask(survey.sample, None),
      'tis',
      entry.Config(),
    )
  monkeypatch.setattr(streams, 'IN_MEMORY', 10)
  for each, path, held in ((stream, 'a', False), (plain, 'b', True)):
    stored = _stored(each, tmp_path / path)
    assert stored.recorded is not held
    inputs.open_stream.cache_clear()
    (problem,) = inputs.on_log(stored.path, {'mine': _policy_name()})
    assert bool(long_run.holding(problem, _configs())) is held


def test_jobs_on_a_dataset_are_runs_in_memory(stream, tmp_path):
  configs = _configs(cap=1.5)
  stored = _stored(stream, tmp_path / 'stored')
  log = stored.in_memory()
  policy = task_lib.find_policy(_policy, log).policy
  jobs = long_run.Evaluator(
    long_run.Dataset(stored.path, tmp_path / 'scratch'),
    policy,
    all_columns=False,
    progress=lambda *_: None,
  )
  whole = _in_memory(stored, configs)
  shares = []
  for name, config in configs.items():
    for seed, expected in enumerate(whole[name].runs):
      found = jobs.run(
        name,
        config,
        seed=seed,
        progress=lambda done, *_: shares.append(done),
        saved=None,
      )
      assert found.seed == seed
      assert list(found.metrics) == list(expected.metrics)
      assert found.metrics == pytest.approx(
        expected.metrics, rel=1e-10, abs=1e-10
      )
  # The second seed takes no pass.
  assert shares == [1_000, 1_000]


def _policy_name():
  return f'{__name__}:_policy'


def test_parts_begin_where_episodes_do(monkeypatch):
  monkeypatch.setattr(memory, '_PART_ROWS', 4)
  # Parts of rows would begin at 0, 3, 7, 10, and end at 14.
  assert streamed_weights.marks(np.array([2, 3, 1, 6, 2])) == [0, 5, 12, 14]
  assert streamed_weights.marks(np.array([30])) == [0, 30]
  groups = streamed_passes.groups([0, 5, 12, 14], 2)
  assert [each.marks for each in groups] == [(0, 5, 12), (12, 14)]
