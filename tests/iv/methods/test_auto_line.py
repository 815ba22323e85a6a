"""How much of a curve AutoIV takes in place of a line."""

import numpy as np
import pytest

from dfiv_ope import types
from dfiv_ope.iv import estimators, heavy_tails
from dfiv_ope.iv.methods import auto_line


def _halves(function, strength=1.0, n=600, seed=0):
  generator = np.random.default_rng(seed)
  z = generator.uniform(-3.0, 3.0, (n, 1))
  hidden, small = generator.standard_normal((2, n, 1))
  treatment = strength * z + hidden
  outcome = function(treatment) + hidden + 0.1 * small
  rows = types.IVBatch(treatment, z, outcome, None)
  middle = n // 2
  return tuple(
    types.IVBatch(*(None if each is None else each[half] for each in rows))
    for half in (slice(middle), slice(middle, None))
  )


def test_lines_are_seldom_taken_for_curves():
  found = [
    auto_line.t_statistic(*_halves(lambda t: 2.0 * t, n=200, seed=seed))
    for seed in range(30)
  ]
  assert np.mean(np.array(found) > 1.5) <= 0.2


def test_curves_are_seen_where_instruments_are_weaker():
  assert auto_line.t_statistic(*_halves(np.abs)) > 10.0
  assert auto_line.t_statistic(*_halves(np.abs, strength=0.5)) > 3.0


def test_few_rows_and_many_columns_tell_nothing():
  assert auto_line.t_statistic(*_halves(np.abs, n=30)) is None
  first, second = (
    half._replace(instrument=np.tile(half.instrument, (1, 60)))
    for half in _halves(np.abs)
  )
  assert auto_line.t_statistic(first, second) is None


@pytest.mark.parametrize(
  't, line', [(None, 1.0), (-3.0, 1.0), (1.5, 1.0), (3.0, 0.125), (15.0, 0.0)]
)
def test_the_line_has_what_is_not_sure(t, line):
  found = auto_line.shares(t, {'kiv': 0.75, 'sieve': 0.25}, 'two_sls')
  assert sum(found.values()) == pytest.approx(1.0)
  assert found.get('two_sls', 0.0) == pytest.approx(line)
  # Intervals have the features of the first, a line's only where it is alone.
  assert list(found) == (
    ['kiv', 'sieve', 'two_sls'][: 3 if line else 2]
    if line < 1.0
    else ['two_sls']
  )
  if line < 1.0:
    assert found['kiv'] == pytest.approx(3.0 * found['sieve'])


def test_the_answer_has_a_part_of_the_line():
  first, second = _halves(np.abs, strength=0.5)
  rows = [np.concatenate([first[at], second[at]]) for at in range(3)]
  treatment, z, outcome = rows
  model = estimators.AutoIV(candidates=('two_sls', 'kiv'), n_splits=1).fit(
    outcome, treatment, Z=z
  )
  t = model.history_['curve_t'][-1]
  assert t > 1.5
  part = 1.0 - (1.5 / t) ** 3
  assert model.shares_ == pytest.approx({'kiv': part, 'two_sls': 1.0 - part})


def test_one_wild_outcome_does_not_decide_the_line():
  rows = [
    np.concatenate(pair)
    for pair in zip(
      *(half[:3] for half in _halves(lambda t: 2.0 * t)), strict=True
    )
  ]
  treatment, z, outcome = rows
  wild = outcome.copy()
  wild[np.argmax(z)] += 1e4
  with pytest.warns(heavy_tails.HeavyTailsWarning):
    model = estimators.AutoIV(candidates=('two_sls', 'agmm'), n_splits=1).fit(
      wild, treatment, Z=z
    )
  assert model.ate(0.0, 1.0) == pytest.approx(2.0, abs=0.2)
