"""The plan of a sweep: which jobs, in which order, under which names."""

import dataclasses
import json

import pytest

from dfiv_ope import results
from dfiv_ope.agents import lstd
from dfiv_ope.datasets import spec as spec_lib
from dfiv_ope.evaluation import inference, influence
from dfiv_ope.launch import (
  asked,
  coverage,
  driver,
  grid,
  inventory,
  jobs,
  pool,
  rows,
)
from dfiv_ope.policies import episode_returns

_TINY = {
    'tasks': 'catch', 'noises': '0.2', 'methods': 'lstd,dfiv', 'seeds': 2,
    'policy': {'transitions': 2000, 'trial_episodes': 4},
    'transitions': 1000, 'truth_episodes': 200,
    'settings': {'lstd': {'random_features': 4},
                 'dfiv': {'updates': 4, 'checks': 2, 'batch_size': 32}}}


def _plan(**changes):
  return grid.expand(asked.parse({**_TINY, **changes}))


def _cells(jobs):
  return [job for job in jobs if isinstance(job, grid.CellJob)]


def test_the_defaults_are_the_grid_of_the_paper():
  request = asked.parse({})
  assert request.tasks == ('catch', 'mountain_car', 'cartpole')
  assert request.noises == (0., 0.1, 0.2, 0.3, 0.4, 0.5)
  assert request.seeds == 5 and request.configs == ('default',)


def test_lists_may_be_lists_or_have_commas():
  first = asked.parse({'noises': '0, 0.5', 'methods': 'kiv,lstd'})
  assert first == asked.parse({'noises': [0, 0.5], 'methods': ['kiv', 'lstd']})
  assert asked.parse({'noises': 0.3}).noises == (0.3,)
  assert asked.parse({'methods': 'all'}) == asked.parse({})


def test_settings_become_texts_that_are_parsed_as_numbers():
  # YAML reads 1e-5, without a dot, as a string.
  request = asked.parse({'methods': 'dfiv', 'settings': {
      'dfiv': {'updates': 4, 'penalty': '1e-5', 'hidden': [5, 5]}}})
  assert request.settings == {
      'dfiv': ('hidden=(5, 5)', 'penalty=1e-5', 'updates=4')}


def test_a_quick_budget_shortens_training_but_not_what_was_set():
  request = asked.parse({
      'methods': 'lstd,dfiv', 'configs': 'default,paper', 'budget': 'quick',
      'settings': {'dfiv': {'updates': 7, 'batch_size': 32}}})
  assert request.changes('lstd') == ()
  assert request.changes('dfiv') == (
      'batch_size=32', 'checks=3', 'updates=7')
  assert asked.parse({}).changes('dfiv') == ()
  assert asked.parse({'budget': 'quick'}).changes('fqe') == (
      'checks=4', 'updates=4000')


@pytest.mark.parametrize('name, settings, words', [
    ('default', (), 'default'), ('paper', (), 'paper'),
    ('default', ('a=1',), 'custom'), ('paper', ('a=1',), 'paper, custom')])
def test_a_changed_config_is_called_custom(name, settings, words):
  assert rows.preset(name, settings) == words


@pytest.mark.parametrize('data, words', [
    ({'method': 'dfiv'}, 'A sweep has no method. The keys are: tasks, noises'),
    ({'methods': 'magic'}, "no 'magic' for methods. Choose from lstd, kiv"),
    ({'tasks': 'chess'}, "no 'chess' for tasks. Choose from catch"),
    ({'configs': 'best'}, "no 'best' for configs. Choose from default, paper"),
    ({'budget': 'fast'}, "no budget 'fast'. Choose one of full, quick."),
    ({'settings': {'magic': {}}}, "no 'magic' for settings"),
    ({'methods': 'kiv', 'settings': {'lstd': {}}}, 'only kiv'),
    ({'settings': 3}, 'settings should hold names and values, got 3'),
    ({'seeds': 'many'}, "seeds should be a whole number, got 'many'"),
    ({'seeds': 1.5}, 'seeds should be a whole number, got 1.5'),
    ({'seeds': 0}, 'seeds must be at least 1'),
    ({'noises': '0,two'}, "noises should be numbers, got 'two'"),
    ({'noises': 2}, r'noises must lie in \[0, 1\], got 2'),
    ({'noises': ''}, 'noises must name at least one'),
    ({'discount': 1}, r'discount must lie in \[0, 1\)'),
])
def test_what_cannot_be_asked_for_is_said(data, words):
  with pytest.raises(ValueError, match=words):
    asked.parse(data)


@pytest.mark.parametrize('changes, words', [
    ({'settings': {'lstd': {'depth': 3}}}, "no setting 'depth'"),
    ({'settings': {'lstd': {'random_features': 3}}}, 'must be even'),
    ({'policy': {'depth': 3}}, "no setting 'depth'"),
])
def test_wrong_settings_are_found_before_anything_runs(changes, words):
  with pytest.raises(ValueError, match=words):
    _plan(**changes)


def test_every_job_comes_after_the_one_it_needs():
  plan = _plan(noises='0,0.2', tasks='catch,cartpole')
  seen = {None}
  for job in plan:
    assert job.parent in seen
    seen.add(job)
  kinds = [job.kind for job in plan]
  assert kinds.count('policies') == kinds.count('datasets') == 4
  assert kinds.count('log returns') == 4
  assert kinds.count('evaluations') == 4 * 2 * 2
  datasets = [job.dataset for job in _cells(plan)]
  changes = sum(a != b for a, b in zip(datasets, datasets[1:], strict=False))
  assert changes == 3  # Cells of one dataset stand together.


def test_the_same_config_under_two_names_is_one_cell():
  config = {'random_features': 4, 'bandwidth_scale': 1., 'penalty': 1e-3}
  plan = _plan(methods='lstd', configs='default,paper',
               settings={'lstd': config})
  assert [job.seed for job in _cells(plan) if job.method == 'lstd'] == [0, 1]


def test_another_target_policy_waits_for_its_true_value():
  plan = _plan(target_epsilons='0,0.2', methods='lstd',
               settings={'lstd': {'random_features': 4}})
  for job in _cells(plan):
    if job.method == 'lstd':
      needed = 'log' if job.target_epsilon else None
      assert getattr(job.parent, 'method', None) == needed


def test_names_say_all_settings():
  policy, dataset, *_ = _plan()
  assert policy.name.startswith('catch-noise-0p2-seed-0-')
  assert dataset.name.startswith(
      'catch-noise-0p2-epsilon-0p2-discount-0p99-1000-seed-0-')
  for change in ({'policy': {'transitions': 3000}}, {'truth_episodes': 300},
                 {'discount': 0.5}):
    other_policy, other, *_ = _plan(**change)
    assert other.name != dataset.name
    assert (other_policy.name != policy.name) == ('policy' in change)
  assert [job.name for job in _plan()[:2]] == [policy.name, dataset.name]


_SPEC = spec_lib.Spec(task='catch', transitions=1000)


def _file(content):
  return {'bytes': 1, 'sha256': content}


def _metadata(**changes):
  """Returns the record of a dataset; `spec` names changes of its spec."""
  moments = episode_returns.MonteCarlo(
      mean=0.5, standard_error=0.1, episodes=9, mean_length=9.)
  spec = dataclasses.replace(_SPEC, **changes.pop('spec', {}))
  return spec_lib.Metadata(**{
      'spec': spec, 'num_observations': 50, 'num_actions': 3,
      'transitions': 1007, 'episodes': 9, 'truncated': 0, 'digest': 'a digest',
      'files': {
          'policy/variables/variables.index': _file('weights'),
          'policy/saved_model.pb': _file('written differently each time'),
      }, 'truth': moments, 'behaviour': moments,
      'policy': {'dqn': {'hidden': [50]}, 'cpu_seconds': 1.2}, 'versions': {},
      **changes})


# What defines the question of a dataset: its content, the value that is asked
# for, where it is simulated, and the policy whose value it is.
_OTHER_QUESTIONS = [
    {'digest': 'another'}, {'spec': {'discount': 0.5}},
    {'spec': {'action_noise': 0.1}}, {'num_actions': 4},
    {'files': {'policy/variables/variables.index': _file('others')}},
    {'policy': {'dqn': {'hidden': [9]}}}]


@pytest.mark.parametrize('change', _OTHER_QUESTIONS)
def test_another_question_has_other_rows_and_another_truth(change, tmp_path):
  *_, cell = _plan()
  assert cell.key(_metadata(**change)) != cell.key(_metadata())
  files = {
      rows.truth_file(tmp_path, rows.describe(metadata, target_epsilon=0.2),
                      max_episodes=100)
      for metadata in (_metadata(), _metadata(**change))}
  assert len(files) == 2


@pytest.mark.parametrize('change', [
    *_OTHER_QUESTIONS[1:], {'spec': {'transitions': 9}}])
def test_an_interval_of_new_logs_is_keyed_by_what_they_are_drawn_from(change):
  def key(metadata, **changes):
    problem = coverage.describe(
        metadata, **{'log': 0, 'seeds': 3, 'level': 0.95, **changes})
    return results.key(problem, 'lstd', {}, 0)

  first = key(_metadata())
  assert key(_metadata(**change)) != first
  assert key(_metadata(digest='another')) == first
  for setting in ({'log': 1}, {'seeds': 2}, {'level': 0.9}):
    assert key(_metadata(), **setting) != first


def test_how_a_policy_is_written_is_not_what_it_is():
  *_, cell = _plan()
  files = {'policy/variables/variables.index': _file('weights'),
           'policy/saved_model.pb': _file('otherwise')}
  again = _metadata(files=files, policy={
      'dqn': {'hidden': [50]}, 'cpu_seconds': 3.4})
  assert cell.key(again) == cell.key(_metadata())


def test_a_cell_is_named_by_question_method_config_version_and_seed():
  *_, cell = _plan()
  key = cell.key(_metadata())
  for change in ({'seed': 7}, {'method': 'kiv'}, {'config': '{"a": 1}'},
                 {'version': 99}, {'target_epsilon': 0.2},
                 {'inference': '{"resamples": 3}'}):
    assert dataclasses.replace(cell, **change).key(_metadata()) != key
  for change in ({'preset': 'paper'}, {'settings': ()}):
    assert dataclasses.replace(cell, **change).key(_metadata()) == key


@pytest.mark.parametrize('module, name, value', [
    (inference, 'RESAMPLES', 7), (influence, '_DUAL_ROWS', 7),
    (influence, 'VERSION', 99),
    (lstd, 'CONFIGS', {'default': lstd.Config(random_features=4)})])
def test_the_settings_of_intervals_are_in_the_keys_of_rows(
    monkeypatch, module, name, value):
  before = rows.inference('kiv')
  monkeypatch.setattr(module, name, value)
  assert rows.inference('kiv') != before
  assert rows.inference('log') == {}  # Its interval is not stored.


def test_the_key_of_a_row_is_that_of_its_cell(ope_row):
  *_, cell = _plan()
  row = ope_row(
      cell.method, seed=cell.seed, config=json.loads(cell.config),
      version=cell.version, inference=json.loads(cell.inference),
      problem=rows.describe(_metadata(), target_epsilon=0.))
  assert row.key == cell.key(_metadata())


def test_an_empty_directory_has_nothing(tmp_path):
  plan = _plan()
  assert inventory.Inventory(tmp_path / 'none').missing(plan) == plan
  assert not (tmp_path / 'none').exists()


class _Fake:
  """Ends one job at a time; some fail."""

  def __init__(self, failing=()):
    self.order = []
    self.running = []
    self._failing = failing

  def start(self, ready):
    self.order += ready
    self.running = [(job, 0.) for job in ready]
    return ready

  def wait(self, seconds):
    ended, self.running = self.running, []
    return [jobs.Outcome(
        job=job, error='OSError: full' if job in self._failing else '')
            for job, _ in ended]


def test_jobs_run_in_order_and_what_needs_a_failed_one_is_skipped(tmp_path):
  plan = _plan(noises='0,0.2')
  have = inventory.Inventory(tmp_path)
  executor = _Fake()
  summary = driver.run(plan, executor, have, tmp_path)
  assert summary.done == len(plan) and not summary.failed
  assert sorted(map(repr, executor.order)) == sorted(map(repr, plan))
  for job in plan:
    if job.parent:
      assert executor.order.index(job.parent) < executor.order.index(job)

  broken = next(job for job in plan if isinstance(job, grid.DatasetJob))
  executor = _Fake(failing={broken})
  summary = driver.run(plan, executor, have, tmp_path)
  skipped = [job for job in _cells(plan) if job.dataset == broken]
  assert set(summary.failed) == {broken, *skipped}
  assert not set(skipped) & set(executor.order)
  records = [json.loads(line) for line in (
      tmp_path / driver.FAILURES).read_text().splitlines()]
  assert len(records) == len(summary.failed)
  assert records[0]['error'] == 'OSError: full'
  assert 'Skipped, because dataset catch 0 failed' in records[1]['error']
  assert not results.keys(tmp_path)  # Without a dataset there is no row.


def test_the_last_row_of_an_experiment_counts(ope_row):
  broken = ope_row(failure='error: OSError: full', metrics={})
  again = ope_row(version=2)
  other = ope_row(seed=1)
  assert results.latest([broken, other, again]) == [other, again]
  assert broken.retry and not again.retry
  assert not ope_row(failure='diverged: inf').retry


def test_only_one_job_runs_when_memory_is_short(tmp_path):
  plan = _plan(noises='0,0.1,0.2')
  policies = [job for job in plan if isinstance(job, grid.PolicyJob)]
  with pool.Pool(tmp_path, processes=2, need=10**16) as workers:
    assert workers.start(policies) == policies[:1]
    assert workers.start(policies[1:]) == []
  with pool.Pool(tmp_path, processes=2, need=0) as workers:
    assert workers.start(policies) == policies[:2]


def test_a_worker_that_dies_is_a_failure_and_not_the_end(tmp_path):
  policy = _plan()[0]
  with pool.Pool(tmp_path, processes=1) as workers:
    workers.start([policy])
    (worker,) = workers._workers
    worker._process.kill()
    (outcome,) = workers.wait(60.)
    assert outcome.job == policy
    assert 'ended by signal 9' in outcome.error
    assert workers.running == []
    assert workers.start([policy]) == [policy]
