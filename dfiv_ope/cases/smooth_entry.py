"""Cases whose setting takes two policies: what all of them have."""

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
  table: bool = False,
  vectors: bool = False,
  complete: bool = False,
  time_feature: bool = False,
  **options: Any,
) -> finite_cases.Entry:
  """Returns a case.

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
    table: whether the state is the name of one of finitely many; otherwise
      there are numbers among its observations.
    vectors: whether actions are vectors.
    complete: whether episodes terminate at the horizon; otherwise they are
      truncated there.
    time_feature: whether the number of the step is an observation.
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
      truncated=not complete or bool(options.get('dropout')),
      recorded=recorded,
      table=table,
      vectors=vectors,
      time_feature=time_feature,
    ),
    functools.partial(
      setting,
      behaviour,
      target,
      horizon=horizon,
      **({'complete': True} if complete else {}),
      **options,
    ),
  )
