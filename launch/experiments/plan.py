"""The jobs of what is asked for. Nothing here needs TensorFlow."""

from collections.abc import Iterable, Sequence
import dataclasses
import itertools
import pathlib
from typing import TYPE_CHECKING, Any

from dfiv_ope import agents, envs, overrides
from dfiv_ope.agents import configured
from dfiv_ope.agents.entries import trainers
from dfiv_ope.benchmarks import lit_pixels, settings
from dfiv_ope.datasets import spec as spec_lib
from dfiv_ope.evaluation import selection
from dfiv_ope.iv import methods as iv_methods
from dfiv_ope.launch.experiments import inputs, jobs
from dfiv_ope.results import problems

if TYPE_CHECKING:
  from dfiv_ope.benchmarks import trials
  from dfiv_ope.evaluation import sweep_spec

# Rows of each half that candidates are judged on, and features of a state.
_JUDGE = problems.Judge(version=selection.VERSION, rows=30_000, features=100)


def evaluation(
  problem: inputs.Simulated | inputs.OnLog,
  wanted: Iterable[configured.Configured],
  *,
  seeds: int,
) -> list[jobs.Experiment]:
  """Returns the average of the log and all runs of methods on a problem."""
  made = [jobs.of_method(problem, None, 0)]
  seen = set()
  for each in wanted:
    for seed in range(seeds):
      # Two presets may come to the same config.
      if (run := (each.method, each.config, seed)) not in seen:
        seen.add(run)
        made.append(jobs.of_method(problem, each, seed))
  return made


def choice(
  problem: inputs.Simulated | inputs.OnLog,
  wanted: Sequence[configured.Configured],
) -> jobs.SelectionJob:
  """Returns the job that chooses between methods and configs.

  Args:
    problem: a log and a policy.
    wanted: methods that learn a Q-function, `agents.LEARNERS`.

  Raises:
    ValueError: there are not two that differ.
  """
  assert all(each.method in agents.LEARNERS for each in wanted), (
    'Only Q-functions can be judged.'
  )
  candidates: dict[Any, configured.Configured] = {}
  for each in wanted:
    candidates.setdefault((each.method, each.config), each)
  if len(candidates) < 2:
    raise ValueError(
      'auto chooses between methods and settings, but those that are named '
      'are all the same. Name another beside them.'
    )
  return jobs.SelectionJob(
    judge=_JUDGE,
    candidates=tuple(
      jobs.Experiment(problem=problem, seed=0, **each._asdict())
      for each in candidates.values()
    ),
  )


def coverage(
  dataset: pathlib.Path,
  wanted: Iterable[configured.Configured],
  *,
  logs: int,
  seeds: int,
  level: float,
) -> list[jobs.Experiment]:
  """Returns the runs of methods on new logs, log by log.

  Raises:
    ValueError: it is an imported log.
  """
  metadata = spec_lib.read_metadata(dataset)
  chosen = list(wanted)
  made = []
  for number in range(logs):
    problem = inputs.NewLog(
      dataset=dataset,
      log=number,
      seeds=seeds,
      level=level,
      epsilon=getattr(metadata.spec, 'epsilon', 0.0),
    )
    if not number:
      problem.problem(metadata)  # Refuses an imported log.
    made += [
      jobs.Experiment(problem=problem, seed=0, **each._asdict())
      for each in chosen
    ]
  return made


def suite(
  cases: Sequence[str],
  wanted: Sequence[configured.Configured],
  *,
  logs: int,
  seeds: int,
  level: float,
) -> list[jobs.Experiment]:
  """Returns the runs of methods on logs of cases, log by log.

  On the first log of the first case of each family further policies are
  ranked, by methods that need no training.
  """
  from dfiv_ope.cases import suite as suite_lib

  first = set(suite_lib.first_of_families(cases))
  return [
    jobs.Experiment(
      problem=problems.SuiteCase(
        case=name,
        log=log,
        cases=suite_lib.VERSION,
        seeds=seeds,
        level=level,
        ranked=not log
        and name in first
        and not agents.ENTRIES[each.method].trained,
      ),
      seed=0,
      **each._asdict(),
    )
    for log in range(logs)
    for name in cases
    for each in wanted
  ]


def designs(
  every: Sequence['trials.Design'],
  methods: Iterable[overrides.Wanted],
  *,
  seeds: int,
  preset: str = 'default',
  watch: bool = False,
  first_seed: int = 0,
  references: Sequence[str] = (),
) -> list[jobs.Experiment]:
  """Returns runs of methods on designs, with the baseline of pictures.

  Args:
    every: the designs.
    methods: with changes of the configs that they have on each design.
    seeds: runs on each design.
    preset: 'default' or 'paper'.
    watch: whether errors are measured during the training too.
    first_seed: of these runs.
    references: those of `baselines` that every design has besides.

  Raises:
    ValueError: a method has no such config on a design, a change is wrong, or
      the training of a method cannot be watched.
  """
  each_seed = range(first_seed, first_seed + seeds)
  made: dict[jobs.Experiment, None] = {
    jobs.Experiment(
      problem=inputs.OnDesign(design=design),
      config=None,
      method=name,
      seed=seed,
    ): None
    for name in references
    for design in every
    for seed in each_seed
  }
  for method, changes in methods:
    if watch:
      iv_methods.require_watchable(method)
    for design in every:
      problem = inputs.OnDesign(design=design, watch=watch)
      default = settings.config(design.problem, method, paper=preset == 'paper')
      config = overrides.apply(default, changes)
      for seed in each_seed:
        if design.problem.name == 'dsprites':
          made[
            jobs.Experiment(
              problem=dataclasses.replace(problem, watch=False),
              config=None,
              method=lit_pixels.NAME,
              seed=seed,
            )
          ] = None
        made[
          jobs.Experiment(
            problem=problem,
            seed=seed,
            method=method,
            config=config,
            preset=preset,
            custom=config != default,
          )
        ] = None
  return list(made)


def sweep(spec: 'sweep_spec.SweepSpec') -> list[jobs.Experiment]:
  """Returns all experiments of a sweep.

  Raises:
    ValueError: a setting of a method or of the policies is not valid.
  """
  wanted = list(spec.wanted())
  made = []
  for task, noise, seed in itertools.product(
    spec.tasks, spec.noises, range(spec.dataset_seeds)
  ):
    dataset = inputs.Making(
      training=trainers.training(
        task,
        noise,
        seed=seed,
        settings=spec.policy,
        continuous=envs.is_continuous(task),
      ),
      truth_episodes=spec.truth_episodes,
      spec=spec_lib.Spec(
        task=task,
        action_noise=noise,
        epsilon=spec.epsilon,
        discount=spec.discount,
        seed=seed,
        transitions=(spec.transitions or spec_lib.usual_transitions(task)),
      ),
    )
    for target in spec.target_epsilons:
      made += evaluation(
        inputs.Simulated(
          dataset=dataset,
          target_epsilon=target,
          truth_episodes=spec.truth_episodes,
        ),
        wanted,
        seeds=spec.seeds,
      )
  return made
