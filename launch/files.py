"""Answers of `dfiv-ope evaluate` on files of a log, without an import."""

from collections.abc import Mapping, Sequence
import pathlib
import shlex
import sys
from typing import TYPE_CHECKING

from dfiv_ope import agents
from dfiv_ope.launch import console, log_options, options, runtime

if TYPE_CHECKING:
  from dfiv_ope.agents import configured
  from dfiv_ope.results import rows as rows_lib

# Of the value, as in `dfiv-ope dataset import`.
_DISCOUNT = 0.99


def is_file(path: pathlib.Path) -> bool:
  """Returns whether a path is files of a log rather than a dataset."""
  from dfiv_ope.datasets import finding

  if not finding.is_log(path):
    return False
  from dfiv_ope.datasets import streams

  return streams.is_stream(path)


def refuse_options(
  columns: log_options.OfLog, discount: float | None, path: pathlib.Path
) -> None:
  """Refuses what a dataset says itself.

  Raises:
    ValueError: something was said.
  """
  said = [*columns.given, *(['discount'] if discount is not None else [])]
  if said:
    raise ValueError(
      f'{path} is a dataset, whose columns and discount are recorded, but '
      f'{", ".join(said)} was given, too. Leave it out.'
    )


def evaluate(
  path: pathlib.Path,
  policies: Mapping[str, str],
  truths: Mapping[str, float],
  wanted: Sequence['configured.Configured'],
  *,
  named: bool,
  columns: log_options.OfLog,
  discount: float | None,
  seeds: int,
  preset: str,
  trust_policy: bool,
  all_columns: bool,
  level: float,
  out: pathlib.Path,
  running: options.Running,
) -> None:
  """Evaluates policies on files, writes rows and prints the answer.

  Args:
    path: a folder of Parquet or CSV files, or one file.
    policies: what users name, by what tables call them.
    truths: known values of some of them.
    wanted: methods and their configs.
    named: whether the user named them; of others, those are left out that do
      not take a log in parts.
    columns: what the columns mean.
    discount: of the value; None for the usual one.
    seeds: number of seeds.
    preset: where configs are from.
    trust_policy: load SavedModels whatever operations they hold.
    all_columns: keep columns that nobody needs.
    level: of intervals.
    out: run directory.
    running: where it runs, and how it answers.

  Raises:
    ValueError: the files, a policy or a method is not sound.
  """
  if not policies:
    from dfiv_ope.policies import naming

    raise ValueError(
      f'{path} is a log without a target policy. Name one with --policy. '
      f'{naming.CHOICES}'
    )
  if running.workers is not None and running.ray is None:
    raise ValueError(
      '--workers goes with --ray where a log is in files: say --ray local.'
    )
  said = dict(columns.given)
  said.pop('format_name', None)
  from dfiv_ope.datasets import logs

  meaning = logs.mapped(**said)
  if running.ray is not None:
    from dfiv_ope.launch.experiments.executors import ray

    ray.check(running.ray)
  runtime.start(
    tensorflow=any(agents.ENTRIES[each.method].trained for each in wanted)
  )
  from dfiv_ope.launch.experiments import scheduler, store, stream_run

  stream = stream_run.open_stream(
    path, meaning, discount=_DISCOUNT if discount is None else discount
  )
  chosen = {each.method: each.config for each in wanted}
  if len(chosen) < len(wanted):
    raise ValueError(
      'A log in files is evaluated by each method once. Import it with '
      'dfiv-ope dataset import to compare settings of a method.'
    )
  have = store.Store(store.Places(out))
  found: list[rows_lib.Row] = []
  with have.exclusive(), have.places.copies() as scratch:
    survey = None
    if stream_run.in_parts(stream, running.ray):
      if not named:
        chosen = stream_run.possible(stream, chosen, ray=running.ray)
        console.note(
          f'{path.name} is read in parts. No --method: running '
          f'{", ".join(chosen)}.'
        )
      with console.progress('Reading', 1.0) as update:
        survey = stream_run.look(
          stream,
          list(policies.values()),
          chosen,
          scratch=scratch,
          ray=running.ray,
          progress=update,
        )
    for name, policy in policies.items():
      with console.progress(f'Evaluating {name}', 1.0) as update:
        answer = stream_run.evaluate(
          stream,
          policy,
          chosen,
          seeds=seeds,
          scratch=scratch,
          trusted=trust_policy,
          all_columns=all_columns,
          ray=running.ray,
          processes=running.workers,
          survey=survey,
          progress=update,
        )
      found += stream_run.rows(
        answer,
        name='' if name == policy else name,
        truth=truths.get(name),
        preset=preset,
        all_columns=all_columns,
        command=shlex.join(['dfiv-ope', *sys.argv[1:]]),
      )
    for row in found:
      have.add(row)
  from dfiv_ope.launch import runner
  from dfiv_ope.launch.reporting import summary_table

  runner.answer(
    runner.Finished(rows=found, summary=scheduler.Summary()),
    out,
    show=lambda rows: summary_table.print_table(rows, level=level),
    data=lambda rows: summary_table.data(rows, level=level),
    as_json=running.as_json,
  )
