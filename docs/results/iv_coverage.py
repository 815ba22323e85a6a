"""How often intervals of IV effects held the truth, on designs that know it.

    python docs/results/iv_coverage.py KIV SieveIV --samples 200 --out FILE
    python docs/results/iv_coverage.py --out FILE

The first adds samples to a file, the second prints its table: how often the
95 % intervals of the effect of -1 -> 1 and of the average derivative, and the
uniform band at seven points of (-1.5, 1.5), held the truth, and mean widths.
Beside them stands the plug-in: what the method itself says +- 1.96 standard
errors of noise, without a bound on bias. Samples of another version of the
method or of the intervals are refused: they need a file of their own.
"""

import argparse
import collections
import json
import pathlib
import time
import warnings

import iv_designs
import numpy as np
from scipy import stats

from dfiv_ope import estimators
from dfiv_ope.iv import methods
from dfiv_ope.iv.functionals import intervals

GRID = np.linspace(-1.5, 1.5, 7)
_DESIGNS = (*iv_designs.CHECK, *iv_designs.DEVELOPMENT)


def versions(method):
  """Returns the version of a method's numbers, and that of the intervals."""
  name = next(
    name
    for name, kind in estimators.ESTIMATORS.items()
    if kind is getattr(estimators, method)
  )
  return [methods.ENTRIES[name].version, intervals.VERSION]


def measure(kind, parameters, design, strength, rows, seed, truths):
  """Returns a record of one sample."""
  y, t, z, x, _ = iv_designs.draw(design, strength, rows, seed)
  start = time.process_time()
  model = kind(**parameters).fit(y, t, Z=z, X=x)
  fitted = time.process_time()
  found = {
    'effect': model.ate_interval(-1.0, 1.0),
    'derivative': model.average_derivative(),
    'band': model.dose_response_interval(GRID, uniform=True),
  }
  done = time.process_time()
  step = 0.05 * np.std(t)
  plug_in = {
    'effect': model.ate(-1.0, 1.0),
    'derivative': np.mean(
      model.predict(t + step, x) - model.predict(t - step, x)
    )
    / (2.0 * step),
  }
  record = {
    'method': kind.__name__,
    'versions': versions(kind.__name__),
    'design': design,
    'strength': strength,
    'rows': rows,
    'seed': seed,
    'fit_cpu': fitted - start,
    'interval_cpu': done - fitted,
  }
  for name, each in found.items():
    truth = truths[name]
    record[name] = {
      'held': bool(np.all((each.low <= truth) & (truth <= each.high))),
      'width': float(np.mean(each.high - each.low)),
      'bias_share': float(np.mean(each.bias_share)),
    }
    if name in plug_in:
      half = 1.96 * float(
        np.sqrt(each.std_error[0] ** 2 - each.bias_bound[0] ** 2)
      )
      record[name].update(
        error=float(each.estimate[0] - truth),
        plug_in_held=bool(abs(plug_in[name] - truth) <= half),
        plug_in_width=2.0 * half,
        plug_in_error=float(plug_in[name] - truth),
      )
  return record


def table(records):
  """Prints a line for each method, design, strength and number of rows."""
  groups = collections.defaultdict(list)
  for each in records:
    groups[
      each['method'], each['design'], each['strength'], each['rows']
    ].append(each)
  totals = collections.defaultdict(list)
  print(
    '| method, f, s, n | samples | effect % | derivative % | band % '
    '| mean widths: effect, derivative, band | plug-in: effect %, width; '
    'derivative %, width | cost |\n|---|---|---|---|---|---|---|---|'
  )
  for (method, design, strength, rows), group in groups.items():
    held = {
      name: [each[name]['held'] for each in group]
      for name in ('effect', 'derivative', 'band')
    }
    widths = {
      name: np.mean([each[name]['width'] for each in group]) for name in held
    }
    plug = {
      name: (
        100.0 * np.mean([each[name]['plug_in_held'] for each in group]),
        np.mean([each[name]['plug_in_width'] for each in group]),
      )
      for name in ('effect', 'derivative')
    }
    cost = (
      100.0
      * sum(each['interval_cpu'] for each in group)
      / sum(each['fit_cpu'] for each in group)
    )
    print(
      f'| {method} {design} {strength:g} {rows} | {len(group)} | '
      + ' | '.join(f'{100.0 * np.mean(each):.0f}' for each in held.values())
      + ' | '
      + ', '.join(f'{each:.2f}' for each in widths.values())
      + ' | '
      + '; '.join(f'{share:.0f}, {width:.2f}' for share, width in plug.values())
      + f' | {cost:.0f} % |'
    )
    for name, each in held.items():
      totals[method, rows, name] += each
  for (method, rows, name), each in totals.items():
    interval = stats.binomtest(sum(each), len(each)).proportion_ci()
    print(
      f'{method}, n = {rows}, {name}: {100.0 * np.mean(each):.1f} % of '
      f'{len(each)} ({100.0 * interval.low:.1f} to '
      f'{100.0 * interval.high:.1f})'
    )


def main():
  """Adds samples to a file, or prints the table of it."""
  parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
  parser.add_argument('method', nargs='*', help='KIV, SieveIV, DFIV, ...')
  parser.add_argument(
    '--design', nargs='*', choices=_DESIGNS, default=iv_designs.CHECK
  )
  parser.add_argument('--rows', type=int, default=1000)
  parser.add_argument('--samples', type=int, default=20)
  parser.add_argument('--first-seed', type=int, default=0)
  parser.add_argument('--set', nargs='*', default=[], metavar='NAME=INTEGER')
  parser.add_argument('--out', type=pathlib.Path, required=True)
  given = parser.parse_args()
  warnings.simplefilter('ignore')
  done = (
    [json.loads(line) for line in given.out.read_text().splitlines()]
    if given.out.exists()
    else []
  )
  if not given.method:
    table(done)
    return
  for each in done:
    if each.get('versions') != versions(each['method']):
      parser.error(
        f'{given.out} has samples of {each["method"]} by versions '
        f'{each.get("versions")} of it and of the intervals; this build has '
        f'{versions(each["method"])}. Name another file.'
      )
  known = {
    (
      each['method'],
      each['design'],
      each['strength'],
      each['rows'],
      each['seed'],
    )
    for each in done
  }
  truths = {
    (design, strength): iv_designs.truths(design, strength, GRID)
    for design in given.design
    for strength in iv_designs.STRENGTHS
  }
  settings = {
    name: int(value) for name, value in (each.split('=') for each in given.set)
  }
  with given.out.open('a') as file:
    for seed in range(given.first_seed, given.first_seed + given.samples):
      for (design, strength), truth in truths.items():
        for method in given.method:
          if (method, design, strength, given.rows, seed) in known:
            continue
          kind = getattr(estimators, method)
          parameters = {
            **settings,
            **({'n_splits': 1} if 'n_splits' in kind().get_params() else {}),
          }
          file.write(
            json.dumps(
              measure(
                kind, parameters, design, strength, given.rows, seed, truth
              )
            )
            + '\n'
          )
          file.flush()


if __name__ == '__main__':
  main()
