"""Sieve instrumental variable regression (Newey and Powell, 2003).

Two-stage least squares on dictionaries of Hermite polynomials or B-splines.
Which dictionary is decided by held-out losses: first that of the covariates,
then that of the treatment, then the same without products of both. A spline is
penalised by its roughness, so where the instruments tell little of a slope it
follows its neighbours.

Deviation: predicted functions are the instruments of the actual ones
(`closed_form.cross_fit`), not their substitutes. Outcomes of heavy tails are
clipped.
"""

import dataclasses

import numpy as np

from dfiv_ope import types
from dfiv_ope.iv import bases as bases_lib
from dfiv_ope.iv import (
  beside,
  closed_form,
  dictionaries,
  heavy_tails,
  identification,
  many_columns,
  two_stage,
)
from dfiv_ope.iv.methods.entries import sieve as entry
from dfiv_ope.nn import scaling

# Known before this module is loaded.
Config = entry.Config

# Rows that tell the rank of a dictionary.
_RANK_ROWS = 2000
# Factor of covariates that are their own instruments.
_EXOGENOUS = 30.0

_Functions = dictionaries.Dictionary | beside.Beside


def build(
  config: Config, sizes: types.Sizes, *, seed: int = 0
) -> closed_form.Model:
  """Returns an unfitted model with the first candidate of each basis."""
  del seed  # Nothing is random here.
  return closed_form.Model(config, *_dictionaries(config, sizes))


def fit(
  config: Config,
  stage1: types.IVBatch,
  stage2: types.IVBatch,
  *,
  seed: int,
  progress: types.Progress | None = None,
) -> closed_form.Model:
  """Returns the identified sieve fit of the least held-out stage-2 loss.

  Args:
    config: hyper-parameters.
    stage1: half of the rows.
    stage2: the other half.
    seed: not used; nothing is random here.
    progress: called after each candidate.

  Returns:
    The fitted model; its config holds the chosen bases only.

  Raises:
    ValueError: no candidate is small enough, or none is identified.
  """
  del seed
  if stage1.covariate is not None:
    many_columns.warn_of_many(
      closed_form.join(stage1.treatment, stage1.covariate)
    )
  stage1, stage2 = _clipped(config, stage1, stage2)
  # Without a covariate the candidates for xi do not differ.
  some = slice(1 if stage1.covariate is None else None)
  covariate_bases = config.covariate_bases[some]
  products = config.covariate_products[some]
  total = len(covariate_bases) + len(config.treatment_bases) * len(products) - 1
  fits: list[closed_form.Model] = []
  done = 0

  def attempt(
    treatment: bases_lib.Basis, covariate: bases_lib.Basis, product: bool
  ) -> None:
    nonlocal done
    model = _fit_one(
      dataclasses.replace(
        config,
        treatment_bases=(treatment,),
        covariate_bases=(covariate,),
        covariate_products=(product,),
      ),
      stage1,
      stage2,
    )
    done += 1
    if model is not None:
      fits.append(model)
    if progress is not None and fits:
      progress(done, total, {'stage2_loss': min(map(_loss, fits))})

  for basis in covariate_bases:
    attempt(config.treatment_bases[0], basis, products[0])
  if not fits:
    raise ValueError(
      f'Every covariate basis needs more than {config.most_columns} columns '
      'in stage 2. Raise most_columns, or pass smaller covariate_bases or '
      'fewer covariates.'
    )
  covariate_basis = min(fits, key=_loss).config.covariate_bases[0]
  for product in products:
    for basis in config.treatment_bases[product == products[0] :]:
      attempt(basis, covariate_basis, product)
  fits.sort(key=_loss)
  rows = _joined(stage1, stage2)
  for model in fits:
    if _identified(model, rows):
      return model
  raise ValueError(
    'Not identified (rank condition): no treatment basis has as few '
    'functions as those of Z can tell apart given X. Pass a smaller one, '
    'such as treatment_bases=(bases.Hermite(1),), or instruments of '
    'more values.'
  )


def _fit_one(
  config: Config, stage1: types.IVBatch, stage2: types.IVBatch
) -> closed_form.Model | None:
  """Returns the fit of the first candidates; None if it is too wide."""
  rows = _joined(stage1, stage2)
  sizes = [0 if x is None else x.shape[1] for x in rows]
  treatment, instrument, covariate = _dictionaries(
    config, types.Sizes(sizes[0], sizes[1], sizes[3])
  )
  instrument.adapt(rows.instrument)
  if covariate is None:
    treatment.adapt(closed_form.join(rows.treatment, rows.covariate))
  else:
    treatment.adapt(rows.treatment)
  width = treatment.size + 1
  if covariate is not None and rows.covariate is not None:
    covariate.adapt(rows.covariate)
    width *= covariate.size + 1
  if width > config.most_columns:
    return None
  model = closed_form.Model(config, treatment, instrument, covariate)
  model.adopt(
    closed_form.cross_fit(
      model.features(stage1),
      model.features(stage2),
      stage1_penalties=config.stage1_penalties,
      stage2_penalties=config.stage2_penalties,
      slack=config.slack,
      moment_penalty=config.moment_penalty,
    )
  )
  return model


def _joined(stage1: types.IVBatch, stage2: types.IVBatch) -> types.IVBatch:
  """Returns the rows of both stages."""
  return types.IVBatch(
    *(
      None if first is None else np.concatenate([first, second])
      for first, second in zip(stage1, stage2, strict=True)
    )
  )


def _clipped(
  config: Config, stage1: types.IVBatch, stage2: types.IVBatch
) -> tuple[types.IVBatch, types.IVBatch]:
  """Returns both stages with heavy tails of outcomes clipped."""
  rows = _joined(stage1, stage2)
  outcome = heavy_tails.clip(
    np.asarray(rows.outcome, np.float64),
    config.outcome_width,
    closed_form.join(rows.treatment, rows.covariate),
  )
  cut = len(stage1.outcome)
  return (
    stage1._replace(outcome=outcome[:cut]),
    stage2._replace(outcome=outcome[cut:]),
  )


def _identified(model: closed_form.Model, rows: types.IVBatch) -> bool:
  """Returns whether stage 1 keeps every direction of the stage-2 design.

  The direction of a coefficient is lost where the design varies along it,
  given the covariates, and its prediction does not.
  """
  found = model.features(
    types.IVBatch(
      *(
        None if each is None else each[:: -(-len(each) // _RANK_ROWS)]
        for each in rows
      )
    )
  )
  psi, phi = (_standard(each) for each in (found.treatment, found.instrument))
  constant = np.ones((len(psi), 1))
  given = constant
  if found.covariate is not None:
    given = np.concatenate([_standard(found.covariate), constant], axis=1)
  given = identification.basis(given, relative=True)
  span = identification.basis(phi, relative=True)
  # The columns of covariates alone come last, and are given.
  both = [
    identification.residual(two_stage.design(each, found.covariate), given)
    for each in (psi, span @ (span.T @ psi))
  ]
  return bool(np.all(identification.kept(*both) > identification.TOLERANCE))


def _standard(columns: types.FloatArray) -> types.FloatArray:
  return scaling.fit_standardiser(columns).apply(columns)


def _dictionaries(
  config: Config, sizes: types.Sizes
) -> tuple[_Functions, _Functions, dictionaries.Dictionary | None]:
  """Returns the dictionaries of treatment, instrument and covariate.

  Without products that of the treatment has the covariates beside it. These
  are their own instruments, which no penalty should shrink.
  """

  def make(bases: list[bases_lib.Basis]) -> dictionaries.Dictionary:
    return dictionaries.Dictionary(
      bases,
      interaction=config.interaction,
      most_functions=config.most_functions,
    )

  covariate_bases = [config.covariate_bases[0]] * sizes.covariate
  instrument_bases = [config.instrument_basis] * (
    sizes.instrument - sizes.covariate
  )
  treatment = make([config.treatment_bases[0]] * sizes.treatment)
  # The covariates are the last columns of the instrument.
  instrument = make(instrument_bases + covariate_bases)
  if not sizes.covariate:
    return treatment, instrument, None
  covariate = make(covariate_bases)
  if config.covariate_products[0]:
    return treatment, instrument, covariate
  last = slice(-sizes.covariate, None)
  return (
    beside.Beside(
      beside.Part(treatment, slice(sizes.treatment)),
      beside.Part(covariate, last),
    ),
    beside.Beside(
      beside.Part(instrument, slice(None)),
      beside.Part(make(covariate_bases), last, _EXOGENOUS),
    ),
    None,
  )


def _loss(model: closed_form.Model) -> float:
  return min(model.history['stage2_loss'])
