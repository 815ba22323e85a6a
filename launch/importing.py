"""`dfiv-ope dataset import` and `export`: logs of users, in and out."""

import pathlib
from typing import Annotated

import typer

from dfiv_ope import atomic_output
from dfiv_ope.datasets import finding, formats
from dfiv_ope.launch import completion, console, options, runtime


def import_log(
    log: Annotated[pathlib.Path, typer.Argument(
        help='A log file, or a directory for Minari and RLDS.',
        metavar='LOG')],
    out: Annotated[pathlib.Path, typer.Option(help='A new directory.')],
    format_name: options.LogFormat = None,
    mapping: options.LogMapping = None,
    assignments: options.LogColumns = None,
    actions: options.LogActions = None,
    ends: options.LogEnds = None,
    categorical: options.LogCategorical = None,
    continuous: options.LogContinuous = None,
    bounds: options.LogBounds = None,
    discount: Annotated[float, typer.Option(
        help='Discount of the value that is asked for.')] = 0.99,
) -> None:
  """Make a dataset of your own log: CSV, Parquet, npz, Minari, RLDS.

  Each row is a step: the episode, an observation, the action taken there, its
  reward, and whether it terminated or truncated the episode. docs/logs.md
  says it all.

      dfiv-ope dataset import log.csv --out data/mine --map action=dose
  """
  runtime.start()
  from dfiv_ope.datasets import card, importing, logs, reading
  from dfiv_ope.datasets import spec as spec_lib
  reader = logs.open_mapped(
      log, format_name=format_name, mapping=mapping, assignments=assignments,
      actions=actions, ends=ends, categorical=categorical,
      continuous=continuous or None, bounds=bounds)
  spec = spec_lib.Log(
      name=out.resolve().name, source=reader.file, format=reader.format,
      mapping=reader.mapping, discount=discount)
  request = {'log': str(log), 'mapping': reader.mapping, 'actions': actions,
             'discount': discount}
  with atomic_output.building(
      out, record=spec_lib.METADATA, request=request):
    importing.make(reader, out, spec, progress=console.progress)
  for note in reader.notes():
    console.note(note)
  metadata = spec_lib.read_metadata(out)
  console.card(
      f'Dataset {out}', card.rows(metadata, reading.vectors(out, metadata)))


def export_log(
    path: Annotated[pathlib.Path, typer.Argument(
        help='Directory of a dataset.', metavar='DATASET')],
    out: Annotated[pathlib.Path, typer.Option(
        help='A new file; a new directory for Minari.')],
    format_name: Annotated[str | None, typer.Option(
        '--format', help='csv, parquet, npz or minari; without it, told by the '
        'name of --out.', autocompletion=completion.among(
            ('csv', 'parquet', 'npz', 'minari')))] = None,
) -> None:
  """Write a dataset as CSV, Parquet, npz or for Minari.

  `import` reads it back without a loss: same digest, same annotations.

      dfiv-ope dataset export data/mine --out log.parquet
  """
  finding.require(path)
  runtime.start()
  from dfiv_ope.datasets import exporting, reading
  found = format_name or formats.of_name(out)
  if found is None:
    raise ValueError(
        f'The name of {out} tells no format. Say --format with one of '
        f'{", ".join(exporting.FORMATS)}.')
  with console.progress('Exporting'):
    dataset = reading.open_dataset(path)
    exporting.export(dataset, out, format_name=found)
  if found == 'csv' and dataset.metadata.continuous:
    console.note(
        'The rows alone do not tell what the actions are: import them with '
        f'{exporting.action_options(dataset.metadata.continuous)}.')
  elif found == 'csv' and not exporting.inferred(dataset):
    console.note(
        'The rows alone do not tell all actions and their order: import them '
        f'with --actions {",".join(exporting.labels(dataset))}.')
  if found == 'csv' and exporting.categorical(dataset):
    console.note(
        'The rows alone do not tell which observations are categorical: import '
        f'them with --categorical {",".join(exporting.categorical(dataset))}.')
  console.say(
      f'Wrote {dataset.metadata.transitions:,} transitions to {out}.')
