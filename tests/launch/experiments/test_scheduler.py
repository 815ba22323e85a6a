"""Jobs run in order, wherever there is room, and what comes is written."""

import json
import pathlib

import pytest

from dfiv_ope import interrupts, overrides
from dfiv_ope.agents import configured
from dfiv_ope.benchmarks import baselines, demand
from dfiv_ope.launch import runner
from dfiv_ope.launch.experiments import (
  inputs,
  jobs,
  plan,
  scheduler,
  store,
  worker,
)
from dfiv_ope.launch.experiments.executors import local, order
from dfiv_ope.results import files, rows


class _Fake:
  """Ends all that is ready at once; some fail."""

  def __init__(self, failing=(), made=lambda job: ()):
    self.order = []
    self.running = []
    self.on_progress = lambda: None
    self._failing = failing
    self._made = made

  def start(self, ready):
    self.order += ready
    self.running = [(job, 0.0, '') for job in ready]
    return ready

  def wait(self, seconds):
    ended, self.running = self.running, []
    return [
      worker.Outcome(
        job=job,
        cpu_seconds=1.0,
        rows=self._made(job),
        error='OSError: full' if job in self._failing else '',
      )
      for job, _, _ in ended
    ]


def _run(todo, executor, out, **kwargs):
  return scheduler.run(
    todo, executor, store.Store(store.Places(out)), title='Trying', **kwargs
  )


def test_jobs_run_in_order_and_what_needs_a_failed_one_is_skipped(
  swept, tmp_path
):
  experiments = swept(noises='0,0.2')
  todo = jobs.with_parents(experiments)
  executor = _Fake()
  summary = _run(todo, executor, tmp_path)
  assert summary.done == len(todo) and not summary.failed
  assert summary.job_seconds == len(todo)
  assert set(executor.order) == set(todo)
  for job in todo:
    for parent in job.parents:
      assert executor.order.index(parent) < executor.order.index(job)

  broken = next(job for job in todo if isinstance(job, jobs.DatasetJob))
  executor = _Fake(failing={broken})
  said = []
  summary = _run(todo, executor, tmp_path, note=said.append)
  skipped = [job for job in experiments if job.problem.dataset == broken.making]
  assert set(summary.failed) == {broken, *skipped}
  assert not set(skipped) & set(executor.order)
  records = [
    json.loads(line)
    for line in (tmp_path / scheduler.FAILURES).read_text().splitlines()
  ]
  assert len(records) == len(summary.failed)
  assert records[0]['error'] == 'OSError: full'
  assert 'Skipped, because dataset catch 0 failed' in records[1]['error']
  assert said == ['dataset catch 0 failed: OSError: full']
  assert not summary.untold
  assert files.known(tmp_path) == []  # Without a dataset there is no row.


def test_a_job_of_several_parents_waits_for_all_and_fails_with_one(tmp_path):
  problem = inputs.Simulated(dataset=pathlib.Path('data'))
  judged = plan.choice(
    problem, [configured.configure('lstd'), configured.configure('kiv')]
  )
  todo = jobs.with_parents([judged])
  have = store.Store(store.Places(tmp_path))
  have.keys = lambda job: []  # There is no dataset to read.
  have.has = lambda job: False
  executor = _Fake()
  summary = scheduler.run(todo, executor, have, title='Trying')
  assert summary.done == 5 and executor.order[-1] == judged
  executor = _Fake(failing={judged.parents[1], judged.parents[2]})
  summary = scheduler.run(todo, executor, have, title='Trying')
  assert judged not in executor.order
  assert len(summary.failed) == 3 and judged in summary.failed


def test_a_failure_that_is_all_there_is_is_left_to_the_command(tmp_path):
  problem = inputs.Simulated(dataset=pathlib.Path('data'))
  judged = plan.choice(
    problem, [configured.configure('lstd'), configured.configure('kiv')]
  )
  have = store.Store(store.Places(tmp_path))
  have.keys = lambda job: []
  have.has = lambda job: False
  todo, said = jobs.with_parents([judged]), []
  summary = scheduler.run(
    todo, _Fake(failing=set(todo)), have, title='Trying', note=said.append
  )
  assert not summary.done and not said
  assert summary.untold == [f'{todo[0].label} failed: OSError: full']
  with pytest.raises(ValueError, match='^full$'):
    runner.refuse_failures(summary)


def _design_row(job, **fields):
  return rows.Row(
    **{
      'problem': job.problem.design.problem,
      'method': job.method,
      'config': job.encoded,
      'seed': job.seed,
      'version': job.version,
      'versions': {'a': '1'},
      'metrics': {'mse': 1.0},
      'cpu_seconds': 0.25,
      **fields,
    }
  )


@pytest.fixture
def designs():
  return plan.designs(
    [demand.Demand(n=60)], [overrides.Wanted('two_sls', ())], seeds=3
  )


def test_rows_are_written_once_and_failures_have_rows_too(designs, tmp_path):
  executor = _Fake(
    failing={designs[1]},
    made=lambda job: (_design_row(job),) if job != designs[1] else (),
  )
  summary = _run(designs, executor, tmp_path)
  found = files.read(tmp_path)
  assert [row.outcome for row in sorted(found, key=lambda row: row.seed)] == [
    'finished',
    'error',
    'finished',
  ]
  assert summary.fit_seconds == 0.5 and len(summary.failed) == 1
  again = _run(designs, _Fake(made=lambda job: (_design_row(job),)), tmp_path)
  assert not again.failed and len(files.read(tmp_path)) == 4


def test_rows_of_another_version_are_refused(designs, tmp_path):
  executor = _Fake(made=lambda job: (_design_row(job, version=99),))
  summary = _run(designs[:1], executor, tmp_path)
  (error,) = summary.failed.values()
  assert 'another version of dfiv-ope' in error
  assert [row.outcome for row in files.read(tmp_path)] == ['error']


def test_this_process_and_two_others_give_the_same_rows(designs, tmp_path):
  found = {}
  for name, executor in (
    ('here', local.Here),
    ('pool', lambda places: local.Pool(places, processes=2, need=0)),
  ):
    out = tmp_path / name
    have = store.Store(store.Places(out))
    out.mkdir()
    with executor(have.places) as running:
      summary = scheduler.run(designs, running, have, title='Trying')
    assert not summary.failed
    found[name] = {row.key: dict(row.metrics) for row in files.read(out)}
  assert found['here'] == found['pool'] and len(found['here']) == 3


def test_an_old_ctrl_c_does_not_end_new_work(designs, tmp_path, monkeypatch):
  monkeypatch.setattr(interrupts, '_pressed', True)
  with local.Here(store.Places(tmp_path)) as running:
    running.start(designs)
    (outcome,) = running.wait(60.0)
  assert not outcome.error


def test_only_one_job_runs_when_memory_is_short(designs, tmp_path):
  places = store.Places(tmp_path)
  with local.Pool(places, processes=2, need=10**16) as workers:
    assert workers.start(designs) == designs[:1]
    assert workers.start(designs[1:]) == []
  with local.Pool(places, processes=2, need=0) as workers:
    assert workers.start(designs) == designs[:2]


def test_a_worker_that_dies_is_a_failure_and_not_the_end(designs, tmp_path):
  job = designs[0]
  with local.Pool(store.Places(tmp_path), processes=1) as workers:
    workers.start([job])
    (process,) = workers._workers
    process._process.kill()
    (outcome,) = workers.wait(60.0)
    assert outcome.job == job
    assert 'ended by signal 9' in outcome.error
    assert workers.running == []
    assert workers.start([job]) == [job]


def test_what_others_wait_for_comes_first_then_what_is_open(swept):
  experiments = swept(noises='0,0.2')
  first, other = experiments[0], experiments[-1]
  dataset = first.parents[0]
  assert order.choose([first, dataset], None, []) == dataset
  assert order.choose([first, other], other, [other]) == other
  assert order.choose([first, other], None, [other]) == first


def test_closed_forms_do_not_wait_for_tensorflow(swept, designs):
  assert not worker.needs_tensorflow(designs[0])
  jobs = swept()
  needed = {each.method: worker.needs_tensorflow(each) for each in jobs}
  assert needed == {'log': False, 'lstd': False, 'dfiv': True}
  assert worker.needs_tensorflow(jobs[0].parents[0])
  references = plan.designs(
    [demand.Demand(n=60)], [], seeds=1, references=baselines.NAMES
  )
  assert {
    each.method: worker.needs_tensorflow(each) for each in references
  } == {
    'constant': False,
    'plain_kiv': False,
    'plain_dfiv': True,
    'oracle': False,
  }
