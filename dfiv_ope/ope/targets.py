"""What the target policy does in states of a log, as decisions.

Of finitely many actions all are there, with their probabilities, so that an
expectation over them is exact. Of a policy over vectors, quasi-random draws
stand for its actions; so they do where a log has more probabilities than
memory holds.
"""

from collections.abc import Iterable, Iterator
import dataclasses

import numpy as np

from dfiv_ope import types
from dfiv_ope.nn import tensors
from dfiv_ope.ope import decisions
from dfiv_ope.policies import quasi_random

# Draws that stand for a policy's actions in a state.
DRAWS = 16
# Probabilities of actions that are kept of all rows; more are drawn from.
_MOST_PROBABILITIES = 25_000_000
# Rows of a part, where something is asked of many states.
PART = 4_096
# Probabilities of a part, and rows that it has in any case.
_MOST_AT_ONCE, _FEWEST_ROWS = 1_000_000, 256
# Inverse distribution functions are infinite at 0 and 1.
_EDGE = 1e-6


@dataclasses.dataclass(frozen=True, kw_only=True)
class Target:
  """The target policy, and what its states and actions are.

  Attributes:
    policy: over finitely many actions, or over vectors.
    spaces: encode states and actions.
  """

  policy: types.Policy | types.ContinuousPolicy
  spaces: decisions.Spaces

  @property
  def draws(self) -> int:
    """Vectors that stand for the policy's in a state; 0 if there are none."""
    if self.spaces.vectors is None:
      return 0
    assert isinstance(self.policy, types.ContinuousPolicy)
    return 1 if self.policy.deterministic else DRAWS

  def decide(
    self, observation: types.Array, *, support: int | None = None, seed: int = 0
  ) -> decisions.Decision:
    """Returns what the policy does at raw observations [B, D].

    Args:
      observation: raw.
      support: how many actions it takes in any of the states, at most; all
        actions if None. Fewer are cheaper.
      seed: of the draws of a policy over vectors.
    """
    states = self.spaces.states.compact(observation)
    vectors = self.spaces.vectors
    if vectors is None:
      probabilities, count = (
        self.probabilities(observation),
        self.spaces.num_actions,
      )
      if support is None or support >= count:
        actions = tensors.repeat(
          np.arange(count, dtype=np.int32)[None], tensors.rows(probabilities)
        )
      else:
        probabilities, actions = tensors.largest(probabilities, support)
      return decisions.Decision(states, actions, probabilities)
    drawn = self._draw(tensors.cast(observation, np.float64), seed)  # [B, K, d]
    encoded = vectors.compact(tensors.reshape(drawn, [-1, drawn.shape[2]]))
    return decisions.Decision(
      states,
      tensors.reshape(encoded, [-1, self.draws, encoded.shape[1]]),
      tensors.fill(
        drawn, [tensors.rows(drawn), self.draws], 1.0 / self.draws, np.float32
      ),
    )

  def in_parts(
    self, observation: types.Array, *, rows: int = PART
  ) -> Iterator[decisions.Decision]:
    """Yields `decide` of some thousand rows at a time."""
    for part, start in enumerate(range(0, len(observation), rows)):
      yield self.decide(observation[start : start + rows], seed=part)

  @property
  def rows_at_once(self) -> int:
    """Rows whose decisions take little memory; vectors keep their draws."""
    return max(
      _FEWEST_ROWS, min(PART, _MOST_AT_ONCE // max(1, self.spaces.num_actions))
    )

  def of_log(self, observation: types.Array) -> decisions.Decision:
    """Returns `decide` of all next states of a log, in what memory it has."""
    if self.spaces.vectors is not None:
      return _joined(self.in_parts(observation))
    support = self._kept(observation)
    if support is not None:
      return self.decide(observation, support=support)
    return _joined(self._drawn_parts(observation))

  def of_log_in_parts(
    self, observation: types.Array
  ) -> Iterator[decisions.Decision]:
    """Yields `of_log`, `PART` rows at a time."""
    if self.spaces.vectors is not None:
      yield from self.in_parts(observation)
      return
    support = self._kept(observation)
    if support is None:
      yield from self._drawn_parts(observation)
      return
    for start in range(0, len(observation), PART):
      yield self.decide(observation[start : start + PART], support=support)

  def _kept(self, observation: types.Array) -> int | None:
    """Returns the support whose probabilities are kept; None to draw."""
    support = self.support(observation)
    return (
      support if support * len(observation) <= _MOST_PROBABILITIES else None
    )

  def _drawn_parts(
    self, observation: types.Array
  ) -> Iterator[decisions.Decision]:
    """Yields draws of the policy's actions, `PART` rows at a time."""
    for part, decision in enumerate(self.in_parts(observation)):
      yield _drawn(decision, seed=part)

  def support(self, observation: types.Array) -> int:
    """Returns the largest number of actions taken at any of the states."""
    return max(
      int(
        np.max(
          np.count_nonzero(
            self.probabilities(observation[start : start + PART]), axis=1
          )
        )
      )
      for start in range(0, len(observation), PART)
    )

  def is_drawn(self, decision: decisions.Decision) -> bool:
    """Returns whether the actions of a decision are draws of the policy."""
    draws = decision.actions.shape[1]
    return draws > 1 and bool(
      self.draws
      or (
        draws == DRAWS
        and np.all(decision.probabilities == np.float32(1.0 / draws))
      )
    )

  def probabilities(self, observation: types.Array) -> types.Array:
    """Returns pi(.|s), [B, A]; the policy sees raw float64 observations."""
    assert isinstance(self.policy, types.Policy)
    found = self.policy.action_probabilities(
      tensors.cast(observation, np.float64)
    )
    # A policy of TensorFlow's answers arrays by tensors.
    return found if tensors.library(observation) else tensors.array(found)

  def _draw(self, observation: types.Array, seed: int) -> types.Array:
    """Returns actions of the policy, [B, K, d]."""
    assert isinstance(self.policy, types.ContinuousPolicy)
    assert self.spaces.vectors is not None
    entries = self.spaces.vectors.raw_size
    shape = [tensors.rows(observation), self.draws, entries]
    if tensors.in_graph(observation):
      return self.policy.draw(
        observation, tensors.uniforms_in_graph(shape, seed=seed, edge=_EDGE)
      )
    found = self.policy.draw(
      observation, quasi_random.uniforms(*map(int, shape), seed=seed)
    )
    return found if tensors.library(observation) else tensors.array(found)


def _drawn(decision: decisions.Decision, *, seed: int) -> decisions.Decision:
  """Returns draws of a decision's actions, each as likely as the others."""
  uniforms = quasi_random.uniforms(
    len(decision.probabilities), DRAWS, 1, seed=seed
  )[..., 0]
  edges = np.cumsum(decision.probabilities, axis=1)
  place = np.minimum(
    np.stack(
      [
        np.searchsorted(edge, uniform, side='right')
        for edge, uniform in zip(edges, uniforms, strict=True)
      ]
    ),
    decision.probabilities.shape[1] - 1,
  )
  return decisions.Decision(
    decision.observation,
    tensors.of_rows(decision.actions, place),
    tensors.fill(decision.actions, place.shape, 1.0 / DRAWS, np.float32),
  )


def _joined(parts: Iterable[decisions.Decision]) -> decisions.Decision:
  """Returns the decisions of all parts."""
  return decisions.Decision(
    *(tensors.concat(each, axis=0) for each in zip(*parts, strict=True))
  )
