"""How much each episode of a log moves the value of a policy.

The weights of `uncertainty` solve the dual of LSTD-Q: with psi the features
and A = sum psi (psi - gamma d psi')', the value is v'A^-1 sum psi r, so a row's
reward counts w = v'A^-1 psi. They belong to the log and the policy, and serve
every method's Q-function.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import tensorflow as tf

from dfiv_ope import bellman, configs, poles, ridge, types, uncertainty
from dfiv_ope.agents import base, first_stage, fixed_features, lstd

# A longer log is thinned to about as many rows to solve for the weights.
_DUAL_ROWS = 200_000


class Influence:
  """The episodes' influence on values of one policy.

  Attributes:
    weights: w of every transition, [N].
    first_stage: what states and actions tell of the values that follow.
  """

  def __init__(
      self,
      problem: bellman.Problem,
      parts: base.Parts,
      *,
      episodes: types.FloatArray,
      initial_observations: tf.Tensor,
  ):
    """Solves for the weights.

    Args:
      problem: what is asked of the log.
      parts: gives the log in order.
      episodes: index of the episode of each transition, [N].
      initial_observations: raw, [E, D].
    """
    config = lstd.CONFIGS['default']
    psi = fixed_features.make(
        problem, size=config.random_features,
        bandwidth_scale=config.bandwidth_scale, seed=0)
    self._parts = parts
    self._problem = problem
    self._episodes = episodes
    self._initial = problem.decide(initial_observations)
    value = tf.reduce_mean(psi(self._initial), axis=0)[:, None]  # v, [D, 1]
    sizes = [len(rows.outcome) for rows in parts()]
    used = _pairs(range(len(sizes)), len(episodes), _DUAL_ROWS)
    looked_at = _pairs(used, sum(sizes[index] for index in used),
                       first_stage.MOST_ROWS)
    others = sorted(set(used) - set(looked_at))
    sums = fixed_features.summing(psi)
    halves = base.half_sums(sums, _only(parts, looked_at))
    total = ridge.merge(*halves, *(
        base.half_sums(sums, _only(parts, others)) if others else ()))
    self.first_stage = first_stage.FirstStage(
        problem, psi, _only(parts, looked_at), halves,
        episodes=episodes[np.isin(
            np.repeat(np.arange(len(sizes)), sizes), looked_at)])
    # The sums of all rows would be larger by this.
    share = float(total.count) / len(episodes)
    dual = share * ridge.solve_dual(
        total, value, poles.steady_penalty(total, config.penalty))

    @tf.function(reduce_retracing=True)
    def weigh(rows: types.IVBatch) -> tf.Tensor:
      return psi.dot(rows.instrument, dual)[:, 0]

    self.weights = np.concatenate([weigh(rows) for rows in parts()])

  @property
  def effective_share(self) -> float:
    """Share of the rows that the value rests on: (sum w)^2 / (N sum w^2).

    Small where the policy goes to states that the log seldom shows.
    """
    return float(np.sum(self.weights) ** 2 / (
        len(self.weights) * np.sum(np.square(self.weights))))

  def resample(self, agent: base.Agent) -> tuple[types.FloatArray, float]:
    """Returns changes of an agent's estimate by resampling, its correction.

    Args:
      agent: a method that has learned.
    """
    @tf.function(reduce_retracing=True)
    def errors(rows: types.IVBatch) -> tf.Tensor:
      fitted = bellman.difference(agent.predict, rows.treatment)
      return tf.cast(rows.outcome, fitted.dtype) - fitted

    scale = self._problem.value_scale
    weighted = scale * self.weights * np.concatenate(
        [errors(rows)[:, 0] for rows in self._parts()])
    added = uncertainty.contributions(
        scale * agent.predict(self._initial).numpy()[:, 0], weighted,
        self._episodes)
    return uncertainty.resample(added), float(np.sum(weighted))


def _pairs(parts: Sequence[int], rows: int, most: int) -> list[int]:
  """Returns some parts, two at a time, of about `most` rows if there are more.

  In pairs each half of the log, every other part, keeps its share.
  """
  stride = max(1, rows // most)
  return [part for place, part in enumerate(parts[:len(parts) // 2 * 2])
          if place // 2 % stride == 0]


def _only(parts: base.Parts, chosen: Sequence[int]) -> base.Parts:
  """Returns what gives some of the parts."""
  wanted = set(chosen)
  return lambda: (
      rows for index, rows in enumerate(parts()) if index in wanted)


def settings() -> dict[str, Any]:
  """Returns all that an interval depends on besides the log and the run.

  They are part of the key of a result row, as JSON data.
  """
  return {'features': configs.encode(lstd.CONFIGS['default']),
          'dual_rows': _DUAL_ROWS, 'resamples': uncertainty.RESAMPLES}
