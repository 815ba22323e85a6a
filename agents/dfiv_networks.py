"""Networks of DFIV for OPE: psi and phi, as large as a log can tell.

Waves begin as random Fourier features whose bandwidth is half the median
distance between observations, as those of LSTD-Q are. So both stages are good
before any update where the value is smooth, and few updates are needed.
"""

import sonnet as snt

from dfiv_ope import types
from dfiv_ope.agents.entries import dfiv as entry
from dfiv_ope.nn import layers as layers_lib
from dfiv_ope.ope import bellman, decision_networks

# Features of all actions that are solved for in every update, actions that have
# features of their own, the fewest waves of each, and rows of the log that a
# column takes. Elsewhere features are of state and action together.
_MOST_COLUMNS, _MOST_ACTIONS, _LEAST_WAVES, _ROWS_PER_COLUMN = 700, 20, 20, 20


def make(
  layers: tuple[layers_lib.Layer, ...],
  config: entry.Config,
  problem: bellman.Problem,
  *,
  seed: types.Seed,
) -> snt.Module:
  """Returns a network whose last column is a constant.

  Args:
    layers: as the config has them.
    config: says how features depend on actions, and how wide waves are.
    problem: says what states and actions are, and their scales.
    seed: seeds the weights.
  """
  spaces = problem.spaces
  actions = spaces.num_actions
  by_action = config.per_action and 0 < actions <= _MOST_ACTIONS
  if isinstance(layers[0], layers_lib.Waves):
    unit = config.bandwidth_scale * problem.distance
    layers = (
      fitting(layers[0], problem.num_rows, actions if by_action else 1),
      *layers[1:],
    )
  else:
    unit = 1.0
  if by_action:
    state = decision_networks.StateNetwork(
      layers, states=spaces.states, seed=seed, unit=unit
    )
    if (state.output_size + 1) * actions <= _MOST_COLUMNS:
      return decision_networks.OuterNetwork(
        state, state_size=state.output_size, num_actions=actions
      )
  return decision_networks.Joint(
    layers, spaces=spaces, seed=seed, constant=True, unit=unit
  )


def fitting(
  asked: layers_lib.Waves, rows: int, copies: int
) -> layers_lib.Waves:
  """Returns as many waves as are wanted, or as can be solved for.

  Args:
    asked: as the config has them.
    rows: of the log.
    copies: of these features, one for each action.
  """
  columns = min(_MOST_COLUMNS, rows // _ROWS_PER_COLUMN)
  size = min(asked.size, max(_LEAST_WAVES, columns // copies - 1))
  return layers_lib.Waves(size // 2 * 2)
