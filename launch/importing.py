"""`dfiv-ope dataset import` and `export`: logs of users, in and out."""

import pathlib
from typing import Annotated

import typer

from dfiv_ope.datasets import finding
from dfiv_ope.launch import completion, console, log_options, options, runtime


def import_log(
  log: Annotated[
    pathlib.Path,
    typer.Argument(
      help='A log file, or a directory for Minari and RLDS.', metavar='LOG'
    ),
  ],
  out: Annotated[pathlib.Path, typer.Option(help='A new directory.')],
  columns: log_options.OfLog = log_options.OF_LOG,
  discount: Annotated[
    float,
    typer.Option(
      help='Discount of the value that is asked for; 1 if all episodes '
      'terminate.'
    ),
  ] = 0.99,
) -> None:
  """Make a dataset of your own log: CSV, Parquet, npz, Minari, RLDS.

  Each row is a step: the episode, an observation, the action taken there, its
  reward, and whether it terminated or truncated the episode. docs/logs.md
  says it all.

      dfiv-ope dataset import log.csv --out data/mine --map action=dose
  """
  runtime.start(tensorflow=False)
  from dfiv_ope.datasets import card, importing, logs

  reader = logs.open_mapped(log, **columns.given)
  runtime.start()  # A wrong name or column is told before.
  importing.build(
    reader,
    out,
    discount=discount,
    progress=console.progress,
    request={'log': str(log), 'actions': columns.actions},
  )
  for note in reader.notes():
    console.note(note)
  console.card(f'Dataset {out}', card.of(out))


def export_log(
  path: options.Dataset,
  out: Annotated[
    pathlib.Path, typer.Option(help='A new file; a new directory for Minari.')
  ],
  format_name: Annotated[
    str | None,
    typer.Option(
      '--format',
      help='csv, parquet, npz or minari; without it, told by the '
      'name of --out.',
      autocompletion=completion.among(('csv', 'parquet', 'npz', 'minari')),
    ),
  ] = None,
) -> None:
  """Write a dataset as CSV, Parquet, npz or for Minari.

  `import` reads it back without a loss: same digest, same annotations.

      dfiv-ope dataset export data/mine --out log.parquet
  """
  finding.require(path)
  runtime.start()
  from dfiv_ope.datasets import exporting, reading

  found = format_name or exporting.told(out)
  with console.progress('Exporting'):
    dataset = reading.open_dataset(path)
    exporting.export(dataset, out, format_name=found)
  for note in exporting.csv_notes(dataset) if found == 'csv' else ():
    console.note(note)
  console.say(f'Wrote {dataset.metadata.transitions:,} transitions to {out}.')
