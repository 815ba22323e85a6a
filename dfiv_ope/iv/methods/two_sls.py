"""Linear two-stage least squares."""

from dfiv_ope import types
from dfiv_ope.iv import closed_form, ridge, two_stage
from dfiv_ope.iv.methods.entries import two_sls as entry

# Known before this module is loaded.
Config = entry.Config


def build(
  config: Config, sizes: types.Sizes, *, seed: int = 0
) -> closed_form.Model:
  """Returns an unfitted model; nothing but the config matters to it."""
  del sizes, seed
  return closed_form.Model(config, closed_form.Columns(), closed_form.Columns())


def fit(
  config: Config,
  stage1: types.IVBatch,
  stage2: types.IVBatch,
  *,
  seed: int,
  progress: types.Progress | None = None,
) -> closed_form.Model:
  """Returns the 2SLS fit, f = u'[x, o, 1] with instruments [z, o, 1].

  Textbook 2SLS uses every row in both stages, and so does this: no features
  are learned, so there is nothing to hold rows out for.

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
  model = _solved(config, stage1, stage2, 0.0)
  if progress is not None:
    progress(1, 1, {})
  return model


def fit_fuller(
  config: Config,
  stage1: types.IVBatch,
  stage2: types.IVBatch,
  *,
  fuller: float = 1.0,
) -> closed_form.Model:
  """Returns the k-class fit of kappa = 1 - fuller / (n - L).

  With L columns of instruments, covariates counted, it is about 2SLS where they
  are strong. Where they move nothing it is about ordinary regression, and 2SLS
  may be anywhere (Fuller, 1977).

  Args:
    config: hyper-parameters.
    stage1: half of the rows.
    stage2: the other half.
    fuller: positive; 1 is usual.
  """
  return _solved(config, stage1, stage2, fuller)


def _solved(
  config: Config, stage1: types.IVBatch, stage2: types.IVBatch, fuller: float
) -> closed_form.Model:
  """Returns the fit; that of 2SLS if fuller is 0."""
  model = build(config, types.Sizes(0, 0))
  halves = [model.features(stage1), model.features(stage2)]
  weights1 = ridge.solve_sums(
    ridge.merge(*map(two_stage.stage1_sums, halves)),
    config.stage1_penalty,
    intercept=True,
  )
  total = ridge.merge(
    *(two_stage.stage2_sums(half, weights1) for half in halves)
  )
  if fuller:
    plain = ridge.merge(*map(_plain_sums, halves))
    kappa = 1.0 - fuller / max(float(total.count) - len(weights1), fuller)
    total = ridge.Sums(
      *(
        kappa * fitted + (1.0 - kappa) * actual
        for fitted, actual in zip(total, plain, strict=True)
      )
    )
  weights2 = ridge.solve_sums(total, config.stage2_penalty, intercept=True)
  model.adopt(
    two_stage.Solution(
      stage1_weights=weights1,
      stage2_weights=weights2,
      stage1_penalty=config.stage1_penalty,
      stage2_penalty=config.stage2_penalty,
      stage1_losses=(),
      stage2_losses=(ridge.mean_squared_error(total, weights2),),
    )
  )
  return model


def _plain_sums(rows: types.IVBatch) -> ridge.Sums:
  """Returns the sums of the regression on the treatments as they are."""
  return ridge.sums(
    two_stage.design(rows.treatment, rows.covariate), rows.outcome
  )
