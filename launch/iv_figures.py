"""The paper's figures of the demand design, drawn from result rows."""

import collections
from collections.abc import Iterable
import pathlib
from typing import Any

import matplotlib as mpl
import numpy as np

from dfiv_ope import methods, results
from dfiv_ope.benchmarks import demand

mpl.use('Agg')
from matplotlib import pyplot as plt  # noqa: E402 (after the backend)

_LABELS = {
    'two_sls': '2SLS', 'sieve': 'Sieve IV', 'kiv': 'KIV', 'deepiv': 'DeepIV',
    'deepgmm': 'DeepGMM', 'dfiv': 'DFIV'}


def draw(
    name: str, rows: list[results.ResultRow], out: pathlib.Path,
) -> list[pathlib.Path]:
  """Draws a figure as PNG and SVG.

  Args:
    name: 'ate', 'cate', 'joint' or 'mse'.
    rows: rows of the demand design.
    out: directory of the files.

  Returns:
    The files.

  Raises:
    ValueError: the rows lack what the figure shows.
  """
  rows = [row for row in rows if row.problem.get('name') == 'demand']
  # A fixed salt makes the same rows give the same file.
  with mpl.rc_context({'svg.hashsalt': 'dfiv-ope', 'svg.fonttype': 'none',
                       'axes.spines.top': False, 'axes.spines.right': False}):
    figure = {'ate': _ate, 'cate': _cate, 'joint': _joint, 'mse': _mse}[name](
        rows)
    paths = [out / f'{name}.{kind}' for kind in ('png', 'svg')]
    for path in paths:
      figure.savefig(path, bbox_inches='tight', dpi=150, metadata=(
          {'Date': None} if path.suffix == '.svg' else None))
    plt.close(figure)
  return paths


def _ate(rows: list[results.ResultRow]) -> Any:
  return _curves(
      rows, 'ate', demand.PRICES, demand.true_ate(), 'price p',
      'E[Y | do(P=p)]')


def _cate(rows: list[results.ResultRow]) -> Any:
  return _curves(
      rows, 'cate', demand.TIMES, demand.true_cate(), 'time of year t',
      f'E[Y | do(P={demand.CATE_PRICE:g}), T=t]')


def _curves(
    rows: list[results.ResultRow], curve: str, x: Any, truth: Any,
    x_label: str, y_label: str,
) -> Any:
  """Draws the mean curve of each method, a band of its seeds, and the truth."""
  settings = {(row.problem['n'], row.problem['rho']) for row in rows}
  if not settings:
    raise ValueError('There are no rows of the demand design to draw.')
  # Curves of different designs do not belong on one another: the largest.
  n, rho = max(settings)
  groups = _groups(
      row for row in rows if (row.problem['n'], row.problem['rho']) == (n, rho))
  figure, axes = plt.subplots(figsize=(6., 4.))
  axes.plot(x, truth, 'k--', label='truth', zorder=3)
  for index, (label, group) in enumerate(groups.items()):
    values = np.array([row.curves[curve] for row in group])
    color = f'C{index}'
    axes.plot(x, values.mean(axis=0), color=color, label=label)
    axes.fill_between(
        x, values.min(axis=0), values.max(axis=0), color=color, alpha=0.15,
        linewidth=0.)
  axes.set(xlabel=x_label, ylabel=y_label, title=f'n = {n}, rho = {rho:g}')
  axes.legend(frameon=False)
  return figure


def _mse(rows: list[results.ResultRow]) -> Any:
  """Draws the error of every seed by confounding, one panel for each n."""
  sizes = sorted({row.problem['n'] for row in rows})
  if not sizes:
    raise ValueError('There are no rows of the demand design to draw.')
  rhos = sorted({row.problem['rho'] for row in rows})
  figure, panels = plt.subplots(
      1, len(sizes), figsize=(4. * len(sizes) + 1., 4.), sharey=True,
      squeeze=False)
  groups = _groups(rows)
  for axes, size in zip(panels[0], sizes, strict=True):
    for index, group in enumerate(groups.values()):
      shift = 0.8 * ((index + 0.5) / len(groups) - 0.5)
      for place, rho in enumerate(rhos):
        errors = [
            row.metrics['mse'] for row in group
            if (row.problem['n'], row.problem['rho']) == (size, rho)]
        if not errors:
          continue
        axes.scatter(
            [place + shift] * len(errors), errors, s=12, alpha=0.5,
            color=f'C{index}')
        axes.plot(
            place + shift + np.array([-0.05, 0.05]), [np.median(errors)] * 2,
            color=f'C{index}', linewidth=2.5)
    axes.set(
        yscale='log', title=f'n = {size}', xlabel='rho',
        xticks=range(len(rhos)), xticklabels=[f'{rho:g}' for rho in rhos],
        xlim=(-0.5, len(rhos) - 0.5))
  panels[0, 0].set_ylabel('mean squared error (bars: medians)')
  for index, label in enumerate(groups):
    panels[0, -1].plot([], [], color=f'C{index}', label=label)
  panels[0, -1].legend(
      frameon=False, loc='upper left', bbox_to_anchor=(1., 1.))
  return figure


def _joint(rows: list[results.ResultRow]) -> Any:
  """Draws losses and test error of joint and of alternating minimisation."""
  by_kind = {
      joint: [row for row in rows if row.method == 'dfiv'
              and row.config.get('joint') is joint and row.seed == 0]
      for joint in (True, False)}
  if not all(by_kind.values()):
    raise ValueError(
        'The joint figure needs rows of dfiv with and without joint '
        'minimisation: run `dfiv-ope iv demand --method dfiv`, with and '
        'without `--set joint=True`, into the same --out. Runs with several '
        '`--set iterations=...` draw the test error over training.')
  figure, panels = plt.subplots(1, 2, figsize=(9., 4.), sharey=True)
  titles = {True: 'joint minimisation', False: 'DFIV'}
  for axes, (joint, group) in zip(panels, by_kind.items(), strict=True):
    longest = max(group, key=lambda row: row.config['iterations'])
    for label in ('stage1_loss', 'stage2_loss'):
      losses = longest.curves[label]
      steps = np.linspace(0., longest.config['iterations'], len(losses) + 1)
      axes.plot(steps[1:], losses, label=label.replace('_', ' '))
    tests = sorted(
        (row.config['iterations'], row.metrics['mse']) for row in group
        if row.problem == longest.problem)
    # The losses are those of a standardised outcome; so is this.
    scale = np.var(demand.sample(
        longest.problem['n'], rho=longest.problem['rho'], seed=0).outcome)
    axes.plot(
        [step for step, _ in tests], [error / scale for _, error in tests],
        'ko-', label='test error')
    axes.set(title=titles[joint], xlabel='iterations', yscale='log')
  panels[0].set_ylabel('loss (standardised outcome)')
  panels[1].legend(frameon=False)
  return figure


def _groups(
    rows: Iterable[results.ResultRow],
) -> dict[str, list[results.ResultRow]]:
  """Returns rows by label: the method, and what sets its configs apart."""
  by_method = collections.defaultdict(list)
  for row in rows:
    by_method[row.method].append(row)
  groups = collections.defaultdict(list)
  for method in methods.NAMES:
    group = by_method[method]
    differing = [
        name for name in (group[0].config if group else ())
        if len({repr(row.config.get(name)) for row in group}) > 1]
    for row in group:
      notes = ', '.join(f'{name}={row.config[name]}' for name in differing)
      groups[_LABELS[method] + (f' ({notes})' if notes else '')].append(row)
  return groups
