"""How far a log tells what a policy would do: the overlap of the two.

Two views of it: importance weights pi(a|s) / b(a|s), where the probability b
of the logged action is known or estimated, and nearest neighbours, which need
no b: how often the log took the policy's action in a similar state. Where
actions are vectors, b and pi are densities, and a similar action will do.

    seen = neighbours.nearby(2, actions, episodes, s, seed=0)
    found = overlap.measure(pi, actions, episodes, seen, behaviour=b)
    found.verdict, found.warnings()
"""

from collections.abc import Callable, Sequence
import dataclasses
import math
from typing import NamedTuple

import numpy as np

from dfiv_ope import types
from dfiv_ope.iv.diagnostics import messages
from dfiv_ope.ope import importance, neighbours

# A value rests on a share of the rows, (sum w)^2 / (N sum w^2). Policies that
# suit the logs of the three tasks have 0.29 to 0.79; uniform actions have 0.11
# on catch, where the estimate is off by a quarter, and 0.001 on the others.
# No interval shows how wrong an estimate may be below these.
THIN_SHARE, POOR_SHARE = 0.25, 0.05
# Where overlap is thin and where it is poor, as shares. With a fifth of the
# decisions without neighbours, or a hundredth of the log that counts, the
# estimate is extrapolation or rests on a few rows. On logs with a fifth of
# random actions, uniform actions have 0.86 to 0.99 and 0.29, their greedy
# policy 0.96 to 1 and 0.87, its opposite 0.82 to 0.99 and 0.07.
_THIN_COVERAGE, _POOR_COVERAGE = 0.9 * neighbours.NEAR, 0.8 * neighbours.NEAR
_THIN_STEPS, _POOR_STEPS = 0.2, 0.01
# Actions that the log never takes are guesswork, so less of it is allowed.
_THIN_UNSEEN, _POOR_UNSEEN = 0.001, 0.05
# Means over fewer steps are rough, whatever share of the log they are.
_FEW_STEPS = 100
# A single step should not have more than this share of all weight.
_HEAVY = 0.05
# Weights average one if b is right. Steps of an episode are alike, so the
# average is wrong only if it is by many standard errors, and by a tenth.
_MEAN_ERRORS, _MEAN_SLACK = 5.0, 0.1

_VERDICTS = {
  'good': 'Overlap is good: in nearly all of its states, the log shows what '
  'the policy does.',
  'thin': 'Overlap is thin: part of the estimate rests on few steps of the '
  'log, so expect it to be rough.',
  'poor': 'Overlap is poor: much of the estimate is extrapolation, and no '
  'interval shows how wrong it may be.',
}


@dataclasses.dataclass(frozen=True, kw_only=True)
class Overlap:
  """Overlap of a policy and a log.

  Attributes:
    steps: number of steps of the log.
    agreement: mean probability that the policy takes the logged action; nan
      if actions are vectors.
    unseen: actions that the log never takes and the policy does, with their
      mean probability.
    coverage: by nearest neighbours; None if they were not looked for.
    weights: None if b is not known, or if actions are vectors and the policy
      is deterministic.
  """

  steps: int
  agreement: float
  unseen: dict[int, float]
  coverage: neighbours.Coverage | None = None
  weights: importance.Weights | None = None

  @property
  def grade(self) -> str:
    """One word: good, thin or poor."""
    share = self.coverage.share if self.coverage else 1.0
    guessed = sum(self.unseen.values())
    steps = self.weights.effective_steps if self.weights else self.steps
    if (
      share < _POOR_COVERAGE
      or guessed > _POOR_UNSEEN
      or steps < _POOR_STEPS * self.steps
    ):
      return 'poor'
    if (
      share < _THIN_COVERAGE
      or guessed > _THIN_UNSEEN
      or steps < max(_THIN_STEPS * self.steps, _FEW_STEPS)
    ):
      return 'thin'
    return 'good'

  @property
  def verdict(self) -> str:
    """One sentence on how far an estimate can be trusted."""
    return verdict(self.grade)

  def warnings(self, labels: Sequence[str] = ()) -> list[str]:
    """Returns what a user should know; actions are numbers without labels."""
    result = []
    if self.unseen:
      names = [labels[each] if labels else str(each) for each in self.unseen]
      result.append(
        f'In {messages.percent(sum(self.unseen.values()))} of its decisions '
        'the policy takes an action that the log never takes '
        f'({", ".join(names)}): nothing says what it leads to.'
      )
    found, weights = self.coverage, self.weights
    kind = 'densities' if math.isnan(self.agreement) else 'probabilities'
    if found and found.share < _THIN_COVERAGE:
      result.append(
        f'In {messages.percent(1.0 - found.share)} of the states the policy '
        'takes an action that the log never takes nearby: the estimate '
        'extrapolates there. (Acting as the log does gives '
        f'{messages.percent(1.0 - neighbours.NEAR)}. Seen in '
        f'{found.queries:,} states, among {found.references:,} steps.)'
      )
    steps = weights.effective_steps if weights else self.steps
    if steps < max(_THIN_STEPS * self.steps, _FEW_STEPS):
      result.append(
        f'For this policy the {self.steps:,} steps of the log are worth '
        f'{steps:,.0f}.'
      )
    if weights and weights.largest_share > _HEAVY:
      result.append(
        f'One step has {messages.percent(weights.largest_share)} of the '
        'weight of all: the log hardly ever did there what the policy does.'
      )
    if weights and abs(weights.mean - 1.0) > max(
      _MEAN_SLACK, _MEAN_ERRORS * weights.mean_error
    ):
      reason = (
        f'the {kind} that were estimated from the log are rough.'
        if weights.estimated
        else f'the logged {kind} are not those of the behaviour policy, '
        'or it never takes some of the actions.'
      )
      result.append(
        f'The weights of steps average {weights.mean:.2f} instead of 1: '
        f'{reason}'
      )
    return result


def verdict(grade: str) -> str:
  """Returns the sentence of a grade: how far an estimate can be trusted."""
  return _VERDICTS[grade]


def share_grade(share: float) -> str:
  """Returns the grade of an effective sample size, a share of the rows.

  It is that of the weights of whole states, which depend on the features that
  they are made of (`evaluation.influence`), so it is one of a method, not of
  the log and the policy alone.
  """
  if share < POOR_SHARE:
    return 'poor'
  return 'thin' if share < THIN_SHARE else 'good'


def worst(*grades: str) -> str:
  """Returns the worst of some grades."""
  return max(grades, key=list(_VERDICTS).index)


def share_words(
  share: float,
  *,
  features: float,
  bandwidth_scale: float,
  reduced: bool,
  cells: float = 0,
  together: bool = False,
  one_step: bool = False,
) -> str:
  """Returns an effective sample size and the features it was found with.

  Args:
    share: of the rows.
    features: number of random features.
    bandwidth_scale: multiplies the median distance between observations.
    reduced: whether rows allow no more features.
    cells: of a table of categorical states, which takes the place of random
      features; 0 if there is none.
    together: whether features are of state and action, not of the state for
      each action.
    one_step: whether each action has a ridge regression beside features of
      the state.
  """
  low = ': the policy goes to states that the log seldom shows'
  made_of = (
    f'a table of {cells:,.0f} states'
    if cells
    else f'a ridge regression for each action beside {features:,g} random '
    'features of the state'
    if one_step
    else f'{features:,g} random features '
    f'{"of state and action" if together else "per action"}'
    f'{", as many as rows allow" if reduced else ""}, bandwidth '
    f'{bandwidth_scale:g}'
  )
  return (
    f'The effective sample size is {messages.percent(share)} of the rows, '
    f'with {made_of}{low if share_grade(share) != "good" else ""}.'
  )


class Asked(NamedTuple):
  """What a policy does in the N states of a log, without all of it at once.

  Attributes:
    taken: probability of the logged action, [N].
    mean: mean probability of each action, [A].
    at: returns the probabilities in some of the states, [Q] to [Q, A].
  """

  taken: types.FloatArray
  mean: types.FloatArray
  at: Callable[[np.ndarray], types.FloatArray]

  @classmethod
  def of(
    cls, target: 'types.FloatArray | Asked', actions: np.ndarray
  ) -> 'Asked':
    """Returns the same of probabilities [N, A] and logged actions [N]."""
    if isinstance(target, Asked):
      return target
    return cls(
      neighbours.taken(target, actions),
      np.mean(target, axis=0, dtype=np.float64),
      lambda rows: target[rows],
    )


def measure(
  target: types.FloatArray | Asked,
  actions: np.ndarray,
  episodes: np.ndarray,
  seen: neighbours.Nearby,
  *,
  behaviour: types.FloatArray | None = None,
  estimated: bool = False,
) -> Overlap:
  """Returns the overlap of a policy and a log of N steps.

  Args:
    target: the policy's probabilities in the log's states, [N, A], or what
      is asked of them.
    actions: logged actions, [N].
    episodes: to which episode each step belongs, [N].
    seen: which actions the log took near its states.
    behaviour: probability with which each logged action was taken, [N]; None
      if it is not known.
    estimated: whether `behaviour` was estimated from the log.

  Raises:
    ValueError: a probability in `behaviour` is impossible.
  """
  asked, weights = Asked.of(target, actions), None
  if behaviour is not None:
    weights = importance.summarise(
      importance.step_weights(asked.taken, behaviour),
      episodes,
      estimated=estimated,
    )
  return Overlap(
    steps=len(actions),
    agreement=_agreement(asked),
    unseen=_unseen(asked, actions),
    weights=weights,
    coverage=neighbours.coverage(asked.at, seen),
  )


def measure_vectors(
  log_target: types.FloatArray | None,
  taken: types.FloatArray,
  intended: neighbours.Intended,
  episodes: np.ndarray,
  observations: types.FloatArray,
  *,
  names: int = 0,
  behaviour: types.FloatArray | None = None,
  estimated: bool = False,
  seed: types.Seed = 0,
) -> Overlap:
  """Returns the overlap of a policy and a log of N steps of vectors.

  Args:
    log_target: log density of the logged actions in the policy, [N]; None if
      it is deterministic.
    taken: logged actions, encoded, [N, E].
    intended: returns an action of the policy in each of some steps, encoded.
    episodes: to which episode each step belongs, [N].
    observations: logged states, encoded compactly, [N, D].
    names: how many of their last columns are places of categories.
    behaviour: density of each logged action, [N]; None if it is not known.
    estimated: whether `behaviour` was estimated from the log.
    seed: seeds the choice of steps for neighbours.

  Raises:
    ValueError: a density is impossible.
  """
  weights = None
  if log_target is not None and behaviour is not None:
    weights = importance.summarise(
      importance.density_weights(log_target, behaviour),
      episodes,
      estimated=estimated,
    )
  return Overlap(
    steps=len(taken),
    agreement=math.nan,
    unseen={},
    weights=weights,
    coverage=neighbours.vector_coverage(
      taken, intended, episodes, observations, seed=seed, names=names
    ),
  )


def glance(target: types.FloatArray | Asked, actions: np.ndarray) -> Overlap:
  """Returns the part of the overlap that takes no time; as in `measure`."""
  asked = Asked.of(target, actions)
  return Overlap(
    steps=len(actions),
    agreement=_agreement(asked),
    unseen=_unseen(asked, actions),
  )


def glance_vectors(steps: int) -> Overlap:
  """Returns the same for a log of so many steps of vectors: nothing yet."""
  return Overlap(steps=steps, agreement=math.nan, unseen={})


def _agreement(asked: Asked) -> float:
  """Returns how likely the policy takes the logged action, on average."""
  return float(np.mean(asked.taken, dtype=np.float64))


def _unseen(asked: Asked, actions: np.ndarray) -> dict[int, float]:
  """Returns the policy's mean probability of actions that are not logged."""
  never = np.bincount(actions, minlength=len(asked.mean)) == 0
  return {
    int(action): float(asked.mean[action])
    for action in np.flatnonzero(never & (asked.mean > 0.0))
  }
