"""DFIV: hyper-parameters and registry entry."""

import dataclasses

from dfiv_ope import configs, registry
from dfiv_ope.iv.methods.entries import update_rules
from dfiv_ope.nn import layers

_SMOOTH = (
    layers.Dense(64, 'silu'), layers.Dense(64, 'silu'),
    layers.Dense(32, None))


@dataclasses.dataclass(frozen=True, kw_only=True)
class Config(update_rules.DFIV):
  """DFIV on arrays: Algorithm 1, the networks and the training.

  Attributes:
    treatment_net: layers of psi.
    instrument_net: layers of phi, which sees instruments and covariates.
    covariate_net: layers of xi; not built where there are no covariates.
    covariate_steps: gradient steps on xi in an iteration.
    iterations: of Algorithm 1.
    batch_size: rows drawn for each stage of an iteration, with replacement;
      all rows of a stage that has no more, or where this is None.
    checks: looks at the held-out losses in training. The features with the
      least held-out stage-2 loss are kept.
    candidate_penalties: for the final solve, lambda1 and lambda2 are the ones
      of these with the least held-out losses; without any they stay as they
      are in training.
    slack: lambda2 is the largest of the candidates whose held-out loss is
      within so many standard errors of the least (see `kiv.Config`).
    swap_solve: whether `solve` uses each half of the rows in both stages,
      predicted from the other one, instead of one half for each stage.
    joint: whether all networks descend the stage-2 loss, without refinements
      (`dfiv_algorithm.iterate_jointly`).
  """
  treatment_net: tuple[layers.Layer, ...] = (
      layers.Dense(16, 'silu'), layers.Dense(1, None))
  instrument_net: tuple[layers.Layer, ...] = _SMOOTH
  covariate_net: tuple[layers.Layer, ...] = _SMOOTH
  covariate_steps: int = 10
  iterations: int = 200
  batch_size: int | None = 500
  checks: int = 10
  candidate_penalties: tuple[float, ...] = (
      1e-4, 3e-4, 1e-3, 3e-3, 1e-2, 3e-2, 1e-1)
  slack: float = 0.
  swap_solve: bool = True
  joint: bool = False

  def __post_init__(self) -> None:
    super().__post_init__()
    configs.check_at_least(self, 1, 'checks', 'covariate_steps')
    configs.check_at_least(self, self.checks, 'iterations')
    configs.check_at_least(self, 0, 'slack')
    if self.batch_size is not None:
      configs.check_at_least(self, 1, 'batch_size')
    if any(not penalty > 0 for penalty in self.candidate_penalties):
      raise ValueError(
          'candidate_penalties must be positive, got '
          f'{self.candidate_penalties}.')

  @property
  def rule(self) -> 'Config':
    """What is solved: jointly, where stage 1 is lost, without refinements."""
    return dataclasses.replace(self, refinements=0) if self.joint else self


# The paper's networks and penalties for the demand design. The text leaves
# the number of steps open; these are the released code's.
PAPER = Config(
    treatment_net=(layers.Dense(16), layers.Dense(1, None)),
    instrument_net=(
        layers.Dense(128), layers.Dense(64), layers.Dense(32)),
    covariate_net=(
        layers.Dense(128), layers.Dense(64), layers.Dense(32, None),
        layers.BatchNorm('relu')),
    stage1_penalty=0.1,
    stage2_penalty=0.1,
    instrument_steps=20,
    covariate_steps=20,
    treatment_steps=1,
    learning_rate=1e-3,
    treatment_learning_rate=1e-3,
    refinements=0,
    swap_solve=False,
    iterations=100,
    batch_size=None,
    checks=10,
    candidate_penalties=())
CONFIGS = {'default': Config(), 'paper': PAPER}
ENTRY = registry.Entry(
    version=1, configs=CONFIGS, tiny={'iterations': 4, 'checks': 2},
    cost={'fixed': 2., 'iterations': 0.06},
    style=registry.Style(
        label='DFIV', family='neural IV', color='#1f7ac4', marker='o'),
    when=(
        'When the effect is curved, covariates are many or there are pictures: '
        'the least error on the demand design and on dSprites, in about 15 CPU '
        'seconds at 5,000 rows of numbers.'))
