"""The model of DFIV: networks, closed-form weights and what f is made of."""

from collections.abc import Mapping

import numpy as np
import sonnet as snt
import tensorflow as tf

from dfiv_ope import types
from dfiv_ope.iv import differentiable, two_stage
from dfiv_ope.iv.methods import dfiv_algorithm, dfiv_fixed, dfiv_losses
from dfiv_ope.iv.methods.entries import dfiv as entry
from dfiv_ope.iv.methods.entries import update_rules
from dfiv_ope.nn import descent, networks, optimizers


class DFIV(tf.Module):
  """Deep feature instrumental variable regression: `dfiv_algorithm.Learned`.

  Attributes:
    config: hyper-parameters.
    treatment: psi in training.
    instrument: phi in training.
    covariate: xi in training, or None.
    stage2_weights: u of the last `solve`, [D, 1]; empty before the first.
    fixed: what f has of features that are not learned (`dfiv_fixed`), or None.
    history: losses at each check of the training.
  """

  def __init__(
    self,
    config: entry.Config,
    *,
    treatment_net: snt.Module,
    instrument_net: snt.Module,
    covariate_net: snt.Module | None = None,
    fixed: dfiv_fixed.FixedPart | None = None,
  ):
    """Initialises the method with networks whose variables exist."""
    super().__init__()
    self.config = config
    self.fixed = fixed
    self.history: dict[str, list[float]] = {}
    self.stage2_weights = tf.Variable(
      tf.zeros([0, 1]), shape=[None, 1], trainable=False
    )
    self.treatment, self.instrument = descents(
      config, treatment_net, instrument_net
    )
    self.covariate = (
      None
      if covariate_net is None
      else descent.Descent(
        covariate_net, optimizers.Adam, rate=config.learning_rate
      )
    )

  # AutoGraph has nothing to convert here, and would take seconds to see that.
  @tf.autograph.experimental.do_not_convert
  def update(
    self, stage1: types.IVBatch, stage2: types.IVBatch
  ) -> Mapping[str, tf.Tensor]:
    """Makes one iteration from two independent batches; returns its losses."""
    rule = self.config.rule
    if rule.joint:
      return dfiv_algorithm.iterate_jointly(self, rule, stage1, stage2)
    return dfiv_algorithm.iterate(
      self, rule, stage1, stage2, covariate_steps=rule.covariate_steps
    )

  def psi(self, rows: types.IVBatch) -> tf.Tensor:
    return _call(self.treatment, rows.treatment, True)

  def phi(self, rows: types.IVBatch) -> tf.Tensor:
    return _call(self.instrument, rows.instrument, True)

  def xi(self, rows: types.IVBatch) -> tf.Tensor | None:
    return _call(self.covariate, rows.covariate, True)

  def regression(self, of: types.IVBatch) -> tuple[tf.Tensor, tf.Tensor]:
    return of.instrument, of.treatment

  def design(self, treatment: tf.Tensor, of: types.IVBatch) -> tf.Tensor:
    return differentiable.design(treatment, of.covariate)

  def step_at_once(
    self, rule: update_rules.DFIV, stage1: types.IVBatch, stage2: types.IVBatch
  ) -> tuple[tf.Tensor, tf.Tensor]:
    return dfiv_algorithm.step_at_once(self, rule, stage1, stage2)

  def features(self, rows: types.IVBatch) -> types.IVBatch:
    """Returns rows with psi, phi, xi in place of the variables, [B, ...]."""
    return types.IVBatch(
      treatment=_call(self.treatment, rows.treatment, False),
      instrument=_call(self.instrument, rows.instrument, False),
      outcome=rows.outcome,
      covariate=_call(self.covariate, rows.covariate, False),
    )

  def structural_columns(
    self, treatment: types.Nest, covariate: types.Nest | None = None
  ) -> types.FloatArray:
    """Returns what f is linear in, without the constant, [B, D]."""
    columns = np.asarray(self._design(treatment, covariate)[:, :-1])
    if self.fixed is None or not self.fixed.fitted:
      return columns
    share = float(self.fixed.share)
    return np.concatenate(
      [
        share * columns,
        (1.0 - share) * self.fixed.columns(treatment, covariate),
      ],
      axis=1,
    )

  def instrument_columns(self, instrument: types.Nest) -> types.FloatArray:
    """Returns phi and, where they serve, fixed features, [B, d2]."""
    columns = np.asarray(_call(self.instrument, instrument, False))
    if self.fixed is None or not self.fixed.fitted:
      return columns
    return np.concatenate(
      [columns, self.fixed.instrument(np.asarray(instrument, np.float64))],
      axis=1,
    )

  def solve(self, stage1: types.IVBatch, stage2: types.IVBatch) -> None:
    """Solves both stages on the whole data set, Eq. (7) and (9).

    Deviation: with `swap_solve` both halves serve in both stages; with
    `refinements` see `dfiv_algorithm.stage2`.

    Args:
      stage1: all rows of stage 1.
      stage2: all rows of stage 2, disjoint from those of stage 1.
    """
    self.stage2_weights.assign(
      dfiv_losses.solve(
        self.config.rule,
        *self.features_of(stage1, stage2),
        swap=self.config.swap_solve,
      )
    )

  def add_fixed(self, stage1: types.IVBatch, stage2: types.IVBatch) -> None:
    """Fits what is not learned, and finds the share of what is.

    Psi was trained by outcomes of stage 2, so those of stage 1 tell the share.

    Args:
      stage1: all rows of stage 1, after `solve`.
      stage2: all rows of stage 2.
    """
    assert self.fixed is not None
    halves = [dfiv_losses.arrays(half) for half in (stage1, stage2)]
    told = self.fixed.fit(*halves, most=self.config.fixed_landmarks)
    if told is None:
      return
    self.history['curve_t'] = [told.curve]
    if told.bend is not None:
      self.history['bend_t'] = [told.bend]
    found = self.features_of(stage1, stage2)
    weights = dfiv_losses.solve(self.config.rule, *found, swap=False)
    learned = np.concatenate(
      [
        two_stage.predict(each.treatment, each.covariate, weights)
        for each in found
      ]
    )
    fixed = np.concatenate(
      [self.fixed.columns(half.treatment, half.covariate) for half in halves]
    )
    self.fixed.share.assign(
      dfiv_fixed.share(
        learned,
        fixed @ told.of_stage2[:-1] + told.of_stage2[-1],
        halves[0].outcome,
        tuple(
          np.concatenate(
            [each.instrument, self.fixed.instrument(half.instrument)], axis=1
          )
          for each, half in zip(found, halves, strict=True)
        ),
      )
    )

  def predict(
    self, treatment: types.Nest, covariate: types.Nest | None = None
  ) -> types.FloatArray:
    """Returns the structural function at the given points, [B, 1]."""
    learned = np.asarray(
      differentiable.predict(
        self._design(treatment, covariate), self.stage2_weights
      )
    )
    if self.fixed is None or not self.fixed.fitted:
      return learned
    share = float(self.fixed.share)
    return share * learned + (1.0 - share) * self.fixed.predict(
      treatment, covariate
    )

  def features_of(self, *halves: types.IVBatch) -> list[types.IVBatch]:
    """Returns `features` of each, as numpy has them."""
    return [dfiv_losses.arrays(self.features(half)) for half in halves]

  def _design(
    self, treatment: types.Nest, covariate: types.Nest | None
  ) -> tf.Tensor:
    return differentiable.design(
      _call(self.treatment, treatment, False),
      _call(self.covariate, covariate, False),
    )


def descents(
  config: entry.Config, treatment_net: snt.Module, instrument_net: snt.Module
) -> tuple[descent.Descent, descent.Descent]:
  """Returns the descents of psi and phi, with fresh moments."""
  return (
    descent.Descent(
      treatment_net, optimizers.Adam, rate=config.treatment_learning_rate
    ),
    descent.Descent(instrument_net, optimizers.Adam, rate=config.learning_rate),
  )


def build(config: entry.Config, sizes: types.Sizes, *, seed: int = 0) -> DFIV:
  """Returns an untrained model whose variables a checkpoint can fill.

  Args:
    config: hyper-parameters.
    sizes: numbers of columns.
    seed: seeds the networks.
  """
  covariate_net = None
  if sizes.covariate:
    covariate_net = networks.Network(
      config.covariate_net, input_size=sizes.covariate, seed=(seed, 2)
    )
  return DFIV(
    config,
    treatment_net=networks.Network(
      config.treatment_net, input_size=sizes.treatment, seed=(seed, 0)
    ),
    instrument_net=networks.Network(
      config.instrument_net, input_size=sizes.instrument, seed=(seed, 1)
    ),
    covariate_net=covariate_net,
    fixed=dfiv_fixed.FixedPart(sizes) if config.fixed_landmarks else None,
  )


def _call(
  trained: descent.Descent | None, x: types.Nest, is_training: bool
) -> tf.Tensor | None:
  """Returns features of x, [B, D]; None where there is no network."""
  if trained is None:
    return None
  if isinstance(trained.network, networks.Network):
    return trained.network(x, is_training=is_training)
  return trained.network(x)
