"""The figure of a coverage study: an interval a line, misses stand out."""

import matplotlib.figure
import pytest

from dfiv_ope.launch.reporting import caterpillar


def _drawn(rows, truth=1.0):
  axes = matplotlib.figure.Figure().subplots()
  caterpillar.Panel(
    title='x',
    truth=truth,
    logs=len(rows),
    intervals=[caterpillar.Interval(*row) for row in rows],
  ).draw(axes)
  return axes


def test_intervals_are_drawn_by_their_estimate_and_misses_stand_out():
  axes = _drawn([(1.5, 1.2, 1.8, False), (0.9, 0.5, 1.3, True)])
  lower, dot, upper, cross, truth = axes.lines
  assert [*lower.get_xdata()] == [0.5, 1.3] and [*lower.get_ydata()] == [0, 0]
  assert [*upper.get_xdata()] == [1.2, 1.8] and [*upper.get_ydata()] == [1, 1]
  assert (dot.get_marker(), cross.get_marker()) == ('o', 'x')
  assert lower.get_color() == dot.get_color() != upper.get_color()
  assert [*truth.get_xdata()] == [1.0, 1.0]
  left, right = axes.get_xlim()
  assert (left, right) == pytest.approx((0.5 - 0.052, 1.8 + 0.052))


def test_an_interval_that_goes_on_has_arrows():
  axes = _drawn([*[(1.0, 0.5, 1.5, True)] * 3, (1.0, -99.0, 101.0, True)])
  assert axes.get_xlim() == pytest.approx((-1.16, 3.16))
  assert [line.get_marker() for line in axes.lines].count('<') == 1
  assert [line.get_marker() for line in axes.lines].count('>') == 1


def test_intervals_of_no_width_are_drawn():
  assert _drawn([(0.0, 0.0, 0.0, True)], truth=0.0).get_xlim() == (-1.0, 1.0)
