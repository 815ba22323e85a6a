"""A model of the environment made of a log's own steps, and rollouts in it.

From state s with action a, the model takes the logged step (s_j, a, r_j, s_j')
of the same action whose state is nearest (of any action, if none of the same is
near), and goes to s + (s_j' - s_j): what the step changed, not where it led, so
that the distance to the neighbour is an error of second order. It shares
nothing with the regressions of the other estimators: no features, no bandwidth,
no Bellman equation; so where it agrees with them, that says something. What the
rollouts visit says how far the target policy leaves the log.

    model = nearest_model.Model(log)
    found = model.roll(policy, log.initial_observations, steps=500)
    np.mean(found.returns), found.weights, found.beyond
"""

from collections.abc import Sequence
import dataclasses
import functools

import numpy as np
from scipy import spatial
import tensorflow as tf

from dfiv_ope import types
from dfiv_ope.nn import encoding
from dfiv_ope.ope import episodes

# Trees are slower than products of matrices beyond as many columns; these are
# then of so many steps of the log at most.
_TREE_COLUMNS = 20
_MOST_DENSE = 20_000
# States whose neighbours are looked for at once.
_CHUNK = 1_000
# Steps of the log whose own neighbours tell what is near: nearer than the
# third of another episode is to this share of them.
_SAMPLE = 2_000
_THIRD, _NEAR = 3, 0.95
# Neighbours to find three of other episodes among.
_CANDIDATES = 16
# Parts of an episode that are looked at on their own.
PARTS = 10


@dataclasses.dataclass(frozen=True, eq=False)
class Rollouts:
  """What happened in a model.

  Attributes:
    returns: discounted, of each rollout, [K].
    weights: of each step of the log: the mean over rollouts of gamma^t d at the
      times it was taken, [N]. Their sum with the rewards is the mean return.
    beyond: share of the visits, in each tenth of the steps, that have no near
      step of the log, [PARTS]; nan for one without visits.
    left: mean of gamma^t d after the last step: what was not rolled out.
    visits: mean of gamma^t d before each step, [T].
  """
  returns: types.FloatArray
  weights: types.FloatArray
  beyond: types.FloatArray
  left: float
  visits: types.FloatArray


class _Neighbours:
  """Points [M, D] that hold the steps of a log with equal rows."""

  def __init__(self, rows: types.FloatArray, steps: np.ndarray):
    """Initialises them with rows [n, D] of the log's steps [n]."""
    self.points, place = np.unique(rows, axis=0, return_inverse=True)
    order = np.argsort(place.reshape(-1), kind='stable')
    self._steps = steps[order]
    self._ends = np.cumsum(np.bincount(
        place.reshape(-1), minlength=len(self.points)))
    self._tree = (spatial.cKDTree(self.points)
                  if self.points.shape[1] <= _TREE_COLUMNS else None)

  def query(
      self, rows: types.FloatArray, count: int,
  ) -> tuple[types.FloatArray, np.ndarray]:
    """Returns distances and places of the nearest points, [B, count]."""
    count = min(count, len(self.points))
    if self._tree is not None:
      distance, place = self._tree.query(rows, k=count)
      return distance.reshape(-1, count), place.reshape(-1, count)
    found = [self._dense(rows[start:start + _CHUNK], count)
             for start in range(0, len(rows), _CHUNK)]
    return (np.concatenate([each[0] for each in found]),
            np.concatenate([each[1] for each in found]))

  def _dense(
      self, rows: types.FloatArray, count: int,
  ) -> tuple[types.FloatArray, np.ndarray]:
    """Returns what `query` does, by a product of matrices."""
    square = np.sum(np.square(rows), axis=1)[:, None] + self._squares
    square -= 2. * rows @ self.points.T
    place = np.argpartition(square, count - 1, axis=1)[:, :count]
    near = np.take_along_axis(square, place, axis=1)
    order = np.argsort(near, axis=1)
    place = np.take_along_axis(place, order, axis=1)
    # Rounding keeps equal rows from being at a distance of 0.
    distance = np.linalg.norm(
        rows[:, None] - self.points[place], axis=2)
    return distance, place

  @functools.cached_property
  def _squares(self) -> types.FloatArray:
    return np.sum(np.square(self.points), axis=1)

  def draw(
      self, place: np.ndarray, uniforms: types.FloatArray) -> np.ndarray:
    """Returns a step of each point, all of them as likely, [B]."""
    ends = self._ends[place]
    starts = np.where(place > 0, self._ends[place - 1], 0)
    return self._steps[
        starts + (uniforms * (ends - starts)).astype(np.int64)]

  def any_step(self, place: np.ndarray) -> np.ndarray:
    """Returns the first step of each point."""
    return self._steps[np.where(place > 0, self._ends[place - 1], 0)]


class Model:
  """Steps of a log as an environment.

  Attributes:
    near: what distance between encoded states (and actions that are vectors)
      is near.
  """

  def __init__(
      self, log: episodes.Episodes, *, seed: types.Seed = 0,
      dropped: Sequence[int] = ()):
    """Initialises the model.

    Args:
      log: whole episodes.
      seed: seeds what is drawn of a log with many columns.
      dropped: columns of the observations that distances leave out.
    """
    self._log = log
    self._rows = log.transitions
    self._observation = np.asarray(self._rows.observation, np.float64)
    self._next = np.asarray(self._rows.next_observation, np.float64)
    self._states = encoding.fit(
        self._rows.observation, self._rows.next_observation,
        categorical=log.categorical, dropped=dropped)
    self._vectors = None if log.continuous is None else encoding.fit(
        self._rows.action, categorical=tuple(log.continuous.categories))
    # These columns are set rather than changed: names, and one of two values.
    self._set = np.array([
        column in log.categorical or _binary(values)
        for column, values in enumerate(self._observation.T)], bool)
    steps = np.arange(len(log))
    if self._states.size > _TREE_COLUMNS and len(log) > _MOST_DENSE:
      # Whole episodes are not needed: steps are looked up one by one.
      steps = np.sort(np.random.default_rng(seed).choice(
          steps, _MOST_DENSE, replace=False))
    rows = self._encode(self._observation[steps], steps)
    group = (np.asarray(self._rows.action)[steps]
             if self._vectors is None else np.zeros(len(steps), int))
    self._neighbours = {
        int(action): _Neighbours(rows[group == action], steps[group == action])
        for action in np.unique(group)}
    # Names are the same or not.
    self.near = (0. if len(log.categorical) == log.num_observations
                 else self._own_distance(rows, steps, group, seed))

  def roll(
      self, policy: types.Policy | types.ContinuousPolicy,
      initial: types.FloatArray, *, steps: int, seed: types.Seed = 0,
  ) -> Rollouts:
    """Rolls a policy out.

    Args:
      policy: the target policy.
      initial: raw observations to start from, one rollout each, [K, D].
      steps: the most of a rollout.
      seed: seeds the actions and what follows them.
    """
    generator = np.random.default_rng(seed)
    state = np.array(initial, np.float64)
    count = len(state)
    alive, weight = np.arange(count), np.ones(count)
    returns, weights = np.zeros(count), np.zeros(len(self._log))
    far, seen, visits = np.zeros((3, steps))
    rewards = np.asarray(self._rows.reward, np.float64)
    discounts = self._log.discount * np.asarray(
        self._rows.discount, np.float64)
    for step in range(steps):
      if not len(alive):
        break
      row, distance = self._follow(policy, state, generator)
      returns[alive] += weight * rewards[row]
      np.add.at(weights, row, weight / count)
      far[step], seen[step] = np.sum(distance > self.near), len(alive)
      visits[step] = np.sum(weight) / count
      state = np.where(
          self._set, self._next[row],
          state + self._next[row] - self._observation[row])
      weight = weight * discounts[row]
      going_on = weight > 0.
      alive, state, weight = alive[going_on], state[going_on], weight[going_on]
    # Tenths of the steps that rollouts had, in the middle of those that ended.
    taken = max(1, int(np.count_nonzero(seen)))
    part = np.minimum(np.arange(steps) * PARTS // taken, PARTS - 1)
    with np.errstate(invalid='ignore'):
      beyond = (np.bincount(part, far, minlength=PARTS)
                / np.bincount(part, seen, minlength=PARTS))
    return Rollouts(
        returns, weights, beyond, float(np.sum(weight)) / count, visits)

  def _follow(
      self, policy: types.Policy | types.ContinuousPolicy,
      state: types.FloatArray, generator: np.random.Generator,
  ) -> tuple[np.ndarray, types.FloatArray]:
    """Returns a step of the log for each state, and how far it is, [B]."""
    uniforms = generator.random(len(state))
    if self._vectors is not None:
      assert isinstance(policy, types.ContinuousPolicy)
      draws = generator.uniform(
          1e-6, 1. - 1e-6, (len(state), 1, self._vectors.raw_size))
      action = policy.draw(
          tf.constant(state), tf.constant(draws, tf.float32))[:, 0].numpy()
      rows = np.concatenate([
          self._states.apply(state).numpy(),
          self._vectors.apply(action).numpy()], axis=1)
      return self._nearest(self._neighbours[0], rows, uniforms)
    assert isinstance(policy, types.Policy)
    edges = np.cumsum(np.asarray(policy.action_probabilities(
        tf.constant(state)), np.float64), axis=1)
    action = np.sum(
        edges < generator.random((len(state), 1)) * edges[:, -1:], axis=1)
    rows = self._states.apply(state).numpy()
    found = np.zeros(len(state), np.int64)
    distance = np.full(len(state), np.inf)
    for each in np.unique(action):
      mine = action == each
      if each in self._neighbours:
        found[mine], distance[mine] = self._nearest(
            self._neighbours[each], rows[mine], uniforms[mine])
    # Where the log has no near step with the action, one with any other stands
    # in for it, if that is nearer: where it leads from here is then known, if
    # not by this action.
    far = np.flatnonzero(distance > self.near)
    nearest = distance[far]
    for neighbours in self._neighbours.values() if len(far) else ():
      step, apart = self._nearest(neighbours, rows[far], uniforms[far])
      nearer = apart < nearest
      found[far] = np.where(nearer, step, found[far])
      nearest = np.where(nearer, apart, nearest)
    return found, distance

  def _nearest(
      self, neighbours: _Neighbours, rows: types.FloatArray,
      uniforms: types.FloatArray,
  ) -> tuple[np.ndarray, types.FloatArray]:
    distance, place = neighbours.query(rows, 1)
    return neighbours.draw(place[:, 0], uniforms), distance[:, 0]

  def _encode(
      self, observation: types.FloatArray, steps: np.ndarray,
  ) -> types.FloatArray:
    """Returns the log's steps as points: states, and actions if vectors."""
    rows = self._states.apply(observation).numpy()
    if self._vectors is None:
      return rows
    return np.concatenate([rows, self._vectors.apply(
        np.asarray(self._rows.action)[steps]).numpy()], axis=1)

  def _own_distance(
      self, rows: types.FloatArray, steps: np.ndarray, group: np.ndarray,
      seed: types.Seed,
  ) -> float:
    """Returns what distance is near: that of the log's own neighbours."""
    generator = np.random.default_rng(seed)
    chosen = generator.choice(
        len(rows), min(_SAMPLE, len(rows)), replace=False)
    episode, found = self._log.episodes, []
    for action, neighbours in self._neighbours.items():
      mine = chosen[group[chosen] == action]
      if not len(mine):
        continue
      distance, place = neighbours.query(rows[mine], _CANDIDATES)
      others = (episode[neighbours.any_step(place)]
                != episode[steps[mine]][:, None])
      third = np.argmax(np.cumsum(others, axis=1) >= _THIRD, axis=1)
      enough = np.sum(others, axis=1) >= _THIRD
      found.append(np.where(
          enough, np.take_along_axis(distance, third[:, None], axis=1)[:, 0],
          distance[:, -1]))
    return float(np.quantile(np.concatenate(found), _NEAR))


def _binary(values: types.FloatArray) -> bool:
  """Returns whether a column has two values at most."""
  return bool(np.all((values == values.min()) | (values == values.max())))
