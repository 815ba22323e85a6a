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
from dfiv_ope.iv.methods import dfiv_algorithm
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
    history: losses at each check of the training.
  """

  def __init__(
      self,
      config: Config,
      *,
      treatment_net: snt.Module,
      instrument_net: snt.Module,
      covariate_net: snt.Module | None = None,
  ):
    """Initialises the method with networks whose variables exist."""
    super().__init__()
    self.config = config
    self.history: dict[str, list[float]] = {}
    self.stage2_weights = tf.Variable(
        tf.zeros([0, 1]), shape=[None, 1], trainable=False)
    self.treatment = descent.Descent(
        treatment_net, optimizers.Adam, rate=config.treatment_learning_rate)
    self.instrument = descent.Descent(
        instrument_net, optimizers.Adam, rate=config.learning_rate)
    self.covariate = None if covariate_net is None else descent.Descent(
        covariate_net, optimizers.Adam, rate=config.learning_rate)

  # AutoGraph has nothing to convert here, and would take seconds to see that.
  @tf.autograph.experimental.do_not_convert
  def update(
      self, stage1: types.IVBatch, stage2: types.IVBatch,
  ) -> Mapping[str, tf.Tensor]:
    """Makes one iteration from two independent batches; returns its losses."""
    rule = self.config.rule
    if rule.joint:
      return dfiv_algorithm.iterate_jointly(self, rule, stage1, stage2)
    return dfiv_algorithm.iterate(
        self, rule, stage1, stage2, covariate_steps=rule.covariate_steps)

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
        covariate=_call(self.covariate, rows.covariate, False))

  def structural_columns(
      self, treatment: types.Nest, covariate: types.Nest | None = None,
  ) -> tf.Tensor:
    """Returns what f is linear in, without the constant, [B, D]."""
    return differentiable.design(
        _call(self.treatment, treatment, False),
        _call(self.covariate, covariate, False))[:, :-1]

  def instrument_columns(self, instrument: types.Nest) -> tf.Tensor:
    """Returns phi, [B, d2]."""
    return _call(self.instrument, instrument, False)

  def solve(self, stage1: types.IVBatch, stage2: types.IVBatch) -> None:
    """Solves both stages on the whole data set, Eq. (7) and (9).

    Deviation: with `swap_solve` both halves serve in both stages; with
    `refinements` see `dfiv_algorithm.stage2`.

    Args:
      stage1: all rows of stage 1.
      stage2: all rows of stage 2, disjoint from those of stage 1.
    """
    rule = self.config.rule
    first, second = self.features(stage1), self.features(stage2)
    pairs = ((first, second), (second, first))
    parts = [
        dfiv_algorithm.designs(
            self, rows, dfiv_algorithm.stage1_weights(self, rule, fitted))
        for fitted, rows in pairs[:1 + rule.swap_solve]]
    given = dfiv_algorithm.Designs(*(
        tf.concat(each, axis=0) for each in zip(*parts, strict=True)))
    weights, _ = dfiv_algorithm.stage2(
        given, rule.stage2_penalty, rule.refinements)
    self.stage2_weights.assign(weights)

  def held_out_losses(
      self, stage1: types.IVBatch, stage2: types.IVBatch,
  ) -> dfiv_algorithm.HeldOut:
    """Returns the losses of Appendix A, without `swap_solve`."""
    return dfiv_algorithm.held_out_losses(
        self, self.config.rule, self.features(stage1), self.features(stage2))

  def predict(
      self, treatment: types.Nest, covariate: types.Nest | None = None,
  ) -> tf.Tensor:
    """Returns the structural function at the given points, [B, 1]."""
    return differentiable.predict(
        differentiable.design(
            _call(self.treatment, treatment, False),
            _call(self.covariate, covariate, False)), self.stage2_weights)


def build(
    config: Config, sizes: types.Sizes, *, seed: int = 0,
) -> DFIV:
  """Returns an untrained model whose variables a checkpoint can fill.

  Args:
    config: hyper-parameters.
    sizes: numbers of columns.
    seed: seeds the networks.
  """
  covariate_net = None
  if sizes.covariate:
    covariate_net = networks.Network(
        config.covariate_net, input_size=sizes.covariate, seed=(seed, 2))
  return DFIV(
      config,
      treatment_net=networks.Network(
          config.treatment_net, input_size=sizes.treatment, seed=(seed, 0)),
      instrument_net=networks.Network(
          config.instrument_net, input_size=sizes.instrument, seed=(seed, 1)),
      covariate_net=covariate_net)


def fit(
    config: Config, stage1: types.IVBatch, stage2: types.IVBatch, *,
    seed: int, progress: types.Progress | None = None,
    watch: descent.Watch | None = None,
) -> DFIV:
  """Learns the features, then solves both stages on all rows.

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
  stage1, stage2 = descent.tensors(stage1), descent.tensors(stage2)
  configs = [
      with_features(config, count) for count in config.counts(
          covariates=stage1.covariate is not None)] or [config]
  models = [
      _train(each, stage1, stage2, seed=seed, watch=watch,
             progress=None if progress is None else functools.partial(
                 _part, progress, index, len(configs)))
      for index, each in enumerate(configs)]
  losses = [float(dfiv_algorithm.cross_fitted_loss(
      model, model.config.rule, model.features(stage1),
      model.features(stage2))) for model in models] if models[1:] else [0.]
  return models[int(np.argmin(losses))]


def with_features(config: Config, count: int) -> Config:
  """Returns a config with as many treatment features, and no others to try."""
  last = config.treatment_net[-1]
  assert isinstance(last, layers.Dense), 'The default ends in one.'
  return dataclasses.replace(
      config, feature_counts=(), treatment_net=(
          *config.treatment_net[:-1], dataclasses.replace(last, size=count)))


def _part(
    progress: types.Progress, index: int, count: int, step: int, steps: int,
    losses: dict[str, float],
) -> None:
  """Tells the progress of one of several trainings."""
  progress(index * steps + step, count * steps, losses)


def _train(
    config: Config, stage1: types.IVBatch, stage2: types.IVBatch, *,
    seed: int, progress: types.Progress | None,
    watch: descent.Watch | None,
) -> DFIV:
  """Learns the features of one config; arguments as in `fit`."""
  model = build(config, descent.sizes(stage1), seed=seed)
  generator = tf.random.Generator.from_seed((seed, 3))

  @tf.autograph.experimental.do_not_convert
  def iterate() -> tuple[tf.Tensor, tf.Tensor]:
    losses = model.update(
        _draw(stage1, config.batch_size, generator),
        _draw(stage2, config.batch_size, generator))
    return losses['stage1_loss'], losses['stage2_loss']

  @tf.function
  def run(
      count: tf.Tensor, stage1_loss: tf.Tensor, stage2_loss: tf.Tensor,
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
  # The first iteration makes the variables of the optimisers; made inside
  # `run`, they would have it traced twice.
  losses = iterate()
  intervals = (descent.growing_intervals if config.patience
               else descent.intervals)
  iterations = config.most_iterations(
      covariates=model.covariate is not None)
  for done, until in intervals(iterations, config.checks):
    losses = run(tf.constant(until - max(done, 1)), *losses)
    held_out = model.held_out_losses(stage1, stage2)
    metrics = {
        'stage1_loss': float(losses[0]),
        'stage2_loss': float(losses[1]),
        'held_out_stage1_loss': float(held_out.stage1),
        'held_out_stage2_loss': float(held_out.stage2),
        'cross_fitted_loss': float(judge(
            model, model.features(stage1), model.features(stage2)))}
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
    model.config = _choose_penalties(
        model, model.features(stage1), model.features(stage2))
  model.solve(stage1, stage2)
  model.history = history
  return model


def _judge(
    stage1: types.IVBatch, stage2: types.IVBatch, seed: int,
) -> Callable[[DFIV, types.IVBatch, types.IVBatch], tf.Tensor]:
  """Returns what gives the loss of psi by which convergence is told.

  Stage 1 is solved on fixed random features: those of phi fit its rows ever
  better, which moves the loss whether or not psi gets any better.
  """
  fixed: list[tf.Tensor] = []
  if stage1.instrument.shape[1] <= _MOST_COLUMNS:
    random = features.FourierFeatures(
        features.median_bandwidth(stage1.instrument.numpy()[:_BANDWIDTH_ROWS]),
        size=_JUDGES, seed=(seed, 4))
    fixed = [tf.cast(random(half.instrument), tf.float32)
             for half in (stage1, stage2)]

  def loss(
      model: DFIV, first: types.IVBatch, second: types.IVBatch) -> tf.Tensor:
    rule = model.config.rule
    if fixed:
      rule = dataclasses.replace(rule, stage1_penalty=_JUDGE_PENALTY)
      first, second = (
          half._replace(instrument=columns)
          for half, columns in zip((first, second), fixed, strict=True))
    return dfiv_algorithm.cross_fitted_loss(model, rule, first, second)

  return loss


def _choose_penalties(
    model: DFIV, first: types.IVBatch, second: types.IVBatch) -> Config:
  """Returns the config with lambda1, then lambda2, of least held-out loss."""
  config = model.config
  candidates = config.candidate_penalties

  def losses(rule: Config) -> dfiv_algorithm.HeldOut:
    return dfiv_algorithm.held_out_losses(model, rule.rule, first, second)

  config = min(
      (dataclasses.replace(config, stage1_penalty=each) for each in candidates),
      key=lambda rule: float(losses(rule).stage1))
  return dataclasses.replace(
      config, stage2_penalty=two_stage.largest_within(
          candidates, [
              float(losses(dataclasses.replace(
                  config, stage2_penalty=each)).stage2) for each in candidates],
          slack=config.slack, rows=len(first.outcome)))


def _draw(
    batch: types.IVBatch, size: int | None, generator: tf.random.Generator,
) -> types.IVBatch:
  """Returns rows of a batch, or all where it has no more than `size`."""
  if size is None or size >= batch.outcome.shape[0]:
    return batch
  return descent.mini_batch(batch, size, generator)


def _call(
    trained: descent.Descent | None, x: types.Nest, is_training: bool,
) -> tf.Tensor | None:
  """Returns features of x, [B, D]; None where there is no network."""
  if trained is None:
    return None
  if isinstance(trained.network, networks.Network):
    return trained.network(x, is_training=is_training)
  return trained.network(x)
