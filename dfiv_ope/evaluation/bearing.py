"""Which checks bear on an estimate.

Unrelated estimators (`evaluation.cross_checks`) ask what LSTD-Q takes for
granted: that features say enough, that the observation is the state, that the
log was where the policy goes. An estimate that weighs whole episodes by
recorded probabilities takes none of it for granted, if its weights can tell
their own error: they average about one, and enough episodes have some
(docs/trust.md has how often intervals hold). Then only the doubly robust check
bears on it, which does not take it for granted either; where that was not
asked, as of one-step logs, all do.
"""

from collections.abc import Mapping
import math

from dfiv_ope.evaluation import inference

# Means of weights, and what may rest on values.
_MEAN_WEIGHTS, _VALUES_SHARE = (0.9, 1.1), 0.05
_ROBUST = 'doubly_robust'


def weighs_alone(metrics: Mapping[str, float]) -> bool:
  """Returns whether an estimate is its weights', with no values of LSTD-Q.

  Args:
    metrics: of its runs: `values_share` is what rests on values, of methods
      that weigh episodes.
  """
  low, high = _MEAN_WEIGHTS
  return (
    metrics.get('estimated_propensities', 1.0) == 0.0
    and metrics.get('values_share', 1.0) <= _VALUES_SHARE
    and metrics.get('effective_episodes', 0.0) >= inference.FEW_EFFECTIVE
    and low <= metrics.get('mean_weight', math.nan) <= high
  )


def checks(metrics: Mapping[str, float]) -> dict[str, float]:
  """Returns what other estimators say that an interval has to reach, by name.

  Args:
    metrics: of the runs of a method.
  """
  found = inference.checks(metrics)
  if _ROBUST in found and weighs_alone(metrics):
    return {_ROBUST: found[_ROBUST]}
  return found
