"""Cases with numbers as states: what all of them have."""

import functools
from typing import Any

from dfiv_ope.cases import case, finite_cases


def make(
  family: str,
  name: str,
  setting: Any,
  behaviour: Any,
  target: Any,
  overlap: str,
  *,
  episodes: int,
  horizon: int,
  stochastic: bool = True,
  recorded: bool = True,
  vectors: bool = False,
  **options: Any,
) -> finite_cases.Entry:
  """Returns a case of numbers as states, whose episodes are truncated.

  Args:
    family: what it is one of.
    name: within the family.
    setting: makes it of the policies, `horizon` and `options`.
    behaviour: parameters of the behaviour policy.
    target: of the target policy.
    overlap: how far the log holds what the target does.
    episodes: of a log.
    horizon: steps of an episode.
    stochastic: whether transitions are.
    recorded: whether the log has the behaviour's probabilities.
    vectors: whether actions are vectors.
    **options: of the setting.
  """
  return finite_cases.Entry(
    family,
    name,
    case.Facts(
      episodes=episodes,
      horizon=horizon,
      overlap=overlap,
      stochastic=stochastic,
      truncated=True,
      recorded=recorded,
      table=False,
      vectors=vectors,
    ),
    functools.partial(setting, behaviour, target, horizon=horizon, **options),
  )
