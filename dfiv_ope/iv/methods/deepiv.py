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

import dataclasses

import tensorflow as tf

from dfiv_ope import types
from dfiv_ope.iv.methods import deepiv_mixture, deepiv_update
from dfiv_ope.nn import descent, networks

_HIDDEN = (networks.Dense(128, 'tanh'), networks.Dense(64, 'tanh'),
           networks.Dense(32, 'tanh'))


@dataclasses.dataclass(frozen=True, kw_only=True)
class Config(deepiv_update.UpdateRule):
  """DeepIV on arrays: the update rule, the networks and the training.

  Attributes:
    instrument_net: layers below the mixture of Gaussians.
    treatment_net: layers of h, the last with one output.
    batch_size: rows of a gradient, drawn with replacement.
    density_steps: gradient steps on the instrument net.
    response_steps: gradient steps on the treatment net.
    checks: looks at the held-out loss in each of the two trainings; a network
      is kept where its loss was least.
    held_out_samples: draws in each of the two sets of the held-out loss.
    members: pairs of networks that are averaged.
    held_out_share: share of the rows that a member does not train on.
  """
  instrument_net: tuple[networks.Layer, ...] = _HIDDEN
  treatment_net: tuple[networks.Layer, ...] = (
      *_HIDDEN, networks.Dense(1, None))
  batch_size: int = 100
  density_steps: int = 3000
  response_steps: int = 6000
  checks: int = 20
  held_out_samples: int = 25
  members: int = 3
  held_out_share: float = 0.1

  def __post_init__(self) -> None:
    super().__post_init__()
    descent.check_at_least(
        self, 1, 'batch_size', 'checks', 'held_out_samples', 'members')
    descent.check_at_least(
        self, self.checks, 'density_steps', 'response_steps')
    descent.check_output('treatment_net', self.treatment_net)
    if not 0 < self.held_out_share <= min(0.5, 1. / self.members):
      raise ValueError(
          'held_out_share must be positive, at most 1/2 and at most '
          f'1 / members, got {self.held_out_share} with {self.members} '
          'members.')

  @classmethod
  def paper(cls, rows: int) -> 'Config':
    """Returns the networks of the paper, trained as in its released code.

    Deviation: the released code keeps the last iterate at a constant learning
    rate; here the rate falls and the held-out loss chooses.

    Args:
      rows: rows of both stages; dropout and the number of steps follow it.
    """
    base = cls(density_decay=1e-4, response_decay=1e-3, members=1)
    body: tuple[networks.Layer, ...] = ()
    for size in (128, 64, 32):
      body += (networks.Dense(size), networks.Dropout(dropout_rate(rows)))
    # 300 epochs a network.
    steps = max(300 * rows // base.batch_size, base.checks)
    return dataclasses.replace(
        base, density_steps=steps, response_steps=steps, instrument_net=body,
        treatment_net=(*body, networks.Dense(1, None)))


# The density's loss is a log-likelihood, which has no zero to fall towards.
TRAINED = {'held_out_response_loss': 'response_steps'}


def dropout_rate(rows: int) -> float:
  """Returns min(1000 / (1000 + n), 1/2), the rule of Hartford et al."""
  return min(1000. / (1000. + rows), 0.5)


def build(
    config: Config, sizes: types.Sizes, *, seed: int = 0,
) -> deepiv_update.DeepIV:
  """Returns an untrained model whose variables a checkpoint can fill.

  Args:
    config: hyper-parameters.
    sizes: numbers of columns.
    seed: seeds weights, dropout and draws.
  """
  outputs = networks.Dense(
      deepiv_mixture.output_size(config.components, sizes.treatment), None)
  members = range(config.members)
  return deepiv_update.DeepIV(
      config,
      instrument_nets=[
          networks.Network(
              (*config.instrument_net, outputs), input_size=sizes.instrument,
              seed=(seed, member, 0))
          for member in members],
      treatment_nets=[
          networks.Network(
              config.treatment_net,
              input_size=sizes.treatment + sizes.covariate,
              seed=(seed, member, 1))
          for member in members],
      seed=seed)


def fit(
    config: Config, stage1: types.IVBatch, stage2: types.IVBatch, *,
    seed: int, progress: types.Progress | None = None,
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
  rows = descent.tensors(stage1, stage2)
  model = build(config, descent.sizes(rows), seed=seed)
  folds = descent.folds(
      rows, config.members, config.held_out_share, seed=seed)
  generator = tf.random.Generator.from_seed((seed, 1))
  members = range(config.members)
  total = config.density_steps + config.response_steps

  def report(offset: int) -> types.Progress | None:
    if progress is None:
      return None
    return lambda done, _, losses: progress(offset + done, total, losses)

  def batch(member: int) -> types.IVBatch:
    return descent.mini_batch(
        folds[member].training, config.batch_size, generator)

  model.history.update(descent.train(
      model.densities,
      step=lambda member: model.density_step(member, batch(member)),
      held_out=lambda member: model.density_loss(
          member, folds[member].held_out),
      steps=config.density_steps, checks=config.checks, label='density',
      progress=report(0)))
  draws = [
      model.draw(
          member, folds[member].held_out.instrument, config.held_out_samples)
      for member in members]
  model.history.update(descent.train(
      model.responses,
      step=lambda member: model.response_step(member, batch(member)),
      held_out=lambda member: model.response_loss(
          member, folds[member].held_out, draws[member]),
      steps=config.response_steps, checks=config.checks, label='response',
      progress=report(config.density_steps)))
  return model
