"""Kernel instrumental variable regression (Singh et al., 2019).

Both stages are kernel ridge regressions with Gaussian kernels. The exact
kernel is a finite feature map on the rows seen: a pivoted Cholesky
factorisation, carried on until nothing of the kernel matrix is left, gives
features whose inner products are the kernel. Its rank is far below the number
of rows, and the rest is the two-stage regression of every other method.
"""

from collections.abc import Mapping
import functools

import numpy as np
from scipy import linalg

from dfiv_ope import types
from dfiv_ope.iv import closed_form, features, two_stage
from dfiv_ope.iv.methods.entries import kiv as entry

# Known before this module is loaded.
Config = entry.Config
PAPER = entry.PAPER


class Landmarks:
  """Features whose inner products are the Gaussian kernel on given rows."""

  def __init__(self, columns: int):
    """Initialises the features of `columns` inputs; `adapt` fits them."""
    self._points = np.zeros([0, columns])
    self._bandwidth = np.ones(columns)
    self._factor = np.zeros([0, 0])

  def adapt(
      self, x: types.FloatArray, bandwidth: types.FloatArray,
      tolerance: float,
  ) -> None:
    """Picks landmarks among the rows of x [B, D] by pivoted Cholesky.

    Args:
      x: the rows on which the kernel is to be exact.
      bandwidth: of each column, [D].
      tolerance: the rest of the kernel's diagonal at which to stop.
    """
    scaled = x / bandwidth
    rest = np.ones(len(x))
    factor = np.zeros((len(x), 0))
    block = np.zeros((len(x), 256))
    picked: list[int] = []
    while rest.max() >= tolerance and len(picked) < len(x):
      if len(picked) == factor.shape[1]:
        factor = np.concatenate([factor, block], axis=1)
      row, done = int(np.argmax(rest)), len(picked)
      distance = np.sum(np.square(scaled - scaled[row]), axis=1)
      column = np.exp(-distance / 2.) - factor[:, :done] @ factor[row, :done]
      factor[:, done] = column / np.sqrt(rest[row])
      rest -= np.square(factor[:, done])
      rest[row] = -1.
      picked.append(row)
    self._points = x[picked]
    self._bandwidth = bandwidth
    # The rows of the landmarks make the triangular factor of their kernel.
    self._factor = np.tril(factor[picked, :len(picked)])

  def __call__(self, x: types.FloatArray) -> types.FloatArray:
    """Returns features [B, landmarks] of x [B, D], float64."""
    scaled = np.asarray(x, np.float64) / self._bandwidth
    points = self._points / self._bandwidth
    distance = (np.sum(np.square(scaled), axis=1)
                + np.sum(np.square(points), axis=1)[:, None]
                - 2. * points @ scaled.T)
    kernel = np.exp(-np.maximum(distance, 0.) / 2.)  # [landmarks, B]
    return linalg.solve_triangular(
        self._factor, kernel, lower=True, check_finite=False).T

  def state(self) -> Mapping[str, types.FloatArray]:
    """Returns what `restore` needs."""
    return {'points': self._points, 'bandwidth': self._bandwidth,
            'factor': self._factor}

  def restore(self, state: Mapping[str, types.FloatArray]) -> None:
    """Takes what `state` of other landmarks returned."""
    self._points = state['points']
    self._bandwidth = state['bandwidth']
    self._factor = state['factor']


def build(
    config: Config, sizes: types.Sizes, *, seed: int = 0,
) -> closed_form.Model:
  """Returns an unfitted model that a saved state can fill."""
  maps: list[closed_form.FeatureMap] = []
  for columns in (sizes.treatment + sizes.covariate, sizes.instrument):
    if config.random_features is None:
      maps.append(Landmarks(columns))
    else:
      maps.append(features.FourierFeatures(
          np.ones(columns), size=config.random_features, seed=seed))
  return closed_form.Model(config, *maps)


def fit(
    config: Config, stage1: types.IVBatch, stage2: types.IVBatch, *,
    seed: int, progress: types.Progress | None = None,
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
  maps: list[closed_form.FeatureMap] = []
  halves = stage1, stage2
  for index, (rows, pixels) in enumerate((
      ([closed_form.join(half.treatment, half.covariate) for half in halves],
       config.treatment_pixels),
      ([closed_form.join(half.instrument) for half in halves],
       config.instrument_pixels))):
    rows = np.concatenate(rows)
    bandwidth = config.bandwidth_scale * features.median_bandwidth(
        rows, pixels=pixels)
    if config.random_features is None:
      landmarks = Landmarks(rows.shape[1])
      landmarks.adapt(rows, bandwidth, config.tolerance)
      maps.append(landmarks)
    else:
      maps.append(features.FourierFeatures(
          bandwidth, size=config.random_features, seed=(seed, index)))
  model = closed_form.Model(config, *maps)
  solve = functools.partial(
      closed_form.cross_fit, slack=config.slack,
  ) if config.cross_fit else two_stage.choose
  model.adopt(solve(
      model.features(stage1), model.features(stage2),
      stage1_penalties=config.stage1_penalties,
      stage2_penalties=config.stage2_penalties))
  if progress is not None:
    progress(1, 1, {'stage2_loss': min(model.history['stage2_loss'])})
  return model
