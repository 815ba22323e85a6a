"""What an update of a trained method takes: hyper-parameters as data.

Regression on arrays and off-policy evaluation share them, and their configs
have more.
"""

import dataclasses

from dfiv_ope import configs


@dataclasses.dataclass(frozen=True, kw_only=True)
class DFIV:
  """Hyper-parameters of Algorithm 1.

  Attributes:
    stage1_penalty: lambda1.
    stage2_penalty: lambda2.
    instrument_steps: T1, gradient steps on phi in an iteration.
    treatment_steps: T2, gradient steps on psi in an iteration.
    learning_rate: of phi, and of xi.
    treatment_learning_rate: of psi, which makes the fewest steps.
    refinements: how often stage 2 is solved again without the noise of the
      treatment (`dfiv_algorithm.stage2`); 0 is the paper's stage 2.
    at_once: whether the last step on phi and the first on psi are made at once,
      each with the other network as it was before (`dfiv_algorithm`).
  """

  stage1_penalty: float = 3e-2
  stage2_penalty: float = 3e-3
  instrument_steps: int = 3
  treatment_steps: int = 1
  learning_rate: float = 2e-3
  treatment_learning_rate: float = 1e-2
  refinements: int = 2
  at_once: bool = False

  def __post_init__(self) -> None:
    configs.check_positive(
      self,
      'stage1_penalty',
      'stage2_penalty',
      'learning_rate',
      'treatment_learning_rate',
    )
    configs.check_at_least(self, 1, 'instrument_steps', 'treatment_steps')
    configs.check_at_least(self, 0, 'refinements')


@dataclasses.dataclass(frozen=True, kw_only=True)
class DeepGMM:
  """One round of the game.

  Attributes:
    treatment_rate: first learning rate of f.
    instrument_rate: first learning rate of the critic g.
    beta1: decay of the mean gradient in OAdam.
    beta2: decay of the mean squared gradient in OAdam.
    critic_steps: steps of g for each step of f.
    unit_residuals: whether residuals are divided by their root mean square,
      so that g need not grow as they shrink.
    even_weights: share of their mean in the squared residuals that weigh the
      moments; 0 is the paper's optimal weighting. Where outcomes have little
      noise a squared residual is mostly what f misses, and weighting by it
      hides that.
  """

  treatment_rate: float = 2e-3
  instrument_rate: float = 5e-3
  beta1: float = 0.5
  beta2: float = 0.9
  critic_steps: int = 5
  unit_residuals: bool = False
  even_weights: float = 0.0

  def __post_init__(self) -> None:
    configs.check_at_least(self, 1, 'critic_steps')
    configs.check_positive(self, 'treatment_rate', 'instrument_rate')
    for name in ('beta1', 'beta2'):
      if not 0 <= getattr(self, name) < 1:
        raise ValueError(
          f'{name} must lie in [0, 1), got {getattr(self, name)}.'
        )
    if not 0 <= self.even_weights <= 1:
      raise ValueError(
        f'even_weights must lie in [0, 1], got {self.even_weights}.'
      )


@dataclasses.dataclass(frozen=True, kw_only=True)
class DeepIV:
  """One gradient step on each network.

  Attributes:
    components: Gaussians in the mixture.
    min_scale: least standard deviation of a Gaussian, in units of the
      standardised treatment; keeps the density of repeated values finite.
    samples: draws of the treatment in each of the two sets of a gradient.
    density_rate: first learning rate of an instrument net.
    response_rate: first learning rate of a treatment net.
    density_decay: weight decay of an instrument net.
    response_decay: weight decay of a treatment net.
  """

  components: int = 10
  min_scale: float = 1e-2
  samples: int = 2
  density_rate: float = 1e-3
  response_rate: float = 1e-3
  density_decay: float = 1e-3
  response_decay: float = 1e-4

  def __post_init__(self) -> None:
    configs.check_at_least(self, 1, 'components', 'samples')
    configs.check_positive(self, 'min_scale', 'density_rate', 'response_rate')
    configs.check_at_least(self, 0, 'density_decay', 'response_decay')
