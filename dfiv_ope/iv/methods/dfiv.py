"""DFIV on arrays: features learned for two-stage least squares.

Networks give features of the treatment (psi), the instrument (phi) and the
covariates (xi), if there are any. The weights between them have closed forms,
through which gradients reach the networks (`dfiv_algorithm`).

    model = dfiv.fit(dfiv.Config(), stage1, stage2, seed=0)
    model.predict(treatment, covariate)                       # [B, 1]
"""

from collections.abc import Callable, Mapping
import dataclasses
import functools

import numpy as np
import sonnet as snt
import tensorflow as tf

from dfiv_ope import types
from dfiv_ope.iv import differentiable, features, two_stage
from dfiv_ope.iv.methods import dfiv_algorithm, dfiv_fixed, dfiv_losses
from dfiv_ope.iv.methods.entries import dfiv as entry
from dfiv_ope.nn import descent, layers, networks, optimizers

# Known before this module is loaded.
Config = entry.Config
PAPER = entry.PAPER

# Fixed features of the instrument that tell how far psi has come, their stage-1
# penalty, and the rows that tell their scale. Of more columns than these,
# random features tell little, and phi takes their place.
_JUDGES, _JUDGE_PENALTY, _BANDWIDTH_ROWS, _MOST_COLUMNS = 100, 1e-3, 500, 20

TRAINED = {'cross_fitted_loss': 'iterations'}


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
    config: Config,
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
    self.treatment = descent.Descent(
      treatment_net, optimizers.Adam, rate=config.treatment_learning_rate
    )
    self.instrument = descent.Descent(
      instrument_net, optimizers.Adam, rate=config.learning_rate
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
        *self._features_of(stage1, stage2),
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
    of_stage2 = self.fixed.fit(*halves, most=self.config.fixed_landmarks)
    if of_stage2 is None:
      return
    found = self._features_of(stage1, stage2)
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
        fixed @ of_stage2[:-1] + of_stage2[-1],
        halves[0].outcome,
        tuple(
          np.concatenate(
            [each.instrument, self.fixed.instrument(half.instrument)], axis=1
          )
          for each, half in zip(found, halves, strict=True)
        ),
      )
    )

  def held_out_losses(
    self, stage1: types.IVBatch, stage2: types.IVBatch
  ) -> dfiv_losses.HeldOut:
    """Returns the losses of Appendix A, without `swap_solve`."""
    return dfiv_losses.held_out_losses(
      self.config.rule, *self._features_of(stage1, stage2)
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

  def _features_of(self, *halves: types.IVBatch) -> list[types.IVBatch]:
    return [dfiv_losses.arrays(self.features(half)) for half in halves]

  def _design(
    self, treatment: types.Nest, covariate: types.Nest | None
  ) -> tf.Tensor:
    return differentiable.design(
      _call(self.treatment, treatment, False),
      _call(self.covariate, covariate, False),
    )


def build(config: Config, sizes: types.Sizes, *, seed: int = 0) -> DFIV:
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
    fixed=dfiv_fixed.FixedPart(sizes, config.column_scale)
    if config.fixed_landmarks
    else None,
  )


def fit(
  config: Config,
  stage1: types.IVBatch,
  stage2: types.IVBatch,
  *,
  seed: int,
  progress: types.Progress | None = None,
  watch: descent.Watch | None = None,
) -> DFIV:
  """Learns the features, then solves both stages on all rows.

  Deviation: with `fixed_landmarks` the answer is averaged with one of features
  that are not learned (`dfiv_fixed`).

  Args:
    config: hyper-parameters.
    stage1: rows of stage 1, standardised float32, [B, D] each.
    stage2: rows of stage 2, disjoint from those of stage 1.
    seed: seeds everything that is drawn.
    progress: told the losses at each check.
    watch: shown the model at each check, solved on all rows.

  Returns:
    The fitted model; its `history` has the losses at each check.
  """
  stage1, stage2 = map(
    descent.tensors, dfiv_losses.clipped(config.outcome_width, stage1, stage2)
  )
  configs = [
    with_features(config, count)
    for count in config.counts(covariates=stage1.covariate is not None)
  ] or [config]
  models = [
    _train(
      each,
      stage1,
      stage2,
      seed=seed,
      watch=watch,
      progress=None
      if progress is None
      else functools.partial(_part, progress, index, len(configs)),
    )
    for index, each in enumerate(configs)
  ]
  losses = (
    [
      dfiv_losses.cross_fitted_loss(
        model.config.rule, *model._features_of(stage1, stage2)
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


def _train(
  config: Config,
  stage1: types.IVBatch,
  stage2: types.IVBatch,
  *,
  seed: int,
  progress: types.Progress | None,
  watch: descent.Watch | None,
) -> DFIV:
  """Learns the features of one config; arguments as in `fit`."""
  model = build(config, descent.sizes(stage1), seed=seed)
  generator = tf.random.Generator.from_seed((seed, 3))

  @tf.autograph.experimental.do_not_convert
  def iterate() -> tuple[tf.Tensor, tf.Tensor]:
    losses = model.update(
      _draw(stage1, config.batch_size, generator),
      _draw(stage2, config.batch_size, generator),
    )
    return losses['stage1_loss'], losses['stage2_loss']

  @tf.function
  def run(
    count: tf.Tensor, stage1_loss: tf.Tensor, stage2_loss: tf.Tensor
  ) -> tuple[tf.Tensor, tf.Tensor]:
    for _ in tf.range(count):
      stage1_loss, stage2_loss = iterate()
    return stage1_loss, stage2_loss

  judge = _judge(stage1, stage2, seed)
  descents = [model.treatment, model.instrument]
  if model.covariate is not None:
    descents.append(model.covariate)
  best = [each.values() for each in descents]
  history: dict[str, list[float]] = {}
  losses = (tf.zeros([]), tf.zeros([]))
  intervals = (
    descent.growing_intervals if config.patience else descent.intervals
  )
  iterations = config.most_iterations(covariates=model.covariate is not None)
  for done, until in intervals(iterations, config.checks):
    losses = run(tf.constant(until - done), *losses)
    held_out = model.held_out_losses(stage1, stage2)
    metrics = {
      'stage1_loss': float(losses[0]),
      'stage2_loss': float(losses[1]),
      'held_out_stage1_loss': float(held_out.stage1),
      'held_out_stage2_loss': float(held_out.stage2),
      'cross_fitted_loss': judge(config, *model._features_of(stage1, stage2)),
    }
    for name, value in metrics.items():
      history.setdefault(name, []).append(value)
    judged = history['held_out_stage2_loss']
    if judged[-1] == min(judged):
      best = [each.values() for each in descents]
    ended = 0 < config.patience < len(judged) - int(np.argmin(judged))
    if progress is not None:
      progress(iterations if ended else until, iterations, metrics)
    if watch is not None:
      model.solve(stage1, stage2)
      watch(model)
    if ended:
      break
  for each, values in zip(descents, best, strict=True):
    each.adopt(values)
  if config.candidate_penalties:
    model.config = dfiv_losses.choose_penalties(
      config, *model._features_of(stage1, stage2)
    )
  model.solve(stage1, stage2)
  model.history = history
  return model


def _judge(
  stage1: types.IVBatch, stage2: types.IVBatch, seed: int
) -> Callable[[Config, types.IVBatch, types.IVBatch], float]:
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
    config: Config, first: types.IVBatch, second: types.IVBatch
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


def _draw(
  batch: types.IVBatch, size: int | None, generator: tf.random.Generator
) -> types.IVBatch:
  """Returns rows of a batch, or all where it has no more than `size`."""
  if size is None or size >= batch.outcome.shape[0]:
    return batch
  return descent.mini_batch(batch, size, generator)


def _call(
  trained: descent.Descent | None, x: types.Nest, is_training: bool
) -> tf.Tensor | None:
  """Returns features of x, [B, D]; None where there is no network."""
  if trained is None:
    return None
  if isinstance(trained.network, networks.Network):
    return trained.network(x, is_training=is_training)
  return trained.network(x)
