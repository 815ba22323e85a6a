"""`dfiv_ope.compare`: several policies on one log, by paired differences."""

from collections.abc import Mapping, Sequence
import dataclasses
import functools
import html
import math
from typing import TYPE_CHECKING, Any

import numpy as np

from dfiv_ope.evaluation import (
  comparison,
  estimates,
  inference,
  policy_ranking,
  runs,
)
from dfiv_ope.front import evaluating, result
from dfiv_ope.ope import episodes
from dfiv_ope.ope import task as task_lib

if TYPE_CHECKING:
  from matplotlib import axes as mpl_axes
  import pandas as pd


@dataclasses.dataclass(frozen=True, eq=False)
class Comparison:
  """The values of several policies on one log.

  Attributes:
    results: of each policy, by its name.
  """

  results: Mapping[str, result.Result]

  def __getitem__(self, name: str) -> result.Result:
    return self.results[name]

  @functools.cached_property
  def ranking(self) -> list[str]:
    """The policies, the greatest estimate first."""
    return sorted(
      self.results,
      key=lambda name: (
        math.isnan(self.results[name].value),
        -self.results[name].value,
      ),
    )

  @property
  def best(self) -> str:
    """The policy with the greatest estimate."""
    return self.ranking[0]

  def difference(self, first: str, second: str) -> result.Difference:
    """Returns the value of one policy less another's, paired by episodes."""
    return self.results[first].less(self.results[second])

  @functools.cached_property
  def probability_of_best(self) -> dict[str, float]:
    """How likely each policy has the greatest value; nan without intervals.

    It speaks of the episodes and seeds that happened to be drawn, not of the
    bias that a thin overlap may leave.
    """
    draws = {
      name: each.estimates[each.method].draws
      for name, each in self.results.items()
    }
    known = {name: each for name, each in draws.items() if each is not None}
    if len(known) < len(draws):
      return dict.fromkeys(draws, math.nan)
    return dict(
      zip(
        known,
        inference.probability_of_best(list(known.values())).tolist(),
        strict=True,
      )
    )

  @property
  def rank_correlation(self) -> float:
    """Spearman's, of estimates and known values; nan without two of them."""
    estimates_, truths = self._known
    return policy_ranking.rank_correlation(estimates_, truths)

  def regret(self, k: int = 1) -> float:
    """Returns what the best of the k highest estimates falls short of.

    Args:
      k: number of policies that could be tried.

    Raises:
      ValueError: there are not so many policies whose values are known.
    """
    return policy_ranking.regret(*self._known, k)

  @property
  def _known(self) -> tuple[list[float], list[float]]:
    """Estimates and values of the policies whose value is known."""
    known = [
      (each.value, each.truth)
      for each in self.results.values()
      if each.truth is not None and not math.isnan(each.value)
    ]
    return [value for value, _ in known], [truth for _, truth in known]

  @property
  def warnings(self) -> list[str]:
    """What to beware of, with the name of each policy."""
    return [
      f'{name}: {each}'
      for name, found in self.results.items()
      for each in found.warnings
    ]

  def to_frame(self, level: float = 0.95) -> 'pd.DataFrame':
    """Returns a line for each policy, the greatest estimate first.

    Columns are the estimate and its interval; the paired difference to the
    behaviour policy and its interval (`log_difference`); that to the best
    policy (`best_difference`); how likely the policy is the best; the grade of
    the overlap.

    Args:
      level: of the intervals.
    """
    import pandas as pd

    lines = []
    for name in self.ranking:
      found = self.results[name]
      own, log = found.interval(level), found.versus_log()
      best = self.difference(name, self.best)
      lines.append(
        {
          'policy': name,
          'estimate': found.value,
          'low': own.low,
          'high': own.high,
          'log_difference': log.value,
          'log_difference_low': log.interval(level).low,
          'log_difference_high': log.interval(level).high,
          'best_difference': best.value,
          'best_difference_low': best.interval(level).low,
          'best_difference_high': best.interval(level).high,
          'probability_of_best': self.probability_of_best[name],
          'overlap': found.overlap.grade,
          **({} if found.truth is None else {'truth': found.truth}),
        }
      )
    return pd.DataFrame(lines).set_index('policy')

  def plot(self, axes: 'mpl_axes.Axes | None' = None) -> 'mpl_axes.Axes':
    """Draws each policy's paired difference to the behaviour policy.

    Args:
      axes: of matplotlib; new ones if None.
    """
    from matplotlib import pyplot

    if axes is None:
      _, axes = pyplot.subplots(
        figsize=(6.0, 1.0 + 0.45 * len(self.results)), layout='constrained'
      )
    table = self.to_frame().iloc[::-1]
    places = np.arange(len(table))
    middle = table.log_difference.to_numpy()
    axes.hlines(
      places,
      table.log_difference_low,
      table.log_difference_high,
      color='#1f7ac4',
    )
    axes.plot(middle, places, 'o', color='#1f7ac4')
    axes.axvline(0.0, color='#808080', linewidth=1.0)
    axes.set_yticks(places, table.index)
    axes.set_xlabel(
      'value less the behaviour policy (95 % confidence interval, paired)'
    )
    axes.set_ylim(-0.6, len(table) - 0.4)
    for side in ('top', 'right'):
      axes.spines[side].set_visible(False)
    return axes

  def __repr__(self) -> str:
    order = ', '.join(
      f'{name} {self.results[name].value:.4g}' for name in self.ranking
    )
    return f'<Comparison {order}>'

  def _repr_html_(self) -> str:
    said = ''.join(f'<li>{html.escape(each)}</li>' for each in self.warnings)
    return (
      self.to_frame()
      .rename_axis(None)
      .to_html(float_format='{:.4g}'.format, na_rep='')
      + f'<ul>{said}</ul>'
    )


def compare(
  log: episodes.Episodes,
  policies: Mapping[str, evaluating.AnyPolicy],
  *,
  methods: str | Sequence[str] = 'lstd',
  seeds: int = 3,
  configs: evaluating.Configs | None = None,
  truths: Mapping[str, float] | None = None,
  initial_observations: Any = None,
  trust_policy: bool = False,
  verbose: bool = False,
) -> Comparison:
  """Ranks policies by their values on one log.

      dfiv_ope.compare(log, {'a': f, 'b': g}).to_frame()

  Args:
    log: of `dfiv_ope.Log`.
    policies: by name, each as in `evaluate`.
    methods: as in `evaluate`; the first one ranks.
    seeds: number of seeds of each.
    configs: as in `evaluate`.
    truths: known values of policies, by name, for `rank_correlation` and
      `regret`.
    initial_observations: as in `evaluate`.
    trust_policy: load SavedModels whatever operations they hold.
    verbose: show a progress bar.

  Raises:
    ValueError: an argument is not valid, or a policy does not fit the log.
  """
  if not isinstance(log, episodes.Episodes):
    raise evaluating.no_log(log)
  if not isinstance(policies, Mapping) or not policies:
    raise ValueError(
      'compare takes policies by name, such as {"a": f, "b": g}, got '
      f'{type(policies).__name__}.'
    )
  chosen = evaluating.configs_of(methods, configs or {})
  seeds = evaluating.number_of_seeds(seeds)
  truths = truths or {}
  unknown = sorted(set(truths) - set(policies))
  if unknown:
    raise ValueError(
      f'truths has {", ".join(unknown)}, which is not among the policies '
      f'{", ".join(policies)}.'
    )
  for name, value in truths.items():
    evaluating.check_truth(f'The truth of {name}', value)
  if initial_observations is not None:
    log = log.starting_from(initial_observations)
  targets = {
    name: task_lib.find_policy(policy, log, trusted=trust_policy)
    for name, policy in policies.items()
  }
  asked = comparison.tasks(
    log, {name: target.policy for name, target in targets.items()}
  )
  with evaluating.progress_bar(
    verbose, 'Comparing', len(chosen) * seeds * len(targets)
  ) as update:
    found = comparison.estimate(asked, chosen, seeds=seeds, progress=update)
  average = estimates.log_average(runs.Evaluator(next(iter(asked.values()))))
  for task in asked.values():
    task.forget()
  return Comparison(
    {
      name: result.Result(
        task=asked[name],
        policy=name,
        digest=target.digest,
        configs=dict(chosen),
        estimates=found[name],
        log_average=average,
        truth=truths.get(name),
      )
      for name, target in targets.items()
    }
  )
