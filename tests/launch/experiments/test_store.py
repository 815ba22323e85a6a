"""What a run directory has already."""

import dataclasses
import json

import pytest

from dfiv_ope import overrides
from dfiv_ope.agents import configured
from dfiv_ope.benchmarks import demand
from dfiv_ope.launch.experiments import jobs, plan, store
from dfiv_ope.results import files, problems, rows


def _row(job, problem, **fields):
  return rows.Row(
    **{
      'problem': problem,
      'method': job.method,
      'config': job.encoded,
      'seed': job.seed,
      'version': job.version,
      'inference': job.inference,
      'versions': {'dfiv-ope': '0.1.0'},
      'metrics': {'estimate': 1.0, 'mse': 1.0},
      **fields,
    }
  )


@pytest.fixture
def made(swept, metadata, tmp_path):
  """A run directory with the dataset of a tiny sweep, made under any name."""
  experiments = swept()
  making = experiments[0].problem.dataset
  path = tmp_path / 'runs' / 'datasets' / 'named by hand'
  path.mkdir(parents=True)
  record = dataclasses.replace(
    metadata(), spec=making.spec, policy=making.training.request
  )
  (path / 'metadata.json').write_text(record.to_json())
  return experiments, tmp_path / 'runs', record


def test_an_empty_directory_has_nothing(swept, tmp_path):
  experiments = swept()
  have = store.Store(store.Places(tmp_path / 'none'))
  assert have.missing(experiments) == jobs.with_parents(experiments)
  assert have.rows_of(experiments) == []
  assert not (tmp_path / 'none').exists()


def test_a_dataset_that_was_made_the_same_way_is_used_whatever_its_name(made):
  experiments, out, _ = made
  have = store.Store(store.Places(out))
  assert (
    have.places.dataset(experiments[0].problem.dataset).name == 'named by hand'
  )
  # Neither the dataset nor its policy is made.
  assert have.missing(experiments) == experiments


def test_datasets_are_looked_for_elsewhere_too(made, tmp_path):
  experiments, out, _ = made
  other = store.Places(tmp_path / 'other')
  assert len(store.Store(other).missing(experiments)) == len(experiments) + 2
  with_them = store.Places(tmp_path / 'other', (out / 'datasets',))
  assert store.Store(with_them).missing(experiments) == experiments


@pytest.mark.parametrize(
  'change', [{'policy': {'task': 'catch'}}, {'truth': None}]
)
def test_a_dataset_of_another_policy_is_not_taken(made, change):
  experiments, out, record = made
  (file,) = out.glob('datasets/*/metadata.json')
  file.write_text(dataclasses.replace(record, **change).to_json())
  have = store.Store(store.Places(out))
  assert len(have.missing(experiments)) == len(experiments) + 2


def test_what_has_its_row_is_not_missing(made):
  experiments, out, record = made
  have = store.Store(store.Places(out))
  job = experiments[1]
  problem = job.problem.problem(record)
  have.add(_row(job, problem))
  assert have.has(job) and job not in have.missing(experiments)
  # Read back, in another process.
  again = store.Store(store.Places(out))
  assert again.has(job)
  assert [row.key for row in again.rows_of(experiments)] == [job.key(problem)]


def test_a_row_of_another_truth_or_of_an_error_is_made_again(made):
  experiments, out, record = made
  job = experiments[1]
  problem = job.problem.problem(record)
  have = store.Store(store.Places(out))
  have.add(_row(job, dataclasses.replace(problem, truth=0.4)))
  assert not have.has(job)
  have.add(_row(job, problem, outcome=rows.ERROR, reason='full', metrics={}))
  assert not have.has(job)
  have.add(_row(job, problem))
  assert have.has(job)
  assert len(files.read(out)) == 3


def test_a_row_that_is_there_is_not_written_twice(made):
  experiments, out, record = made
  job = experiments[1]
  have = store.Store(store.Places(out))
  row = _row(job, job.problem.problem(record))
  have.add(row)
  have.add(dataclasses.replace(row, cpu_seconds=9.0))
  assert len(files.read(out)) == 1


def test_files_of_done_runs_go_and_those_of_broken_ones_stay(made):
  experiments, out, record = made
  have = store.Store(store.Places(out))
  done, broken = experiments[1], experiments[2]
  problem = done.problem.problem(record)
  for job in (done, broken):
    have.places.checkpoints(job.key(problem)).mkdir(parents=True)
  files.append(out, _row(done, problem))
  have = store.Store(store.Places(out))
  have.add(_row(broken, problem, outcome=rows.ERROR, reason='x', metrics={}))
  have.tidy(experiments)
  assert [each.name for each in (out / 'checkpoints').iterdir()] == [
    broken.key(problem)
  ]


def test_a_watched_design_needs_the_curve_that_was_watched(tmp_path):
  (job,) = plan.designs(
    [demand.Demand(n=100)], [overrides.Wanted('dfiv', ())], seeds=1, watch=True
  )
  have = store.Store(store.Places(tmp_path))
  have.add(_row(job, job.problem.design.problem))
  assert not have.has(job)
  have.add(
    _row(job, job.problem.design.problem, curves={'watched_mse': (1.0,)})
  )
  assert have.has(job)


def test_logs_and_designs_do_not_share_a_directory(made, tmp_path):
  experiments, out, record = made
  have = store.Store(store.Places(out))
  have.add(_row(experiments[1], experiments[1].problem.problem(record)))
  designs = plan.designs(
    [demand.Demand(n=100)], [overrides.Wanted('kiv', ())], seeds=1
  )
  have.refuse_others(experiments)
  with pytest.raises(
    ValueError,
    match=(
      'holds results of off-policy evaluation, but these would be of '
      'instrumental-variable designs. Choose another --out.'
    ),
  ):
    have.refuse_others(designs)


def test_two_processes_cannot_share_a_directory(tmp_path):
  first, second = (store.Store(store.Places(tmp_path)) for _ in range(2))
  with (
    first.exclusive(),
    pytest.raises(FileExistsError, match='Another process is working in'),
    second.exclusive(),
  ):
    pass
  with second.exclusive():
    pass


def test_a_selection_is_there_when_all_its_rows_are(made):
  experiments, out, record = made
  wanted = [configured.configure('lstd'), configured.configure('kiv')]
  job = plan.choice(experiments[0].problem, wanted)
  have = store.Store(store.Places(out))
  asked = experiments[0].problem.problem(record)
  for place, candidate in enumerate(job.candidates):
    assert not have.has(job)
    have.add(
      _row(
        candidate,
        job.problem(asked),
        inference={},
        metrics={
          'tournament': 1.0,
          'projected_bellman_error': 2.0,
          'chosen': float(place == 0),
        },
      )
    )
  assert have.has(job) and have.missing([job]) == []
  assert [row.method for row in have.rows_of([job])] == ['lstd', 'kiv']
  assert isinstance(have.rows_of([job])[0].problem, problems.Selection)


def test_a_simulated_value_is_part_of_the_problem_once_it_is_there(made):
  experiments, out, record = made
  problem = dataclasses.replace(experiments[0].problem, target_epsilon=0.3)
  have = store.Store(store.Places(out))
  job = jobs.TruthJob(problem=problem)
  assert not have.has(job) and have.problem(problem).truth is None
  file = have.places.truth(problem, record)
  file.parent.mkdir()
  file.write_text(
    json.dumps(
      {'mean': 0.25, 'standard_error': 0.01, 'episodes': 9, 'mean_length': 9.0}
    )
  )
  assert have.has(job) and have.problem(problem).truth == 0.25
