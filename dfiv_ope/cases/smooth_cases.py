"""Cases with numbers as states, whose answers are simulated or closed form."""

from collections.abc import Iterator
import functools
from typing import Any

from dfiv_ope.cases import (
  case,
  finite_cases,
  inventory,
  mountain_car,
  navigation,
  pendulum,
  queue,
  regulator,
)


def _entry(
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


def entries() -> Iterator[finite_cases.Entry]:
  """Yields the cases."""
  good, medium, poor = case.GOOD, case.MEDIUM, case.POOR
  forces = functools.partial(_entry, 'regulator', setting=regulator.discrete)
  yield forces(
    name='near',
    behaviour=(0.4, 2.0),
    target=(0.6, 1.5),
    overlap=good,
    episodes=100,
    horizon=50,
    noise=0.1,
  )
  yield forces(
    name='near-few',
    behaviour=(0.4, 2.0),
    target=(0.6, 1.5),
    overlap=good,
    episodes=25,
    horizon=50,
    noise=0.1,
  )
  yield forces(
    name='far',
    behaviour=(0.1, 4.0),
    target=(0.9, 0.5),
    overlap=poor,
    episodes=200,
    horizon=50,
    noise=0.1,
  )
  yield forces(
    name='farther',
    behaviour=(-0.1, 1.0),
    target=(0.9, 0.3),
    overlap=poor,
    episodes=200,
    horizon=50,
    noise=0.1,
    recorded=False,
  )
  yield forces(
    name='quiet',
    behaviour=(0.2, 3.0),
    target=(0.9, 0.5),
    overlap=medium,
    episodes=100,
    horizon=50,
    noise=0.0,
    stochastic=False,
  )
  yield forces(
    name='noisy',
    behaviour=(0.3, 3.0),
    target=(0.9, 0.8),
    overlap=medium,
    episodes=200,
    horizon=80,
    noise=0.3,
    discount=0.98,
    recorded=False,
  )

  force = functools.partial(
    _entry, 'regulator_vectors', setting=regulator.vectors, vectors=True
  )
  yield force(
    name='near',
    behaviour=(0.4, 1.0),
    target=(0.6, 0.8),
    overlap=good,
    episodes=150,
    horizon=50,
    noise=0.1,
  )
  yield force(
    name='far',
    behaviour=(0.1, 1.0),
    target=(0.9, 0.4),
    overlap=poor,
    episodes=200,
    horizon=50,
    noise=0.1,
    recorded=False,
  )
  yield force(
    name='far-few',
    behaviour=(0.2, 1.0),
    target=(0.9, 0.3),
    overlap=poor,
    episodes=40,
    horizon=50,
    noise=0.2,
  )

  car = functools.partial(_entry, 'mountain_car', setting=mountain_car.setting)
  yield car(
    name='clock',
    behaviour=0.6,
    target=0.9,
    overlap=good,
    episodes=80,
    horizon=400,
    noise=0.2,
    clock=True,
  )
  yield car(
    name='clock-quiet',
    behaviour=0.6,
    target=1.0,
    overlap=medium,
    episodes=80,
    horizon=400,
    noise=0.0,
    clock=True,
    stochastic=False,
    recorded=False,
  )
  yield car(
    name='plain',
    behaviour=0.6,
    target=0.9,
    overlap=good,
    episodes=80,
    horizon=400,
    noise=0.1,
    clock=False,
    recorded=False,
  )
  yield car(
    name='far',
    behaviour=0.2,
    target=0.95,
    overlap=medium,
    episodes=60,
    horizon=300,
    noise=0.1,
    clock=True,
  )
  yield car(
    name='few',
    behaviour=0.7,
    target=1.0,
    overlap=good,
    episodes=15,
    horizon=400,
    noise=0.0,
    clock=False,
    stochastic=False,
  )

  swing = functools.partial(_entry, 'pendulum', setting=pendulum.setting)
  yield swing(
    name='near',
    behaviour=4.0,
    target=1.0,
    overlap=medium,
    episodes=100,
    horizon=100,
    noise=0.1,
  )
  yield swing(
    name='far',
    behaviour=20.0,
    target=0.5,
    overlap=medium,
    episodes=150,
    horizon=100,
    noise=0.1,
    recorded=False,
  )
  yield swing(
    name='quiet',
    behaviour=8.0,
    target=0.5,
    overlap=medium,
    episodes=100,
    horizon=150,
    noise=0.0,
    stochastic=False,
    discount=0.98,
  )

  torque = functools.partial(
    _entry,
    'pendulum',
    vectors=True,
    setting=functools.partial(pendulum.setting, vectors=True),
  )
  yield torque(
    name='vectors-near',
    behaviour=1.0,
    target=0.5,
    overlap=medium,
    episodes=100,
    horizon=100,
    noise=0.1,
  )
  yield torque(
    name='vectors-far',
    behaviour=2.5,
    target=0.3,
    overlap=poor,
    episodes=100,
    horizon=100,
    noise=0.0,
    recorded=False,
    stochastic=False,
  )

  walk = functools.partial(_entry, 'navigation', setting=navigation.setting)
  yield walk(
    name='near',
    behaviour=1.0,
    target=3.0,
    overlap=medium,
    episodes=150,
    horizon=100,
    noise=0.02,
  )
  yield walk(
    name='far',
    behaviour=0.3,
    target=5.0,
    overlap=medium,
    episodes=100,
    horizon=100,
    noise=0.02,
    recorded=False,
  )
  yield walk(
    name='sparse',
    behaviour=0.8,
    target=3.0,
    overlap=medium,
    episodes=150,
    horizon=100,
    noise=0.05,
    sparse=True,
  )
  yield walk(
    name='few',
    behaviour=1.0,
    target=4.0,
    overlap=medium,
    episodes=40,
    horizon=60,
    noise=0.0,
  )

  steer = functools.partial(
    _entry,
    'navigation',
    vectors=True,
    setting=functools.partial(navigation.setting, vectors=True),
  )
  yield steer(
    name='vectors',
    behaviour=0.5,
    target=1.5,
    overlap=medium,
    episodes=200,
    horizon=60,
    noise=0.02,
  )
  yield steer(
    name='vectors-far',
    behaviour=0.25,
    target=4.0,
    overlap=poor,
    episodes=150,
    horizon=60,
    noise=0.02,
    sparse=True,
    recorded=False,
  )

  shop = functools.partial(_entry, 'inventory', setting=inventory.setting)
  yield shop(
    name='near',
    behaviour=(5.0, 8.0),
    target=(6.0, 5.0),
    overlap=good,
    episodes=100,
    horizon=60,
    shape=4.0,
  )
  yield shop(
    name='far',
    behaviour=(3.0, 10.0),
    target=(9.0, 2.0),
    overlap=poor,
    episodes=150,
    horizon=60,
    shape=4.0,
    recorded=False,
  )
  yield shop(
    name='wild',
    behaviour=(5.0, 12.0),
    target=(8.0, 4.0),
    overlap=medium,
    episodes=150,
    horizon=60,
    shape=0.7,
  )
  yield shop(
    name='few',
    behaviour=(5.0, 12.0),
    target=(8.0, 4.0),
    overlap=medium,
    episodes=30,
    horizon=60,
    shape=4.0,
    discount=0.98,
  )

  serve = functools.partial(_entry, 'queue', setting=queue.setting)
  yield serve(
    name='near',
    behaviour=(1.0, 1.0),
    target=(1.5, 0.8),
    overlap=good,
    episodes=100,
    horizon=80,
    load=1.0,
  )
  yield serve(
    name='far',
    behaviour=(0.6, 1.5),
    target=(2.5, 0.4),
    overlap=medium,
    episodes=100,
    horizon=80,
    load=1.0,
    recorded=False,
  )
  yield serve(
    name='loaded',
    behaviour=(1.0, 1.5),
    target=(2.0, 0.5),
    overlap=medium,
    episodes=100,
    horizon=80,
    load=1.3,
    discount=0.98,
  )
  yield serve(
    name='few',
    behaviour=(0.4, 1.0),
    target=(3.0, 0.3),
    overlap=poor,
    episodes=30,
    horizon=80,
    load=1.0,
  )
