"""`dfiv-ope iv fit` and `dfiv-ope iv predict`: a table in, an effect out."""

import json as json_lib
import pathlib
import re
from typing import Annotated

import typer

from dfiv_ope import limits, overrides
from dfiv_ope.datasets import prediction_files, table_files
from dfiv_ope.iv import fit_store, methods, roles
from dfiv_ope.launch import console, runtime

_DEFAULT = 'two_sls'

File = Annotated[
  pathlib.Path,
  typer.Argument(
    help='CSV with a header (also .csv.gz) or Parquet.', metavar='FILE'
  ),
]
Json = Annotated[
  bool, typer.Option('--json', help='Print JSON and nothing else.')
]


def fit(
  file: File,
  outcome: Annotated[
    str, typer.Option(help='Column of the outcome.', metavar='NAME')
  ],
  treatment: Annotated[
    list[str],
    typer.Option(
      help='Column whose effect is asked for; may be repeated.', metavar='NAME'
    ),
  ],
  instrument: Annotated[
    list[str],
    typer.Option(
      help='Column that moves the treatment, and the outcome through it '
      'only; may be repeated.',
      metavar='NAME',
    ),
  ],
  covariate: Annotated[
    list[str] | None,
    typer.Option(help='Observed confounder; may be repeated.', metavar='NAME'),
  ] = None,
  weights: Annotated[
    str | None,
    typer.Option(
      help='Column of positive weights: a row counts in proportion (two_sls).',
      metavar='NAME',
    ),
  ] = None,
  clusters: Annotated[
    list[str] | None,
    typer.Option(
      help='Column of labels, numbers or text, whose rows may depend on each '
      'other: intervals allow for it. Twice for two ways (two_sls).',
      metavar='NAME',
    ),
  ] = None,
  method: Annotated[
    str,
    typer.Option(
      help=f'{", ".join(methods.NAMES)}. {_DEFAULT} is the textbook answer: '
      'linear, without tuning. sieve, kiv and agmm fit curves in '
      'seconds, auto chooses between the four, the others train '
      'networks.'
    ),
  ] = _DEFAULT,
  settings: Annotated[
    list[str] | None,
    typer.Option(
      '--set',
      help="name=value of the method's config; may be repeated.",
      metavar='NAME=VALUE',
    ),
  ] = None,
  seed: Annotated[
    int, typer.Option(help='Seed of random splits and of training.')
  ] = 0,
  out: Annotated[
    pathlib.Path | None,
    typer.Option(
      help='Directory for the model, summary.json, effects.csv and '
      'index.html; new, or of an older fit, which is replaced.',
      metavar='DIR',
    ),
  ] = None,
  json: Json = False,
) -> None:
  """Estimates what a treatment does to an outcome, by an instrument.

      dfiv-ope iv fit sales.csv --outcome sales --treatment price \
--instrument cost

      dfiv-ope iv fit sales.csv --outcome sales --treatment price \
--instrument cost --covariate age --method kiv --out fits/price
  """
  columns = roles.Roles(
    outcome=outcome,
    treatment=tuple(treatment),
    instrument=tuple(instrument),
    covariate=tuple(covariate or ()),
    weights=weights,
    clusters=tuple(clusters or ()),
  )
  if method not in methods.NAMES:
    raise ValueError(
      f'There is no method {method!r}. Choose one of '
      f'{", ".join(methods.NAMES)}.'
    )
  limits.count('--seed', seed, least=0, most=limits.SEED)
  source = table_files.TableFile(file)
  source.check([*columns.names, *columns.clusters])
  if out is not None:
    fit_store.claim(out)
  table = source.read(columns.names, labels=columns.clusters)
  if method not in methods.CLOSED_FORMS:
    runtime.start()
  from dfiv_ope.iv import fit_summary

  config = overrides.apply(fit_summary.settings_type(method)(), settings or [])
  with console.progress(f'Fitting {method}', 1.0) as update:
    found = fit_summary.fit(
      table.numbers,
      columns,
      labels=table.labels,
      method=method,
      settings=config,
      seed=seed,
      progress=lambda share: update(share),
    )
  summary = {
    **found.summary,
    'file': _encodable(file),
    'digest': table.digest(),
    'warnings': [_as_options(each) for each in found.summary['warnings']],
  }
  if out is not None:
    from dfiv_ope.launch.reporting import facts, iv_fit, iv_fit_files

    fit_store.write(
      out,
      found.estimator,
      summary,
      {
        fit_store.EFFECTS: iv_fit_files.effects_csv(summary),
        fit_store.PAGE: iv_fit.render(summary, found.effects, facts.today()),
      },
    )
  if json:
    console.say_json(json_lib.dumps(summary, indent=1, allow_nan=False))
    return
  from dfiv_ope.launch.reporting import iv_fit_terminal

  iv_fit_terminal.show(summary)
  if out is None:
    console.note('Nothing was saved: --out DIR keeps the model and a page.')
  else:
    console.say(out / fit_store.PAGE)


def predict(
  model: Annotated[
    pathlib.Path, typer.Argument(help='The --out of `iv fit`.', metavar='MODEL')
  ],
  file: File,
  out: Annotated[
    pathlib.Path | None,
    typer.Option(
      help='CSV to write; without it the table goes to standard output.',
      metavar='CSV',
    ),
  ] = None,
  json: Json = False,
) -> None:
  """Predicts the outcome, were each row given its treatment.

  FILE has the treatments and covariates of the fit, by name; its other columns
  are kept. The column `prediction` is the structural function: what the
  outcome would be on average, not what a row like this was observed to have.

      dfiv-ope iv predict fits/price new.csv --out predictions.csv

      dfiv-ope iv predict fits/price new.csv --json
  """
  record, columns = fit_store.read(model)
  source = table_files.TableFile(file)
  source.check(columns.inputs)
  prediction_files.claim(source.columns, out)
  table = source.read(columns.inputs, keep_others=True)
  if record['method'] not in methods.CLOSED_FORMS:
    runtime.start()
  from dfiv_ope.iv import predictions

  values = predictions.predict(
    fit_store.load(model, record), table.numbers, columns
  )
  for sentence in predictions.outside(
    record['statistics'], columns, table.numbers
  ):
    console.note(f'Warning: {sentence}')
  if out is not None:
    prediction_files.write(out, table, values)
  if json:
    console.say_json(
      json_lib.dumps(
        {
          'model': _encodable(model),
          'file': _encodable(file),
          'rows': len(values),
          'method': record['method'],
          'outcome': columns.outcome,
          'prediction': values.tolist(),
        }
      )
    )
  elif out is not None:
    console.say(out)
  else:
    console.say_lines(prediction_files.csv_text(table, values))


def _as_options(sentence: str) -> str:
  """Returns a warning of the library in terms of the command line."""
  sentence = re.sub(r'\b(\w+=\d+)', r'--set \1', sentence)
  return sentence.replace('random_state', '--seed').replace(
    'summary() then tells', 'the summary then tells'
  )


def _encodable(path: pathlib.Path) -> str:
  """Returns a path as text in which bytes that are not UTF-8 are escapes."""
  return str(path).encode('utf-8', 'backslashreplace').decode()
