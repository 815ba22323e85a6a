"""DeepIV: hyper-parameters and registry entry."""

import dataclasses

from dfiv_ope import configs, registry
from dfiv_ope.iv.methods.entries import update_rules
from dfiv_ope.nn import layers

_HIDDEN = (
  layers.Dense(128, 'tanh'),
  layers.Dense(64, 'tanh'),
  layers.Dense(32, 'tanh'),
)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Config(update_rules.DeepIV):
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

  instrument_net: tuple[layers.Layer, ...] = _HIDDEN
  treatment_net: tuple[layers.Layer, ...] = (*_HIDDEN, layers.Dense(1, None))
  batch_size: int = 100
  density_steps: int = 3000
  response_steps: int = 6000
  checks: int = 20
  held_out_samples: int = 25
  members: int = 3
  held_out_share: float = 0.1

  def __post_init__(self) -> None:
    super().__post_init__()
    configs.check_at_least(
      self, 1, 'batch_size', 'checks', 'held_out_samples', 'members'
    )
    configs.check_at_least(self, self.checks, 'density_steps', 'response_steps')
    layers.check_output('treatment_net', self.treatment_net)
    if not 0 < self.held_out_share <= min(0.5, 1.0 / self.members):
      raise ValueError(
        'held_out_share must be positive, at most 1/2 and at most '
        f'1 / members, got {self.held_out_share} with {self.members} '
        'members.'
      )

  @classmethod
  def paper(cls, rows: int) -> 'Config':
    """Returns the networks of the paper, trained as in its released code.

    Deviation: the released code keeps the last iterate at a constant learning
    rate; here the rate falls and the held-out loss chooses.

    Args:
      rows: rows of both stages; dropout and the number of steps follow it.
    """
    base = cls(density_decay=1e-4, response_decay=1e-3, members=1)
    body: tuple[layers.Layer, ...] = ()
    for size in (128, 64, 32):
      body += (layers.Dense(size), layers.Dropout(dropout_rate(rows)))
    # 300 epochs a network.
    steps = max(300 * rows // base.batch_size, base.checks)
    return dataclasses.replace(
      base,
      density_steps=steps,
      response_steps=steps,
      instrument_net=body,
      treatment_net=(*body, layers.Dense(1, None)),
    )


def dropout_rate(rows: int) -> float:
  """Returns min(1000 / (1000 + n), 1/2), the rule of Hartford et al."""
  return min(1000.0 / (1000.0 + rows), 0.5)


# The paper's follows the number of rows: `Config.paper`.
CONFIGS = {'default': Config()}
ENTRY = registry.Entry(
  version=1,
  configs=CONFIGS,
  tiny={'density_steps': 4, 'response_steps': 4, 'checks': 2},
  cost={'fixed': 1.0, 'density_steps': 0.0012, 'response_steps': 0.0012},
  paper_cost={'fixed': 1.0, 'density_steps': 0.0005, 'response_steps': 0.0005},
  style=registry.Style(
    label='DeepIV', family='neural IV', color='#2b95b5', marker='v'
  ),
  when=(
    'When a mixture of Gaussians can describe the treatment given the '
    'instrument. Second to DFIV on the demand design; not for pictures as '
    'treatments.'
  ),
)
