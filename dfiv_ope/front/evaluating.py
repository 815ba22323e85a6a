"""`dfiv_ope.evaluate`: the value of a policy from a log, in one call."""

from collections.abc import Callable, Iterator, Mapping, Sequence
import contextlib
import dataclasses
import os
import pathlib
import tempfile
from typing import Any

import numpy as np

from dfiv_ope import agents, overrides, registry, types
from dfiv_ope.agents.entries import base
from dfiv_ope.evaluation import estimates, runs
from dfiv_ope.front import result
from dfiv_ope.ope import episodes
from dfiv_ope.ope import task as task_lib

# A function of observations, a policy, or a name; see `policies.resolve`.
AnyPolicy = str | Callable[[np.ndarray], Any] | types.Policy
Configs = Mapping[str, base.MethodConfig | Mapping[str, Any]]


def evaluate(
  log: episodes.Episodes | str | os.PathLike[str],
  policy: AnyPolicy,
  *,
  methods: str | Sequence[str] = ('lstd', 'fqe'),
  seeds: int = 3,
  configs: Configs | None = None,
  truth: float | None = None,
  initial_observations: Any = None,
  trust_policy: bool = False,
  all_columns: bool = False,
  verbose: bool = False,
  discount: float | None = None,
  columns: Mapping[str, Any] | None = None,
  ray: str | None = None,
) -> result.Result:
  """Estimates the value of a policy from a log, with confidence intervals.

      log = dfiv_ope.Log.from_arrays(
          observations, actions, rewards, terminals, discount=0.99)
      result = dfiv_ope.evaluate(log, lambda s: (s[:, 0] > 0).astype(int))
      result.value, result.interval(0.95)

      dfiv_ope.evaluate(
          'big.parquet', policy, methods='lstd', discount=0.99,
          columns={'action': 'dose'})

  Args:
    log: of `dfiv_ope.Log`; or a folder of Parquet or CSV files, one file, or
      the directory of a dataset. More than 200,000 rows are read in parts, by
      lstd, kiv and what trains; with recorded behaviour probabilities by tis
      and wis, too. A copy of CSV files, and of what trains, lies in the
      system's temporary folder meanwhile.
    policy: a function of observations [B, D] that returns probabilities
      [B, A] or actions [B]; an object with `action_probabilities`; or a name:
      'uniform', 'behaviour-clone', 'columns', the directory of a SavedModel,
      an .onnx file, or package.module:function.
    methods: names of estimators, of `dfiv_ope.agents.NAMES`. The first is the
      answer, the others are beside it.
    seeds: number of seeds of each.
    configs: changes of the default hyper-parameters by method: a config, or
      values by name, such as {'fqe': {'updates': 2000}}.
    truth: the policy's value, if it is known: tables and figures show it, and
      errors; nothing is fitted to it.
    initial_observations: states that the value is the mean over, [M, D]; None
      for those that episodes start from.
    trust_policy: load a SavedModel whatever operations it holds.
    all_columns: keep columns of the observations that neither the policy nor
      the steps of the log depend on; they are left out otherwise, and
      `Result.warnings` says which.
    verbose: show a progress bar.
    discount: of the value that is asked for, if the log is in files; that of
      a dataset is recorded.
    columns: what the columns of files mean, by the names of the `--map` of
      `dfiv-ope dataset import`; None for the usual names.
    ray: address of a Ray cluster that reads the files, or 'local'.

  Returns:
    The estimates, their intervals and what to beware of.

  Raises:
    ValueError: an argument is not valid, or the policy does not fit the log.
  """
  chosen = configs_of(methods, configs or {})
  seeds = number_of_seeds(seeds)
  check_truth('truth', truth)
  if not isinstance(log, episodes.Episodes):
    if not isinstance(log, str | os.PathLike):
      raise no_log(log, otherwise=', or the name of a file or folder')
    with progress_bar(verbose, 'Evaluating', 1) as update:
      return dataclasses.replace(
        _of_files(
          pathlib.Path(log),
          policy,
          chosen,
          seeds=seeds,
          trusted=trust_policy,
          all_columns=all_columns,
          initial_observations=initial_observations,
          discount=discount,
          columns=columns or {},
          ray=ray,
          progress=lambda share: update(share, ''),
        ),
        truth=truth,
        all_columns=all_columns,
      )
  if discount is not None or columns is not None or ray is not None:
    raise ValueError(
      'discount, columns and ray are of a log in files; this one is in '
      'memory and has its own. Leave them out.'
    )
  if initial_observations is not None:
    log = log.starting_from(initial_observations)
  target = task_lib.find_policy(policy, log, trusted=trust_policy)
  task = task_lib.EvaluationTask(
    log, target.policy, dropped=() if all_columns else None
  )
  with progress_bar(verbose, 'Evaluating', len(chosen) * seeds) as update:
    found = run(
      task,
      target.description,
      target.digest,
      chosen,
      seeds=seeds,
      update=update,
    )
  return dataclasses.replace(found, truth=truth, all_columns=all_columns)


def _of_files(
  path: pathlib.Path,
  policy: AnyPolicy,
  chosen: Mapping[str, base.MethodConfig],
  *,
  initial_observations: Any,
  discount: float | None,
  columns: Mapping[str, Any],
  **options: Any,
) -> result.Result:
  """Returns what methods say of a policy on a log in files.

  Raises:
    ValueError: an argument is missing, or the files are not sound.
  """
  from dfiv_ope.launch.experiments import stream_run

  if initial_observations is not None:
    raise ValueError(
      'initial_observations go with a log in memory: read it with '
      'dfiv_ope.Log, or import it.'
    )
  stream = stream_run.open_stream(
    path.expanduser(), stream_run.columns_of(columns), discount=discount
  )
  with tempfile.TemporaryDirectory(prefix='dfiv-ope-') as scratch:
    found = stream_run.evaluate(
      stream, policy, chosen, scratch=pathlib.Path(scratch), **options
    )
  return result.Result(
    task=found.task,
    policy=found.target.description,
    digest=found.target.digest,
    configs=dict(chosen),
    estimates=found.estimates,
    log_average=found.log_average,
    survey=found.survey,
  )


def run(
  task: task_lib.EvaluationTask,
  name: str,
  digest: str,
  chosen: Mapping[str, base.MethodConfig],
  *,
  seeds: int,
  update: estimates.Progress,
) -> result.Result:
  """Runs estimators on a task.

  Args:
    task: the log and the policy.
    name: what the policy is called.
    digest: identifies what it does.
    chosen: configs of the methods, by name.
    seeds: number of seeds.
    update: told how many runs are done.
  """
  evaluator = runs.Evaluator(task)
  found = estimates.each_of(evaluator, chosen, seeds=seeds, progress=update)
  return result.Result(
    task=task,
    policy=name,
    digest=digest,
    configs=dict(chosen),
    estimates=found,
    log_average=estimates.log_average(evaluator),
  )


def configs_of(
  methods: str | Sequence[str], changes: Configs
) -> dict[str, base.MethodConfig]:
  """Returns the config of each method.

  Raises:
    ValueError: a method, or a name of a hyper-parameter, is not known.
  """
  names = [methods] if isinstance(methods, str) else list(methods)
  if not names:
    raise ValueError(f'Name at least one method of {", ".join(agents.NAMES)}.')
  unknown = sorted(set(changes) - set(names))
  if unknown:
    raise ValueError(
      f'configs has {", ".join(unknown)}, which is not among the methods '
      f'{", ".join(names)}.'
    )
  made = {}
  for name in names:
    default = registry.find(name, agents.ENTRIES).configs['default']
    change = changes.get(name, {})
    if isinstance(change, base.MethodConfig):
      if type(change) is not type(default):
        raise ValueError(
          f'The config of {name} should be a {type(default).__module__}.'
          f'{type(default).__name__}, got {type(change).__module__}.'
          f'{type(change).__name__}.'
        )
      made[name] = change
      continue
    fields = [field.name for field in dataclasses.fields(default)]
    wrong = sorted(set(change) - set(fields))
    if wrong:
      raise ValueError(
        f'{name} has no hyper-parameter {wrong[0]!r}. It has '
        f'{", ".join(fields)}.'
      )
    made[name] = overrides.replaced(default, change)
  return made


def number_of_seeds(seeds: int) -> int:
  """Returns a number of seeds, numpy's too, as a plain one.

  Raises:
    ValueError: it is none.
  """
  if (
    not isinstance(seeds, int | np.integer)
    or isinstance(seeds, bool)
    or seeds < 1
  ):
    raise ValueError(f'seeds must be a whole number from 1, got {seeds!r}.')
  return int(seeds)


def no_log(log: Any, *, otherwise: str = '') -> ValueError:
  """Returns the error of what is no log.

  Args:
    log: what was given instead.
    otherwise: what else may be given.
  """
  return ValueError(
    'A log is what dfiv_ope.Log.from_arrays, from_frame, from_transitions, '
    f'from_minari or open return{otherwise}, got {type(log).__name__}.'
  )


def check_truth(name: str, value: float | None) -> None:
  """Refuses a known value that is no number."""
  if value is not None and not (
    isinstance(value, int | float | np.number)
    and not isinstance(value, bool)
    and np.isfinite(value)
  ):
    raise ValueError(f'{name} must be a finite number, got {value!r}.')


@contextlib.contextmanager
def progress_bar(
  shown: bool, title: str, total: int
) -> Iterator[estimates.Progress]:
  """Yields a function that moves a progress bar, or does nothing."""
  if not shown:
    yield lambda done, note: None
    return
  from rich import progress as rich_progress

  with rich_progress.Progress(
    rich_progress.TextColumn(title),
    rich_progress.BarColumn(),
    rich_progress.TextColumn('{task.description}'),
    rich_progress.TimeRemainingColumn(),
  ) as bar:
    place = bar.add_task('', total=total)

    def update(done: float, note: str) -> None:
      bar.update(place, completed=done, description=note)

    yield update
    bar.update(place, completed=total, description='')
