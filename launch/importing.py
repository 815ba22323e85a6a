"""`dfiv-ope dataset import` and `export`: logs of users, in and out."""

import pathlib
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dfiv_ope import whole_files
from dfiv_ope.launch import console, runtime, workspace

if TYPE_CHECKING:
  from dfiv_ope.datasets import findings, logs
  from dfiv_ope.datasets import spec as spec_lib

Format = Annotated[str | None, typer.Option(
    '--format', help='csv, parquet, npz, minari, rlds or rl_unplugged; without '
    'it, told by name and content.')]
Mapping = Annotated[pathlib.Path | None, typer.Option(
    '--mapping', help='A YAML file that says what the columns mean.',
    metavar='FILE')]
Map = Annotated[list[str] | None, typer.Option(
    '--map', help='NAME=COLUMN; may be repeated. Names: episode, step, '
    'observations, action, reward, terminated, truncated, '
    'behaviour_probability, target_probabilities. Lists have commas, and a * '
    'at the end stands for all columns that start so.',
    metavar='NAME=COLUMN')]
Actions = Annotated[str | None, typer.Option(
    '--actions', help='Number of actions or their labels in order, where the '
    'log does not hold them all.', metavar='NUMBER|LABELS')]
Categorical = Annotated[list[str] | None, typer.Option(
    '--categorical', help='Observations whose values are names of states, not '
    'amounts; with commas, may be repeated.', metavar='NAMES')]
Ends = Annotated[str | None, typer.Option(
    '--ends', help='terminated or truncated: how episodes end in a log without '
    'a column that says so.')]


def import_log(
    log: Annotated[pathlib.Path, typer.Argument(
        help='A log file, or a directory for Minari and RLDS.',
        metavar='LOG')],
    out: Annotated[pathlib.Path, typer.Option(help='A new directory.')],
    format_name: Format = None,
    mapping: Mapping = None,
    assignments: Map = None,
    actions: Actions = None,
    ends: Ends = None,
    categorical: Categorical = None,
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
  from dfiv_ope.datasets import spec as spec_lib
  reader = open_log(
      log, format_name=format_name, mapping=mapping, assignments=assignments,
      actions=actions, ends=ends, categorical=categorical)
  spec = spec_lib.Log(
      name=out.resolve().name, source=reader.file, format=reader.format,
      mapping=reader.mapping, discount=discount)
  request = {'log': str(log), 'mapping': reader.mapping, 'actions': actions,
             'discount': discount}
  with workspace.building(
      out, record=spec_lib.METADATA, request=request):
    _import_into(out, reader, spec)
  from dfiv_ope.launch import dataset_card
  dataset_card.show(out)


def open_log(
    path: pathlib.Path, *, format_name: str | None,
    mapping: pathlib.Path | None, assignments: list[str] | None,
    actions: str | None, ends: str | None,
    categorical: list[str] | None = None,
) -> 'logs.LogReader':
  """Opens a log with the mapping that the options ask for.

  Raises:
    FileNotFoundError: there is no log or no mapping.
    ValueError: the log or the mapping is not sound.
  """
  from dfiv_ope.datasets import columns, logs
  from dfiv_ope.launch import yaml_files
  data: dict[str, Any] = yaml_files.read(mapping) if mapping else {}
  mapped: set[str] = set()
  for text in assignments or []:
    name, equals, value = text.partition('=')
    if not equals:
      raise ValueError(f'--map should have the form NAME=COLUMN, got {text!r}.')
    if name.strip() in mapped:
      raise ValueError(f'--map names {name.strip()!r} twice. Name it once.')
    mapped.add(name.strip())
    data[name.strip()] = value
  for name, option in (
      ('actions', actions), ('ends', ends),
      ('categorical', ','.join(categorical) if categorical else None)):
    if option is not None:
      data[name] = option
  return logs.LogReader(
      path, columns=columns.parse(data), format_name=format_name)


def _import_into(
    out: pathlib.Path, reader: 'logs.LogReader', spec: 'spec_lib.Log') -> None:
  """Reads the log and writes the dataset, its record last."""
  from dfiv_ope.datasets import importing, store
  from dfiv_ope.datasets import spec as spec_lib
  with console.progress('Looking for the actions', 1.) as update:
    reader.find_actions(update)
  store.clear(out)  # what a killed run may have left
  with console.progress('Importing', 1.) as update:
    metadata = importing.write(reader, out, spec, progress=update)
  for note in reader.notes():
    console.note(note)
  whole_files.write(out / spec_lib.METADATA, metadata.to_json())


def is_log(path: pathlib.Path) -> bool:
  """Returns whether a path is a log rather than a dataset of ours."""
  from dfiv_ope.datasets import formats
  from dfiv_ope.datasets import spec as spec_lib
  if (path / spec_lib.METADATA).is_file() or not path.exists():
    return False
  return path.is_file() or formats.of_directory(path) is not None


def check_log(path: pathlib.Path, reader: 'logs.LogReader') -> None:
  """Reads a log, shows what it holds and everything that is wrong.

  Raises:
    ValueError: something is wrong.
  """
  from dfiv_ope.datasets import summary
  with console.progress('Looking for the actions', 1.) as update:
    actions = reader.find_actions(update)
  found: dict[str, list[findings.Finding]] = {}
  counted: summary.Summary | None = None
  with console.progress('Reading', 1.) as update:
    for block in reader.blocks(
        report=lambda each: found.setdefault(each.sentence, []).append(each),
        progress=update):
      if counted is None:
        counted = summary.Summary(
            action_labels=actions.labels,
            annotations=reader.annotations)
      counted.add(block.steps, block.annotations)
  if counted is not None:
    console.card(f'Log {path}', counted.rows())
  for each in [*_sentences(found, reader.file), *reader.notes()]:
    console.say(each)
  if found:
    raise ValueError(
        f'{path} is not sound: {reader.unsound:,} episodes have '
        'something wrong and are in no figure.')
  if counted is None:
    raise reader.nothing_left()
  console.say(
      f'{path} is sound: {counted.transitions:,} transitions can be imported.')


def _sentences(
    found: 'dict[str, list[findings.Finding]]', file: str) -> list[str]:
  """Joins what was found in several chunks."""
  import numpy as np
  return [
      parts[0]._replace(
          rows=np.concatenate([part.rows for part in parts])).describe(file)
      for parts in found.values()]


def export_log(
    path: Annotated[pathlib.Path, typer.Argument(
        help='Directory of a dataset.', metavar='DATASET')],
    out: Annotated[pathlib.Path, typer.Option(
        help='A new file; a new directory for Minari.')],
    format_name: Annotated[str | None, typer.Option(
        '--format', help='csv, parquet, npz or minari; without it, told by the '
        'name of --out.')] = None,
) -> None:
  """Write a dataset as CSV, Parquet, npz or for Minari.

  `import` reads it back without a loss: same digest, same annotations.

      dfiv-ope dataset export data/mine --out log.parquet
  """
  runtime.start()
  from dfiv_ope.datasets import exporting, formats, reading
  found = format_name or formats.of_name(out)
  if found is None:
    raise ValueError(
        f'The name of {out} tells no format. Say --format with one of '
        f'{", ".join(exporting.FORMATS)}.')
  with console.progress('Exporting'):
    dataset = reading.open_dataset(path)
    exporting.export(dataset, out, format_name=found)
  if found == 'csv' and not exporting.inferred(dataset):
    console.note(
        'The rows alone do not tell all actions and their order: import them '
        f'with --actions {",".join(exporting.labels(dataset))}.')
  if found == 'csv' and exporting.categorical(dataset):
    console.note(
        'The rows alone do not tell which observations are categorical: import '
        f'them with --categorical {",".join(exporting.categorical(dataset))}.')
  console.say(
      f'Wrote {dataset.metadata.transitions:,} transitions to {out}.')
