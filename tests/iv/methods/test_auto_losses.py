"""The losses and shares of AutoIV's candidates."""

import numpy as np
import pytest

from dfiv_ope import types
from dfiv_ope.iv.methods import auto_losses


def test_predictions_are_averaged_over_what_the_instrument_leaves_open():
  generator = np.random.default_rng(0)
  z = generator.uniform(-2.0, 2.0, (1000, 12))
  noise = generator.standard_normal((1000, 1))
  outcome = np.sin(2.0 * z[:, :1])
  rows = types.IVBatch(outcome, z, outcome + noise, None)
  expected = auto_losses.expectations(
    rows, np.concatenate([outcome + noise, z[:, 1:2] + noise], axis=1)
  )
  # Of twelve columns one moves each; one kernel of all leaves .39 and .11.
  truth = np.concatenate([outcome, z[:, 1:2]], axis=1)
  assert np.all(np.mean(np.square(expected - truth), axis=0) < 0.06)


def test_a_share_falls_with_standard_errors_behind_the_best():
  outcome = np.zeros((100, 1))
  # Squares of the second are 1 + 0.2 or 1 - 0.2, those of the first 1 - 0.02:
  # one standard error of the difference (0.2 / 10) apart.
  second = np.sqrt(1.0 + 0.2 * np.tile([1.0, -1.0], 50))[:, None]
  first = np.full((100, 1), np.sqrt(0.98))
  shares = auto_losses.shares(
    outcome, np.concatenate([first, second], 1), ('sieve', 'kiv')
  )
  assert shares['kiv'] / shares['sieve'] == pytest.approx(np.exp(-0.25))
  turned = auto_losses.shares(
    outcome, np.concatenate([second, first], 1), ('kiv', 'sieve')
  )
  assert list(turned.items()) == list(shares.items())


def test_a_candidate_that_is_clearly_worse_has_no_share():
  generator = np.random.default_rng(0)
  outcome = generator.standard_normal((400, 1))
  both = np.concatenate([outcome + 0.5, outcome + 0.2], axis=1)
  both += 0.1 * generator.standard_normal((400, 2))
  assert auto_losses.shares(outcome, both, ('sieve', 'kiv')) == {'kiv': 1.0}
