"""`dfiv-ope dataset check`: what a log holds, and whether it is sound."""

import json
import pathlib
from typing import Annotated, Any

import typer

from dfiv_ope.datasets import finding
from dfiv_ope.launch import completion, console, log_options, options, runtime


def check(
  path: Annotated[
    pathlib.Path,
    typer.Argument(
      help='Directory of a dataset, or a log to be imported.', metavar='PATH'
    ),
  ],
  policy: Annotated[
    str | None,
    typer.Option(
      help='Also say how far a dataset overlaps with this policy, as '
      '`evaluate` takes it.',
      autocompletion=completion.policy,
    ),
  ] = None,
  columns: log_options.OfLog = log_options.OF_LOG,
  as_json: options.Json = False,
) -> None:
  """Say what a dataset or a log holds, and whether it is sound.

  A dataset is read back and its files, digest and rows verified. Of a log,
  everything that `import` would refuse is listed with its rows, cells that
  cannot be read included; it takes the same options. Exit code 0 if all is
  well, 2 if not.
  """
  is_log = finding.is_log(path)
  if not is_log:
    finding.require(path)
  if is_log and policy is not None:
    raise ValueError(
      f'{path} is a log. Import it first; a policy is compared with a dataset.'
    )
  if not is_log and columns.given:
    raise ValueError(
      f'{path} is a dataset, whose columns are known. The options are for logs.'
    )
  if not path.is_file():
    runtime.start()  # Which files such as CSV do without.
  from dfiv_ope.datasets import log_check, logs
  from dfiv_ope.launch.reporting import check_answer

  reader = logs.open_mapped(path, **columns.given) if is_log else None
  try:
    report = (
      log_check.check_log(path, reader, progress=console.progress)
      if reader
      else log_check.check_dataset(path, progress=console.progress)
    )
  except (ValueError, OSError) as error:
    if not as_json:
      raise
    report = log_check.unreadable(path, str(error))
  if not as_json:
    check_answer.show(report)
    if policy is not None:
      check_answer.show_overlap(_overlap(path, policy))
    return
  record = report.record()
  if policy is not None and report.sound:
    record['overlap'] = _overlap(path, policy)
  console.say_json(json.dumps(record, indent=2, default=float))
  if not report.sound:
    raise typer.Exit(2)


def _overlap(path: pathlib.Path, policy: str) -> dict[str, Any]:
  """Returns how far the log tells what the policy would do."""
  from dfiv_ope.datasets import log as log_lib
  from dfiv_ope.evaluation import policy_overlap

  with console.progress('Comparing the policy with the log'):
    return policy_overlap.describe(log_lib.Log.open(path), policy)
