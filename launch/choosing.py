"""Chooses a method for a log without knowing the truth (`--method auto`)."""

import math
import pathlib
import time

import numpy as np
import tensorflow as tf

from dfiv_ope import configs, results, types, versions
from dfiv_ope.agents import base, fixed_features
from dfiv_ope.evaluation import selection
from dfiv_ope.launch import cells, console, questions
from dfiv_ope.launch import rows as rows_lib
from dfiv_ope.launch.reporting import frames
from dfiv_ope.ope import bellman

# Rows of each half that candidates are judged on, and features of a state.
_JUDGED_ROWS = 30_000
_JUDGE_FEATURES = 100


def choose(
    question: questions.Question, wanted: list[cells.Cell], *,
    out: pathlib.Path,
) -> cells.Cell:
  """Returns the candidate that the tournament prefers; scores become rows.

  Args:
    question: what is asked.
    wanted: cells of methods and configs, each of which is a candidate by the
      first of its seeds.
    out: run directory; scores that are there are not found out again.
  """
  candidates: dict[str, cells.Cell] = {}
  for cell in wanted:
    candidates.setdefault(
        results.key({}, cell.method, configs.encode(cell.config), 0), cell)
  if len(candidates) < 2:
    raise ValueError(
        'auto chooses between methods and settings, but those that are named '
        'are all the same. Name another beside them.')
  # A score holds among these candidates only.
  problem = {
      **question.description, 'name': 'selection', 'candidates': results.key(
          {'candidates': sorted(candidates)}, 'auto', {}, 0),
      'judge': {'version': selection.VERSION, 'rows': _JUDGED_ROWS,
                'features': _JUDGE_FEATURES}}
  keys = {
      results.key(problem, cell.method, configs.encode(cell.config), cell.seed,
                  version=rows_lib.version(cell.method)): cell
      for cell in candidates.values()}
  rows = [row for row in results.latest(results.known(out))
          if row.key in keys]
  if len(rows) < len(keys):
    rows = _judge(question, problem, list(keys.values()))
    for row in rows:
      results.append(out, row)
  chosen = next(row for row in rows if row.metrics.get('chosen'))
  _print(rows)
  return keys[chosen.key]


def _judge(
    question: questions.Question, problem: dict[str, object],
    candidates: list[cells.Cell],
) -> list[results.ResultRow]:
  """Fits candidates on each half of the episodes, and judges on the other."""
  if not question.log.episodes.any():
    raise ValueError(
        'Choosing a method takes two episodes, one to fit and one to judge; '
        'this log has one. Name a --method.')
  asked, rows = question.task.problem, question.task.rows
  parity = question.log.episodes % 2
  halves = [_take(rows, np.flatnonzero(parity == half)) for half in (0, 1)]
  psi = fixed_features.make(
      asked, size=min(
          _JUDGE_FEATURES, fixed_features.affordable(asked.num_actions)),
      bandwidth_scale=1., seed=0)
  scores, seconds = [], dict.fromkeys(candidates, 0.)
  failures: dict[cells.Cell, str] = {}
  with console.progress('Choosing', 2 * len(candidates)) as update:
    for half, (fitted, held_out) in enumerate((halves, halves[::-1])):
      judged = _take(held_out, np.arange(0, len(held_out.outcome), max(
          1, -(-len(held_out.outcome) // _JUDGED_ROWS))))
      values, errors = [], []
      for done, cell in enumerate(candidates):
        update(half * len(candidates) + done, cell.method)
        started = time.process_time()
        learner = question.evaluator.learner(
            cell.method, cell.config, seed=cell.seed, rows=fitted)
        learner.run()
        if learner.divergence:
          failures[cell] = f'diverged: {learner.divergence}'
        value, error = _look(learner, judged)
        values.append(value)
        errors.append(error)
        seconds[cell] += time.process_time() - started
      if len(failures) == len(candidates):
        raise ValueError(
            'Every candidate diverged on half of the episodes, so none can be '
            'chosen. Name methods of a closed form, such as --method auto '
            '--method lstd --method kiv.')
      scores.append(selection.judge(
          np.stack(values, axis=1), np.stack(errors, axis=1),
          psi(judged.instrument).numpy()))
  total = selection.Scores(*np.mean(scores, axis=0))
  return [
      results.ResultRow(
          problem=problem, method=cell.method,
          config=configs.encode(cell.config), seed=cell.seed,
          metrics={} if cell in failures else {
              'tournament': float(total.tournament[place]),
              'projected_bellman_error': float(total.projected[place]),
              'chosen': float(place == total.best)},
          curves={}, cpu_seconds=seconds[cell], versions=versions.versions(),
          failure=failures.get(cell, ''), preset=cell.preset,
          command=cell.command, version=rows_lib.version(cell.method))
      for place, cell in enumerate(candidates)]


def _look(
    learner: base.OPELearner, rows: types.IVBatch,
) -> tuple[types.FloatArray, types.FloatArray]:
  """Returns values of rows and Bellman errors there, [N]; nan if diverged."""
  if learner.divergence:
    nothing = np.full(len(rows.outcome), np.nan)
    return nothing, nothing
  predict = tf.function(learner.agent.predict, reduce_retracing=True)
  error = tf.cast(rows.outcome, tf.float64) - tf.cast(
      bellman.difference(predict, rows.treatment), tf.float64)
  return (predict(rows.instrument).numpy()[:, 0].astype(np.float64),
          error.numpy()[:, 0])


def _take(rows: types.IVBatch, index: np.ndarray) -> types.IVBatch:
  """Returns some of the rows."""
  return tf.nest.map_structure(
      lambda x: None if x is None else tf.gather(x, index), rows)


def _print(rows: list[results.ResultRow]) -> None:
  """Prints the scores and says which candidate won."""
  table = console.Table(
      'Candidates, fitted on half of the episodes and judged on the other',
      caption='Less is better; the tournament decides.', boxed=False)
  for column in ('method', 'tournament', 'projected Bellman error', 'CPU s'):
    table.add_column(
        column, justify='left' if column == 'method' else 'right')
  labelled = sorted(
      zip(frames.variants(rows), rows, strict=True),
      key=lambda each: each[1].metrics.get('tournament', math.inf))
  for label, row in labelled:
    scores = ['diverged', '-'] if row.failure else [
        f'{row.metrics[name]:.3g}'
        for name in ('tournament', 'projected_bellman_error')]
    table.add_row(label, *scores, f'{row.cpu_seconds:.1f}')
  table.show()
  chosen = next(label for label, row in labelled if row.metrics.get('chosen'))
  console.say(
      f'Selected {chosen}: lowest held-out correlation between its Bellman '
      "error and any candidate's Q-values.")
