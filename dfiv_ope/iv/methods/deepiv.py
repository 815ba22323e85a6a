"""DeepIV (Hartford et al., 2017): a density of the treatment, then a response.

A mixture density network gives the distribution of the treatment given the
instrument. The response network h is then fitted so that its mean over draws
from that distribution explains the outcome:

    model = deepiv.fit(deepiv.Config(), stage1, stage2, seed=0)
    model.predict(treatment, covariate)                       # [B, 1]

Rows of both stages train both networks, as in the original.

Deviation: several members, each with its own held-out rows, are averaged, so
that every row is used. Smooth networks without dropout had smaller held-out
losses in both stages than the original's; those are `Config.paper`.
"""

import tensorflow as tf

from dfiv_ope import types
from dfiv_ope.iv import closed_form, many_columns
from dfiv_ope.iv.methods import deepiv_mixture, deepiv_update
from dfiv_ope.iv.methods.entries import deepiv as entry
from dfiv_ope.nn import descent, layers, networks

# Known before this module is loaded.
Config = entry.Config

# The density's loss is a log-likelihood, which has no zero to fall towards.
TRAINED = {'held_out_response_loss': 'response_steps'}


def build(
  config: Config, sizes: types.Sizes, *, seed: int = 0
) -> deepiv_update.DeepIV:
  """Returns an untrained model whose variables a checkpoint can fill.

  Args:
    config: hyper-parameters.
    sizes: numbers of columns.
    seed: seeds weights, dropout and draws.
  """
  outputs = layers.Dense(
    deepiv_mixture.output_size(config.components, sizes.treatment), None
  )
  members = range(config.members)
  return deepiv_update.DeepIV(
    config,
    instrument_nets=[
      networks.Network(
        (*config.instrument_net, outputs),
        input_size=sizes.instrument,
        seed=(seed, member, 0),
      )
      for member in members
    ],
    treatment_nets=[
      networks.Network(
        config.treatment_net,
        input_size=sizes.treatment + sizes.covariate,
        seed=(seed, member, 1),
      )
      for member in members
    ],
    seed=seed,
  )


def fit(
  config: Config,
  stage1: types.IVBatch,
  stage2: types.IVBatch,
  *,
  seed: int,
  progress: types.Progress | None = None,
) -> deepiv_update.DeepIV:
  """Returns DeepIV fitted to the rows of both stages.

  Args:
    config: hyper-parameters.
    stage1: half of the rows, standardised float32, [B, D] each.
    stage2: the other half.
    seed: seeds everything that is drawn.
    progress: told the losses at each check.

  Returns:
    The fitted model; its `history` has the losses of both trainings at each
    check, averaged over the members.
  """
  many_columns.warn_of_many(
    closed_form.join(stage1.treatment, stage1.covariate), pictures=True
  )
  rows = descent.tensors(stage1, stage2)
  model = build(config, descent.sizes(rows), seed=seed)
  folds = descent.folds(rows, config.members, config.held_out_share, seed=seed)
  generator = tf.random.Generator.from_seed((seed, 1))
  members = range(config.members)
  total = config.density_steps + config.response_steps

  def report(offset: int) -> types.Progress | None:
    if progress is None:
      return None
    return lambda done, _, losses: progress(offset + done, total, losses)

  def batch(member: int) -> types.IVBatch:
    return descent.mini_batch(
      folds[member].training, config.batch_size, generator
    )

  model.history.update(
    descent.train(
      model.densities,
      step=lambda member: model.density_step(member, batch(member)),
      held_out=lambda member: model.density_loss(
        member, folds[member].held_out
      ),
      steps=config.density_steps,
      checks=config.checks,
      label='density',
      progress=report(0),
    )
  )
  draws = [
    model.draw(
      member, folds[member].held_out.instrument, config.held_out_samples
    )
    for member in members
  ]
  model.history.update(
    descent.train(
      model.responses,
      step=lambda member: model.response_step(member, batch(member)),
      held_out=lambda member: model.response_loss(
        member, folds[member].held_out, draws[member]
      ),
      steps=config.response_steps,
      checks=config.checks,
      label='response',
      progress=report(config.density_steps),
    )
  )
  return model
