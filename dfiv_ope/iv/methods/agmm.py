"""Adversarial GMM on kernels, in closed form (Dikkala et al., 2020).

The structural function is the one whose residual the best function of the
instrument, in the ball of a kernel, can predict least. For two kernels that
game has a solution in closed form (`fold_fits.projected_moments`). No row is
held out of the fit, and an error of stage 1 costs precision only: predicted
features are the instruments of the actual ones.
"""

from dfiv_ope import types
from dfiv_ope.iv import closed_form, fold_fits, kernels, landmarks
from dfiv_ope.iv.methods.entries import agmm as entry

# Known before this module is loaded.
Config = entry.Config


def build(
  config: Config, sizes: types.Sizes, *, seed: int = 0
) -> closed_form.Model:
  """Returns an unfitted model that a saved state can fill."""
  del seed  # Nothing is random here.
  return closed_form.Model(
    config,
    landmarks.Landmarks(sizes.treatment + sizes.covariate),
    landmarks.Landmarks(sizes.instrument),
  )


def fit(
  config: Config,
  stage1: types.IVBatch,
  stage2: types.IVBatch,
  *,
  seed: int,
  progress: types.Progress | None = None,
) -> closed_form.Model:
  """Returns the AGMM fit.

  Args:
    config: hyper-parameters.
    stage1: half of the rows.
    stage2: the other half.
    seed: not used; nothing is random here.
    progress: called once, when the fit is done.

  Returns:
    The fitted model.
  """
  del seed
  rows = kernels.rows_of(config, stage1, stage2)
  columns = kernels.columns(rows)
  psi, phi = (
    kernels.fitted_landmarks(config, x, bandwidth)
    for x, bandwidth in zip(
      (columns.treatment, columns.instrument),
      kernels.chosen_bandwidths(config, rows),
      strict=True,
    )
  )
  model = closed_form.Model(config, psi, phi)
  model.adopt(
    fold_fits.projected_moments(
      fold_fits.of_folds(columns, phi, psi, config.folds),
      stage1_penalties=config.stage1_penalties,
      stage2_penalties=config.stage2_penalties,
      slack=config.slack,
    )
  )
  if progress is not None:
    progress(1, 1, {'stage2_loss': min(model.history['stage2_loss'])})
  return model
