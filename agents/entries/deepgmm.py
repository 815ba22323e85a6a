"""DeepGMM for OPE: hyper-parameters and registry entry."""

import dataclasses

from dfiv_ope import registry
from dfiv_ope.agents.entries import base
from dfiv_ope.iv import methods
from dfiv_ope.iv.methods.entries import update_rules
from dfiv_ope.nn import layers


@dataclasses.dataclass(frozen=True, kw_only=True)
class Config(base.Config, update_rules.DeepGMM):
  """Hyper-parameters of DeepGMM.

  Attributes:
    treatment_net: hidden layers of q.
    instrument_net: hidden layers of the critic.
    per_action: whether the networks have one output an action; the action is
      among their inputs otherwise.
    falling_rates: whether the learning rates fall to zero, by half a cosine.
    average_rate: how far the average of q's weights goes towards the present
      ones at each update; 1 for the present ones.
  """

  updates: int = 10_000
  checks: int = 20
  treatment_rate: float = 1e-3
  instrument_rate: float = 5e-3
  critic_steps: int = 1
  unit_residuals: bool = True
  even_weights: float = 0.5
  treatment_net: tuple[layers.Layer, ...] = (layers.Dense(64), layers.Dense(64))
  instrument_net: tuple[layers.Layer, ...] = (
    layers.Dense(64, 'silu'),
    layers.Dense(64, 'silu'),
  )
  per_action: bool = True
  falling_rates: bool = True
  average_rate: float = 0.002

  def __post_init__(self) -> None:
    base.Config.__post_init__(self)
    update_rules.DeepGMM.__post_init__(self)
    if not 0.0 < self.average_rate <= 1.0:
      raise ValueError(
        f'average_rate must lie in (0, 1], got {self.average_rate}.'
      )


# How the default was chosen, without the truth, on logs of the three tasks with
# action noise 0.2. `unit_residuals`: on cartpole, where residuals are a
# hundredth of catch's, the estimate comes near LSTD-Q's (98.8) in 3,000 updates
# and stays within 1.3 of it; without, it still climbs after 6,000 (96.0).
# `treatment_rate`: at twice this rate it came to rest at 91.7. 10,000 updates:
# over the last third of them no estimate moves by more than 2.3 %.
# silu in the critic: units of a relu critic die at this rate, and it no longer
# sees some states (a table of 5 states was off by a standard deviation).
# Deviation: `even_weights`. With the paper's weights mountain_car-plain of the
# suite is 15 % off (seed 500), with a share of a half 5 %, with all 3 %; but
# with all a log of 1,166 rows (glucose-few) is 151 % off, with a half 10 %.
# Deviation of 'paper': OAdam instead of Adam, and no ReLU on the output of q,
# which could not be negative.
CONFIGS = {
  'default': Config(),
  'paper': Config(
    updates=20_000,
    treatment_rate=1e-3,
    instrument_rate=1e-3,
    beta1=0.9,
    beta2=0.999,
    treatment_net=(layers.Dense(50), layers.Dense(50)),
    instrument_net=(layers.Dense(150), layers.Dense(100), layers.Dense(50)),
    per_action=False,
    unit_residuals=False,
    even_weights=0.0,
    falling_rates=False,
    average_rate=1.0,
  ),
}
ENTRY = registry.Entry(
  version=3,
  configs=CONFIGS,
  quick=('checks=3', 'updates=1500'),
  tiny={'updates': 4, 'checks': 2, 'batch_size': 32},
  cost={'fixed': 1.0, 'updates': 0.0011},
  paper_cost={'fixed': 1.0, 'updates': 0.0018},
  style=methods.ENTRIES['deepgmm'].style,
  when=(
    'As a second opinion on FQE: on short logs of the suite it was mostly 1 '
    'to 5 % off, where LSTD-Q was 0 to 4 %. It needs its full number of '
    'updates.'
  ),
)
