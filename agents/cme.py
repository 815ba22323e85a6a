"""A model of the environment by conditional mean embeddings.

What follows a state and an action is regressed on features psi of them: the
features of the next state and of what the target policy does there, which is
their conditional mean embedding (Song et al., 2009; Gruenewaelder et al.,
2012), and the reward,

    A = (psi'psi + n lambda1 I)^-1 psi' gamma d psi(s', pi),  E[..|s, a] = psi A
    c = (psi'psi + n lambda2 I)^-1 psi' r,                    E[r|s, a] = psi c.

In this model the value is Q = psi u with u = c + A u. In terms of kernels that
is v = r_hat + P v on all next states of the log, with rows of weights
P = gamma d k(s', pi)' (K + n lambda1 I)^-1.

With one tiny penalty u is that of LSTD-Q (Parr et al., 2008). What differs is
that nothing but the model is fitted: penalties and bandwidth have the least
error of next features and rewards in other rows, and transitions that would
make values of more than `horizon` rewards have a larger penalty.
"""

from collections.abc import Mapping, Sequence
import dataclasses
import functools
from typing import NamedTuple

import numpy as np
from scipy.sparse import linalg as sparse_linalg

from dfiv_ope import types
from dfiv_ope.agents import bandwidth_choice, base, fixed_features, memory
from dfiv_ope.agents.entries import cme as entry
from dfiv_ope.agents.entries import random_features
from dfiv_ope.iv import ridge, ridge_path
from dfiv_ope.nn import tensors
from dfiv_ope.ope import bellman

# Known before this module is loaded.
Config = entry.Config
CONFIGS = entry.CONFIGS
# Rows that bandwidths are compared on.
_SEARCH_ROWS = 10_000
# Transitions may be worth as many times the horizon, for errors of estimation.
_SLACK = 1.1
# Multiples of the median distance that are compared. A narrower kernel predicts
# no worse where the log is dense, and says nothing of what lies beyond.
_CANDIDATES = (0.5, 1.0, 2.0)
# Transitions have the least penalty whose loss is as near to the least one:
# what a step is drawn to the mean by is multiplied by the horizon.
_NEAR = 0.05
# What the spectral radius is known to, relatively.
_TOLERANCE = 1e-4


class Model(NamedTuple):
  """Transitions and rewards, linear in features of state and action.

  Attributes:
    transitions: A, [D, D].
    rewards: c, [D, 1].
    radius: largest absolute eigenvalue of A, before A was scaled if it was.
    places: of the penalties of both among the candidates.
    losses: held-out errors of the others that were predicted, and of rewards.
  """

  transitions: types.FloatArray
  rewards: types.FloatArray
  radius: float
  places: tuple[int, int]
  losses: tuple[float, float]

  def solve(self) -> types.FloatArray:
    """Returns u = c + A u, [D, 1]."""
    return np.linalg.solve(
      np.eye(len(self.transitions)) - self.transitions, self.rewards
    )


class CME(fixed_features.Linear):
  """Values in the model, on random Fourier features."""

  config: Config
  solution = ('weights', 'bandwidth_scale')

  def __init__(
    self, config: Config, problem: bellman.Problem, *, seed: types.Seed
  ):
    """Initialises the agent with weights of zero."""
    self._problem, self._seed = problem, seed
    self._settings = config.settings_of(problem)
    # Multiplies the median distance between observations, [].
    self.bandwidth_scale = np.array(self._settings.bandwidth_scale)
    super().__init__(config, self._made())

  def solve(self, parts: base.Parts) -> Mapping[str, float]:
    """Chooses a bandwidth and solves for the values on the whole log."""
    if self._chooses:
      self.bandwidth_scale = np.array(
        choose_bandwidth(self.config, self._problem, parts)
      )
      self._features = self._made()
    return super().solve(parts)

  def solve_sums(self, *folds: ridge.Sums) -> Mapping[str, float]:
    """Fits the model, each half of the log judging the other, and solves it."""
    model = fit(
      *map(fixed_features.change_sums, folds),
      penalties=self.config.penalties,
      horizon=self._problem.horizon,
    )
    self.weights = model.solve()
    transition, reward = model.places
    return {
      'bandwidth_scale': float(self.bandwidth_scale),
      'transition_penalty': self.config.penalties[transition],
      'reward_penalty': self.config.penalties[reward],
      'spectral_radius': model.radius,
    }

  def restore(self, state: Sequence[np.ndarray]) -> None:
    super().restore(state)
    self._features = self._made()

  @property
  def _chooses(self) -> bool:
    """Whether the bandwidth is looked for; that of names does not matter."""
    cells = self._problem.observations.cells
    return self.config.bandwidth_scale is None and (
      self._settings.dense(
        num_actions=self._problem.num_actions,
        cells=None if cells is None else len(cells),
      )
      != random_features.TABLE
    )

  def _made(self) -> fixed_features.Features:
    """Returns features of the bandwidth."""
    return fixed_features.make(
      self._problem,
      dataclasses.replace(
        self._settings, bandwidth_scale=float(self.bandwidth_scale)
      ),
      seed=self._seed,
    )


def make(config: Config, problem: bellman.Problem, *, seed: types.Seed) -> CME:
  """Returns the agent of a problem; refuses one that does not fit memory."""
  config.require(problem.num_actions)
  return CME(config, problem, seed=seed)


def fit(
  first: ridge.Sums,
  second: ridge.Sums,
  *,
  penalties: Sequence[float],
  horizon: float,
) -> Model:
  """Returns the model of two halves of a log, each judging the other's fits.

  Args:
    first: sums of psi(s, a) [B, D], whose last is the constant, and of
      [-gamma d psi(s', pi), others, r].
    second: likewise.
    penalties: candidates per row, rising, [L].
    horizon: rewards that a value is worth at most.
  """
  size = len(first.gram)
  groups = slice(size), slice(size, -1), slice(-1, None)
  losses = np.zeros((len(groups), len(penalties)))
  for fitted, other in ((first, second), (second, first)):
    halved = ridge_path.Path(fitted, penalties)
    for total, group in zip(losses, groups, strict=True):
      total += halved.errors(other, group) / 2.0
  reward = int(np.argmin(losses[-1]))
  transition = int(np.argmax(losses[0] <= (1.0 + _NEAR) * np.min(losses[0])))
  path = ridge_path.Path(ridge.merge(first, second), penalties)
  allowed = 1.0 - 1.0 / (_SLACK * horizon)
  while True:
    transitions = -path.weights(transition, groups[0])
    found = radius(transitions)
    if found <= allowed or transition == len(penalties) - 1:
      break
    transition += 1
  if found > allowed:
    transitions *= (1.0 - 1.0 / horizon) / found
  return Model(
    transitions,
    path.weights(reward, groups[-1]),
    found,
    (transition, reward),
    (losses[1, transition], losses[2, reward]),
  )


def radius(matrix: types.FloatArray) -> float:
  """Returns the largest absolute eigenvalue of a matrix, [D, D]."""
  if not np.any(matrix):
    return 0.0
  if len(matrix) > 2:
    try:
      values = sparse_linalg.eigs(
        matrix,
        k=1,
        v0=np.ones(len(matrix)),
        tol=_TOLERANCE,
        return_eigenvectors=False,
      )
      return float(np.abs(values[0]))
    except sparse_linalg.ArpackNoConvergence:
      pass  # The largest ones are too close to each other.
  return float(np.max(np.abs(np.linalg.eigvals(matrix))))


def choose_bandwidth(
  config: Config, problem: bellman.Problem, parts: base.Parts
) -> float:
  """Returns the bandwidth whose model predicts other rows best.

  What is predicted is the same for all candidates, next states by features of
  the middle one and rewards, both in units of their variance.

  Args:
    config: kind of features, and penalties.
    problem: what is asked of the log.
    parts: gives the log.
  """
  stride = -(-problem.num_rows // _SEARCH_ROWS)
  rows = [
    memory.take(each, np.arange(0, len(each.outcome), stride))
    for each in parts()
  ]
  count = sum(len(each.outcome) for each in rows)

  def features(scale: float) -> fixed_features.Features:
    few = bandwidth_choice.few_features(problem, count, scale)
    return fixed_features.make(
      problem, dataclasses.replace(few, features=config.features), seed=0
    )

  common = features(random_features.BANDWIDTH_SCALE)
  spread = np.var(
    np.concatenate([_targets(each, common) for each in rows]), axis=0
  )
  # One where nothing varies.
  scales = np.array([np.sum(spread[:-1]), spread[-1]])
  losses = [
    np.sum(
      fit(
        *base.half_sums(
          functools.partial(_sums, features(scale), common), lambda: iter(rows)
        ),
        penalties=config.penalties,
        horizon=problem.horizon,
      ).losses
      / np.where(scales > 0.0, scales, 1.0)
    )
    for scale in _CANDIDATES
  ]
  return _CANDIDATES[int(np.argmin(losses))]


def _targets(
  rows: types.IVBatch, *features: fixed_features.Features
) -> types.FloatArray:
  """Returns [-gamma d psi(s', pi), ..., r] of some features, [B, K]."""
  return np.concatenate(
    [
      *(tensors.array(bellman.change(psi, rows.treatment)) for psi in features),
      tensors.array(rows.outcome).astype(np.float64),
    ],
    axis=1,
  )


def _sums(
  psi: fixed_features.Features,
  common: fixed_features.Features,
  rows: types.IVBatch,
) -> ridge.Sums:
  """Returns the sums that `fit` takes, of rows."""
  return ridge.sums(
    tensors.array(psi(rows.instrument)), _targets(rows, psi, common)
  )
