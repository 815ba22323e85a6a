"""`dfiv-ope benchmark coverage`: how often intervals hold the true value."""

import collections
import dataclasses
import pathlib
import statistics
import time
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dfiv_ope import agents
from dfiv_ope.launch import console, limits, overrides, runtime, workspace

if TYPE_CHECKING:
  from dfiv_ope import results
  from dfiv_ope.datasets import reading
  from dfiv_ope.datasets import spec as spec_lib
  from dfiv_ope.evaluation import estimates, runs

# Logs of a coverage study have seeds of their own.
_FIRST_SEED = 1_000_000


def coverage(
    dataset: Annotated[pathlib.Path, typer.Argument(
        help='A dataset of `dataset make`: new logs are made as it was.',
        metavar='DATASET')],
    out: Annotated[pathlib.Path, typer.Option(
        help='Directory of the result rows; what is there is not run again.')],
    method: Annotated[list[str] | None, typer.Option(
        help=f'{", ".join(agents.NAMES)}; may be repeated. '
             f'{overrides.SYNTAX}.')] = None,
    logs: Annotated[int, typer.Option(help='New logs to draw.', min=1)] = 40,
    seeds: Annotated[int, typer.Option(
        help='Runs of a method on each log.', min=1)] = 3,
    level: Annotated[float, typer.Option(help='Of the intervals.')] = 0.95,
    settings: Annotated[list[str] | None, typer.Option(
        '--set', help="name=value of the method's config; may be repeated.",
        metavar='NAME=VALUE')] = None,
) -> None:
  """Counts how often the intervals of `evaluate` hold the true value.

  Draws independent logs with the policy, the task and the size of DATASET,
  gives each to the method as `evaluate` does, and compares the interval with
  the true value of the record. A killed command goes on when it is given
  again.

      dfiv-ope benchmark coverage data/catch --method lstd --out runs
  """
  wanted = overrides.methods(method or ['lstd'], agents.NAMES, settings or [])
  limits.share('--level', level, open_ends=True)
  limits.count('--logs', logs, most=limits.LOGS)
  limits.count('--seeds', seeds, most=limits.SEEDS)
  runtime.start()
  from dfiv_ope import results
  from dfiv_ope.datasets import reading
  from dfiv_ope.datasets import spec as spec_lib
  made = reading.open_dataset(dataset)
  spec = made.metadata.spec
  if not isinstance(spec, spec_lib.Spec) or made.metadata.truth is None:
    raise ValueError(
        f'{dataset} is an imported log: its true value is not known and no '
        'other logs can be made like it. Take one of `dataset make`.')
  with workspace.exclusive(out):
    _run(made, spec, wanted, out, logs=logs, seeds=seeds, level=level)
    rows = [row for row in results.latest(results.read(out))
            if row.problem['name'] == 'coverage']
  _print(rows)


def describe(
    metadata: 'spec_lib.Metadata', *, log: int, seeds: int, level: float,
) -> dict[str, Any]:
  """Returns the problem of a row: all that an interval of a new log rests on.

  Args:
    metadata: of the dataset whose policy, task and size the log has.
    log: number of the log.
    seeds: runs of a method on it.
    level: of the interval.
  """
  from dfiv_ope.launch import rows as rows_lib
  from dfiv_ope.policies import rollout
  assert metadata.truth is not None
  described = rows_lib.describe(metadata, target_epsilon=0.)
  # The dataset's own content is no part of it.
  drawn_from = ('dataset', 'task', 'action_noise', 'epsilon', 'discount',
                'actions', 'target')
  return {
      'name': 'coverage', **{name: described[name] for name in drawn_from},
      'simulation': rollout.VERSION, 'first_seed': _FIRST_SEED, 'log': log,
      'seeds': seeds, 'level': level, 'truth': metadata.truth.mean}


def _run(
    made: 'reading.Dataset', spec: 'spec_lib.Spec',
    wanted: list[overrides.Wanted], out: pathlib.Path, *, logs: int,
    seeds: int, level: float,
) -> None:
  """Runs what has no row yet."""
  from dfiv_ope import configs, results, versions
  from dfiv_ope.evaluation import estimates, runs
  from dfiv_ope.launch import questions
  from dfiv_ope.launch import rows as rows_lib
  from dfiv_ope.policies import finite
  policy, truth = made.policy, made.metadata.truth
  assert policy is not None and truth is not None
  have = results.keys(out)
  logged = questions.simulate(
      made.metadata, finite.Explore(policy, epsilon=spec.epsilon),
      target_epsilon=spec.epsilon, out=out)
  with console.progress('Logs', logs) as update:
    for number in range(logs):
      update(number, f'{spec.task} log {number}')
      evaluator: runs.Evaluator | None = None
      for name, settings in wanted:
        config = overrides.apply(
            agents.load(name).CONFIGS['default'], settings)
        problem = describe(
            made.metadata, log=number, seeds=seeds, level=level)
        encoded = configs.encode(config)
        version: dict[str, Any] = {
            'version': rows_lib.version(name),
            'inference': rows_lib.inference(name)}
        if results.key(problem, name, encoded, 0, **version) in have:
          continue
        evaluator = evaluator or _drawn(made, spec, _FIRST_SEED + number)
        started = time.process_time()
        found = estimates.estimate(evaluator, name, config, seeds=seeds)
        if found.missing:
          raise ValueError(found.missing)
        metrics = _metrics(
            found, estimates.log_average(evaluator), level=level,
            truth=truth.mean, logged=logged.mean)
        results.append(out, results.ResultRow(
            problem=problem, method=name, config=encoded, seed=0,
            metrics={**metrics,
                     'diverged': len(found.runs) - len(found.sound)},
            curves={}, cpu_seconds=time.process_time() - started,
            versions=versions.versions(), **version,
            failure='' if metrics else 'diverged: all seeds'))


def _drawn(
    made: 'reading.Dataset', spec: 'spec_lib.Spec', seed: int,
) -> 'runs.Evaluator':
  """Returns what runs methods on a new log."""
  from dfiv_ope import envs
  from dfiv_ope.datasets import collection
  from dfiv_ope.datasets import log as log_lib
  from dfiv_ope.evaluation import runs
  from dfiv_ope.ope import task as task_lib
  policy = made.policy
  assert policy is not None
  log = log_lib.Log.from_episodes(
      collection.collect(
          envs.maker(spec.task, action_noise=spec.action_noise), policy,
          dataclasses.replace(spec, seed=seed)),
      num_actions=made.metadata.num_actions, discount=spec.discount)
  return runs.Evaluator(task_lib.EvaluationTask(log, policy))


def _metrics(
    found: 'estimates.Estimate', average: 'estimates.Estimate', *,
    level: float, truth: float, logged: float,
) -> dict[str, float]:
  """Returns an interval, the paired one, and what they hold.

  Args:
    found: estimate of the target policy's value.
    average: the log's average return.
    level: of the intervals.
    truth: the target policy's value.
    logged: the behaviour policy's value.
  """
  interval = found.interval(level)
  paired = found.difference(average, level)
  if interval is None or paired is None:
    return {}
  difference = truth - logged
  return {
      **interval._asdict(),
      'covered': float(interval.low <= truth <= interval.high),
      'paired_estimate': paired.estimate, 'paired_low': paired.low,
      'paired_high': paired.high, 'paired_truth': difference,
      'paired_covered': float(paired.low <= difference <= paired.high)}


def _print(rows: list['results.ResultRow']) -> None:
  """Prints the share of intervals that hold the truth, a question a line."""
  groups: dict[str, list[results.ResultRow]] = collections.defaultdict(list)
  for row in rows:
    asked = {name: value for name, value in row.problem.items()
             if name != 'log'}
    groups[repr((sorted(asked.items()), row.method, row.config,
                 row.inference))].append(row)
  # What the names of datasets do not tell apart has a column.
  datasets = {row.problem['dataset'] for row in rows}
  extra = [name for name in ('target', 'truth', 'seeds') if len(
      {(row.problem['dataset'], row.problem.get(name)) for row in rows}
  ) > len(datasets)]
  table = console.Table('Intervals that hold the true value')
  for column in ('method', 'log', *extra, 'level', 'logs', 'held',
                 'paired held', 'mean error', 'mean half width', 'diverged'):
    table.add_column(
        column, min_width=8 if column in extra else 5,
        justify='left' if column in ('method', 'log') else 'right')
  for group in groups.values():
    problem = group[0].problem
    sound = [row for row in group if not row.failure]
    # A log without an interval does not hold the truth.
    held = sum(row.metrics['covered'] for row in sound) / len(group)
    width = [row.metrics['high'] - row.metrics['low'] for row in sound]
    numbers = [
        [abs(row.metrics['estimate'] - problem['truth']) for row in sound],
        [each / 2. for each in width]]
    table.add_row(
        group[0].method, problem['dataset'],
        *(str(problem.get(name))[:8] for name in extra),
        f'{100 * problem["level"]:g} %', str(len(group)),
        f'{100 * held:.0f} %', _share(group, 'paired_covered'),
        *(f'{statistics.fmean(each):.4g}' if each else '-'
          for each in numbers),
        f'{sum(row.metrics.get("diverged", 0) for row in group):g}')
  table.show()


def _share(rows: list['results.ResultRow'], name: str) -> str:
  """Returns the share of rows with a metric of 1, blank if none has it."""
  if not any(name in row.metrics for row in rows):
    return ''
  held = sum(row.metrics.get(name, 0.) for row in rows) / len(rows)
  return f'{100 * held:.0f} %'
