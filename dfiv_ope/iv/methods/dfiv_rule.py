"""The hyper-parameters of one DFIV iteration and of its closed-form solve."""

import dataclasses

from dfiv_ope.nn import descent


@dataclasses.dataclass(frozen=True, kw_only=True)
class UpdateRule:
  """One iteration of DFIV, and the closed-form solve.

  Attributes:
    stage1_penalty: lambda1.
    stage2_penalty: lambda2.
    instrument_steps: T1, gradient steps on phi in an iteration.
    covariate_steps: gradient steps on xi in an iteration.
    treatment_steps: T2, gradient steps on psi in an iteration.
    learning_rate: of phi and xi.
    treatment_learning_rate: of psi, which makes the fewest steps.
    refinements: how often stage 2 is solved again without the noise of the
      treatment (`dfiv_stages.stage2`); 0 is the paper's stage 2.
    swap_solve: whether `solve` uses each batch in both stages, predicted from
      the other one, instead of one batch a stage.
    joint: whether all networks descend the stage-2 loss, Eq. (8) without
      refinements, `instrument_steps` times an iteration. It fails (appendix
      "Failure of Joint Optimization") and is here to show that.
  """
  stage1_penalty: float = 3e-2
  stage2_penalty: float = 3e-3
  instrument_steps: int = 3
  covariate_steps: int = 10
  treatment_steps: int = 1
  learning_rate: float = 2e-3
  treatment_learning_rate: float = 1e-2
  refinements: int = 2
  swap_solve: bool = True
  joint: bool = False

  def __post_init__(self) -> None:
    descent.check_positive(
        self, 'stage1_penalty', 'stage2_penalty', 'learning_rate',
        'treatment_learning_rate')
    descent.check_at_least(
        self, 1, 'instrument_steps', 'covariate_steps', 'treatment_steps')
    descent.check_at_least(self, 0, 'refinements')

  @property
  def effective_refinements(self) -> int:
    """The refinements; none in joint minimisation, where stage 1 is lost."""
    return 0 if self.joint else self.refinements
