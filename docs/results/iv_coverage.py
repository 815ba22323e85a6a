"""How often intervals of IV effects held the truth, on designs that know it.

    python docs/results/iv_coverage.py KIV log 1.0 --samples 20

Prints the share of samples in which the 95 % intervals of the effect of -1 -> 1
and of the average derivative, and the uniform band at seven points of
(-1.5, 1.5), held the truth, with median widths, and errors beside those of
`model.ate`.
"""

import argparse
import warnings

import numpy as np

from dfiv_ope import estimators

GRID = np.linspace(-1.5, 1.5, 7)
_CURVES = {
    'sin': np.sin, 'abs': np.abs, 'log': lambda t: np.sign(t - 1.) * np.log1p(
        np.abs(t - 1.)), 'tanh-x': np.tanh,
    'softplus-x': lambda t: np.log1p(np.exp(2. * t))}
# E[f(t, x)] less the curve.
_LEVELS = {'softplus-x': np.sin(2.) / 2.}


def draw(design, strength, rows, seed):
  """Returns Y, T, Z, X and, for the truth, df/dt in each row."""
  generator = np.random.default_rng((seed, len(design), int(100 * strength)))
  hidden, one, two = generator.normal(size=(3, rows))
  noise = strength * hidden
  curve, x, steep = _CURVES[design], None, 1.
  if design == 'tanh-x':
    z, x = generator.uniform(-3., 3., rows), generator.normal(size=rows)
    t, steep = z + 0.5 * x + noise + 0.3 * one, 1. + 0.5 * x
    y = curve(t) * steep + x
  elif design == 'softplus-x':
    z, x = 1.5 * generator.normal(size=rows), generator.uniform(-2., 2., rows)
    t = 0.9 * z + 0.4 * x + noise + 0.3 * one
    y = curve(t) + 0.4 * x * t + np.cos(x)
  else:
    z = generator.uniform(-3., 3., (rows, 2))
    t = z[:, 0] + noise + 0.3 * one
    y = curve(t)
  slope = (curve(t + 1e-3) - curve(t - 1e-3)) / 2e-3 * steep
  return y + noise + 0.3 * two, t, z, x, slope


def main():
  """Runs one design and method."""
  parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
  parser.add_argument('method', help='KIV, SieveIV, DFIV, ...')
  parser.add_argument('design', choices=[*_CURVES])
  parser.add_argument('strength', type=float, help='of confounding')
  parser.add_argument('--rows', type=int, default=1000)
  parser.add_argument('--samples', type=int, default=20)
  given = parser.parse_args()
  warnings.simplefilter('ignore')
  curve = _CURVES[given.design]
  levels = curve(GRID) + _LEVELS.get(given.design, 0.)
  truths = {
      'effect': curve(1.) - curve(-1.), 'derivative': np.mean(
          draw(given.design, given.strength, 400_000, 10 ** 6)[-1]),
      'band': levels}
  kind = getattr(estimators, given.method)
  parameters = {'n_splits': 1} if 'n_splits' in kind().get_params() else {}
  held, widths, errors = {name: [] for name in truths}, [], []
  for seed in range(given.samples):
    y, t, z, x, _ = draw(given.design, given.strength, given.rows, seed)
    model = kind(**parameters).fit(y, t, Z=z, X=x)
    found = {
        'effect': model.ate_interval(-1., 1.),
        'derivative': model.average_derivative(),
        'band': model.dose_response_interval(GRID, uniform=True)}
    for name, each in found.items():
      held[name].append(np.all(
          (each.low <= truths[name]) & (truths[name] <= each.high)))
    widths.append([np.mean(each.high - each.low) for each in found.values()])
    errors.append([found['effect'].estimate[0], model.ate(-1., 1.)])
  size = np.sqrt(np.mean(
      np.square(np.array(errors) - truths['effect']), axis=0))
  print(given.method, given.design, given.strength, 'held:', ', '.join(
      f'{name} {sum(each)} of {len(each)}' for name, each in held.items()),
      '; median widths', np.round(np.median(widths, axis=0), 3),
      '; error of the effect', np.round(size, 3), '(interval, ate)')


if __name__ == '__main__':
  main()
