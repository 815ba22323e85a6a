"""DFIV: hyper-parameters and registry entry."""

import dataclasses

from dfiv_ope import configs, registry
from dfiv_ope.iv.methods.entries import update_rules
from dfiv_ope.nn import layers

_SMOOTH = (
  layers.Dense(64, 'silu'),
  layers.Dense(64, 'silu'),
  layers.Dense(32, None),
)
TREATMENT_NET = (layers.Dense(16, 'silu'), layers.Dense(1, None))


@dataclasses.dataclass(frozen=True, kw_only=True)
class Config(update_rules.DFIV):
  """DFIV on arrays: Algorithm 1, the networks and the training.

  Attributes:
    treatment_net: layers of psi.
    instrument_net: layers of phi, which sees instruments and covariates.
    covariate_net: layers of xi; not built where there are no covariates.
    covariate_steps: gradient steps on xi in an iteration.
    feature_counts: numbers of treatment features to try where there are
      covariates and `treatment_net` is the default, in place of its last size;
      the one of the least cross-fitted stage-2 loss is kept. A network of
      one's own stays as it is.
    spectral_steps: before Algorithm 1, steps of psi and phi together up the
      canonical correlations between them (`dfiv_spectral`); 0 for none.
    iterations: of Algorithm 1, at most; 0 for spectral features as they are.
    equal_steps: whether there are fewer iterations where there are covariates,
      so that all networks together make as many gradient steps as without.
    patience: the training ends after so many checks without a less held-out
      stage-2 loss; checks are then spaced geometrically. 0 for equal distances
      and all iterations.
    batch_size: rows drawn for each stage of an iteration, with replacement;
      all rows of a stage that has no more, or where this is None.
    checks: looks at the held-out losses in Algorithm 1. The features with the
      least held-out stage-2 loss are kept. Spectral steps have as many; those
      with the largest correlations in rows of stage 2 are kept.
    candidate_penalties: for the final solve, lambda1 and lambda2 are the ones
      of these with the least held-out losses; without any they stay as they
      are in training.
    slack: lambda2 is the largest of the candidates whose held-out loss is
      within so many standard errors of the least (see `kiv.Config`).
    swap_solve: whether `solve` uses each half of the rows in both stages,
      predicted from the other one, instead of one half for each stage.
    fixed_landmarks: features of a kernel, at most, in what is fitted beside
      the learned features and averaged with them (`dfiv_fixed`: a line and
      kernels), where there are no more than 50 columns; 0 for learned features
      alone.
    outcome_width: outcomes of heavy tails are clipped at so many robust
      standard deviations from the median (`heavy_tails`); 0 for never.
    members: trainings whose answers are averaged (`dfiv_average`), every second
      one with the stages' rows swapped.
    joint: whether all networks descend the stage-2 loss, without refinements
      (`dfiv_algorithm.iterate_jointly`).
  """

  treatment_net: tuple[layers.Layer, ...] = TREATMENT_NET
  instrument_net: tuple[layers.Layer, ...] = _SMOOTH
  covariate_net: tuple[layers.Layer, ...] = _SMOOTH
  covariate_steps: int = 10
  feature_counts: tuple[int, ...] = ()
  spectral_steps: int = 0
  iterations: int = 1000
  equal_steps: bool = True
  patience: int = 4
  batch_size: int | None = 500
  checks: int = 14
  candidate_penalties: tuple[float, ...] = (
    1e-4,
    3e-4,
    1e-3,
    3e-3,
    1e-2,
    3e-2,
    1e-1,
  )
  slack: float = 0.0
  swap_solve: bool = True
  fixed_landmarks: int = 150
  outcome_width: float = 4.0
  members: int = 1
  joint: bool = False

  def __post_init__(self) -> None:
    super().__post_init__()
    configs.check_at_least(self, 1, 'checks', 'covariate_steps', 'members')
    if self.spectral_steps:
      configs.check_at_least(self, self.checks, 'spectral_steps')
    if self.iterations or not self.spectral_steps:
      configs.check_at_least(self, self.checks, 'iterations')
    configs.check_at_least(
      self, 0, 'slack', 'patience', 'fixed_landmarks', 'outcome_width'
    )
    if any(count < 1 for count in self.feature_counts):
      raise ValueError(
        f'feature_counts must be positive, got {self.feature_counts}.'
      )
    if self.batch_size is not None:
      configs.check_at_least(self, 1, 'batch_size')
    if any(not penalty > 0 for penalty in self.candidate_penalties):
      raise ValueError(
        f'candidate_penalties must be positive, got {self.candidate_penalties}.'
      )

  def counts(self, *, covariates: bool) -> tuple[int, ...]:
    """Returns the numbers of features to try; none to leave psi as it is."""
    own = self.treatment_net != TREATMENT_NET
    return () if own or not covariates else self.feature_counts

  def most_iterations(self, *, covariates: bool) -> int:
    """Returns the iterations that a training may make."""
    if not (self.iterations and self.equal_steps and covariates):
      return self.iterations
    steps = self.instrument_steps + self.treatment_steps
    return max(
      self.checks, self.iterations * steps // (steps + self.covariate_steps)
    )

  @property
  def rule(self) -> 'Config':
    """What is solved: jointly, where stage 1 is lost, without refinements."""
    return dataclasses.replace(self, refinements=0) if self.joint else self


# The paper's networks and penalties for the demand design. The text leaves
# the number of steps open; these are the released code's.
PAPER = Config(
  treatment_net=(layers.Dense(16), layers.Dense(1, None)),
  instrument_net=(layers.Dense(128), layers.Dense(64), layers.Dense(32)),
  covariate_net=(
    layers.Dense(128),
    layers.Dense(64),
    layers.Dense(32, None),
    layers.BatchNorm('relu'),
  ),
  stage1_penalty=0.1,
  stage2_penalty=0.1,
  instrument_steps=20,
  covariate_steps=20,
  treatment_steps=1,
  learning_rate=1e-3,
  treatment_learning_rate=1e-3,
  refinements=0,
  swap_solve=False,
  fixed_landmarks=0,
  outcome_width=0.0,
  iterations=100,
  equal_steps=False,
  patience=0,
  batch_size=None,
  checks=10,
  candidate_penalties=(),
)
# Learned features alone, shaped by the demand design, where one treatment
# feature and 200 iterations are enough. Settings of pictures start from it.
DEMAND = Config(
  iterations=200,
  equal_steps=False,
  patience=0,
  checks=10,
  fixed_landmarks=0,
  outcome_width=0.0,
)
CONFIGS = {'default': Config(), 'demand': DEMAND, 'paper': PAPER}
ENTRY = registry.Entry(
  version=6,
  configs=CONFIGS,
  tiny={'iterations': 4, 'checks': 2},
  cost={'fixed': 1.0, 'iterations': 0.004},
  paper_cost={'fixed': 1.0, 'iterations': 0.09},
  style=registry.Style(
    label='DFIV', family='neural IV', color='#1f7ac4', marker='o'
  ),
  variants={
    'fixed_landmarks': {str(Config().fixed_landmarks): 'DFIV with a kernel'}
  },
  when=(
    'When the effect is curved, covariates are many or there are pictures: '
    'the least error on the demand design and on dSprites, in 5 to 15 CPU '
    'seconds for 1,000 to 5,000 rows of numbers.'
  ),
)
