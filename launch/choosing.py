"""Chooses a method for a log without knowing the truth (`--method auto`)."""

from collections.abc import Callable
import pathlib
import time

import numpy as np
from rich import box
from rich import table as rich_table
import tensorflow as tf

from dfiv_ope import (
  agents,
  bellman,
  configs,
  results,
  selection,
  types,
  versions,
)
from dfiv_ope.agents import fixed_features
from dfiv_ope.launch import cells, console, questions

# DeepIV is left out: it takes as long as all others together.
CANDIDATES = tuple(name for name in agents.NAMES if name != 'deepiv')
# Rows of each half that candidates are judged on, and features of a state.
_JUDGED_ROWS = 30_000
_JUDGE_FEATURES = 100


def choose(
    question: questions.Question, wanted: list[cells.Cell], *,
    out: pathlib.Path,
) -> str:
  """Returns the method that the tournament prefers; its scores become rows.

  Args:
    question: what is asked.
    wanted: a cell of each candidate, of which the first seed counts.
    out: run directory; scores that are there are not found out again.
  """
  candidates = {cell.method: cell for cell in reversed(wanted)}
  problem = {**question.description, 'name': 'selection'}
  keys = {
      results.key(problem, cell.method, configs.encode(cell.config), cell.seed,
                  code=cells.code_of(cell)): cell
      for cell in candidates.values()}
  rows = [row for row in results.latest(results.known(out))
          if row.key in keys]
  if len(rows) < len(keys):
    rows = _judge(question, problem, list(keys.values()))
    for row in rows:
      results.append(out, row)
  chosen = next(row.method for row in rows if row.metrics['chosen'])
  _print(rows, chosen)
  return chosen


def _judge(
    question: questions.Question, problem: dict[str, object],
    candidates: list[cells.Cell],
) -> list[results.ResultRow]:
  """Fits candidates on each half of the episodes, and judges on the other."""
  asked, rows = question.pose()
  parity = question.episodes % 2
  halves = [_take(rows, np.flatnonzero(parity == half)) for half in (0, 1)]
  psi = fixed_features.make(
      asked, size=_JUDGE_FEATURES, bandwidth_scale=1., seed=0)
  initial = question.dataset.initial_observations
  scores, seconds = [], dict.fromkeys(candidates, 0.)
  with console.progress('Choosing', 2 * len(candidates)) as update:
    for half, (fitted, held_out) in enumerate((halves, halves[::-1])):
      judged = _take(held_out, np.arange(0, len(held_out.outcome), max(
          1, -(-len(held_out.outcome) // _JUDGED_ROWS))))
      values, errors = [], []
      for done, cell in enumerate(candidates):
        update(half * len(candidates) + done, cell.method)
        started = time.process_time()
        predict = _fit(cell, asked, fitted, initial)
        values.append(predict(judged.instrument).numpy()[:, 0])
        errors.append((tf.cast(judged.outcome, tf.float64) - tf.cast(
            bellman.difference(predict, judged.treatment), tf.float64)
        ).numpy()[:, 0])
        seconds[cell] += time.process_time() - started
      scores.append(selection.judge(
          np.stack(values, axis=1).astype(np.float64),
          np.stack(errors, axis=1), psi(judged.instrument).numpy()))
  total = selection.Scores(*np.mean(scores, axis=0))
  return [
      results.ResultRow(
          problem=problem, method=cell.method,
          config=configs.encode(cell.config), seed=cell.seed,
          metrics={'tournament': float(total.tournament[place]),
                   'projected_bellman_error': float(total.projected[place]),
                   'chosen': float(place == total.best)},
          curves={}, cpu_seconds=seconds[cell], versions=versions.versions(),
          preset=cell.preset, command=cell.command, code=cells.code_of(cell))
      for place, cell in enumerate(candidates)]


def _fit(
    cell: cells.Cell, problem: bellman.Problem, rows: types.IVBatch,
    initial: tf.Tensor,
) -> Callable[..., tf.Tensor]:
  """Returns the values that a candidate learns from some rows."""
  learner = cells.make_learner(
      cell.method, cell.config, problem, rows, seed=cell.seed,
      initial_observations=initial)
  learner.run()
  return tf.function(learner.agent.predict, reduce_retracing=True)


def _take(rows: types.IVBatch, index: np.ndarray) -> types.IVBatch:
  """Returns some of the rows."""
  return tf.nest.map_structure(
      lambda x: None if x is None else tf.gather(x, index), rows)


def _print(rows: list[results.ResultRow], chosen: str) -> None:
  """Prints the scores and says which method won."""
  table = rich_table.Table(
      box=box.SIMPLE, padding=(0, 1, 0, 0), title_justify='left',
      title='Candidates, fitted on half of the episodes and judged on the '
            'other', caption='Less is better; the tournament decides.',
      caption_justify='left')
  for column in ('method', 'tournament', 'projected Bellman error', 'CPU s'):
    table.add_column(
        column, justify='left' if column == 'method' else 'right')
  for row in sorted(rows, key=lambda row: row.metrics['tournament']):
    table.add_row(
        row.method, f'{row.metrics["tournament"]:.3g}',
        f'{row.metrics["projected_bellman_error"]:.3g}',
        f'{row.cpu_seconds:.1f}')
  console.OUTPUT.print(table)
  console.OUTPUT.print(
      f'Chosen: {chosen}. Its Bellman error on held-out episodes goes least '
      'with the values that any candidate claims.', highlight=False,
      soft_wrap=True)
