"""Policies whose actions are vectors: a mean, and maybe noise around it.

See `types.ContinuousPolicy`. They are stored as TensorFlow SavedModels with a
function `mean` and, if there is noise, `standard_deviation`; other policies
with the functions `draw` and `log_prob`.

    policy = continuous.Gaussian(mean, standard_deviation=0.2, actions=actions)
    policy.draw(s, quasi_random.uniforms(len(s), 8, actions.size, seed=0))
    policy.log_prob(s, a)                           # [B]
"""

from collections.abc import Callable
import pathlib
from typing import Any

import numpy as np
import tensorflow as tf

from dfiv_ope import actions as actions_lib
from dfiv_ope import types
from dfiv_ope.policies import censored, saved_models

# Maps raw observations [B, D] to means and standard deviations, [B, d] or [d].
Moments = Callable[[tf.Tensor], tuple[tf.Tensor, tf.Tensor]]


class Clipped(tf.Module):
  """Independent Gaussian entries, clipped to the bounds.

  Attributes:
    actions: what an action is.
    moments: maps raw observations to means and standard deviations.
  """

  def __init__(
    self,
    moments: Moments,
    *,
    actions: actions_lib.Continuous,
    deterministic: bool,
    name: str = 'clipped',
  ):
    """Builds the policy.

    Args:
      moments: maps raw observations [B, D] to means and standard deviations,
        [B, d] or [d].
      actions: what an action is; none of its entries is a name, unless the
        policy is deterministic.
      deterministic: whether all standard deviations are 0.
      name: of the module.

    Raises:
      ValueError: an entry is a name and has noise.
    """
    super().__init__(name)
    if actions.categories and not deterministic:
      raise ValueError(
        'Gaussian noise is for numbers, but entry '
        f'{actions.entry(min(actions.categories))} of the action is a name. '
        'Pass a policy with sample and log_prob.'
      )
    self.actions = actions
    self.moments = moments
    self._deterministic = deterministic

  @property
  def deterministic(self) -> bool:
    return self._deterministic

  def draw(self, observation: tf.Tensor, uniforms: tf.Tensor) -> tf.Tensor:
    """Returns clipped mean + deviation * normal quantiles, [B, K, d]."""
    mean, deviation = (
      tf.cast(each, tf.float32) for each in self.moments(observation)
    )
    deviation = tf.broadcast_to(deviation, tf.shape(mean))
    low, high = (
      tf.constant(bound, tf.float32) for bound in self.actions.bounds
    )
    return censored.draw(
      mean[:, None, :],
      deviation[:, None, :],
      tf.cast(uniforms, tf.float32),
      low,
      high,
    )

  def log_prob(self, observation: tf.Tensor, action: tf.Tensor) -> tf.Tensor:
    """Returns the log density, at a bound the log of the mass there, [B].

    Raises:
      ValueError: the policy is deterministic.
    """
    if self.deterministic:
      raise ValueError('A deterministic policy has no density.')
    mean, deviation = (
      tf.cast(each, tf.float64) for each in self.moments(observation)
    )
    return tf.reduce_sum(
      censored.log_prob(
        mean, deviation, tf.cast(action, tf.float64), *self.actions.bounds
      ),
      axis=1,
    )


class Gaussian(Clipped):
  """A mean with Gaussian noise that is the same in all states.

  Attributes:
    mean: maps raw observations to means.
  """

  def __init__(
    self,
    mean: Callable[[tf.Tensor], tf.Tensor],
    *,
    standard_deviation: np.ndarray | float,
    actions: actions_lib.Continuous,
  ):
    """Builds the policy.

    Args:
      mean: maps raw observations [B, D] to means [B, d]; a `tf.Module`, if it
        has variables.
      standard_deviation: of each entry, [d], or of all; 0 for a deterministic
        policy.
      actions: what an action is; none of its entries is a name, unless the
        policy is deterministic.

    Raises:
      ValueError: standard deviations are negative, or only some of them are
        0, or an entry with noise is a name.
    """
    deviation = np.broadcast_to(
      np.asarray(standard_deviation, np.float32), [actions.size]
    )
    if not (np.isfinite(deviation) & (deviation >= 0.0)).all() or (
      deviation.any() and not deviation.all()
    ):
      raise ValueError(
        'standard_deviation must be finite and positive, or 0 for all '
        f'entries, got {deviation.tolist()}.'
      )
    super().__init__(
      lambda observation: (self.mean(observation), deviation),
      actions=actions,
      deterministic=not deviation.any(),
      name='gaussian',
    )
    self.mean = mean


class Drawn(tf.Module):
  """A SavedModel with functions `draw` and `log_prob`."""

  def __init__(self, model: Any, dtype: tf.DType):
    super().__init__('drawn')
    self._model = model
    self._dtype = dtype

  @property
  def deterministic(self) -> bool:
    return False

  def draw(self, observation: tf.Tensor, uniforms: tf.Tensor) -> tf.Tensor:
    return self._model.draw(
      tf.cast(observation, self._dtype), tf.cast(uniforms, tf.float32)
    )

  def log_prob(self, observation: tf.Tensor, action: tf.Tensor) -> tf.Tensor:
    return self._model.log_prob(
      tf.cast(observation, self._dtype), tf.cast(action, tf.float64)
    )


def save(
  policy: types.ContinuousPolicy,
  path: pathlib.Path,
  *,
  num_observations: int,
  actions: actions_lib.Continuous,
) -> None:
  """Writes a policy as a SavedModel into a new directory.

  Args:
    policy: a `tf.Module`, if it has variables.
    path: the directory.
    num_observations: D.
    actions: what an action is.
  """
  module = tf.Module()
  module.policy = policy  # keeps the variables alive and tracked
  states = tf.TensorSpec([None, num_observations], tf.float64)
  if isinstance(policy, Clipped):
    moments = policy.moments
    module.mean = tf.function(
      lambda observation: tf.convert_to_tensor(moments(observation)[0]),
      input_signature=[states],
    )
    if not policy.deterministic:
      module.standard_deviation = tf.function(
        lambda observation: tf.convert_to_tensor(moments(observation)[1]),
        input_signature=[states],
      )
  else:
    module.draw = tf.function(
      policy.draw,
      input_signature=[
        states,
        tf.TensorSpec([None, None, actions.size], tf.float32),
      ],
    )
    module.log_prob = tf.function(
      policy.log_prob,
      input_signature=[states, tf.TensorSpec([None, actions.size], tf.float64)],
    )
  tf.saved_model.save(module, str(path))


def load(
  path: pathlib.Path,
  *,
  num_observations: int,
  actions: actions_lib.Continuous,
  trusted: bool = False,
) -> types.ContinuousPolicy:
  """Loads a SavedModel and checks that it fits the task at hand.

  Args:
    path: the directory written by `save`.
    num_observations: D of the observations it will be asked about.
    actions: what an action is.
    trusted: load it even if its operations may do more than compute.

  Raises:
    FileNotFoundError: there is no SavedModel at the path.
    ValueError: it is not a policy, one for other observations or actions, or
      one that may do more than compute.
  """
  model = saved_models.load(path, trusted=trusted)
  mean = getattr(model, 'mean', None)
  draws = all(hasattr(model, name) for name in ('draw', 'log_prob'))
  if mean is None and not draws:
    raise ValueError(
      f'{path} is a SavedModel without the function mean, or draw and '
      f'log_prob, so it is no policy over actions of {actions.size} entries.'
    )
  size = actions.size
  asked = (
    mean
    if mean is not None
    else lambda observation: model.draw(
      observation, tf.fill([1, 1, size], 0.5)
    )[:, 0]
  )
  answer, dtype = saved_models.ask_once(
    asked, path, num_observations=num_observations
  )
  shape = getattr(answer, 'shape', [])
  if list(shape) != [1, size]:
    raise ValueError(
      f'The policy in {path} returned {type(answer).__name__} of shape '
      f'{list(shape)} for one observation, not [1, {size}]: actions have '
      f'{size} entries. Was it trained for another task?'
    )
  if mean is None:
    return Drawn(model, dtype)
  deviation = getattr(model, 'standard_deviation', None)

  def moments(observation: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
    observation = tf.cast(observation, dtype)
    return mean(observation), (
      tf.zeros([size]) if deviation is None else deviation(observation)
    )

  policy = Clipped(
    moments, actions=actions, deterministic=deviation is None, name='loaded'
  )
  policy.model = model  # keeps the variables alive and tracked
  return policy
