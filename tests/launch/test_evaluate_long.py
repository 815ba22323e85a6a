"""Datasets that are longer than memory: the rows of the log in memory."""

import json

import numpy as np
import pytest

import dfiv_ope
from dfiv_ope import agents
from dfiv_ope.agents import bandwidth_choice, configured, memory
from dfiv_ope.agents.entries import random_features
from dfiv_ope.datasets import columns as columns_lib
from dfiv_ope.datasets import importing, logs, stored_streams, streams
from dfiv_ope.datasets.formats import in_memory, source
from dfiv_ope.evaluation import cross_checks, streamed_effects
from dfiv_ope.launch import evaluate as command_lib
from dfiv_ope.launch import options, runner, runtime
from dfiv_ope.launch.experiments import inputs, long_run, ope_run, plan, store
from dfiv_ope.launch.experiments.executors import local
from dfiv_ope.ope import log_notes, relevance
from dfiv_ope.policies import naming

_POLICY = """
import numpy as np

def policy(observations):
  return 0.1 + 0.8 * np.eye(2)[(observations[:, 0] > 0.0).astype(int)]
"""
_TINY = {
  'lstd': ['random_features=10'],
  'kiv': ['random_features=10'],
  'cme': ['random_features=10'],
  'fqe': ['updates=12', 'checks=2', 'batch_size=16'],
}


@pytest.fixture(scope='module')
def folder(tmp_path_factory):
  """60 episodes of 2 to 14 steps, some of them cut off."""
  generator = np.random.default_rng(0)
  lengths = generator.integers(2, 15, size=60)
  count, ends = int(lengths.sum()), np.cumsum(lengths) - 1
  terminated, truncated = np.zeros((2, count), bool)
  terminated[ends[::2]] = truncated[ends[1::2]] = True
  observation = generator.normal(size=count)
  action = generator.integers(2, size=count)
  path = tmp_path_factory.mktemp('long') / 'mine'
  reader = logs.LogReader(
    in_memory.InMemory(
      {
        'episode': np.repeat(np.arange(60), lengths),
        'obs_0': observation,
        'obs_1': 1e3 + 10.0 * generator.normal(size=count),
        'action': action,
        'reward': observation * (2 * action - 1)
        + 0.2 * generator.normal(size=count),
        'terminated': terminated,
        'truncated': truncated,
      }
    ),
    columns=columns_lib.parse({'actions': 2}),
    format_name='mine',
  )
  importing.build(reader, path, discount=0.9, request={})
  return path


@pytest.fixture
def run(folder, tmp_path, monkeypatch):
  """Runs methods on the dataset; what was open is closed first.

  Parts have some 60 rows. Unrelated estimators take seconds, and look at the
  sample alone.
  """
  monkeypatch.setattr(memory, '_PART_ROWS', 64)
  monkeypatch.setattr(cross_checks, 'measure', lambda *args, **kwargs: {})
  monkeypatch.setattr(runtime, 'start', lambda *_, **__: None)
  monkeypatch.chdir(tmp_path)
  monkeypatch.syspath_prepend(tmp_path)
  (tmp_path / 'of_long_logs.py').write_text(_POLICY)

  def go(methods, out, *, seeds=2, long=True, path=folder):
    for each in (
      ope_run.opened,
      ope_run._kept,
      ope_run._shared,
      inputs.open_log,
      inputs.open_stream,
      long_run.dataset,
    ):
      each.cache_clear()
    monkeypatch.setattr(streams, 'IN_MEMORY', 200 if long else 10**6)
    (problem,) = inputs.on_log(path, {'mine': 'of_long_logs:policy'})
    wanted = [
      configured.configure(name, settings=_TINY[name]) for name in methods
    ]
    return runner.carry_out(
      plan.evaluation(problem, wanted, seeds=seeds),
      tmp_path / out,
      local.Here,
      title='Trying',
    ).rows

  return go


def _same(ours, theirs, tolerance=1e-10):
  assert [row.key for row in ours] == [row.key for row in theirs]
  for one, other in zip(ours, theirs, strict=True):
    assert one.outcome == other.outcome == 'finished', one.reason
    assert list(one.metrics) == list(other.metrics)
    assert one.metrics == pytest.approx(
      other.metrics, rel=tolerance, abs=tolerance
    )
    np.testing.assert_allclose(
      one.resamples, other.resamples, rtol=max(tolerance, 1e-5), atol=1e-9
    )
    assert one.problem.notes == other.problem.notes
    assert one.problem.identity() == other.problem.identity()
    assert one.problem.transitions == other.problem.transitions
    assert one.problem.log_return == pytest.approx(
      other.problem.log_return, rel=1e-12
    )
    assert one.problem.overlap.agreement == pytest.approx(
      other.problem.overlap.agreement, rel=1e-12
    )


def test_rows_are_those_in_memory_whatever_the_batches(run, monkeypatch):
  whole = run(['lstd', 'kiv'], 'memory', long=False)
  assert len(whole) == 5
  for batch in (1, 7, 1000):
    monkeypatch.setattr(source, 'CHUNK_ROWS', batch)
    monkeypatch.setattr(inputs.log_lib.Log, 'open', None)  # It is not held.
    _same(run(['lstd', 'kiv'], f'batch-{batch}'), whole)


def test_choices_are_those_in_memory_whatever_the_sample(run, monkeypatch):
  # A sample of half of the log; choices are made by other rows of it.
  monkeypatch.setattr(relevance, '_FEWEST_ROWS', 100)
  monkeypatch.setattr(relevance, '_ROWS', 300)
  monkeypatch.setattr(relevance, '_ASKED', 50)
  monkeypatch.setattr(bandwidth_choice, '_ROWS', 200)
  monkeypatch.setattr(bandwidth_choice, '_STARTS', 25)
  seen, measure = [], bandwidth_choice.measure

  def measured(*args, **options):
    seen.append(measure(*args, **options))
    return seen[-1]

  monkeypatch.setattr(bandwidth_choice, 'measure', measured)
  survey = stored_streams.StoredStream.survey
  monkeypatch.setattr(
    stored_streams.StoredStream,
    'survey',
    lambda self, **options: survey(self, sampled=220, **options),
  )
  whole = run(['lstd'], 'memory', seeds=1, long=False)[1]
  draws = len(seen)
  found = run(['lstd'], 'parts', seeds=1)[1]
  assert draws >= 1
  for one, other in zip(seen[:draws], seen[draws:], strict=True):
    np.testing.assert_allclose(one.values, other.values, rtol=1e-10)
    np.testing.assert_allclose(one.episodes, other.episodes, atol=1e-10)
  assert log_notes.SAMPLED in [each.kind for each in found.problem.notes]
  (left_out,) = [
    each for each in whole.problem.notes if each.kind == log_notes.IRRELEVANT
  ]
  assert left_out.column == 'obs_1'
  assert left_out in found.problem.notes
  for name in (
    'estimate',
    'correction',
    'data_error',
    'degrees',
    'effective_share',
    'heavy_share',
    'first_stage_r2',
  ):
    assert found.metrics[name] == pytest.approx(
      whole.metrics[name], rel=1e-10, abs=1e-10
    ), name


class _Killed(BaseException):
  """What no job takes for an error of its own."""


def test_a_killed_command_goes_on_with_the_seed_that_it_was_at(
  run, tmp_path, monkeypatch
):
  whole = run(['lstd'], 'whole')
  work, seeds = streamed_effects.effects, []

  def effects(context, group, config, fitted, *args):
    seeds.append(max(fitted))
    if seeds[-1] == 1 and 'killed' in deadly:
      raise _Killed
    return work(context, group, config, fitted, *args)

  monkeypatch.setattr(streamed_effects, 'effects', effects)
  deadly = ['killed']
  with pytest.raises(_Killed):
    run(['lstd'], 'runs')
  file = tmp_path / 'runs' / 'rows.jsonl'
  before = file.read_text()
  found = [json.loads(line) for line in before.splitlines()]
  assert [(each['method'], each['seed']) for each in found] == [
    ('log', 0),
    ('lstd', 0),
  ]
  deadly.clear()
  seeds.clear()
  rows = run(['lstd'], 'runs')
  assert set(seeds) == {1}
  assert file.read_text().startswith(before)
  assert len(file.read_text().splitlines()) == 3
  _same(rows, whole, 1e-12)


def test_learners_draw_from_a_copy_that_is_gone_at_the_end(
  run, tmp_path, monkeypatch
):
  whole = run(['fqe'], 'memory', seeds=1, long=False)
  seen = []
  write = long_run.mapped_run.write_rows

  def write_rows(problem, transitions, folder):
    seen.append(folder)
    assert isinstance(transitions.observation.base, np.memmap)
    return write(problem, transitions, folder)

  monkeypatch.setattr(long_run.mapped_run, 'write_rows', write_rows)
  # A killed command has left a part of its copy.
  left = tmp_path / 'disk' / 'dfiv-ope-copies' / 'old' / 'transitions.partial'
  left.mkdir(parents=True)
  # Networks are float32, and so are the rows that they see.
  _same(run(['fqe'], 'disk', seeds=1), whole, 2e-5)
  (folder,) = seen
  scratch = store.Places(tmp_path / 'disk').scratch
  assert folder.parent.parent == scratch
  assert not scratch.exists()


def test_what_needs_the_whole_log_holds_it_and_says_so(
  run, folder, tmp_path, monkeypatch
):
  _same(
    run(['cme'], 'long', seeds=1)[1:],
    run(['cme'], 'memory', seeds=1, long=False)[1:],
  )
  monkeypatch.setattr(streams, 'IN_MEMORY', 200)

  def takes(method, *settings, **changes):
    wanted = inputs.OnLog(
      **{
        'dataset': folder,
        'policy': 'uniform',
        'target': '',
        'directory': tmp_path,
        **changes,
      }
    )
    config = configured.configure(method, settings=list(settings)).config
    return long_run.takes(wanted, folder, method, config)

  assert takes('lstd') and takes('fqe') and takes('dfiv')
  for name in ('lstd', 'kiv'):
    assert takes(name, 'features=together')
    for kind in (random_features.TABLE, random_features.ONE_STEP):
      assert not takes(name, f'features={kind}')
  for name in agents.NAMES:
    entry = agents.ENTRIES[name]
    assert takes(name) == (name in ('lstd', 'kiv') or entry.trained), name
  for changes in (
    {'policy': naming.CLONE},
    {'policy': naming.COLUMNS},
    {'initial': tmp_path / 'states.csv'},
  ):
    assert not takes('lstd', **changes)
  (problem,) = inputs.on_log(folder, {'uniform': 'uniform'})
  asked = {
    name: configured.configure(name).config for name in ('lstd', 'cme', 'wis')
  }
  rows = inputs.open_stream(folder).metadata.transitions
  assert long_run.holding(problem, asked) == (
    f'mine has {rows} rows, and cme, wis need all of them in memory.'
  )
  assert long_run.holding(problem, {'auto': None, 'lstd': asked['lstd']}) == (
    f'mine has {rows} rows, and auto needs all of them in memory.'
  )
  # What runs without --method holds no log.
  assert not long_run.holding(
    problem,
    {each: configured.configure(each).config for each in options.EVALUATED},
  )


def test_names_that_are_left_alone_are_a_table_in_memory(
  run, tmp_path, monkeypatch, capsys
):
  generator = np.random.default_rng(0)
  count = 1_500
  columns = {
    'episode': np.repeat(np.arange(count // 5), 5),
    'obs_kind': generator.integers(3, size=count),
    'obs_one': generator.normal(size=count),
    'obs_two': generator.normal(size=count),
    'action': generator.integers(2, size=count),
    'terminated': np.arange(count) % 5 == 4,
  }
  columns['reward'] = columns['obs_kind'] * columns['action'] + 0.1
  path = tmp_path / 'kinds'
  reader = logs.LogReader(
    in_memory.InMemory(columns),
    columns=columns_lib.parse({'actions': 2, 'categorical': 'obs_kind'}),
    format_name='kinds',
  )
  importing.build(reader, path, discount=0.9, request={})
  whole = run(['lstd', 'fqe'], 'memory', seeds=1, long=False, path=path)
  kinds = [each.kind for each in whole[0].problem.notes]
  assert log_notes.IRRELEVANT in kinds
  words = 'kinds is held in memory, because all of its observations that'
  assert words not in ' '.join(capsys.readouterr().err.split())
  _same(run(['lstd', 'fqe'], 'runs', seeds=1, path=path), whole, 1e-9)
  assert words in ' '.join(capsys.readouterr().err.split())
  monkeypatch.setattr(streams, 'IN_MEMORY', 200)
  with pytest.raises(ValueError, match='Keep all columns .--all-columns'):
    dfiv_ope.evaluate(path, 'of_long_logs:policy', methods='lstd', seeds=1)


def test_python_reads_a_long_directory_in_parts_too(run, folder, monkeypatch):
  (_, row, _) = run(['lstd'], 'runs')
  tiny = {'lstd': {'random_features': 10}}

  def evaluate(**options):
    return dfiv_ope.evaluate(
      folder,
      'of_long_logs:policy',
      **{'methods': 'lstd', 'seeds': 1, 'configs': tiny, **options},
    )

  found = evaluate()
  assert found.survey is not None and found.digest == row.problem.target
  assert found.value == pytest.approx(row.metrics['estimate'], rel=1e-12)
  with pytest.raises(ValueError, match='CME needs the log in memory, but mine'):
    evaluate(methods='cme', configs={})
  with pytest.raises(ValueError, match='dataset, whose columns are recorded'):
    evaluate(columns={'reward': 'earned'})
  monkeypatch.setattr(streams, 'IN_MEMORY', 10**6)
  whole = evaluate()
  assert whole.survey is None
  assert whole.value == pytest.approx(found.value, rel=1e-10)


def test_the_command_says_what_it_holds(run, folder, tmp_path, capsys):
  run(['lstd'], 'runs', seeds=1)
  command_lib.evaluate(
    folder,
    tmp_path / 'runs',
    ['lstd'],
    1,
    settings=_TINY['lstd'],
    policy=['mine=of_long_logs:policy'],
    running=command_lib.options.Running(as_json=True),
  )
  said = capsys.readouterr()
  assert '2 of 2 runs have their rows' in said.err
  (answer,) = json.loads(said.out)['answers']
  assert [each['method'] for each in answer['estimates']] == ['log', 'lstd']
