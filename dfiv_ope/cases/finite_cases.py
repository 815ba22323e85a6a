"""Cases with tables of states: COBS, Gymnasium and ICU-Sepsis."""

from collections.abc import Iterator
import functools
from typing import Any, NamedTuple

from dfiv_ope.cases import (
  case,
  graph,
  gridworld,
  gym_tables,
  icu,
  mixtures,
  toy_mountain_car,
)


class Entry(NamedTuple):
  """A case before its half is known.

  Attributes:
    family: of problems.
    name: within the family.
    facts: what is known of it.
    setting: returns the problem and the policies.
    package: that it cannot be drawn without; empty if there is none.
  """

  family: str
  name: str
  facts: case.Facts
  setting: Any
  package: str = ''


def _graph(
  name: str,
  behaviour: float,
  target: float,
  overlap: str,
  *,
  horizon: int,
  episodes: int,
  recorded: bool = True,
  **options: Any,
) -> Entry:
  hidden = 'block' in options
  return Entry(
    'graph_hidden' if hidden else 'graph',
    name,
    case.Facts(
      episodes=episodes,
      horizon=horizon,
      overlap=overlap,
      stochastic=options.get('stochastic', True),
      truncated=False,
      recorded=recorded,
      table=True,
    ),
    lambda: graph.setting(
      graph.graph(horizon=horizon, **options), behaviour, target
    ),
  )


def _grid(
  name: str,
  behaviour: float,
  target: float,
  overlap: str,
  *,
  episodes: int,
  stochastic: bool,
  recorded: bool = True,
  time_feature: bool = False,
  **options: Any,
) -> Entry:
  return Entry(
    'gridworld',
    name,
    case.Facts(
      episodes=episodes,
      horizon=25,
      overlap=overlap,
      stochastic=stochastic,
      truncated=not options.get('complete', True),
      recorded=recorded,
      table=not options.get('coordinates', False),
      time_feature=time_feature,
    ),
    lambda: mixtures.setting(
      gridworld.gridworld(stochastic=stochastic, **options), behaviour, target
    ),
  )


def _toy(
  name: str,
  behaviour: float,
  target: float,
  overlap: str,
  *,
  episodes: int,
  horizon: int,
  recorded: bool = True,
  **options: Any,
) -> Entry:
  return Entry(
    'toy_mountain_car',
    name,
    case.Facts(
      episodes=episodes,
      horizon=horizon,
      overlap=overlap,
      stochastic=options.get('stochastic', False),
      truncated=not options.get('complete', True),
      recorded=recorded,
      table=not options.get('coordinates', False),
    ),
    lambda: toy_mountain_car.setting(
      toy_mountain_car.toy_mountain_car(horizon=horizon, **options),
      behaviour,
      target,
    ),
  )


def _gym(
  name: str,
  behaviour: float,
  target: float,
  overlap: str,
  *,
  episodes: int,
  environment: str,
  stochastic: bool,
  recorded: bool = True,
  horizon: int = 200,
  **options: Any,
) -> Entry:
  return Entry(
    'gymnasium',
    name,
    case.Facts(
      episodes=episodes,
      horizon=horizon,
      overlap=overlap,
      stochastic=stochastic,
      truncated=True,
      recorded=recorded,
      table=True,
    ),
    lambda: mixtures.setting(
      gym_tables.gym_table(environment, horizon=horizon, **options),
      behaviour,
      target,
    ),
    gym_tables.PACKAGE,
  )


def _icu(
  episodes: int,
  target: str,
  overlap: str,
  *,
  centres: bool = False,
  recorded: bool = True,
) -> Entry:
  return Entry(
    'icu',
    f'{target}{"-centres" * centres}-{episodes}',
    case.Facts(
      episodes=episodes,
      horizon=200,
      overlap=overlap,
      stochastic=True,
      truncated=False,
      recorded=recorded,
      table=not centres,
    ),
    functools.partial(icu.setting, target, centres=centres),
    icu.PACKAGE,
  )


def entries() -> Iterator[Entry]:
  """Yields the cases."""
  good, medium, poor = case.GOOD, case.MEDIUM, case.POOR
  yield _graph('short', 0.4, 0.6, good, horizon=4, episodes=256)
  yield _graph(
    'short-sparse', 0.2, 0.8, medium, horizon=4, episodes=512, sparse=True
  )
  yield _graph(
    'short-noisy', 0.1, 0.9, poor, horizon=4, episodes=512, noisy=True
  )
  yield _graph('long', 0.4, 0.6, good, horizon=16, episodes=256)
  yield _graph(
    'long-deterministic',
    0.2,
    0.8,
    medium,
    horizon=16,
    episodes=256,
    stochastic=False,
  )
  yield _graph(
    'long-sparse',
    0.5,
    0.8,
    medium,
    horizon=16,
    episodes=512,
    noisy=True,
    sparse=True,
    recorded=False,
  )
  yield _graph(
    'long-noisy', 0.1, 0.9, poor, horizon=16, episodes=512, noisy=True
  )
  yield _graph(
    'long-few', 0.2, 0.8, medium, horizon=16, episodes=64, recorded=False
  )
  yield _graph('steps', 0.5, 0.8, medium, horizon=8, episodes=512, block=1)
  yield _graph('blocks', 0.2, 0.8, medium, horizon=16, episodes=512, block=4)
  yield _graph(
    'noisy', 0.4, 0.6, good, horizon=8, episodes=256, block=4, noisy=True
  )
  yield _graph(
    'poor', 0.1, 0.9, poor, horizon=8, episodes=512, block=1, recorded=False
  )

  yield _grid('plain', 0.5, 0.9, medium, episodes=300, stochastic=False)
  yield _grid(
    'slips', 0.5, 0.9, medium, episodes=300, stochastic=True, time_feature=True
  )
  yield _grid(
    'slips-far', 0.1, 0.9, medium, episodes=300, stochastic=True, recorded=False
  )
  yield _grid('slips-near', 0.7, 0.9, good, episodes=60, stochastic=True)
  yield _grid(
    'places',
    0.5,
    0.9,
    medium,
    episodes=300,
    stochastic=True,
    coordinates=True,
    complete=False,
  )
  yield _grid(
    'places-near',
    0.7,
    0.9,
    good,
    episodes=300,
    stochastic=False,
    coordinates=True,
    recorded=False,
  )

  yield _toy('right', 0.65, 0.8, good, episodes=100, horizon=250)
  yield _toy('left', 0.45, 0.65, good, episodes=100, horizon=100)
  yield _toy(
    'slips',
    0.6,
    0.9,
    medium,
    episodes=128,
    horizon=250,
    stochastic=True,
    recorded=False,
  )
  yield _toy(
    'cut',
    0.5,
    0.8,
    medium,
    episodes=100,
    horizon=100,
    stochastic=True,
    complete=False,
  )
  yield _toy(
    'place', 0.6, 0.98, medium, episodes=128, horizon=250, coordinates=True
  )

  lake = 'FrozenLake-v1'
  yield _gym(
    'lake-4x4',
    0.5,
    0.9,
    medium,
    episodes=200,
    environment=lake,
    stochastic=True,
    map_name='4x4',
  )
  yield _gym(
    'lake-4x4-many',
    0.2,
    0.9,
    medium,
    episodes=1_000,
    environment=lake,
    stochastic=True,
    map_name='4x4',
    recorded=False,
  )
  yield _gym(
    'lake-4x4-firm',
    0.5,
    0.9,
    medium,
    episodes=200,
    environment=lake,
    stochastic=False,
    map_name='4x4',
    is_slippery=False,
  )
  yield _gym(
    'lake-8x8',
    0.5,
    0.9,
    medium,
    episodes=300,
    environment=lake,
    stochastic=True,
    map_name='8x8',
  )
  yield _gym(
    'taxi',
    0.5,
    0.9,
    medium,
    episodes=500,
    environment='Taxi-v4',
    stochastic=False,
  )
  yield _gym(
    'cliff',
    0.7,
    0.95,
    good,
    episodes=200,
    environment='CliffWalking-v1',
    stochastic=False,
  )
  yield _gym(
    'cliff-far',
    0.4,
    0.9,
    medium,
    episodes=100,
    environment='CliffWalking-v1',
    stochastic=False,
    recorded=False,
  )

  yield _icu(500, icu.CLINICIANS, good)
  yield _icu(500, icu.HALF, medium)
  yield _icu(500, icu.OPTIMAL, poor)
  yield _icu(2_000, icu.HALF, medium, recorded=False)
  yield _icu(2_000, icu.OPTIMAL, poor)
  yield _icu(1_000, icu.OPTIMAL, poor, centres=True)
