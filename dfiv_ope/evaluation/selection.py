"""Choosing between Q-functions without the truth, on rows they never saw.

Candidates are fitted on one half of the episodes and judged on the other.

The tournament (after the LSTD-tournament of Liu et al., 2025): were q the
values of the policy, its Bellman error e = r + gamma d q(s', pi) - q(s, a)
would have mean zero given s and a, so its product with any function of (s, a)
would have mean zero too. The functions are the candidates themselves: if one
of two candidates is right, the wrong one is found out by such a product. The
score of a candidate is its largest one, the winner has the least score.

The projected Bellman error is the mean square of what instruments predict of
e, E[E[e | s, a]^2]: one half of the rows predicts the other, so that noise in e
adds nothing.
"""

from typing import NamedTuple

import numpy as np

from dfiv_ope import types
from dfiv_ope.iv import ridge

# Of the scores: raised when they change, which makes stored ones others.
VERSION = 1


class Scores(NamedTuple):
  """What speaks against each candidate; less is better, inf if it broke, [C].

  Attributes:
    tournament: largest mean product of its Bellman error with a candidate.
    projected: its projected Bellman error; may be negative by chance.
  """

  tournament: types.FloatArray
  projected: types.FloatArray

  @property
  def best(self) -> int:
    """The candidate that the tournament prefers."""
    return int(np.argmin(self.tournament))


def judge(
  values: types.FloatArray,
  errors: types.FloatArray,
  instruments: types.FloatArray,
  *,
  penalty: float = 1e-6,
) -> Scores:
  """Scores candidates on rows that none of them was fitted to.

  Args:
    values: q(s, a) of C candidates, [N, C]; one that is not finite broke down.
    errors: their Bellman errors, [N, C].
    instruments: features of (s, a), the last constant, [N, D].
    penalty: of the prediction of errors.
  """
  if len(values) < 2:
    raise ValueError(f'Judging needs at least two rows, got {len(values)}.')
  sound = np.isfinite(values).all(axis=0) & np.isfinite(errors).all(axis=0)
  if not sound.any():
    raise ValueError('No candidate has finite values, so none can be chosen.')
  scores = Scores(*np.full([2, len(sound)], np.inf))
  for all_scores, found in zip(
    scores,
    _judge(values[:, sound], errors[:, sound], instruments, penalty),
    strict=True,
  ):
    all_scores[sound] = found
  return scores


def _judge(
  values: types.FloatArray,
  errors: types.FloatArray,
  instruments: types.FloatArray,
  penalty: float,
) -> Scores:
  """Does what `judge` does with candidates that are all finite."""
  # All candidates agree on most of q; what tells them apart are differences.
  centred = values - values.mean(axis=0)
  scale = np.maximum(centred.std(axis=0), 1e-12)
  tests = np.concatenate(
    [centred / scale, np.ones([len(values), 1])], axis=1
  )  # [N, C + 1]
  products = np.abs(errors.T @ tests) / len(values)  # [C, C + 1]
  halves = [
    ridge.sums(instruments[part::2], errors[part::2]) for part in (0, 1)
  ]
  projected = np.zeros(values.shape[1])
  for one, other in (halves, halves[::-1]):
    weights = ridge.solve_sums(other, penalty, intercept=True)
    projected += np.sum(weights * one.moment, axis=0) / one.count / 2.0
  return Scores(tournament=products.max(axis=1), projected=projected)
