"""Importance weights of a log's steps, and how many steps they are worth."""

import dataclasses
import math
from typing import NamedTuple

import numpy as np
from scipy import special

from dfiv_ope import types


@dataclasses.dataclass(frozen=True, kw_only=True)
class Weights:
  """Importance weights of a log's steps.

  Attributes:
    effective_steps: (sum w)^2 / sum w^2.
    effective_episodes: the same with the product of each episode's weights.
      It says what weighting whole episodes would rest on, and nothing of
      methods that look at steps, so it is in no verdict.
    largest: weight of a step.
    largest_share: its share of all weight.
    mean: of all; one if b is right.
    mean_error: standard error of that mean.
    estimated: whether b was estimated from the log.
  """

  effective_steps: float
  effective_episodes: float
  largest: float
  largest_share: float
  mean: float
  mean_error: float
  estimated: bool


def summarise(
  ratios: types.FloatArray, episodes: np.ndarray, *, estimated: bool
) -> Weights:
  """Returns what is to be known of weights.

  Args:
    ratios: pi / b of the logged actions, [N].
    episodes: to which episode each step belongs, [N].
    estimated: whether b was estimated from the log.
  """
  with np.errstate(divide='ignore'):
    logs = np.log(ratios)
  return Weights(
    effective_steps=effective_size(logs),
    effective_episodes=effective_size(episode_log_weights(logs, episodes)),
    largest=float(ratios.max()),
    largest_share=float(ratios.max() / (ratios.sum() or 1.0)),
    mean=float(ratios.mean()),
    mean_error=float(ratios.std() / np.sqrt(len(ratios))),
    estimated=estimated,
  )


def step_weights(
  target: types.FloatArray, behaviour: types.FloatArray
) -> types.FloatArray:
  """Returns pi(a|s) / b(a|s) of the logged actions, [N].

  Args:
    target: pi(a|s), [N].
    behaviour: b(a|s), [N].

  Raises:
    ValueError: b is no probability of what was taken.
  """
  return target / _probabilities(behaviour)


def log_ratios(
  log_target: types.FloatArray, behaviour: types.FloatArray, *, densities: bool
) -> types.FloatArray:
  """Returns log pi(a|s) - log b(a|s) of the logged actions, [N].

  Args:
    log_target: log pi(a|s), -inf for what the target never does, [N].
    behaviour: b(a|s), [N].
    densities: whether both are densities.

  Raises:
    ValueError: b or pi is none of what was taken.
  """
  if not densities:
    return log_target - np.log(_probabilities(behaviour))
  return _log_density(log_target) - np.log(_densities(behaviour))


def density_weights(
  log_target: types.FloatArray, behaviour: types.FloatArray
) -> types.FloatArray:
  """Returns the ratio of two densities of the logged actions, [N].

  Args:
    log_target: log density in the target policy, [N]; -inf for what it never
      does.
    behaviour: density in the behaviour policy, [N].

  Raises:
    ValueError: a density is none of what was taken.
  """
  return np.exp(log_ratios(log_target, behaviour, densities=True))


class Average(NamedTuple):
  """A mean by weights.

  Attributes:
    value: sum w e / sum w.
    standard_error: of the value.
    effective: rows that it rests on, (sum w)^2 / sum w^2.
    mean_weight: one if b is right and the log is where the policy goes.
  """

  value: float
  standard_error: float
  effective: float
  mean_weight: float


def average(values: types.FloatArray, logs: types.FloatArray) -> Average:
  """Returns the mean of values by weights.

  Args:
    values: e, [N].
    logs: log w, [N]; -inf for a weight of 0.
  """
  effective = effective_size(logs)
  if not effective:
    return Average(math.nan, math.inf, 0.0, 0.0)
  shares = np.exp(logs - special.logsumexp(logs))
  value = float(shares @ values)
  return Average(
    value,
    float(np.sqrt(np.sum(np.square(shares * (values - value))))),
    effective,
    float(np.exp(special.logsumexp(logs)) / len(logs)),
  )


def episode_log_weights(
  logs: types.FloatArray, episodes: np.ndarray
) -> types.FloatArray:
  """Returns the log of the product of each episode's weights, [E]."""
  _, index = np.unique(episodes, return_inverse=True)
  return np.bincount(index, weights=logs)


def effective_size(logs: types.FloatArray) -> float:
  """Returns (sum w)^2 / sum w^2 from log w; 0 if all weights are 0."""
  if np.all(np.isneginf(logs)):
    return 0.0
  return float(
    np.exp(
      2.0 * special.logsumexp(logs) - special.logsumexp(2.0 * np.asarray(logs))
    )
  )


def _probabilities(behaviour: types.FloatArray) -> types.FloatArray:
  """Returns b(a|s), refused if it is no probability of what was taken."""
  behaviour = np.asarray(behaviour, np.float64)
  wrong = ~((behaviour > 0.0) & (behaviour <= 1.0 + 1e-6))
  if wrong.any():
    row = int(np.argmax(wrong))
    raise ValueError(
      f'The log says that the action of step {row} had probability '
      f'{behaviour[row]:g}, but what was taken has one in (0, 1]. Correct '
      'it, or leave the probabilities out.'
    )
  return behaviour


def _densities(behaviour: types.FloatArray) -> types.FloatArray:
  """Returns densities, refused if one is none of what was taken."""
  behaviour = np.asarray(behaviour, np.float64)
  wrong = ~(np.isfinite(behaviour) & (behaviour > 0.0))
  if wrong.any():
    row = int(np.argmax(wrong))
    raise ValueError(
      f'The log says that the action of step {row} had density '
      f'{behaviour[row]:g}, but what was taken has a positive and finite '
      'one. Correct it, or leave the densities out.'
    )
  return behaviour


def _log_density(log_target: types.FloatArray) -> types.FloatArray:
  """Returns log densities of the target policy, refused if one is none."""
  log_target = np.asarray(log_target, np.float64)
  wrong = np.isnan(log_target) | (log_target == np.inf)
  if wrong.any():
    row = int(np.argmax(wrong))
    raise ValueError(
      f'The target policy has the log density {log_target[row]:g} at the '
      f'action of step {row}, but it is a finite number, or -inf for an '
      'action that is never taken.'
    )
  return log_target
