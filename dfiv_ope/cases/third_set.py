"""The third set of cases: random problems, which nobody has designed.

It was written when the second set had been seen, and before any estimate was
made on it.
"""

from collections.abc import Iterator
import functools
import itertools

from dfiv_ope.cases import (
  case,
  drift,
  finite_cases,
  garnet,
  offers,
  smooth_entry,
)

_GOOD, _MEDIUM, _POOR = case.GOOD, case.MEDIUM, case.POOR


def entries() -> Iterator[finite_cases.Entry]:
  """Yields the cases."""
  return itertools.chain(_garnets(), _drifts(), _offers())


def _garnets() -> Iterator[finite_cases.Entry]:
  made = functools.partial(smooth_entry.make, 'garnet', setting=garnet.setting)
  yield made(
    name='short',
    behaviour=(0.0, 1.0),
    target=(0.4, 1.0),
    overlap=_GOOD,
    episodes=1_000,
    horizon=40,
    table=True,
    draw=0,
    ending=0.3,
  )
  yield made(
    name='long',
    behaviour=(0.0, 1.0),
    target=(0.4, 1.0),
    overlap=_GOOD,
    episodes=100,
    horizon=100,
    table=True,
    draw=1,
    ending=0.02,
  )
  yield made(
    name='medium',
    behaviour=(0.0, 1.0),
    target=(1.0, 1.5),
    overlap=_MEDIUM,
    episodes=300,
    horizon=80,
    table=True,
    draw=2,
    ending=0.1,
    recorded=False,
  )
  yield made(
    name='points-near',
    behaviour=(0.0, 0.7),
    target=(0.4, 1.0),
    overlap=_GOOD,
    episodes=500,
    horizon=60,
    draw=3,
    columns=3,
    ending=0.2,
  )
  yield made(
    name='points-far',
    behaviour=(0.0, 0.7),
    target=(1.2, 1.2),
    overlap=_MEDIUM,
    episodes=300,
    horizon=80,
    draw=4,
    columns=2,
    ending=0.1,
    recorded=False,
  )
  yield made(
    name='alike-near',
    behaviour=(0.0, 1.0),
    target=(0.3, 1.0),
    overlap=_GOOD,
    episodes=1_000,
    horizon=50,
    table=True,
    draw=5,
    ending=0.25,
    alike=True,
  )
  yield made(
    name='alike-far',
    behaviour=(0.0, 2.0),
    target=(-4.0, 1.5),
    overlap=_POOR,
    episodes=600,
    horizon=80,
    table=True,
    draw=6,
    ending=0.1,
    alike=True,
    recorded=False,
  )
  yield made(
    name='late',
    behaviour=(0.0, 1.0),
    target=(0.4, 1.0),
    overlap=_GOOD,
    episodes=400,
    horizon=80,
    table=True,
    draw=7,
    ending=0.15,
    late=True,
    noise=0.5,
  )
  yield made(
    name='untold-horizon',
    behaviour=(0.0, 1.0),
    target=(0.4, 1.0),
    overlap=_GOOD,
    episodes=600,
    horizon=6,
    table=True,
    draw=8,
    ending=0.02,
    complete=True,
  )


def _drifts() -> Iterator[finite_cases.Entry]:
  made = functools.partial(smooth_entry.make, 'drift', setting=drift.setting)
  yield made(
    name='short',
    behaviour=(0.0, 1.5),
    target=(0.4, 1.5),
    overlap=_GOOD,
    episodes=400,
    horizon=8,
    draw=0,
    complete=True,
  )
  yield made(
    name='clock',
    behaviour=(0.0, 1.5),
    target=(1.0, 0.7),
    overlap=_MEDIUM,
    episodes=500,
    horizon=10,
    draw=1,
    complete=True,
    time_feature=True,
  )
  yield made(
    name='long',
    behaviour=(0.0, 1.5),
    target=(0.4, 1.2),
    overlap=_GOOD,
    episodes=80,
    horizon=100,
    draw=2,
  )
  yield made(
    name='far',
    behaviour=(0.0, 2.0),
    target=(-3.0, 1.0),
    overlap=_POOR,
    episodes=150,
    horizon=80,
    draw=3,
    recorded=False,
  )
  yield made(
    name='bounded',
    behaviour=(0.0, 1.5),
    target=(0.4, 1.2),
    overlap=_GOOD,
    episodes=600,
    horizon=100,
    draw=4,
    bound=0.8,
  )
  yield made(
    name='unseen',
    behaviour=(0.0, 1.0),
    target=(0.4, 1.0),
    overlap=_GOOD,
    episodes=600,
    horizon=100,
    draw=5,
    bound=0.8,
    unseen=True,
  )
  yield made(
    name='vectors',
    behaviour=(0.0, 0.6),
    target=(0.15, 0.58),
    overlap=_GOOD,
    episodes=120,
    horizon=40,
    draw=6,
    vectors=True,
    setting=functools.partial(drift.setting, vectors=True),
  )
  yield made(
    name='few',
    behaviour=(0.0, 2.0),
    target=(1.0, 0.8),
    overlap=_MEDIUM,
    episodes=25,
    horizon=60,
    draw=9,
    recorded=False,
  )
  yield made(
    name='wide',
    behaviour=(0.0, 2.0),
    target=(0.3, 1.8),
    overlap=_GOOD,
    episodes=200,
    horizon=30,
    draw=8,
    size=8,
    actions=5,
    recorded=False,
  )


def _offers() -> Iterator[finite_cases.Entry]:
  made = functools.partial(
    smooth_entry.make,
    'offers',
    setting=offers.setting,
    horizon=1,
    complete=True,
  )
  yield made(
    name='near',
    behaviour=(0.0, 2.0),
    target=(0.4, 1.8),
    overlap=_GOOD,
    episodes=2_000,
    draw=0,
  )
  yield made(
    name='far',
    behaviour=(0.0, 1.0),
    target=(2.0, 0.5),
    overlap=_POOR,
    episodes=3_000,
    draw=1,
  )
  yield made(
    name='untold',
    behaviour=(0.0, 1.5),
    target=(0.8, 1.2),
    overlap=_MEDIUM,
    episodes=2_000,
    draw=2,
    recorded=False,
  )
  yield made(
    name='sales',
    behaviour=(0.0, 2.0),
    target=(0.4, 1.8),
    overlap=_GOOD,
    episodes=5_000,
    draw=3,
    noise=1.0,
    sales=True,
  )
  yield made(
    name='arms',
    behaviour=(0.0, 2.0),
    target=(0.8, 1.8),
    overlap=_MEDIUM,
    episodes=3_000,
    draw=4,
    arms=12,
  )
  yield made(
    name='few',
    behaviour=(0.0, 2.0),
    target=(0.4, 1.8),
    overlap=_GOOD,
    episodes=300,
    draw=5,
  )
