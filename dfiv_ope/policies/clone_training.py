"""How the behaviour policy of a log is learned, whatever its actions are.

A network is trained by the log loss and kept where whole episodes that were
held out are likeliest. It has to beat what does not look at the state there;
otherwise this is the policy.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, Protocol, TypeVar

import numpy as np

from dfiv_ope.policies import clone_config

if TYPE_CHECKING:
  import tensorflow as tf

  from dfiv_ope.nn import networks


class Trainable(Protocol):
  """A policy that mixes a network with what does not look at the state."""

  network: 'networks.Network'
  floor: 'tf.Variable'


_Policy = TypeVar('_Policy')
_Trained = TypeVar('_Trained', bound=Trainable)


class Clone(NamedTuple, Generic[_Policy]):
  """An estimated policy and how well it foretells held-out actions.

  Attributes:
    policy: the estimate.
    held_out_loss: its mean log loss on held-out episodes.
    constant_loss: that of a policy that does not look at the state.
  """

  policy: _Policy
  held_out_loss: float
  constant_loss: float


def held_out_rows(
  episodes: np.ndarray, *, config: clone_config.Config, seed: int
) -> np.ndarray:
  """Returns which rows are held out, [N]: whole episodes, at least one.

  Args:
    episodes: to which episode each row belongs, [N]. The rows of a log of one
      episode are held out as if each were an episode.
    config: says which share of them.
    seed: same seed, same rows.

  Raises:
    ValueError: there are fewer than two rows.
  """
  if len(episodes) < 2:
    raise ValueError(
      'The policy of a log of fewer than two transitions cannot be '
      'estimated. Name another policy.'
    )
  names, index = np.unique(episodes, return_inverse=True)
  if len(names) == 1:
    index = np.arange(len(episodes))
  order = np.random.default_rng((seed, 1)).permutation(int(index.max()) + 1)
  chosen = order[: max(1, round(config.held_out * len(order)))]
  return np.isin(index, chosen)


def frequencies(
  actions: np.ndarray, held_out: np.ndarray, num_actions: int
) -> np.ndarray:
  """Returns those of the rows to train on, float32 [A].

  Each action of the log counts one more, for those that are only held out.
  """
  counts = np.bincount(actions[~held_out], minlength=num_actions)
  counts = counts + np.isin(np.arange(num_actions), actions)
  return (counts / counts.sum()).astype(np.float32)


def fit(
  policy: _Trained,
  *,
  loss: Callable[['tf.Tensor'], 'tf.Tensor'],
  held_out: Callable[[], 'tf.Tensor'],
  constant_loss: float,
  training: np.ndarray,
  config: clone_config.Config,
  seed: int,
) -> Clone[_Trained]:
  """Trains the network of a policy.

  Args:
    policy: what is trained.
    loss: mean log loss of rows, [], of their places [B].
    held_out: mean log loss of the held-out rows, [].
    constant_loss: the same without the network.
    training: places of the rows to train on, [M].
    config: hyper-parameters.
    seed: same seed, same policy.
  """
  import tensorflow as tf

  from dfiv_ope.nn import descent, optimizers

  places = tf.constant(training)
  search = descent.Descent(
    policy.network,
    optimizers.Adam,
    rate=config.learning_rate,
    decay=config.decay,
  )
  generator = tf.random.Generator.from_seed(seed)

  def step(_: int) -> Any:
    rows = tf.gather(
      places,
      generator.uniform(
        [config.batch_size], maxval=len(training), dtype=tf.int32
      ),
    )
    return search.step(lambda: loss(rows))

  descent.train(
    [search],
    step=step,
    held_out=lambda _: held_out(),
    steps=config.updates,
    checks=min(config.checks, config.updates),
    label='cloning',
  )
  found = float(held_out())
  if constant_loss <= found:
    policy.floor.assign(1.0)
    found = constant_loss
  return Clone(policy, held_out_loss=found, constant_loss=constant_loss)
