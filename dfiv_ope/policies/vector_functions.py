"""Policies over vectors that come from elsewhere: functions and samplers."""

from collections.abc import Callable
import hashlib
from typing import Any

import numpy as np
import tensorflow as tf

from dfiv_ope import actions as actions_lib
from dfiv_ope.policies import answers, continuous, vector_answers


class Function(continuous.Clipped):
  """Asks a function of arrays for means and standard deviations."""

  def __init__(
    self,
    ask: Callable[[np.ndarray], vector_answers.Moments],
    *,
    actions: actions_lib.Continuous,
    deterministic: bool,
  ):
    """Wraps what `vector_answers.asking` returns."""

    def moments(observation: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
      mean, deviation = _ask(ask, [observation], [tf.float64, tf.float64])
      shape = [None, actions.size]
      return tf.ensure_shape(mean, shape), tf.ensure_shape(deviation, shape)

    super().__init__(
      moments, actions=actions, deterministic=deterministic, name='function'
    )


class Sampled(tf.Module):
  """Asks an object with `sample` and `log_prob`.

  Its generator is seeded by the uniform numbers of a call, so the same numbers
  give the same actions.
  """

  def __init__(
    self,
    sampler: vector_answers.Sampler,
    *,
    name: str,
    actions: actions_lib.Continuous,
  ):
    """Wraps the object.

    Args:
      sampler: what is asked.
      name: for messages.
      actions: what an action is.
    """
    super().__init__('sampled')
    self._sampler = sampler
    self._label = name
    self._actions = actions

  @property
  def deterministic(self) -> bool:
    return False

  def draw(self, observation: tf.Tensor, uniforms: tf.Tensor) -> tf.Tensor:
    (drawn,) = _ask(self._draw, [observation, uniforms], [tf.float32])
    return tf.ensure_shape(drawn, [None, None, self._actions.size])

  def log_prob(self, observation: tf.Tensor, action: tf.Tensor) -> tf.Tensor:
    (found,) = _ask(self._log_prob, [observation, action], [tf.float64])
    return tf.ensure_shape(found, [None])

  def _draw(
    self, observation: np.ndarray, uniforms: np.ndarray
  ) -> tuple[np.ndarray]:
    states = np.repeat(observation, uniforms.shape[1], axis=0)
    seed = hashlib.sha256(np.float32(uniforms).tobytes()).digest()
    whose = f'{self._label}.sample'
    found = vector_answers.as_actions(
      answers.call(
        self._sampler.sample,
        whose,
        states,
        np.random.default_rng(int.from_bytes(seed)),
      ),
      len(states),
      self._actions,
      whose=whose,
    )
    return (found.reshape(uniforms.shape).astype(np.float32),)

  def _log_prob(
    self, observation: np.ndarray, action: np.ndarray
  ) -> tuple[np.ndarray]:
    whose = f'{self._label}.log_prob'
    return (
      vector_answers.as_log_densities(
        answers.call(self._sampler.log_prob, whose, observation, action),
        len(observation),
        whose=whose,
      ),
    )


def _ask(
  function: Callable[..., tuple[np.ndarray, ...]],
  inputs: list[tf.Tensor],
  dtypes: list[tf.DType],
) -> list[Any]:
  """Returns what a function of arrays says, inside and outside of graphs."""
  if tf.executing_eagerly():  # errors stay what they are
    found = function(*map(np.asarray, inputs))
    return [
      tf.constant(each, dtype)
      for each, dtype in zip(found, dtypes, strict=True)
    ]
  return list(
    tf.numpy_function(lambda *arrays: tuple(function(*arrays)), inputs, dtypes)
  )
