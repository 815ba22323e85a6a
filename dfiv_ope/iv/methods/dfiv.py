"""DFIV on arrays: features learned for two-stage least squares.

Networks give features of the treatment (psi), the instrument (phi) and the
covariates (xi), if there are any. The weights between them have closed forms,
through which gradients reach the networks (`dfiv_algorithm`).

    model = dfiv.fit(dfiv.Config(), stage1, stage2, seed=0)
    model.predict(treatment, covariate)                       # [B, 1]
"""

import dataclasses
import functools

import numpy as np

from dfiv_ope import types
from dfiv_ope.iv import splits
from dfiv_ope.iv.methods import (
  dfiv_average,
  dfiv_losses,
  dfiv_model,
  dfiv_training,
)
from dfiv_ope.iv.methods.entries import dfiv as entry
from dfiv_ope.nn import descent, layers

# Known before this module is loaded.
Config = entry.Config
PAPER = entry.PAPER

TRAINED = {'cross_fitted_loss': 'iterations'}


def fit(
  config: Config,
  stage1: types.IVBatch,
  stage2: types.IVBatch,
  *,
  seed: int,
  progress: types.Progress | None = None,
  watch: descent.Watch | None = None,
) -> dfiv_model.DFIV | dfiv_average.Average:
  """Learns the features, then solves both stages on all rows.

  Deviation: with `fixed_landmarks` the answer is averaged with one of features
  that are not learned (`dfiv_fixed`), with `members` over several trainings.

  Args:
    config: hyper-parameters.
    stage1: rows of stage 1, standardised float32, [B, D] each.
    stage2: rows of stage 2, disjoint from those of stage 1.
    seed: seeds everything that is drawn.
    progress: told the losses at each check.
    watch: shown the model at each check, solved on all rows; of several
      members the first.

  Returns:
    The fitted model; its `history` has the losses at each check.
  """
  if config.members == 1:
    return _fit(
      config, stage1, stage2, seed=seed, progress=progress, watch=watch
    )
  members: list[dfiv_model.DFIV] = []
  for index in range(config.members):
    halves = (stage2, stage1) if index % 2 else (stage1, stage2)
    members.append(
      _fit(
        config,
        *halves,
        seed=splits.derived(seed, index),
        progress=_told(progress, index, config.members),
        watch=None if index else watch,
      )
    )
    # The first member finds the number of features for all: they are averaged
    # and saved as models of one config.
    config = dataclasses.replace(
      config, treatment_net=members[0].config.treatment_net, feature_counts=()
    )
  return dfiv_average.Average(config, members)


def build(
  config: Config, sizes: types.Sizes, *, seed: int = 0
) -> dfiv_model.DFIV | dfiv_average.Average:
  """Returns an untrained model whose variables a checkpoint can fill.

  Args:
    config: hyper-parameters.
    sizes: numbers of columns.
    seed: seeds the networks.
  """
  members = [
    dfiv_model.build(config, sizes, seed=splits.derived(seed, index))
    for index in range(config.members)
  ]
  return dfiv_average.Average(config, members) if members[1:] else members[0]


def _fit(
  config: Config,
  stage1: types.IVBatch,
  stage2: types.IVBatch,
  *,
  seed: int,
  progress: types.Progress | None,
  watch: descent.Watch | None,
) -> dfiv_model.DFIV:
  """Returns one model, of as many features as the rows ask for."""
  stage1, stage2 = map(
    descent.tensors, dfiv_losses.clipped(config.outcome_width, stage1, stage2)
  )
  configs = [
    with_features(config, count)
    for count in config.counts(covariates=stage1.covariate is not None)
  ] or [config]
  models = [
    dfiv_model.build(each, descent.sizes(stage1), seed=seed) for each in configs
  ]
  for index, model in enumerate(models):
    dfiv_training.train(
      model,
      stage1,
      stage2,
      seed=seed,
      watch=watch,
      progress=_told(progress, index, len(models)),
    )
  losses = (
    [
      dfiv_losses.cross_fitted_loss(
        model.config.rule, *model.features_of(stage1, stage2)
      )
      for model in models
    ]
    if models[1:]
    else [0.0]
  )
  model = models[int(np.argmin(losses))]
  if model.fixed is not None:
    model.add_fixed(stage1, stage2)
    model.history['learned_share'] = [float(model.fixed.share)]
  return model


def with_features(config: Config, count: int) -> Config:
  """Returns a config with as many treatment features, and no others to try."""
  last = config.treatment_net[-1]
  assert isinstance(last, layers.Dense), 'The default ends in one.'
  return dataclasses.replace(
    config,
    feature_counts=(),
    treatment_net=(
      *config.treatment_net[:-1],
      dataclasses.replace(last, size=count),
    ),
  )


def _told(
  progress: types.Progress | None, index: int, count: int
) -> types.Progress | None:
  """Returns what one of several trainings tells its progress."""
  if progress is None:
    return None
  return functools.partial(_part, progress, index, count)


def _part(
  progress: types.Progress,
  index: int,
  count: int,
  step: int,
  steps: int,
  losses: dict[str, float],
) -> None:
  """Tells the progress of one of several trainings."""
  progress(index * steps + step, count * steps, losses)
