"""Methods on a log that is read in parts say what they say of it in memory."""

import dataclasses

import numpy as np
import pandas as pd
import pyarrow as pa
from pyarrow import parquet
import pytest

from dfiv_ope.agents import memory, row_nests
from dfiv_ope.agents.entries import fqe as fqe_entry
from dfiv_ope.agents.entries import kiv as kiv_entry
from dfiv_ope.agents.entries import lstd as lstd_entry
from dfiv_ope.datasets import columns as columns_lib
from dfiv_ope.datasets import streams
from dfiv_ope.datasets.formats import source
from dfiv_ope.evaluation import (
  cross_checks,
  estimates,
  first_stage,
  inference,
  interval_settings,
  runs,
  shared_pass,
  streamed_methods,
  streamed_passes,
  streamed_runs,
)
from dfiv_ope.launch.experiments import mapped_run, stream_run
from dfiv_ope.ope import task as task_lib

_CONFIG = lstd_entry.Config(random_features=10)
# Those that are read in parts, on features of the state for each action.
_CLOSED = {'lstd': _CONFIG, 'kiv': kiv_entry.Config(random_features=10)}


def _policy(observations):
  return 0.1 + 0.8 * np.eye(2)[(observations[:, 0] > 0.0).astype(int)]


@pytest.fixture(scope='module')
def folder(tmp_path_factory):
  """60 episodes of 2 to 14 steps, in three files that cut episodes."""
  generator = np.random.default_rng(0)
  lengths = generator.integers(2, 15, size=60)
  count = int(lengths.sum())
  ends = np.cumsum(lengths) - 1
  terminated = np.zeros(count, bool)
  terminated[ends] = True
  observation = generator.normal(size=(count, 2))
  action = generator.integers(2, size=count)
  table = pa.table(
    {
      'episode': np.repeat(np.arange(60), lengths),
      'obs_0': observation[:, 0],
      'obs_1': 1e3 + 10.0 * observation[:, 1],
      'action': action,
      'reward': observation[:, 0] * (2 * action - 1)
      + 0.2 * generator.normal(size=count),
      'terminated': terminated,
    }
  )
  path = tmp_path_factory.mktemp('streamed') / 'log.parquet'
  path.mkdir()
  marks = (0, count // 3 + 3, count // 2 + 3, count)
  assert not set(np.array(marks[1:3]) - 1) & set(ends)
  for place, start in enumerate(marks[:-1]):
    parquet.write_table(
      table.slice(start, marks[place + 1] - start),
      path / f'{place}.parquet',
      row_group_size=50,
    )
  return path


@pytest.fixture
def stream(folder, monkeypatch):
  """Parts of some 60 rows, so that a short log has eight of them."""
  monkeypatch.setattr(memory, '_PART_ROWS', 64)
  return streams.Stream(
    path=folder, columns=columns_lib.parse({'actions': 2}), discount=0.9
  )


@pytest.fixture
def text(folder, stream, tmp_path):
  """The same log as CSV files."""
  for path in folder.iterdir():
    pd.read_parquet(path).to_csv(
      tmp_path / f'{path.stem}.csv', index=False, float_format='%.17g'
    )
  return dataclasses.replace(stream, path=tmp_path)


@pytest.fixture
def unchecked(monkeypatch):
  """Unrelated estimators take seconds, and look at the sample alone."""
  monkeypatch.setattr(cross_checks, 'measure', lambda *args, **kwargs: {})


def _in_memory(stream, config, seeds, method='lstd'):
  log = stream.in_memory()
  policy = task_lib.find_policy(_policy, log).policy
  evaluator = runs.Evaluator(task_lib.EvaluationTask(log, policy))
  return estimates.estimate(evaluator, method, config, seeds=seeds)


def _streamed(
  stream, config, seeds, survey=None, group=2, *, method='lstd', scratch=None
):
  survey = survey or stream.survey(copy=scratch and scratch / 'transitions')
  return stream_run.evaluate(
    stream,
    _policy,
    {method: config},
    seeds=seeds,
    scratch=scratch,
    survey=survey,
    group=group,
  )


def _same(ours, theirs):
  """Asserts that all numbers of two estimates are the same to 1e-10."""
  assert len(ours.runs) == len(theirs.runs)
  for one, other in zip(ours.runs, theirs.runs, strict=True):
    assert list(one.metrics) == list(other.metrics)
    for name, value in one.metrics.items():
      assert value == pytest.approx(
        other.metrics[name], rel=1e-10, abs=1e-10
      ), name
    np.testing.assert_allclose(one.resamples, other.resamples, atol=1e-10)
    assert set(one.curves) == set(other.curves)
  np.testing.assert_allclose(
    ours.interval(0.95)[:6], theirs.interval(0.95)[:6], atol=1e-10
  )
  assert ours.missing == theirs.missing == ''


@pytest.mark.parametrize('method', streamed_runs.METHODS)
@pytest.mark.usefixtures('unchecked')
def test_streamed_is_in_memory_whatever_the_batches(
  stream, monkeypatch, method
):
  config = _CLOSED[method]
  whole = _in_memory(stream, config, 2, method)
  for batch in (1, 7, 1000):
    monkeypatch.setattr(source, 'CHUNK_ROWS', batch)
    found = _streamed(stream, config, 2, method=method)
    _same(found.estimates[method], whole)
  assert found.survey.complete
  assert found.log_average.value == pytest.approx(
    found.task.log.average_return.mean, rel=1e-12
  )


@pytest.mark.usefixtures('unchecked')
def test_text_is_the_same_log(stream, text, tmp_path, monkeypatch):
  whole = _in_memory(stream, _CONFIG, 2)
  for batch in (7, 1000):
    monkeypatch.setattr(source, 'CHUNK_ROWS', batch)
    found = _streamed(text, _CONFIG, 2, scratch=tmp_path / 'scratch')
    _same(found.estimates['lstd'], whole)
    assert found.survey.digest == stream.survey().digest


_FQE = fqe_entry.Config(updates=12, checks=2, batch_size=16, hidden=(8,))


@pytest.mark.usefixtures('unchecked')
def test_learners_draw_from_disk_what_they_draw_from_memory(stream, tmp_path):
  whole = _in_memory(stream, _FQE, 1, 'fqe')
  found = _streamed(stream, _FQE, 1, method='fqe', scratch=tmp_path)
  for ours, theirs in zip(found.estimates['fqe'].runs, whole.runs, strict=True):
    assert list(ours.metrics) == list(theirs.metrics)
    # Networks are float32, and so are the rows that they see.
    assert ours.metrics == pytest.approx(theirs.metrics, rel=2e-5, abs=1e-6)
    assert ours.curves['updates'] == theirs.curves['updates']
  assert {each.name for each in tmp_path.iterdir()} == {'transitions', 'rows'}


def test_rows_on_disk_are_the_rows_in_memory_to_the_bit(stream, tmp_path):
  log = stream.in_memory()
  task = task_lib.EvaluationTask(log, task_lib.find_policy(_policy, log).policy)
  mapped = mapped_run.write_rows(
    task.problem, task.transitions, tmp_path / 'rows'
  )
  drawn = []
  for rows in (task.rows, mapped):
    for ours, theirs in zip(
      row_nests.leaves(rows), row_nests.leaves(task.rows), strict=True
    ):
      np.testing.assert_array_equal(ours, theirs)
    data = memory.InMemory(rows, batch_size=9, seed=3)
    drawn.append([list(row_nests.leaves(data.sample())) for _ in range(2)])
  for ours, theirs in zip(*drawn, strict=True):
    for one, other in zip(ours, theirs, strict=True):
      assert one.shape == other.shape
      np.testing.assert_array_equal(one, other)
  ending = log.transitions._replace(
    discount=np.zeros_like(log.transitions.discount)
  )
  problem = dataclasses.replace(task.problem, one_step=True)
  for ours, theirs in zip(
    row_nests.leaves(
      mapped_run.write_rows(problem, ending, tmp_path / 'ending')
    ),
    row_nests.leaves(problem.log_rows(ending)),
    strict=True,
  ):
    np.testing.assert_array_equal(ours, theirs)


@pytest.mark.parametrize('method', streamed_runs.METHODS)
@pytest.mark.usefixtures('unchecked')
def test_a_long_log_is_thinned_to_the_same_parts(stream, monkeypatch, method):
  # Weights are made of every other pair of parts, the first stage of one.
  monkeypatch.setattr(interval_settings, 'DUAL_ROWS', 200)
  monkeypatch.setattr(first_stage, 'MOST_ROWS', 100)
  config = _CLOSED[method]
  found = _streamed(stream, config, 2, group=4, method=method)
  marks = memory.marks(found.survey.transitions)
  used, looked_at = shared_pass.thinned(np.diff(marks).tolist())
  assert (used, looked_at) == ([0, 1, 4, 5], [0, 1])
  _same(found.estimates[method], _in_memory(stream, config, 2, method))


@pytest.mark.parametrize('method', streamed_runs.METHODS)
@pytest.mark.usefixtures('unchecked')
def test_features_of_state_and_action_are_streamed_alike(stream, method):
  config = dataclasses.replace(
    _CLOSED[method], features='together', joint_features=20
  )
  _same(
    _streamed(stream, config, 2, method=method).estimates[method],
    _in_memory(stream, config, 2, method),
  )


@pytest.mark.usefixtures('unchecked')
def test_the_second_stage_of_kiv_as_the_paper_has_it_is_streamed(stream):
  config = kiv_entry.Config(
    random_features=10,
    solve=kiv_entry.PLUG_IN,
    stage1_penalties=(1e-6, 1e-4, 1e-2),
    stage2_penalties=(1e-8, 1e-5),
  )
  whole = _in_memory(stream, config, 1, 'kiv')
  assert 'held_out_stage2_loss' in whole.runs[0].metrics
  found = _streamed(stream, config, 1, method='kiv')
  _same(found.estimates['kiv'], whole)


def test_methods_ask_unrelated_estimators_once(stream, monkeypatch):
  asked = []

  def measure(task, **options):
    asked.append(len(task.log))
    return {'check_nearest': 2.0}

  monkeypatch.setattr(cross_checks, 'measure', measure)
  survey = stream.survey(sampled=250)
  found = stream_run.evaluate(
    stream,
    _policy,
    _CLOSED,
    seeds=1,
    scratch=stream.path,
    survey=survey,
    group=2,
  )
  assert asked == [len(survey.sample)]
  task = task_lib.EvaluationTask(survey.sample, found.target.policy)
  task.problem = found.task.problem
  for name, config in _CLOSED.items():
    (run,) = found.estimates[name].runs
    sampled = runs.Evaluator(task).learner(name, config, seed=0)
    sampled.run()
    # Each is moved by what its own value differs by on all rows.
    shift = run.metrics['estimate'] - sampled.evaluate()
    assert abs(shift) > 0.01
    assert run.metrics['check_nearest'] == pytest.approx(2.0 + shift)


def test_checks_on_a_sample_are_moved_to_the_value_of_all_rows(stream):
  whole = _in_memory(stream, _CONFIG, 1).runs[0].metrics
  found = _streamed(stream, _CONFIG, 1).estimates['lstd'].runs[0].metrics
  assert found == pytest.approx(whole, rel=1e-9, abs=1e-10)
  survey = stream.survey(sampled=250)
  assert 200 < len(survey.sample) <= 250 < survey.transitions
  found = _streamed(stream, _CONFIG, 1, survey)
  metrics = found.estimates['lstd'].runs[0].metrics
  for name in (
    'estimate',
    'correction',
    'data_error',
    'degrees',
    'effective_share',
    'heavy_share',
    'first_stage_r2',
    'return_spread',
    'highest_return',
  ):
    assert metrics[name] == pytest.approx(whole[name], rel=1e-10, abs=1e-10)
  task = task_lib.EvaluationTask(survey.sample, found.target.policy)
  task.problem = found.task.problem
  sampled = runs.Evaluator(task).run('lstd', _CONFIG, seed=0).metrics
  shift = whole['estimate'] - sampled['estimate']
  assert abs(shift) > 0.01
  assert metrics['checked_share'] == len(survey.sample) / survey.transitions
  assert 'checked_share' not in sampled
  for name, value in inference.checks(sampled).items():
    assert metrics[inference.CHECK + name] == pytest.approx(value + shift)
  row = stream_run.rows(
    found, name='', truth=None, preset='default', all_columns=False, command=''
  )[0]
  assert row.problem.transitions == survey.transitions
  assert row.problem.log_return == found.log_average.value
  assert f'sample of {survey.sample.num_episodes} of 60 whole' in (
    found.task.notes[-1].sentence
  )


def test_trees_merge_neighbours_in_the_order_of_the_log():
  for count in range(1, 20):
    found = streamed_passes.merged(
      (str(each) for each in range(count)), lambda a, b: f'({a} {b})'
    )
    assert found.replace('(', '').replace(')', '').split() == [
      str(each) for each in range(count)
    ]
    assert (
      max(
        found[:end].count('(') - found[:end].count(')')
        for end in range(len(found))
      )
      <= np.ceil(np.log2(count))
      if count > 1
      else True
    )


def test_what_is_no_sum_is_refused(stream):
  with pytest.raises(ValueError, match='CME needs the log in memory, but'):
    stream_run.require(stream, [], {'lstd': None, 'cme': None})
  with pytest.raises(ValueError, match='FQE trains in one process, but'):
    stream_run.require(stream, [], {'fqe': _FQE}, ray='local')
  stream_run.require(stream, [], {'fqe': _FQE})
  stream_run.require(stream, [], {'lstd': None, 'kiv': None}, ray='local')
  with pytest.raises(ValueError, match='columns is made of the whole log'):
    stream_run.require(stream, ['columns'], {'lstd': None})
  survey = dataclasses.replace(
    stream.survey(), categories={0: (0.0,), 1: (0.0,)}
  )
  for method, label in (('lstd', 'LSTD-Q'), ('kiv', 'KIV')):
    with pytest.raises(
      ValueError, match=f'{label} with features=table needs the whole log'
    ):
      streamed_methods.run(
        survey,
        task_lib.EvaluationTask(survey.sample, None),
        method,
        _CLOSED[method],
        seeds=[0],
        reduce=streamed_passes.here(stream.parts(survey)),
      )
