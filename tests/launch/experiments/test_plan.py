"""The jobs of what is asked for: which, in which order, under which names."""

import dataclasses
import pathlib

import pytest

from dfiv_ope import agents, overrides
from dfiv_ope.agents import configured
from dfiv_ope.agents.entries import lstd, random_features
from dfiv_ope.benchmarks import demand, dsprites
from dfiv_ope.evaluation import interval_settings, result_rows
from dfiv_ope.launch.experiments import command_line, inputs, jobs, plan, store
from dfiv_ope.results import rows


def _file(content):
  return {'bytes': 1, 'sha256': content}


@pytest.mark.parametrize(
  'changes, words',
  [
    ({'settings': {'lstd': {'depth': 3}}}, "no setting 'depth'"),
    ({'settings': {'lstd': {'random_features': 3}}}, 'must be even'),
    ({'policy': {'depth': 3}}, "no setting 'depth'"),
  ],
)
def test_wrong_settings_are_found_before_anything_runs(swept, changes, words):
  with pytest.raises(ValueError, match=words):
    swept(**changes)


def test_every_job_comes_after_those_that_it_needs(swept):
  every = jobs.with_parents(swept(noises='0,0.2', tasks='catch,cartpole'))
  seen = set()
  for job in every:
    assert set(job.parents) <= seen
    seen.add(job)
  kinds = [job.kind for job in every]
  assert kinds.count('policies') == kinds.count('datasets') == 4
  assert kinds.count('log returns') == 4
  assert kinds.count('experiments') == 4 * 2 * 2
  datasets = [
    job.problem.dataset for job in every if isinstance(job, jobs.Experiment)
  ]
  changes = sum(a != b for a, b in zip(datasets, datasets[1:], strict=False))
  assert changes == 3  # Experiments of one dataset stand together.


def test_the_same_config_under_two_names_is_one_experiment(swept):
  config = {'random_features': 4, 'bandwidth_scale': 1.0, 'penalty': 1e-3}
  found = swept(
    methods='lstd', configs='default,paper', settings={'lstd': config}
  )
  assert [job.seed for job in found if job.method == 'lstd'] == [0, 1]


def test_another_target_policy_waits_for_its_true_value(swept):
  for job in swept(
    target_epsilons='0,0.2',
    methods='lstd',
    settings={'lstd': {'random_features': 4}},
  ):
    (parent,) = job.parents
    assert isinstance(
      parent, jobs.TruthJob if job.problem.target_epsilon else jobs.DatasetJob
    )


def test_names_say_all_settings(swept):
  def names(**changes):
    making = swept(**changes)[0].problem.dataset
    return making.training.name, making.name

  policy, dataset = names()
  assert policy.startswith('catch-noise-0p2-seed-0-')
  assert dataset.startswith(
    'catch-noise-0p2-epsilon-0p2-discount-0p99-1000-seed-0-'
  )
  for change in (
    {'policy': {'transitions': 3000}},
    {'truth_episodes': 300},
    {'discount': 0.5},
  ):
    other_policy, other = names(**change)
    assert other != dataset
    assert (other_policy != policy) == ('policy' in change)
  assert names() == (policy, dataset)


# What defines the question of a dataset: its content, the value that is asked
# for, where it is simulated, and the policy whose value it is.
_OTHER_QUESTIONS = [
  {'digest': 'another'},
  {'spec': {'discount': 0.5}},
  {'spec': {'action_noise': 0.1}},
  {'num_actions': 4},
  {'files': {'policy/variables/variables.index': _file('others')}},
  {'policy': {'dqn': {'hidden': [9]}}},
]


@pytest.mark.parametrize('change', _OTHER_QUESTIONS)
def test_another_question_has_other_rows_and_another_truth(
  swept, metadata, change, tmp_path
):
  *_, job = swept()
  problem = dataclasses.replace(job.problem, target_epsilon=0.2)
  keys = {
    job.key(job.problem.problem(each))
    for each in (metadata(), metadata(**change))
  }
  files = {
    store.Places(tmp_path).truth(problem, each)
    for each in (metadata(), metadata(**change))
  }
  assert len(keys) == len(files) == 2


@pytest.mark.parametrize(
  'change', [*_OTHER_QUESTIONS[1:], {'spec': {'transitions': 9}}]
)
def test_an_interval_of_new_logs_is_keyed_by_what_they_are_drawn_from(
  metadata, change
):
  def key(record, **changes):
    problem = inputs.NewLog(
      **{
        'dataset': pathlib.Path('data'),
        'epsilon': 0.2,
        'log': 0,
        'seeds': 3,
        'level': 0.95,
        **changes,
      }
    )
    job = jobs.Experiment(
      problem=problem, method='lstd', config=lstd.Config(), seed=0
    )
    return job.key(problem.problem(record))

  first = key(metadata())
  assert key(metadata(**change)) != first
  assert key(metadata(digest='another')) == first
  for setting in ({'log': 1}, {'seeds': 2}, {'level': 0.9}):
    assert key(metadata(), **setting) != first


def test_how_a_policy_is_written_is_not_what_it_is(swept, metadata):
  *_, job = swept()
  files = {
    'policy/variables/variables.index': _file('weights'),
    'policy/saved_model.pb': _file('otherwise'),
  }
  again = metadata(
    files=files, policy={'dqn': {'hidden': [50]}, 'cpu_seconds': 3.4}
  )
  assert job.key(job.problem.problem(again)) == job.key(
    job.problem.problem(metadata())
  )


def test_an_experiment_is_named_by_problem_method_config_and_seed(
  swept, metadata
):
  *_, job = swept()
  problem = job.problem.problem(metadata())
  for change in ({'seed': 7}, {'method': 'kiv'}, {'config': lstd.Config()}):
    assert dataclasses.replace(job, **change).key(problem) != job.key(problem)
  other = dataclasses.replace(problem, target_epsilon=0.2)
  assert job.key(other) != job.key(problem)
  for change in ({'preset': 'paper'}, {'custom': False}):
    assert dataclasses.replace(job, **change).key(problem) == job.key(problem)


@pytest.mark.parametrize(
  'module, name, value',
  [
    (interval_settings, 'RESAMPLES', 7),
    (interval_settings, 'DUAL_ROWS', 7),
    (interval_settings, 'VERSION', 99),
    (random_features, 'MEMORY_BUDGET', 7),
    (interval_settings, 'default_features', lambda: lstd.Config(penalty=7.0)),
  ],
)
def test_the_settings_of_intervals_are_in_the_keys_of_rows(
  monkeypatch, module, name, value
):
  before = result_rows.inference('kiv')
  monkeypatch.setattr(module, name, value)
  assert result_rows.inference('kiv') != before
  assert result_rows.inference('log') == {}  # Its interval is not stored.


def test_the_key_of_a_row_is_that_of_its_experiment(swept, metadata):
  *_, job = swept()
  problem = job.problem.problem(metadata())
  row = rows.Row(
    problem=problem,
    method=job.method,
    config=job.encoded,
    seed=job.seed,
    version=job.version,
    inference=job.inference,
    versions={'a': '1'},
  )
  assert row.key == job.key(problem)


def test_the_command_of_a_row_says_what_differs_from_the_preset(swept):
  job = next(each for each in swept() if each.method == 'dfiv' and each.seed)
  words = command_line.remake(
    dataclasses.replace(
      job,
      problem=inputs.Simulated(
        dataset=pathlib.Path('data/catch'), target_epsilon=0.3
      ),
    ),
    store.Places(pathlib.Path('runs')),
  )
  assert words == (
    'dfiv-ope evaluate data/catch --out runs --target-epsilon 0.3 '
    '--truth-episodes 40000 --method dfiv --config default --set updates=4 '
    '--set batch_size=32 --set checks=2 --seeds 2'
  )


def test_candidates_are_each_method_and_config_once():
  problem = inputs.Simulated(dataset=pathlib.Path('data'))
  wanted = [
    configured.configure('lstd'),
    configured.configure('kiv'),
    configured.configure('lstd'),
  ]
  job = plan.choice(problem, wanted)
  assert [each.method for each in job.candidates] == ['lstd', 'kiv']
  assert [(fit.candidate.method, fit.half) for fit in job.parents] == [
    ('lstd', 0),
    ('kiv', 0),
    ('lstd', 1),
    ('kiv', 1),
  ]
  with pytest.raises(ValueError, match='are all the same'):
    plan.choice(problem, wanted[::2])


def test_pictures_have_their_baseline_once():
  found = plan.designs(
    [dsprites.DSprites(n=100)],
    [overrides.Wanted('kiv', ()), overrides.Wanted('two_sls', ())],
    seeds=2,
  )
  assert [(job.method, job.seed) for job in found] == [
    ('lit_pixels', 0),
    ('kiv', 0),
    ('lit_pixels', 1),
    ('kiv', 1),
    ('two_sls', 0),
    ('two_sls', 1),
  ]


def test_a_changed_config_is_custom():
  (job,) = plan.designs(
    [demand.Demand(n=100)],
    [overrides.Wanted('kiv', ('bandwidth_scale=2.',))],
    seeds=1,
  )
  assert job.custom and job.config.bandwidth_scale == 2.0
  (job,) = plan.designs(
    [demand.Demand(n=100)], [overrides.Wanted('kiv', ())], seeds=1
  )
  assert not job.custom


def test_what_runs_cost_grows_with_their_length():
  def seconds(method, **changes):
    config = dataclasses.replace(
      agents.ENTRIES[method].configs['default'], **changes
    )
    return agents.ENTRIES[method].seconds(config)

  assert seconds('fqe', updates=40_000) - seconds('fqe', updates=20_000) == (
    pytest.approx(20_000 * agents.ENTRIES['fqe'].cost['updates'])
  )
  assert seconds('lstd') < seconds('fqe') < seconds('deepiv')


def test_what_the_papers_configs_cost_is_told_by_their_own_units():
  entry = agents.ENTRIES['dfiv']
  paper = entry.configs['paper']
  assert entry.seconds(paper, 'paper') == pytest.approx(
    entry.paper_cost['fixed'] + 4000 * entry.paper_cost['updates']
  )
  assert entry.seconds(paper) > 3.0 * entry.seconds(paper, 'paper')
  fqe = agents.ENTRIES['fqe']  # One cost for both.
  assert fqe.seconds(fqe.configs['paper'], 'paper') == (
    fqe.seconds(fqe.configs['default'])
  )


def test_what_runs_on_pictures_cost_is_told_by_the_design():
  wanted = overrides.Wanted('deepgmm', ())
  longer = overrides.Wanted('deepgmm', ('steps=1000',))

  def of(design, method):
    *_, job = plan.designs([design], [method], seeds=1)
    assert job.method == 'deepgmm'
    return job.seconds

  sprites, numbers = dsprites.DSprites(), demand.Demand(n=5000)
  assert of(sprites, wanted) == pytest.approx(0.3 * 500)
  assert of(sprites, longer) == pytest.approx(0.3 * 1000)
  assert of(numbers, wanted) == pytest.approx(1.0 + 0.005 * 4000)


def test_tasks_with_vectors_are_swept_with_policies_of_td3(swept):
  pytest.importorskip('gymnasium')
  every = jobs.with_parents(
    swept(
      tasks='gym:Pendulum-v1,control:walker-walk,gym:FrozenLake-v1',
      methods='lstd',
      settings={'lstd': {'random_features': 4}},
      policy={},
      noises='0.4',
      transitions=None,
    )
  )
  trained = {
    job.training.task: job.training
    for job in every
    if isinstance(job, jobs.PolicyJob)
  }
  assert {
    task: training.config.algorithm for task, training in trained.items()
  } == {
    'gym:Pendulum-v1': 'td3',
    'control:walker-walk': 'td3',
    'gym:FrozenLake-v1': 'dqn',
  }
  request = trained['gym:Pendulum-v1'].request
  assert request['td3']['policy_noise'] == 0.2 and 'dqn' not in request
  assert trained['control:walker-walk'].name.startswith(
    'control-walker-walk-noise-0p4-seed-0-'
  )
  sizes = {
    job.making.spec.task: job.making.spec.transitions
    for job in every
    if isinstance(job, jobs.DatasetJob)
  }
  assert sizes == {
    'gym:Pendulum-v1': 50_000,
    'gym:FrozenLake-v1': 50_000,
    'control:walker-walk': 100_000,
  }
