"""Cases of moving masses, whose answers are simulated or closed form."""

from collections.abc import Iterator
import functools

from dfiv_ope.cases import (
  case,
  finite_cases,
  mountain_car,
  pendulum,
  regulator,
  smooth_entry,
)


def entries() -> Iterator[finite_cases.Entry]:
  """Yields the cases."""
  good, medium, poor = case.GOOD, case.MEDIUM, case.POOR
  forces = functools.partial(
    smooth_entry.make, 'regulator', setting=regulator.discrete
  )
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
    smooth_entry.make,
    'regulator_vectors',
    setting=regulator.vectors,
    vectors=True,
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

  car = functools.partial(
    smooth_entry.make, 'mountain_car', setting=mountain_car.setting
  )
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

  swing = functools.partial(
    smooth_entry.make, 'pendulum', setting=pendulum.setting
  )
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
    smooth_entry.make,
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
