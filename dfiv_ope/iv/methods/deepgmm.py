"""DeepGMM (Bennett et al., 2019): a structural function against a critic.

The critic g looks for instruments at which the residual of the structural
function f is predictable, f for residuals that no critic can predict:

    model = deepgmm.fit(deepgmm.Config(), stage1, stage2, seed=0)
    model.predict(treatment, covariate)                       # [B, 1]

The iterates of such a game wander, so snapshots are kept, and the one whose
worst moment over all critics seen is least on held-out rows is chosen.

Deviation: the learning rates fall to zero, which brings the game to rest, and
the halves change places, so that every row is used.
"""

from collections.abc import Sequence

import numpy as np
import tensorflow as tf

from dfiv_ope import types
from dfiv_ope.iv import closed_form, many_columns
from dfiv_ope.iv.methods import deepgmm_update
from dfiv_ope.iv.methods.entries import deepgmm as entry
from dfiv_ope.nn import descent, networks

# Known before this module is loaded.
Config = entry.Config
PAPER = entry.PAPER

TRAINED = {'held_out_loss': 'steps'}


def worst_violation(
  critics: tf.Tensor, residuals: tf.Tensor, lagged_residual: tf.Tensor
) -> tf.Tensor:
  """Returns max_j mean(g_j (y - f_i))^2 / mean(g_j^2 (y - f~)^2): [I].

  This is the game value of f_i against the best multiple of any g_j.

  Deviation: Bennett et al. take the critics as they are. How large a critic is
  depends on the f it was trained against, and says nothing about another.

  Args:
    critics: g_j, [B, J].
    residuals: y - f_i, [B, I].
    lagged_residual: y - f~, the same for all pairs, [B, 1].
  """
  count = tf.cast(tf.shape(critics)[0], critics.dtype)
  moment = tf.matmul(critics, residuals, transpose_a=True) / count  # [J, I]
  weighting = tf.reduce_mean(tf.square(critics * lagged_residual), axis=0)[
    :, None
  ]  # [J, 1]
  return tf.reduce_max(
    tf.math.divide_no_nan(tf.square(moment), weighting), axis=0
  )


def held_out_losses(
  critics: Sequence[tf.Tensor], residuals: Sequence[tf.Tensor]
) -> types.FloatArray:
  """Returns the worst violation of each snapshot of a game, [I].

  The last snapshot is the earlier f of the weighting. A snapshot that has
  diverged is left out: its loss is infinite, and its critic has no say.

  Args:
    critics: g on held-out rows, I times [B, 1].
    residuals: y - f on them, I times [B, 1].

  Raises:
    FloatingPointError: no snapshot is finite.
  """
  values = np.concatenate([*critics, *residuals], axis=1)  # [B, 2 I]
  finite = np.isfinite(values).all(axis=0).reshape(2, -1).all(axis=0)
  if not finite.any():
    raise FloatingPointError(
      'DeepGMM diverged before its first check. Lower treatment_rate and '
      'instrument_rate.'
    )
  critic, residual = (part[:, finite] for part in np.split(values, 2, axis=1))
  losses = np.full(len(finite), np.inf)
  losses[finite] = worst_violation(critic, residual, residual[:, -1:])
  return losses


def build(
  config: Config, sizes: types.Sizes, *, seed: int = 0
) -> deepgmm_update.DeepGMM:
  """Returns an untrained model whose variables a checkpoint can fill.

  Args:
    config: hyper-parameters.
    sizes: numbers of columns.
    seed: seeds the networks.
  """
  games = range(2 if config.swap else 1)
  return deepgmm_update.DeepGMM(
    config,
    treatment_nets=[
      networks.Network(
        config.treatment_net,
        input_size=sizes.treatment + sizes.covariate,
        seed=(seed, game, 0),
      )
      for game in games
    ],
    instrument_nets=[
      networks.Network(
        config.instrument_net, input_size=sizes.instrument, seed=(seed, game, 1)
      )
      for game in games
    ],
  )


def fit(
  config: Config,
  stage1: types.IVBatch,
  stage2: types.IVBatch,
  *,
  seed: int,
  progress: types.Progress | None = None,
  watch: descent.Watch | None = None,
) -> deepgmm_update.DeepGMM:
  """Returns DeepGMM trained on stage 1 and chosen by stage 2.

  Args:
    config: hyper-parameters.
    stage1: half of the rows, standardised float32, [B, D] each.
    stage2: the other half; with `config.swap` the halves change places too.
    seed: seeds everything that is drawn.
    progress: told the game value at each check.
    watch: shown the model at each check, with the last networks.

  Returns:
    The fitted model; its `history` has the game value and the held-out loss,
    the worst violation, at each check, averaged over the games.
  """
  many_columns.warn_of_many(
    closed_form.join(stage1.treatment, stage1.covariate), pictures=True
  )
  halves = [descent.tensors(stage1), descent.tensors(stage2)]
  model = build(config, descent.sizes(halves[0]), seed=seed)
  generator = tf.random.Generator.from_seed((seed, 1))
  games = range(len(model.structurals))

  @tf.function
  def run(count: tf.Tensor) -> tf.Tensor:
    total = tf.zeros([])
    for _ in tf.range(count):
      for game in games:
        for _ in tf.range(config.critic_steps):
          model.critic_step(
            game, descent.mini_batch(halves[game], config.batch_size, generator)
          )
        total += model.structural_step(
          game, descent.mini_batch(halves[game], config.batch_size, generator)
        )
    return total / tf.cast(count * len(games), tf.float32)

  snapshots: list[list[list[tf.Tensor]]] = [[] for _ in games]
  residuals: list[list[tf.Tensor]] = [[] for _ in games]
  critics: list[list[tf.Tensor]] = [[] for _ in games]
  values: list[float] = []
  for done, until in descent.intervals(config.steps, config.checks):
    for each in (*model.structurals, *model.critics):
      each.anneal(done / config.steps)
    values.append(float(run(tf.constant(until - done))))
    for game in games:
      held_out = halves[1 - game]
      snapshots[game].append(model.structurals[game].values())
      residuals[game].append(model.residual(game, held_out))
      critics[game].append(model.critic(game, held_out))
    if progress is not None:
      progress(until, config.steps, {'game_value': values[-1]})
    if watch is not None:
      watch(model)

  losses = [held_out_losses(critics[game], residuals[game]) for game in games]
  for game in games:
    model.structurals[game].adopt(snapshots[game][int(losses[game].argmin())])
  model.history = {
    'game_value': values,
    'held_out_loss': np.mean(losses, axis=0).tolist(),
  }
  return model
