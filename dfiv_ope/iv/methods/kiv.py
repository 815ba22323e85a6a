"""Kernel instrumental variable regression (Singh et al., 2019).

Both stages are kernel ridge regressions with Gaussian kernels. A kernel is a
finite feature map on the rows seen: a pivoted Cholesky factorisation, carried
on until nothing of the kernel matrix is left or there are enough landmarks,
gives features whose inner products are the kernel. The rest is the two-stage
regression of every other method, by K-fold cross-fitting.

Deviation: predicted features are the instruments of the actual ones
(`fold_fits.two_stages`), not their substitutes.
"""

import numpy as np

from dfiv_ope import types
from dfiv_ope.iv import (
  closed_form,
  features,
  fold_fits,
  kernels,
  landmarks,
  two_stage,
)
from dfiv_ope.iv.methods.entries import kiv as entry

# Known before this module is loaded.
Config = entry.Config
PAPER = entry.PAPER


def build(
  config: Config, sizes: types.Sizes, *, seed: int = 0
) -> closed_form.Model:
  """Returns an unfitted model that a saved state can fill."""
  maps: list[closed_form.FeatureMap] = []
  for columns in (sizes.treatment + sizes.covariate, sizes.instrument):
    if config.random_features is None:
      maps.append(landmarks.Landmarks(columns))
    else:
      maps.append(
        features.FourierFeatures(
          np.ones(columns), size=config.random_features, seed=seed
        )
      )
  return closed_form.Model(config, *maps)


def fit(
  config: Config,
  stage1: types.IVBatch,
  stage2: types.IVBatch,
  *,
  seed: int,
  progress: types.Progress | None = None,
) -> closed_form.Model:
  """Returns the KIV fit.

  The covariate joins both the treatment and the instrument, as in the paper.

  Args:
    config: hyper-parameters.
    stage1: half of the rows.
    stage2: the other half.
    seed: seeds the random features.
    progress: called once, when the fit is done.

  Returns:
    The fitted model.
  """
  rows = kernels.rows_of(config, stage1, stage2)
  columns = kernels.columns(rows)
  found = kernels.chosen_bandwidths(
    config,
    rows,
    treatment_pixels=config.treatment_pixels,
    instrument_pixels=config.instrument_pixels,
  )
  maps: list[closed_form.FeatureMap] = []
  for index, (x, bandwidth) in enumerate(
    zip((columns.treatment, columns.instrument), found, strict=True)
  ):
    bandwidth = config.bandwidth_scale * bandwidth
    maps.append(
      kernels.fitted_landmarks(config, x, bandwidth)
      if config.random_features is None
      else features.FourierFeatures(
        bandwidth, size=config.random_features, seed=(seed, index)
      )
    )
  model = closed_form.Model(config, *maps)
  if config.folds > 1:
    model.adopt(
      fold_fits.two_stages(
        fold_fits.of_folds(columns, maps[1], maps[0], config.folds),
        stage1_penalties=config.stage1_penalties,
        stage2_penalties=config.stage2_penalties,
        slack=config.slack,
        moment_penalty=config.moment_penalty,
      )
    )
  else:
    cut = len(stage1.outcome)
    model.adopt(
      two_stage.choose(
        model.features(stage1._replace(outcome=rows.outcome[:cut])),
        model.features(stage2._replace(outcome=rows.outcome[cut:])),
        stage1_penalties=config.stage1_penalties,
        stage2_penalties=config.stage2_penalties,
        slack=config.slack,
      )
    )
  if progress is not None:
    progress(1, 1, {'stage2_loss': min(model.history['stage2_loss'])})
  return model
