"""Sieve instrumental variable regression (Newey and Powell, 2003).

Two-stage least squares on dictionaries of Hermite polynomials or B-splines.
Which dictionary is decided by held-out losses: first that of the covariates,
then that of the treatment.
"""

from collections.abc import Callable
import dataclasses
from typing import Any

import numpy as np
import tensorflow as tf

from dfiv_ope import closed_form, dictionaries, two_stage, types

_GRID = tuple(float(x) for x in 10. ** np.arange(-9., 0.25, 0.5))


@dataclasses.dataclass(frozen=True, kw_only=True)
class Config:
  """Hyper-parameters of sieve IV.

  Attributes:
    treatment_bases: candidates for psi, the simplest first.
    covariate_bases: candidates for xi, and for the covariate's part of phi.
    instrument_basis: the instrument's part of phi.
    interaction: the most columns of one variable that a product joins.
    most_functions: a dictionary that could have more functions than this is
      built with fewer columns a product.
    most_columns: treatment bases whose stage-2 design has more columns than
      this are not tried.
    stage1_penalties: candidates of lambda1.
    stage2_penalties: candidates of lambda2.
  """
  treatment_bases: tuple[dictionaries.Basis, ...] = (
      dictionaries.Hermite(1), dictionaries.Hermite(2),
      dictionaries.BSpline(5), dictionaries.BSpline(8),
      dictionaries.BSpline(12))
  covariate_bases: tuple[dictionaries.Basis, ...] = (
      dictionaries.Hermite(2), dictionaries.BSpline(6),
      dictionaries.BSpline(12), dictionaries.BSpline(24))
  instrument_basis: dictionaries.Basis = dictionaries.Hermite(2)
  interaction: int = 2
  most_functions: int = 700
  most_columns: int = 1300
  stage1_penalties: tuple[float, ...] = _GRID
  stage2_penalties: tuple[float, ...] = _GRID

  def __post_init__(self) -> None:
    if self.interaction < 1:
      raise ValueError(
          f'interaction must be at least 1, got {self.interaction}.')
    for name in ('treatment_bases', 'covariate_bases'):
      if not getattr(self, name):
        raise ValueError(f'{name} must name at least one basis, got none.')
    for name in ('stage1_penalties', 'stage2_penalties'):
      values = getattr(self, name)
      if not values or not all(value > 0 for value in values):
        raise ValueError(
            f'{name} must be positive candidates, at least one, got '
            f'{values}.')


class _Products(tf.Module):
  """phi(z, o): products of the instrument's and the covariate's functions."""

  def __init__(
      self,
      instrument: dictionaries.Dictionary,
      covariate: dictionaries.Dictionary,
  ):
    super().__init__()
    self._instrument = instrument
    self._covariate = covariate

  def __call__(self, x: tf.Tensor) -> tf.Tensor:
    size = self._instrument.columns
    products = two_stage.design(
        self._instrument(x[:, :size]), self._covariate(x[:, size:]))
    return products[:, :-1]


def build(
    config: Config,
    *,
    treatment_size: int,
    instrument_size: int,
    covariate_size: int = 0,
    seed: int = 0,
) -> closed_form.Model:
  """Returns an unfitted model with the first candidate of each basis."""
  del seed  # Nothing is random here.
  return _assemble(config, _dictionaries(
      config, treatment_size, instrument_size - covariate_size,
      covariate_size))


def fit(
    config: Config,
    stage1: types.IVBatch,
    stage2: types.IVBatch,
    *,
    seed: int,
    progress: Callable[[int, int, dict[str, Any]], None] | None = None,
) -> closed_form.Model:
  """Returns the sieve fit of the least held-out stage-2 loss.

  Args:
    config: hyper-parameters.
    stage1: half of the rows.
    stage2: the other half.
    seed: not used; nothing is random here.
    progress: called after each candidate.

  Returns:
    The fitted model; its config holds the chosen bases only.
  """
  del seed
  # Without a covariate the candidates for xi do not differ.
  covariate_bases = config.covariate_bases[
      :1 if stage1.covariate is None else None]
  total = len(covariate_bases) + len(config.treatment_bases) - 1
  fits: list[closed_form.Model] = []

  def attempt(
      treatment: dictionaries.Basis, covariate: dictionaries.Basis,
  ) -> None:
    chosen = dataclasses.replace(
        config, treatment_bases=(treatment,), covariate_bases=(covariate,))
    fits.append(_fit_one(chosen, stage1, stage2))
    if progress is not None:
      progress(len(fits), total, {'stage2_loss': _loss(fits[-1])})

  for basis in covariate_bases:
    attempt(config.treatment_bases[0], basis)
  best = min(fits, key=_loss)
  covariate = best.features(stage1).covariate
  factor = 1 if covariate is None else covariate.shape[1] + 1
  columns = stage1.treatment.shape[1]
  for basis in config.treatment_bases[1:]:
    width = 1 + dictionaries.count(
        basis, columns, min(config.interaction, columns))
    if width * factor <= config.most_columns:
      attempt(basis, best.config.covariate_bases[0])
  return min(fits, key=_loss)


def _fit_one(
    config: Config, stage1: types.IVBatch, stage2: types.IVBatch,
) -> closed_form.Model:
  """Returns the fit with the first candidate of each basis."""
  rows = types.IVBatch(*(
      None if first is None else np.concatenate([first, second])
      for first, second in zip(stage1, stage2, strict=True)))
  sizes = [0 if x is None else x.shape[1] for x in rows]
  # The covariates are the last columns of the instrument.
  members = (
      rows.treatment, rows.instrument[:, :sizes[1] - sizes[3]],
      rows.covariate)
  maps = _dictionaries(config, sizes[0], sizes[1] - sizes[3], sizes[3])
  for dictionary, columns in zip(maps, members, strict=True):
    if dictionary is not None:
      dictionary.adapt(columns)
  model = _assemble(config, maps)
  model.adopt(closed_form.cross_fit(
      model.features(stage1), model.features(stage2),
      stage1_penalties=config.stage1_penalties,
      stage2_penalties=config.stage2_penalties))
  return model


def _dictionaries(
    config: Config, treatment_size: int, instrument_size: int,
    covariate_size: int,
) -> tuple[dictionaries.Dictionary, dictionaries.Dictionary,
           dictionaries.Dictionary | None]:
  """Returns the dictionaries of treatment, instrument and covariate."""
  return (
      _dictionary(config, config.treatment_bases[0], treatment_size),
      _dictionary(config, config.instrument_basis, instrument_size),
      _dictionary(config, config.covariate_bases[0], covariate_size)
      if covariate_size else None)


def _assemble(
    config: Config,
    maps: tuple[dictionaries.Dictionary, dictionaries.Dictionary,
                dictionaries.Dictionary | None],
) -> closed_form.Model:
  treatment, instrument, covariate = maps
  if covariate is None:
    return closed_form.Model(config, treatment, instrument)
  return closed_form.Model(
      config, treatment, _Products(instrument, covariate), covariate)


def _loss(model: closed_form.Model) -> float:
  return min(model.history['stage2_loss'])


def _dictionary(
    config: Config, basis: dictionaries.Basis, columns: int,
) -> dictionaries.Dictionary:
  """Returns the dictionary with as much interaction as the config allows."""
  interaction = min(config.interaction, columns)
  while interaction > 1 and dictionaries.count(
      basis, columns, interaction) > config.most_functions:
    interaction -= 1
  return dictionaries.Dictionary(basis, columns, interaction=interaction)
