"""The first stage of off-policy evaluation: do states and actions say enough?

The outcome is the reward, the treatment Q(s, a) - gamma d Q(s', pi), and the
instrument (s, a). Of the treatment only gamma d Q(s', pi) is uncertain, so this
one column, for the values that a method has found, is what the instrument has
to explain: all of it where an action has one result, less with noise.
"""

from collections.abc import Callable
import dataclasses
import functools

import numpy as np

from dfiv_ope import types
from dfiv_ope.agents import base, fixed_features, row_nests
from dfiv_ope.agents.entries import random_features
from dfiv_ope.iv import ridge
from dfiv_ope.iv.diagnostics import spectrum, strength
from dfiv_ope.nn import tensors
from dfiv_ope.ope import bellman

# A longer log is thinned to about as many rows, to cost a fifth of LSTD-Q.
MOST_ROWS = 20_000
# Candidates of the ridge penalty. On the logs of the three tasks all below
# 1e-4 are alike; logs of fewer rows than features need more.
_PENALTIES = (1e-6, 1e-3)
# An exact prediction has no end of it.
_LARGEST_F = 1e12
# Values that vary by less than this share of their square are all the same.
_FLAT = 1e-10
# Features of a state for each action, those of state and action together, and
# rows that the spectrum is made of.
_SPECTRUM_FEATURES, _SPECTRUM_JOINT, _SPECTRUM_ROWS = 50, 150, 20_000
# Which singular values are recorded.
_RECORDED = (1, 10, 40)


class LogFirstStage:
  """What states and actions tell of the values that follow."""

  def __init__(
    self,
    problem: bellman.Problem,
    psi: fixed_features.Features,
    parts: base.Parts,
    halves: tuple[ridge.Sums, ridge.Sums],
    *,
    episodes: types.FloatArray,
    features: random_features.Settings,
    made: Callable[[], list[fixed_features.Rows]] | None = None,
  ):
    """Initialises the first stage of a log.

    Args:
      problem: what is asked of the log.
      psi: features of state and action.
      parts: gives rows of the log, in an even number of parts.
      halves: their sums, of `fixed_features.half_sums`.
      episodes: index of the episode of each of these rows.
      features: what psi is; those of the spectrum are fewer.
      made: returns psi of these rows, which other policies of the log have as
        well; None to make it here.
    """
    self._made = made or self._make
    self._problem = problem
    self._psi = psi
    self._parts = parts
    self._halves = halves
    self._episodes = episodes
    self._features = features

  def measure(
    self, agent: base.Agent, later: types.FloatArray | None = None
  ) -> dict[str, float]:
    """Returns R2 and the F of the values an agent expects, and the rest.

    Each half of the log is predicted by the other. The F is that of this
    held-out prediction as one instrument (`strength.first_stage`), robust
    to episodes, whose rows depend on each other.

    Args:
      agent: a method that has learned.
      later: gamma d Q(s', pi) that it expects in these rows, on the scale of
        the problem; None to ask it.
    """
    values = (
      [
        -tensors.array(bellman.change(agent.predict, rows.treatment))[
          :, 0
        ].astype(np.float64)
        for rows in self._parts()
      ]
      if later is None
      else np.split(later, np.cumsum([len(each) for each in self._rows])[:-1])
    )
    moments = [
      features.moment(part)
      for features, part in zip(self._rows, values, strict=True)
    ]
    sums = [
      half._replace(
        moment=np.sum(moments[index::2], axis=0),
        square=np.sum(
          np.square(np.concatenate(values[index::2])), keepdims=True
        ),
      )
      for index, half in enumerate(self._halves)
    ]
    # Each part is predicted from the other half.
    weights = _fit(*sums)
    predicted = [
      features.dot(weights[index % 2])
      for index, features in enumerate(self._rows)
    ]
    marks = np.cumsum([len(part) for part in values])[:-1]
    episodes = np.split(self._episodes, marks)
    error, variation, statistic = np.sum(
      [
        _compare(
          *(
            np.concatenate(each[half::2])
            for each in (values, predicted, episodes)
          )
        )
        for half in (0, 1)
      ],
      axis=0,
    )
    if variation <= _FLAT * sum(np.sum(np.square(part)) for part in values):
      error, variation, statistic = 0.0, 1.0, np.inf  # There is nothing to say.
    return {
      'first_stage_r2': float(1.0 - error / variation),
      'first_stage_f': float(
        np.minimum(strength.combined_f(statistic, 2), _LARGEST_F)
      ),
      **self.operator,
    }

  @functools.cached_property
  def _rows(self) -> list[fixed_features.Rows]:
    """Features of the rows, made once for all methods and seeds."""
    return self._made()

  def _make(self) -> list[fixed_features.Rows]:
    return [
      fixed_features.Rows(self._psi, each.instrument) for each in self._parts()
    ]

  @functools.cached_property
  def operator(self) -> dict[str, float]:
    """Singular values of stage 1, and how the reward lies along them.

    They are those of E[psi(s, a) - gamma d psi(s', pi) | s, a], which every
    method has to invert, in a few random features.
    """
    psi = fixed_features.make(
      self._problem,
      dataclasses.replace(
        self._features,
        random_features=_SPECTRUM_FEATURES,
        joint_features=_SPECTRUM_JOINT,
      ),
      seed=0,
    )
    stride = -(-len(self._episodes) // _SPECTRUM_ROWS)

    # Not a graph either.
    def sums(batch: types.IVBatch) -> ridge.Sums:
      batch = row_nests.map_rows(lambda x: x[::stride], batch)
      treatment = bellman.difference(psi, batch.treatment)
      columns = np.concatenate(
        [psi(batch.instrument), treatment, batch.outcome], axis=1
      )
      return ridge.sums(columns, columns[:, -1:])

    found = spectrum.from_moments(
      *(
        _moments(half, psi.output_size)
        for half in base.half_sums(sums, self._parts)
      )
    )
    numbers = {
      f'first_stage_value_{place}': float(found.values[:place][-1])
      for place in _RECORDED
    }
    numbers['first_stage_rank'] = found.rank
    if not np.isnan(found.lost_share):
      numbers['first_stage_lost_share'] = found.lost_share
    return numbers


def _moments(half: ridge.Sums, size: int) -> spectrum.Moments:
  """Returns the moments of columns [phi, psi, r], of phi and psi `size`."""
  gram = half.gram
  return spectrum.Moments(
    instrument=gram[:size, :size],
    cross=gram[:size, size:-1],
    treatment=gram[size:-1, size:-1],
    outcome=gram[:size, -1],
    square=float(gram[-1, -1]),
    rows=float(half.count),
  )


def _fit(first: ridge.Sums, second: ridge.Sums) -> list[types.FloatArray]:
  """Returns the weights that predict each half, fitted on the other.

  The penalty is the one of the least error on the first half.
  """
  fits = {
    penalty: ridge.solve_sums(second, penalty, intercept=True)
    for penalty in _PENALTIES
  }
  best = min(
    fits, key=lambda penalty: ridge.mean_squared_error(first, fits[penalty])
  )
  return [fits[best], ridge.solve_sums(first, best, intercept=True)]


def _compare(
  value: types.FloatArray,
  predicted: types.FloatArray,
  episodes: types.FloatArray,
) -> tuple[float, float, float]:
  """Returns squares left and given, and the t statistic of a prediction."""
  centred = value - value.mean()
  return (
    float(np.sum(np.square(value - predicted))),
    float(np.sum(np.square(centred))),
    strength.robust_t(centred, predicted - predicted.mean(), episodes),
  )
