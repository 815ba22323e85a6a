"""What doubly robust methods are told: weights, and LSTD-Q for values."""

import dataclasses

from dfiv_ope.agents.entries import lstd, weighing

# CPU seconds of a run, roughly: clones as in `weighing`, and as many LSTD-Q.
COST = {'fixed': 15.0}


@dataclasses.dataclass(frozen=True, kw_only=True)
class Config(lstd.Config, weighing.Config):
  """Hyper-parameters: those of the weights, and of LSTD-Q on other folds."""

  def __post_init__(self) -> None:
    lstd.Config.__post_init__(self)
    weighing.Config.__post_init__(self)


# The papers leave the model of q open.
CONFIGS = {'default': Config(), 'paper': Config()}
