"""Cases of walks, stores and queues, whose answers are simulated."""

from collections.abc import Iterator
import functools

from dfiv_ope.cases import (
  case,
  finite_cases,
  inventory,
  navigation,
  queue,
  smooth_entry,
)


def entries() -> Iterator[finite_cases.Entry]:
  """Yields the cases."""
  good, medium, poor = case.GOOD, case.MEDIUM, case.POOR
  walk = functools.partial(
    smooth_entry.make, 'navigation', setting=navigation.setting
  )
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
    smooth_entry.make,
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

  shop = functools.partial(
    smooth_entry.make, 'inventory', setting=inventory.setting
  )
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

  serve = functools.partial(smooth_entry.make, 'queue', setting=queue.setting)
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
