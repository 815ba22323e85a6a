"""`dfiv-ope benchmark time-to-accuracy`: when estimates are right to stay."""

import dataclasses
import json
import math
import pathlib
from typing import TYPE_CHECKING, Annotated

import typer

from dfiv_ope import agents, hints
from dfiv_ope.agents import configured
from dfiv_ope.launch import completion, console, options, runtime

if TYPE_CHECKING:
  from dfiv_ope.evaluation import runs

_TRAINED = tuple(
  name
  for name in agents.LEARNERS
  if getattr(agents.ENTRIES[name].configs['default'], 'updates', 0)
)


def time_to_accuracy(
  dataset: options.Dataset,
  out: Annotated[
    pathlib.Path,
    typer.Option(
      help='Directory for time-to-accuracy.json, .svg and .png.', metavar='DIR'
    ),
  ],
  method: Annotated[
    list[str] | None,
    typer.Option(
      help=f'{", ".join(_TRAINED)}; may be repeated.  [default: dfiv, fqe]',
      autocompletion=completion.among(_TRAINED),
    ),
  ] = None,
  config: Annotated[
    list[str] | None,
    typer.Option(
      help='default or paper; may be repeated.  [default: both]',
      autocompletion=completion.among(options.PRESETS),
    ),
  ] = None,
  within: Annotated[
    float,
    typer.Option(
      help='How far from the true value estimates may be, in % of it.', min=0.0
    ),
  ] = 3.0,
  truth: Annotated[
    float | None,
    typer.Option(help='The true value, if not that of the record.'),
  ] = None,
  seeds: options.Seeds = 1,
  trust_policy: options.TrustPolicy = False,
  as_json: options.Json = False,
) -> None:
  """Measures how long learners train until their estimates are right.

  CPU seconds from the making of the networks to the first evaluation point from
  which all estimates are within some % of the true value of DATASET's policy.
  What all methods share, such as opening the log, does not count. The figure
  has the estimates against the CPU seconds.

      dfiv-ope benchmark time-to-accuracy data/catch --within 3 --out times
  """
  wanted = _wanted(method or ['dfiv', 'fqe'], config or list(options.PRESETS))
  if truth is not None and not math.isfinite(truth):
    raise ValueError(f'--truth must be a finite number, got {truth}.')
  from dfiv_ope.datasets import finding

  finding.require(dataset)
  runtime.start()
  evaluator, truth = _opened(dataset, truth, trusted=trust_policy)
  from dfiv_ope.evaluation import time_to_accuracy as library
  from dfiv_ope.launch.reporting import accuracy_figure

  courses = library.measure(
    evaluator, wanted, seeds=seeds, progress=console.progress
  )
  found = {
    'dataset': str(dataset),
    'truth': truth,
    'within': within / 100.0,
    'courses': [
      {
        **dataclasses.asdict(each),
        'reached': each.reached(truth, within / 100.0),
      }
      for each in courses
    ],
  }
  out.mkdir(parents=True, exist_ok=True)
  text = json.dumps(found, indent=2)
  (out / 'time-to-accuracy.json').write_text(f'{text}\n')
  accuracy_figure.write(courses, truth, within / 100.0, out)
  if as_json:
    console.say_json(text)
    return
  table = console.Table(f'CPU s until estimates stay within {within:g} %')
  for column in ('method', 'config', 'seed', 'CPU s', 'whole run', 'estimate'):
    table.add_column(
      column, justify='left' if column in ('method', 'config') else 'right'
    )
  for each in courses:
    seconds = each.reached(truth, within / 100.0)
    table.add_row(
      each.method,
      each.config,
      str(each.seed),
      each.failure or ('not' if seconds is None else f'{seconds:.1f}'),
      f'{each.cpu_seconds[-1]:.1f}',
      f'{each.estimates[-1]:.4g}',
    )
  table.show()
  console.say(f'The true value is {truth:.4g}. Figure and numbers: {out}')


def _wanted(
  methods: list[str], presets: list[str]
) -> list[configured.Configured]:
  """Returns what is to be trained.

  Raises:
    ValueError: a name is not known.
  """
  for name in methods:
    hints.require('method', name, _TRAINED)
  for name in presets:
    hints.require('config', name, options.PRESETS)
  return [
    configured.configure(method, preset)
    for method in dict.fromkeys(methods)
    for preset in dict.fromkeys(presets)
    if preset in agents.ENTRIES[method].configs
  ]


def _opened(
  dataset: pathlib.Path, truth: float | None, *, trusted: bool
) -> 'tuple[runs.Evaluator, float]':
  """Returns what runs methods on a dataset, and the value of its policy.

  Raises:
    ValueError: it has no policy, or its value is not known.
  """
  from dfiv_ope.datasets import log as log_lib
  from dfiv_ope.datasets import reading
  from dfiv_ope.evaluation import runs as runs_lib
  from dfiv_ope.ope import task as task_lib

  log = log_lib.Log.open(dataset)
  assert log.metadata is not None
  policy = reading.load_policy(dataset, log.metadata, trusted=trusted)
  if policy is None:
    raise ValueError(
      f'{dataset} has no target policy. Name one of dfiv-ope dataset make.'
    )
  if truth is None:
    if log.metadata.truth is None:
      raise ValueError(
        f'{dataset} does not say what its policy is worth. Say --truth.'
      )
    truth = log.metadata.truth.mean
  return runs_lib.Evaluator(task_lib.EvaluationTask(log, policy)), truth
