"""DeepGMM: hyper-parameters and registry entry."""

import dataclasses

from dfiv_ope import configs, registry
from dfiv_ope.iv.methods.entries import update_rules
from dfiv_ope.nn import layers

_LAYERS = (
  layers.Dense(128),
  layers.Dense(64),
  layers.Dense(32),
  layers.Dense(1, None),
)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Config(update_rules.DeepGMM):
  """DeepGMM on arrays: the update rule, the networks and the training.

  Attributes:
    treatment_net: layers of f, the last with one output.
    instrument_net: layers of the critic g, likewise.
    batch_size: rows of a gradient, drawn with replacement.
    steps: steps of f.
    checks: snapshots of f and g to choose from.
    swap: whether a second game is trained on the rows that the first is
      chosen by, and chosen by those the first is trained on; the two
      structural functions are averaged.
  """

  treatment_net: tuple[layers.Layer, ...] = _LAYERS
  instrument_net: tuple[layers.Layer, ...] = _LAYERS
  batch_size: int = 256
  steps: int = 4000
  checks: int = 40
  swap: bool = True

  def __post_init__(self) -> None:
    super().__post_init__()
    configs.check_at_least(self, 1, 'batch_size', 'checks')
    configs.check_at_least(self, self.checks, 'steps')
    for name in ('treatment_net', 'instrument_net'):
      layers.check_output(name, getattr(self, name))


# The paper's networks, with the rates of its released code.
# Deviation: that code has Adam, a constant rate and the last iterate.
PAPER = Config(treatment_rate=5e-4, instrument_rate=2.5e-3, swap=False)
CONFIGS = {'default': Config(), 'paper': PAPER}
ENTRY = registry.Entry(
  version=1,
  configs=CONFIGS,
  tiny={'steps': 4, 'checks': 2},
  cost={'fixed': 1.0, 'steps': 0.005},
  paper_cost={'fixed': 1.0, 'steps': 0.0021},
  style=registry.Style(
    label='DeepGMM', family='neural IV', color='#cc79a7', marker='D'
  ),
  when=(
    'As a second opinion on DFIV, which it beat where the instrument is a '
    'picture and the treatment a number. It is a game of two networks, '
    'which need not come to rest.'
  ),
)
