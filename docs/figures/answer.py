"""Draws docs/figures/answer.svg, and answer-narrow.svg for phones.

    python docs/figures/answer.py            # evaluates, then draws
    python docs/figures/answer.py --redraw   # from docs/results/shop.csv

One question, several estimators, the truth and the log's average. The log is
the one of the tutorial (docs/examples/make_log.py), whose truth is
simulated. Evaluating writes docs/results/shop.csv, a line for each estimator.
"""

import argparse
import importlib
import pathlib
import sys
import tempfile

import numpy as np
import pandas as pd

import dfiv_ope
from dfiv_ope import agents

_DOCS = pathlib.Path(__file__).resolve().parents[1]
_ROWS = _DOCS / 'results' / 'shop.csv'
_METHODS = ('lstd', 'kiv', 'dfiv', 'fqe', 'drl', 'nearest')
# Of `make_log.py --truth`, which simulates 40,000 customers.
_TRUTH = 19.07
_LOG, _KNOWN = '#4b5563', '#111827'


def evaluate() -> pd.DataFrame:
  """Returns estimates of the shop's generous policy, default configs."""
  sys.path.insert(0, str(_DOCS / 'examples'))
  shop = importlib.import_module('make_log')
  offers = importlib.import_module('offers')
  with tempfile.TemporaryDirectory() as directory:
    path = pathlib.Path(directory, 'log.csv')
    shop.write(path, np.random.default_rng(0))
    log = dfiv_ope.Log.from_frame(
      pd.read_csv(path),
      discount=shop.DISCOUNT,
      episode='customer',
      step='week',
      observations=list(shop.COLUMNS),
      action='offer',
      reward='margin',
      terminated='left',
    )
  result = dfiv_ope.evaluate(
    log, offers.generous, methods=_METHODS, truth=_TRUTH, verbose=True
  )
  columns = ['estimate', 'low', 'high', 'trust', 'seeds', 'truth']
  return result.to_frame()[columns].assign(version=dfiv_ope.__version__)


def draw(rows: pd.DataFrame, path: pathlib.Path, *, narrow: bool) -> None:
  """Writes the picture of rows as SVG.

  Args:
    rows: of `evaluate`.
    path: of the picture.
    narrow: for a phone: numbers stand above the lines, not beside them.
  """
  import matplotlib as mpl

  mpl.use('svg')
  from matplotlib import pyplot

  mpl.rcParams.update(
    {
      'svg.hashsalt': 'answer',
      'svg.fonttype': 'none',
      'font.size': 11,
      'font.family': 'sans-serif',
      'font.sans-serif': ['Arial', 'DejaVu Sans'],
    }
  )
  figure, axes = pyplot.subplots(
    figsize=(4.0, 4.6) if narrow else (8.4, 3.6), layout='constrained'
  )
  truth = float(rows.truth.iloc[0])
  average = rows.loc['log_average']
  axes.axvspan(average.low, average.high, color=_LOG, alpha=0.15, lw=0)
  axes.axvline(average.estimate, color=_LOG, lw=1.5)
  axes.axvline(truth, color=_KNOWN, lw=1.5, ls=(0, (4, 3)))
  lines = rows.drop('log_average')
  labels = [agents.ENTRIES[str(name)].style.label for name in lines.index]
  for place, (name, row) in enumerate(lines.iterrows()):
    color = agents.ENTRIES[str(name)].style.color
    axes.plot(
      [row.low, row.high], [place] * 2, color=color, lw=3, solid_capstyle='butt'
    )
    axes.plot(
      row.estimate,
      place,
      marker='o',
      color=color,
      ms=8,
      markeredgecolor='white',
    )
    numbers = f'{row.estimate:.2f} [{row.low:.2f}, {row.high:.2f}] {row.trust}'
    if narrow:
      axes.annotate(
        f'{labels[place]} {numbers}',
        (0.0, place - 0.36),
        xycoords=('axes fraction', 'data'),
        va='center',
        size=10,
        bbox={
          'boxstyle': 'square,pad=0.1',
          'fc': 'white',
          'ec': 'none',
          'alpha': 0.85,
        },
      )
    else:
      axes.annotate(
        numbers,
        (1.01, place),
        xycoords=('axes fraction', 'data'),
        va='center',
        annotation_clip=False,
        family='monospace',
        size=10,
      )
  axes.set_yticks([] if narrow else range(len(lines)), [] if narrow else labels)
  axes.set_ylim(len(lines) - 0.4, -1.3 if narrow else -1.1)
  for value, words, color, side in (
    (
      average.estimate,
      f'log {average.estimate:.2f}'
      if narrow
      else f'average of the log {average.estimate:.2f}',
      _LOG,
      'right',
    ),
    (truth, f'truth {truth:.2f}', _KNOWN, 'left'),
  ):
    axes.annotate(
      words,
      (value, -1.0 if narrow else -0.75),
      xytext=(-6 if side == 'right' else 6, 0),
      textcoords='offset points',
      ha=side,
      va='center',
      color=color,
    )
  axes.spines[['top', 'right', 'left']].set_visible(False)
  axes.tick_params(axis='y', length=0)
  axes.set_xlabel('value of the new policy, discount 0.9')
  figure.savefig(path, format='svg', metadata={'Date': None}, facecolor='white')
  pyplot.close(figure)


def main() -> None:
  """Evaluates unless told to redraw, and draws."""
  parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
  parser.add_argument('--redraw', action='store_true')
  if not parser.parse_args().redraw:
    evaluate().round(4).to_csv(_ROWS)
  rows = pd.read_csv(_ROWS, index_col='method', keep_default_na=False)
  draw(rows, _DOCS / 'figures' / 'answer.svg', narrow=False)
  draw(rows, _DOCS / 'figures' / 'answer-narrow.svg', narrow=True)


if __name__ == '__main__':
  main()
