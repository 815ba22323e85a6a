"""A model of the environment made of a log's own steps, and rollouts in it.

From state s with action a, the model takes the logged step (s_j, a, r_j, s_j')
of the same action whose state is nearest (of any action, if none of the same is
near), and goes to s + (s_j' - s_j): what the step changed, not where it led.
Where held-out steps say that it helps, a slope times s - s_j is added
(`ope.local_changes`). It shares
nothing with the regressions of the other estimators: no features, no bandwidth,
no Bellman equation; so where it agrees with them, that says something. What the
rollouts visit says how far the target policy leaves the log.

    model = nearest_model.Model(log)
    found = model.roll(policy, log.initial_observations, steps=500)
    np.mean(found.returns), found.weights, found.beyond
"""

from collections.abc import Iterator, Sequence

import numpy as np
from scipy import spatial

from dfiv_ope import types
from dfiv_ope.nn import encoding
from dfiv_ope.ope import episodes, local_changes, log_points, rollouts

# Steps of the log that are looked up where no tree is fast.
_MOST_DENSE = 20_000
# Steps of the log that tell whether slopes help.
_SAMPLE = 2_000


class Model:
  """Steps of a log as an environment.

  Attributes:
    near: what distance between encoded states (and actions that are vectors)
      is near.
  """

  def __init__(
    self,
    log: episodes.Episodes,
    *,
    seed: types.Seed = 0,
    dropped: Sequence[int] = (),
    without: np.ndarray | None = None,
  ):
    """Initialises the model.

    Args:
      log: whole episodes.
      seed: seeds what is drawn of a log with many columns.
      dropped: columns of the observations that distances leave out.
      without: steps of the log that are never taken, [N]; None for none.
    """
    self._log = log
    self._rows = log.transitions
    self._observation = np.asarray(self._rows.observation, np.float64)
    self._next = np.asarray(self._rows.next_observation, np.float64)
    self._states = encoding.fit(
      self._rows.observation,
      self._rows.next_observation,
      categorical=log.categorical,
      dropped=dropped,
    )
    self._vectors = (
      None
      if log.continuous is None
      else encoding.fit(
        self._rows.action, categorical=tuple(log.continuous.categories)
      )
    )
    # These columns are set rather than changed: names, and one of two values.
    self._set = np.array(
      [
        column in log.categorical or _binary(values)
        for column, values in enumerate(self._observation.T)
      ],
      bool,
    )
    # Names are the same or not.
    self._named = self._vectors is None and not self._states.numbers
    steps = np.arange(len(log)) if without is None else np.flatnonzero(~without)
    if (
      not self._named
      and len(steps) > _MOST_DENSE
      and (self._states.size > log_points.TREE_COLUMNS)
    ):
      # Whole episodes are not needed: steps are looked up one by one.
      steps = np.sort(
        np.random.default_rng(seed).choice(steps, _MOST_DENSE, replace=False)
      )
    rows = self._encode(self._observation[steps], steps)
    group = (
      np.asarray(self._rows.action)[steps]
      if self._vectors is None
      else np.zeros(len(steps), int)
    )
    kind = log_points.Named if self._named else log_points.Points
    self._neighbours = {
      int(action): kind(rows[group == action], steps[group == action])
      for action in np.unique(group)
    }
    self.near = (
      0.0
      if self._named
      else log_points.own_distance(
        self._neighbours,
        rows,
        group=group,
        episodes=log.episodes,
        steps=steps,
        seed=seed,
      )
    )
    # Slopes are of steps that went on: where a terminal one led is not known.
    self._going_on = np.asarray(self._rows.discount) > 0.0
    self._changes = np.where(self._set, 0.0, self._next - self._observation)
    self._points = rows
    if len(steps) < len(log):
      self._points = np.zeros((len(log), rows.shape[1]), rows.dtype)
      self._points[steps] = rows
    self._sloped = self._slopes_help(steps, group, seed)

  def near_share(self, steps: np.ndarray) -> float:
    """Returns the share of steps of the log that have a near one here.

    Args:
      steps: some of those that are left out, [M].
    """
    return sum(
      int(np.sum(distance <= self.near)) for _, distance in self._to_here(steps)
    ) / len(steps)

  def nearer_share(self, steps: np.ndarray) -> float:
    """Returns the share of steps that are no nearer to each other than to here.

    Where columns are pixels or other small numbers of values, all states are
    near by distance; what tells some apart is that they are like each other.

    Args:
      steps: some of those that are left out, [M].
    """
    if self._named:  # Those with the same name are at no distance.
      return self.near_share(steps)
    return sum(
      int(
        np.sum(
          distance
          <= spatial.cKDTree(rows)
          .query(rows, min(2, len(rows)))[0]
          .reshape(len(rows), -1)[:, -1]
        )
      )
      for rows, distance in self._to_here(steps)
    ) / len(steps)

  def _to_here(
    self, steps: np.ndarray
  ) -> Iterator[tuple[types.FloatArray, types.FloatArray]]:
    """Yields encoded steps by action, and distances to the nearest one here."""
    rows = self._encode(self._observation[steps], steps)
    group = (
      np.asarray(self._rows.action)[steps]
      if self._vectors is None
      else np.zeros(len(steps), int)
    )
    for action, neighbours in self._neighbours.items():
      mine = rows[group == action]
      if len(mine):
        yield mine, neighbours.query(mine, 1)[0][:, 0]

  def roll(
    self,
    policy: types.Policy | types.ContinuousPolicy,
    initial: types.FloatArray,
    *,
    steps: int,
    seed: types.Seed = 0,
  ) -> rollouts.Rollouts:
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
    far, visits = np.zeros((2, steps))
    rewards = np.asarray(self._rows.reward, np.float64)
    discounts = self._log.discount * np.asarray(self._rows.discount, np.float64)
    for step in range(steps):
      if not len(alive):
        break
      row, distance, change = self._follow(policy, state, generator)
      returns[alive] += weight * rewards[row]
      np.add.at(weights, row, weight / count)
      visits[step] = np.sum(weight) / count
      far[step] = np.sum(weight[distance > self.near]) / count
      state = np.where(self._set, self._next[row], state + change)
      weight = weight * discounts[row]
      going_on = weight > 0.0
      alive, state, weight = alive[going_on], state[going_on], weight[going_on]
    return rollouts.Rollouts(
      returns,
      weights,
      rollouts.beyond(visits, far),
      float(np.sum(weight)) / count,
      visits,
      far,
    )

  def _follow(
    self,
    policy: types.Policy | types.ContinuousPolicy,
    state: types.FloatArray,
    generator: np.random.Generator,
  ) -> tuple[np.ndarray, types.FloatArray, types.FloatArray]:
    """Returns a step of the log, how far it is, and its change, [B, D]."""
    uniforms = generator.random(len(state))
    if self._vectors is not None:
      assert isinstance(policy, types.ContinuousPolicy)
      draws = generator.uniform(
        1e-6, 1.0 - 1e-6, (len(state), 1, self._vectors.raw_size)
      )
      action = np.asarray(policy.draw(state, draws.astype(np.float32)))[:, 0]
      rows = np.concatenate(
        [self._states.apply(state), self._vectors.apply(action)], axis=1
      )
      found, distance = self._nearest(self._neighbours[0], rows, uniforms)
      return (
        found,
        distance,
        self._change(rows, found, np.zeros(len(found), int)),
      )
    assert isinstance(policy, types.Policy)
    edges = np.cumsum(
      np.asarray(policy.action_probabilities(state), np.float64), axis=1
    )
    action = np.sum(
      edges < generator.random((len(state), 1)) * edges[:, -1:], axis=1
    )
    rows = self._of_states(state)
    found = np.zeros(len(state), np.int64)
    distance = np.full(len(state), np.inf)
    for each in np.unique(action):
      mine = action == each
      if each in self._neighbours:
        found[mine], distance[mine] = self._nearest(
          self._neighbours[each], rows[mine], uniforms[mine]
        )
    # Where the log has no near step with the action, one with any other stands
    # in for it, if that is nearer: where it leads from here is then known, if
    # not by this action. With slopes its own step says more, if there is one.
    far = np.flatnonzero(
      distance > (np.finfo(float).max if self._sloped else self.near)
    )
    nearest = distance[far]
    for neighbours in self._neighbours.values() if len(far) else ():
      step, apart = self._nearest(neighbours, rows[far], uniforms[far])
      nearer = apart < nearest
      found[far] = np.where(nearer, step, found[far])
      nearest = np.where(nearer, apart, nearest)
    return (
      found,
      distance,
      self._change(rows, found, np.asarray(self._rows.action)[found]),
    )

  def _change(
    self, rows: types.FloatArray, found: np.ndarray, group: np.ndarray
  ) -> types.FloatArray:
    """Returns what steps of the log change at other points, [B, D]."""
    change: types.FloatArray = self._changes[found]
    if not self._sloped:
      return change
    change = change.copy()
    for each in np.unique(group):
      mine = np.flatnonzero(group == each)
      neighbours = self._neighbours[int(each)]
      _, place = neighbours.query(rows[mine], local_changes.COUNT)
      change[mine] += self._slope(
        rows[mine], found[mine], neighbours.any_step(place)
      )
    return change

  def _slope(
    self,
    rows: types.FloatArray,
    found: np.ndarray,
    near: np.ndarray,
    weights: np.ndarray | float = 1.0,
  ) -> types.FloatArray:
    """Returns what slopes of near steps [B, K] add to those found, [B, D]."""
    return local_changes.added(
      rows - self._points[found].astype(np.float64),
      self._points[near].astype(np.float64),
      self._changes[near],
      weights * self._going_on[near],
    )

  def _slopes_help(
    self, steps: np.ndarray, group: np.ndarray, seed: types.Seed
  ) -> bool:
    """Returns whether slopes of other episodes predict changes better."""
    if (
      self._named
      or self._points.shape[1] > local_changes.MOST_COLUMNS
      or (np.all(self._set))
    ):
      return False
    chosen = np.random.default_rng(seed).choice(
      len(group), min(_SAMPLE, len(group)), replace=False
    )
    chosen = chosen[self._going_on[steps[chosen]]]
    episode, found = self._log.episodes, []
    for action, neighbours in self._neighbours.items():
      mine = steps[chosen[group[chosen] == action]]
      near = neighbours.any_step(
        neighbours.query(self._points[mine], 2 * local_changes.COUNT)[1]
      )
      others = (episode[near] != episode[mine][:, None]) & self._going_on[near]
      mine, near, others = (
        each[np.any(others, axis=1)] for each in (mine, near, others)
      )
      if len(mine):
        nearest = near[np.arange(len(mine)), np.argmax(others, axis=1)]
        plain = self._changes[nearest]
        found.append(
          (
            self._changes[mine],
            plain,
            plain + self._slope(self._points[mine], nearest, near, others),
          )
        )
    return bool(found) and local_changes.worth(
      *map(np.concatenate, zip(*found, strict=True))
    )

  def _nearest(
    self,
    neighbours: log_points.Points,
    rows: types.FloatArray,
    uniforms: types.FloatArray,
  ) -> tuple[np.ndarray, types.FloatArray]:
    distance, place = neighbours.query(rows, 1)
    return neighbours.draw(place[:, 0], uniforms), distance[:, 0]

  def _encode(
    self, observation: types.FloatArray, steps: np.ndarray
  ) -> types.FloatArray:
    """Returns the log's steps as points: states, and actions if vectors."""
    rows = self._of_states(observation)
    if self._vectors is None:
      return rows
    return np.concatenate(
      [rows, self._vectors.apply(np.asarray(self._rows.action)[steps])], axis=1
    )

  def _of_states(self, observation: types.FloatArray) -> types.FloatArray:
    """Returns raw states as points, [B, D] to [B, K]."""
    rows: types.FloatArray = (
      observation if self._named else self._states.apply(observation)
    )
    return rows


def _binary(values: types.FloatArray) -> bool:
  """Returns whether a column has two values at most."""
  return bool(np.all((values == values.min()) | (values == values.max())))
