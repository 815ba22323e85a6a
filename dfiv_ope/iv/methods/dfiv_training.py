"""The training of DFIV's features: Algorithm 1 until the loss falls no more.

Spectral features come before it, or in its place (`dfiv_spectral`).

dfiv_training.train(model, stage1, stage2, seed=0)      # also solves
"""

from collections.abc import Callable
import dataclasses

import numpy as np

from dfiv_ope import types
from dfiv_ope.iv import features
from dfiv_ope.iv.methods import (
  dfiv_graphs,
  dfiv_losses,
  dfiv_model,
  dfiv_spectral,
)
from dfiv_ope.iv.methods.entries import dfiv as entry
from dfiv_ope.nn import descent

# Fixed features of the instrument that tell how far psi has come, their stage-1
# penalty, and the rows that tell their scale. Of more columns than these,
# random features tell little, and phi takes their place.
_JUDGES, _JUDGE_PENALTY, _BANDWIDTH_ROWS, _MOST_COLUMNS = 100, 1e-3, 500, 20


def train(
  model: dfiv_model.DFIV,
  stage1: types.IVBatch,
  stage2: types.IVBatch,
  *,
  seed: int,
  progress: types.Progress | None,
  watch: descent.Watch | None,
) -> None:
  """Learns the features of a model and solves both stages on all rows.

  Args:
    model: untrained.
    stage1: rows of stage 1 as float32 tensors.
    stage2: rows of stage 2.
    seed: of the batches that are drawn.
    progress: told the losses at each check.
    watch: shown the model at each check, solved on all rows.
  """
  config = model.config
  judge = _judge(stage1, stage2, seed)
  descents = [model.treatment, model.instrument]
  if model.covariate is not None:
    descents.append(model.covariate)
  history: dict[str, list[float]] = {}
  iterations = config.most_iterations(covariates=model.covariate is not None)
  before, total = config.spectral_steps, config.spectral_steps + iterations
  if before:
    history |= dfiv_spectral.train(
      model,
      stage1,
      stage2,
      seed=seed,
      progress=None
      if progress is None
      else lambda done, _, losses: progress(done, total, losses),
    )
  best = [each.values() for each in descents]
  with dfiv_graphs.borrowed(model, stage1, stage2, seed=seed) as graph:
    for done, until in _intervals(config, iterations):
      metrics = {}
      if iterations:
        losses = graph.run(until - done)
        metrics = {
          'stage1_loss': float(losses[0]),
          'stage2_loss': float(losses[1]),
        }
      found = model.features_of(stage1, stage2)
      held_out = dfiv_losses.held_out_losses(config.rule, *found)
      metrics |= {
        'held_out_stage1_loss': float(held_out.stage1),
        'held_out_stage2_loss': float(held_out.stage2),
        'cross_fitted_loss': judge(config, *found),
      }
      for name, value in metrics.items():
        history.setdefault(name, []).append(value)
      judged = history['held_out_stage2_loss']
      if judged[-1] == min(judged):
        best = [each.values() for each in descents]
      ended = 0 < config.patience < len(judged) - int(np.argmin(judged))
      if progress is not None:
        progress(total if ended else before + until, total, metrics)
      if watch is not None:
        model.solve(stage1, stage2)
        watch(model)
      if ended:
        break
  for each, values in zip(descents, best, strict=True):
    each.adopt(values)
  if config.candidate_penalties:
    model.config = dfiv_losses.choose_penalties(
      config, *model.features_of(stage1, stage2)
    )
  model.solve(stage1, stage2)
  model.history = history


def _intervals(config: entry.Config, iterations: int) -> list[tuple[int, int]]:
  """Returns (iterations done before, after) for each check."""
  if not iterations:
    return [(0, 0)]
  if config.patience:
    return descent.growing_intervals(iterations, config.checks)
  return descent.intervals(iterations, config.checks)


def _judge(
  stage1: types.IVBatch, stage2: types.IVBatch, seed: int
) -> Callable[[entry.Config, types.IVBatch, types.IVBatch], float]:
  """Returns what gives the loss of psi by which convergence is told.

  Stage 1 is solved on fixed random features: those of phi fit its rows ever
  better, which moves the loss whether or not psi gets any better.
  """
  fixed: list[types.FloatArray] = []
  if stage1.instrument.shape[1] <= _MOST_COLUMNS:
    random = features.FourierFeatures(
      features.median_bandwidth(stage1.instrument.numpy()[:_BANDWIDTH_ROWS]),
      size=_JUDGES,
      seed=(seed, 4),
    )
    fixed = [random(half.instrument) for half in (stage1, stage2)]

  def loss(
    config: entry.Config, first: types.IVBatch, second: types.IVBatch
  ) -> float:
    rule = config.rule
    if fixed:
      rule = dataclasses.replace(rule, stage1_penalty=_JUDGE_PENALTY)
      first, second = (
        half._replace(instrument=columns)
        for half, columns in zip((first, second), fixed, strict=True)
      )
    return float(dfiv_losses.cross_fitted_loss(rule, first, second))

  return loss
