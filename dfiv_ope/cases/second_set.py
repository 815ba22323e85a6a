"""The second set of cases: problems of other kinds than those of the first.

It was written when both halves of the first set had been seen, and before any
estimate was made on it.
"""

from collections.abc import Iterator
import functools
import itertools

from dfiv_ope.cases import (
  battery,
  bidding,
  boat,
  case,
  dosing,
  elevator,
  epidemic,
  finite_cases,
  fishery,
  glucose,
  maintenance,
  marketing,
  smooth_entry,
  tanks,
)

_GOOD, _MEDIUM, _POOR = case.GOOD, case.MEDIUM, case.POOR


def entries() -> Iterator[finite_cases.Entry]:
  """Yields the cases."""
  return itertools.chain(_people(), _nature(), _machines(), _trade())


def _people() -> Iterator[finite_cases.Entry]:
  town = functools.partial(
    smooth_entry.make, 'epidemic', setting=epidemic.setting
  )
  yield town(
    name='near',
    behaviour=(12.0, 1.0),
    target=(18.0, 0.8),
    overlap=_GOOD,
    episodes=150,
    horizon=60,
    rate=0.5,
  )
  yield town(
    name='far',
    behaviour=(4.0, 1.0),
    target=(40.0, 0.4),
    overlap=_POOR,
    episodes=300,
    horizon=100,
    rate=0.5,
    recorded=False,
  )
  yield town(
    name='few',
    behaviour=(10.0, 2.0),
    target=(25.0, 0.5),
    overlap=_MEDIUM,
    episodes=30,
    horizon=40,
    rate=0.4,
    discount=0.95,
  )

  patient = functools.partial(
    smooth_entry.make, 'glucose', setting=glucose.setting
  )
  yield patient(
    name='near',
    behaviour=(1.0, 0.8),
    target=(1.3, 0.6),
    overlap=_GOOD,
    episodes=200,
    horizon=48,
    noise=0.05,
  )
  yield patient(
    name='medium',
    behaviour=(0.6, 1.0),
    target=(1.5, 0.15),
    overlap=_MEDIUM,
    episodes=400,
    horizon=48,
    noise=0.1,
    recorded=False,
  )
  yield patient(
    name='few',
    behaviour=(0.8, 0.6),
    target=(1.6, 0.2),
    overlap=_MEDIUM,
    episodes=40,
    horizon=30,
    noise=0.05,
  )

  visit = functools.partial(smooth_entry.make, 'dosing', setting=dosing.setting)
  yield visit(
    name='one-visit',
    behaviour=(0.0, 0.5),
    target=(0.5, 1.5),
    overlap=_GOOD,
    episodes=2_000,
    horizon=1,
    noise=0.3,
    complete=True,
  )
  yield visit(
    name='one-visit-few',
    behaviour=(-0.5, 1.0),
    target=(1.0, 50.0),
    overlap=_MEDIUM,
    episodes=300,
    horizon=1,
    noise=0.5,
    complete=True,
    recorded=False,
  )
  yield visit(
    name='visits',
    behaviour=(0.0, 0.7),
    target=(0.5, 2.0),
    overlap=_GOOD,
    episodes=800,
    horizon=8,
    noise=0.3,
    dropout=0.08,
  )


def _nature() -> Iterator[finite_cases.Entry]:
  fish = functools.partial(
    smooth_entry.make, 'fishery', setting=fishery.setting
  )
  yield fish(
    name='near',
    behaviour=(0.2, 0.08),
    target=(0.25, 0.06),
    overlap=_GOOD,
    episodes=200,
    horizon=40,
    luck=0.3,
  )
  yield fish(
    name='licence',
    behaviour=(0.3, 0.1),
    target=(0.15, 0.02),
    overlap=_MEDIUM,
    episodes=200,
    horizon=20,
    luck=0.5,
    complete=True,
    time_feature=True,
    recorded=False,
  )
  yield fish(
    name='licence-untold',
    behaviour=(0.25, 0.1),
    target=(0.3, 0.06),
    overlap=_GOOD,
    episodes=250,
    horizon=15,
    luck=0.4,
    complete=True,
  )

  sail = functools.partial(smooth_entry.make, 'boat', setting=boat.setting)
  yield sail(
    name='near',
    behaviour=1.5,
    target=2.5,
    overlap=_GOOD,
    episodes=150,
    horizon=80,
    turning=0.2,
  )
  yield sail(
    name='far',
    behaviour=0.7,
    target=6.0,
    overlap=_MEDIUM,
    episodes=150,
    horizon=80,
    turning=0.3,
    recorded=False,
  )
  yield sail(
    name='unseen-wind',
    behaviour=1.0,
    target=2.5,
    overlap=_MEDIUM,
    episodes=150,
    horizon=80,
    turning=0.15,
    hidden=True,
  )


def _machines() -> Iterator[finite_cases.Entry]:
  def machine(
    name: str,
    behaviour: float,
    target: float,
    overlap: str,
    *,
    episodes: int,
    horizon: int,
    names: bool,
    recorded: bool = True,
    noise: float = 0.0,
  ) -> finite_cases.Entry:
    return finite_cases.Entry(
      'maintenance',
      name,
      case.Facts(
        episodes=episodes,
        horizon=horizon,
        overlap=overlap,
        stochastic=True,
        truncated=True,
        recorded=recorded,
        table=names,
      ),
      functools.partial(
        maintenance.setting,
        behaviour,
        target,
        horizon=horizon,
        names=names,
        noise=noise,
      ),
    )

  yield machine('names', 0.3, 0.8, _MEDIUM, episodes=60, horizon=50, names=True)
  yield machine(
    'numbers', 0.6, 0.9, _GOOD, episodes=100, horizon=50, names=False, noise=2.0
  )
  yield machine(
    'long',
    0.1,
    0.9,
    _MEDIUM,
    episodes=25,
    horizon=200,
    names=True,
    recorded=False,
    noise=1.0,
  )

  lift = functools.partial(
    smooth_entry.make, 'elevator', setting=elevator.setting
  )
  yield lift(
    name='even',
    behaviour=(1.0, 1.0),
    target=(1.3, 0.7),
    overlap=_GOOD,
    episodes=150,
    horizon=60,
    arrivals=(0.4, 0.4),
  )
  yield lift(
    name='mornings',
    behaviour=(0.5, 1.5),
    target=(1.5, 0.4),
    overlap=_MEDIUM,
    episodes=100,
    horizon=60,
    arrivals=(0.7, 0.2),
    recorded=False,
  )

  pump = functools.partial(smooth_entry.make, 'tanks', setting=tanks.setting)
  yield pump(
    name='switched',
    behaviour=(0.3, 0.5),
    target=(1.0, 0.25),
    overlap=_MEDIUM,
    episodes=100,
    horizon=60,
    noise=0.03,
  )
  yield pump(
    name='vectors',
    behaviour=(0.4, 0.35),
    target=(0.8, 0.25),
    overlap=_MEDIUM,
    episodes=150,
    horizon=60,
    noise=0.03,
    vectors=True,
    setting=functools.partial(tanks.setting, vectors=True),
  )


def _trade() -> Iterator[finite_cases.Entry]:
  offers = functools.partial(
    smooth_entry.make, 'marketing', setting=marketing.setting
  )
  yield offers(
    name='near',
    behaviour=(0.5, 1.5),
    target=(1.0, 1.2),
    overlap=_GOOD,
    episodes=1_000,
    horizon=24,
    tail=0.5,
    dropout=0.03,
  )
  yield offers(
    name='tails',
    behaviour=(0.0, 1.0),
    target=(1.0, 0.5),
    overlap=_MEDIUM,
    episodes=1_200,
    horizon=24,
    tail=1.2,
    recorded=False,
  )
  yield offers(
    name='few',
    behaviour=(-0.6, 0.8),
    target=(1.0, 0.2),
    overlap=_POOR,
    episodes=150,
    horizon=12,
    tail=0.8,
    dropout=0.05,
  )

  day = functools.partial(smooth_entry.make, 'bidding', setting=bidding.setting)
  yield day(
    name='near',
    behaviour=(0.7, 0.4),
    target=(0.9, 0.3),
    overlap=_GOOD,
    episodes=300,
    horizon=30,
    budget=9.0,
    tail=0.3,
    complete=True,
  )
  yield day(
    name='tight',
    behaviour=(0.4, 0.4),
    target=(1.4, 0.1),
    overlap=_POOR,
    episodes=300,
    horizon=30,
    budget=4.0,
    tail=0.6,
    complete=True,
    recorded=False,
  )

  store = functools.partial(
    smooth_entry.make, 'battery', setting=battery.setting
  )
  yield store(
    name='near',
    behaviour=(0.7, 1.0),
    target=(1.5, 0.8),
    overlap=_GOOD,
    episodes=100,
    horizon=100,
    freedom=5.0,
  )
  yield store(
    name='spikes',
    behaviour=(0.3, 2.0),
    target=(2.5, 0.3),
    overlap=_MEDIUM,
    episodes=100,
    horizon=200,
    freedom=2.5,
    recorded=False,
  )
  yield store(
    name='vectors',
    behaviour=(0.7, 0.5),
    target=(1.5, 0.35),
    overlap=_GOOD,
    episodes=80,
    horizon=100,
    freedom=4.0,
    vectors=True,
    setting=functools.partial(battery.setting, vectors=True),
  )
