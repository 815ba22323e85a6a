"""Is the observation the state, and was the log where the policy goes?

What says that it is not speaks against all that learns a Q-function
(docs/trust.md has the rules).
"""

from collections.abc import Iterator, Mapping

from dfiv_ope import visible_text
from dfiv_ope.evaluation import inference, reasons
from dfiv_ope.ope import history, traits

_number = visible_text.number
# Of visits that have no near step of the log.
_FAR = (0.3, 0.6)
# What errors that depend on the past may add to the value, as a share of it,
# if they do by as many standard errors: with care, and do not.
_LASTING = (0.1, 0.3)
# What the step before says of an outcome that (s, a) does not, as a share of
# the outcome's variance, if it does by as many standard errors.
_REMEMBERED, REMEMBERED_Z = (0.01, 0.03), 4.0
OUTCOMES = ("an observation's next value", 'the reward', 'the end')
# What a lasting trait hides of the value, as a share of it: with care, and do
# not. It is seen in part.
_TRAIT = (0.02, 0.05)


_ADD_ACTION = 'Add the action of the step before to the observations.'


def of(
  metrics: Mapping[str, float], interval: inference.Interval | None
) -> list[reasons.Reason]:
  """Returns what speaks against what takes the observation for the state.

  Args:
    metrics: of a method's runs.
    interval: of the value; None if there is none.
  """
  return [
    *_far(metrics),
    *_memory(metrics),
    *(
      []
      if interval is None
      else [*_past(metrics, interval), *_trait(metrics, interval)]
    ),
  ]


def _far(metrics: Mapping[str, float]) -> Iterator[reasons.Reason]:
  share = metrics.get('beyond_share', 0.0)
  if share > _FAR[0]:
    yield reasons.Reason(
      reasons.DO_NOT if share > _FAR[1] else reasons.CARE,
      f'In some tenth of its discounted steps, {100.0 * share:.0f} % of what '
      'the target policy comes to is far from every step of the log.',
    )


def _past(
  metrics: Mapping[str, float], interval: inference.Interval
) -> Iterator[reasons.Reason]:
  """Is the state all that matters?"""
  share = metrics.get('lagged_value', 0.0) / reasons.scale(metrics, interval)
  if (
    share > _LASTING[0] and abs(metrics.get('lagged_z', 0.0)) > history.CERTAIN
  ):
    yield reasons.Reason(
      reasons.DO_NOT if share > _LASTING[1] else reasons.CARE,
      'Bellman errors go with those one step earlier (correlation '
      f'{metrics["lagged_correlation"]:.2f}): the observations are not the '
      'whole state. Add what lasts, such as earlier observations.',
    )
  share = metrics.get('acted_value', 0.0) / reasons.scale(metrics, interval)
  if share > _LASTING[0]:
    yield reasons.Reason(
      reasons.DO_NOT if share > _LASTING[1] else reasons.CARE,
      'Bellman errors go with the action of the step before (correlation '
      f'{metrics["acted_correlation"]:.2f}): the observations are not the '
      f'whole state. {_ADD_ACTION}',
    )


def _memory(metrics: Mapping[str, float]) -> Iterator[reasons.Reason]:
  """Do the step before, or recorded probabilities, tell more than the state?"""
  for name, teller, remedy in (
    (
      'memory',
      'the step before tells',
      'Add what lasts to the observations, such as the step before, or the '
      'number of the step (time_feature) if it goes with time.',
    ),
    ('acted', 'the action of the step before tells', _ADD_ACTION),
    (
      'foreseen',
      'the recorded probabilities tell',
      'The behaviour policy knew something that matters and is not observed: '
      'add it, or use weights (wis, dr) if enough episodes are effective.',
    ),
  ):
    share = metrics.get(f'{name}_share', 0.0)
    if share > _REMEMBERED[0] and metrics[f'{name}_z'] > REMEMBERED_Z:
      yield reasons.Reason(
        reasons.DO_NOT if share > _REMEMBERED[1] else reasons.CARE,
        f'The observations are not the whole state: {teller} '
        f'{100.0 * share:.2g} % of the variance of '
        f'{OUTCOMES[int(metrics[f"{name}_outcome"])]} beyond the state and the '
        f'action. {remedy}',
      )


def _trait(
  metrics: Mapping[str, float], interval: inference.Interval
) -> Iterator[reasons.Reason]:
  """Does something that is not recorded move actions and rewards?"""
  value, error = (
    metrics.get(f'trait_{name}', 0.0) for name in ('value', 'error')
  )
  share = abs(value) / reasons.scale(metrics, interval)
  if share > _TRAIT[0] and abs(value) > traits.CERTAIN * error:
    yield reasons.Reason(
      reasons.DO_NOT if share > _TRAIT[1] else reasons.CARE,
      'Rewards of an episode stay above or below what states and actions '
      'explain, and the actions go with it: something that lasts and is not '
      f'recorded moves both. It adds at least {_number(-value, 2)} to the '
      f'estimate (standard error {_number(error, 2)}). Add it to the '
      'observations, or log actions that do not depend on it.',
    )
