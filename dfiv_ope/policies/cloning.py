"""The behaviour policy of a log, estimated from its actions.

A network classifies encoded observations (`clone_networks`). It has to beat the
mere frequencies of the actions; otherwise these are the policy. Where states
are cells of a table, it is a table of frequencies (`table_cloning`).

    found = cloning.clone(transitions, episodes, num_actions=3, seed=0)
    found.policy.action_probabilities(s)            # [B, A]
    found.held_out_loss, found.constant_loss
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from dfiv_ope import types
from dfiv_ope.nn import encoding
from dfiv_ope.policies import (
  clone_config,
  clone_networks,
  clone_training,
  table_cloning,
)

Config = clone_config.Config  # Known before this module is loaded.


def clone(
  transitions: types.Transition,
  episodes: np.ndarray,
  *,
  num_actions: int,
  seed: int,
  categorical: Sequence[int] = (),
  config: Config | None = None,
) -> clone_training.Clone[Any]:
  """Estimates the behaviour policy of a log.

  Args:
    transitions: the log, N rows.
    episodes: to which episode each row belongs, [N]. The rows of a log of one
      episode are held out as if each were an episode.
    num_actions: A.
    seed: same seed, same policy.
    categorical: columns of the observations whose values are names.
    config: hyper-parameters, the default ones if None.

  Raises:
    ValueError: the log has fewer than two rows.
  """
  config = config or clone_config.for_log(len(episodes), num_actions)
  observations = np.asarray(transitions.observation, np.float64)
  actions = np.asarray(transitions.action, np.int32)
  held_out = clone_training.held_out_rows(episodes, config=config, seed=seed)
  frequencies = clone_training.frequencies(actions, held_out, num_actions)
  states = encoding.fit(
    observations[~held_out], observations, categorical=categorical
  )
  constant_loss = float(-np.mean(np.log(frequencies[actions[held_out]])))
  if states.cells is not None:
    cells = states.cell(states.compact(observations))
    table, loss = table_cloning.clone(
      cells, actions, held_out, frequencies, states
    )
    return clone_training.Clone(
      table, held_out_loss=loss, constant_loss=constant_loss
    )
  return clone_networks.fit(
    observations,
    actions,
    states,
    held_out,
    frequencies,
    constant_loss=constant_loss,
    config=config,
    seed=seed,
  )
