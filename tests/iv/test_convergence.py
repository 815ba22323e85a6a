"""Held-out losses that still fall are said to, others are not."""

import math
import types
import warnings

import numpy as np
import pytest

from dfiv_ope.iv import convergence, estimators, methods


@pytest.mark.parametrize(
  'losses, fall',
  [
    ([1.0, 0.9, 0.8, 0.4], 0.5),
    # The least before the last quarter counts, not the one just before it.
    ([1.0, 0.5, 0.8, 0.7, 0.6, 0.5, 0.45, 0.4], 0.2),
    ([1.0, 0.5, 0.4, 0.4, 0.4, 0.4, 0.4, 0.4], 0.0),
    ([1.0, 0.4, 0.5, 0.5, 0.5, 0.5, 0.6, 0.5], -0.25),
  ],
)
def test_the_fall_is_that_of_the_least_loss(losses, fall):
  assert convergence.late_fall(losses) == pytest.approx(fall)


@pytest.mark.parametrize(
  'losses',
  [[], [1.0, 0.5, 0.1], [1.0, 1.0, 1.0, math.inf], [1.0, 0.5, 0.0, -1.0]],
)
def test_few_or_impossible_losses_tell_nothing(losses):
  assert math.isnan(convergence.late_fall(losses))


def test_a_steady_fall_counts_and_noise_does_not():
  assert convergence.still_falls(np.linspace(1.0, 0.9, 10).tolist())
  assert not convergence.still_falls(np.linspace(1.0, 0.999, 10).tolist())
  assert not convergence.still_falls([1.0] * 10)
  noise = 1.0 + 0.01 * np.random.default_rng(0).normal(size=(1000, 20))
  # Of the least losses, every fourth is in the last quarter.
  assert np.mean([convergence.late_fall(each) > 0.0 for each in noise]) > 0.2
  assert (
    np.mean([convergence.still_falls(each.tolist()) for each in noise]) < 0.03
  )


def test_a_loss_that_still_falls_is_said_with_what_to_do():
  config = types.SimpleNamespace(iterations=200)
  (found,) = convergence.warnings(
    {'loss': [0.86, 0.83, 0.8, 0.776], 'other': [1.0, 0.5, 0.2, 0.1]},
    {'loss': 'iterations'},
    config,
  )
  assert isinstance(found, convergence.NotConvergedWarning)
  assert str(found) == (
    'The training has not converged: loss still fell by 3 % over the last '
    'quarter of its checks (200 iterations), so the estimate may be far from '
    'what a longer training gives. Try iterations=800.'
  )
  assert (
    convergence.warnings(
      {'loss': [1.0, 0.9, 0.8, 0.8]}, {'loss': 'iterations'}, config
    )
    == []
  )
  assert convergence.warnings({}, {'loss': 'iterations'}, config) == []


@pytest.mark.parametrize('name', methods.NAMES)
def test_every_trained_method_says_what_trains_it(name):
  module = methods.load(name)
  trained = getattr(module, 'TRAINED', {})
  assert bool(trained) == name.startswith('d')
  for parameter in trained.values():
    assert getattr(module.Config(), parameter) > 0


def test_a_fit_warns_and_its_summary_repeats_it(monkeypatch):
  generator = np.random.default_rng(0)
  z, noise = generator.normal(size=(2, 200))
  treatment = z + noise
  losses = iter([1.0, 0.9, 0.8, 0.72])
  monkeypatch.setattr(
    methods.load('dfiv').dfiv_losses,
    'cross_fitted_loss',
    lambda *_: next(losses),
  )
  with pytest.warns(convergence.NotConvergedWarning) as caught:
    model = estimators.DFIV(iterations=4, checks=4).fit(
      treatment + noise, treatment, Z=z
    )
  (words,) = (
    str(each.message)
    for each in caught
    if isinstance(each.message, convergence.NotConvergedWarning)
  )
  assert 'cross_fitted_loss still fell by 10 % over the last' in words
  assert 'Try iterations=16.' in words
  assert f'Warning: {words}' in model.summary()
  assert model.history_['cross_fitted_loss'] == [1.0, 0.9, 0.8, 0.72]


def test_dfiv_on_a_line_has_converged():
  generator = np.random.default_rng(0)
  z = generator.uniform(-3.0, 3.0, size=(2000, 2))
  e, one, other = generator.normal(size=(3, 2000))
  treatment = z[:, 0] + e + 0.1 * one
  with warnings.catch_warnings():
    warnings.simplefilter('error', convergence.NotConvergedWarning)
    model = estimators.DFIV().fit(treatment + e + 0.1 * other, treatment, Z=z)
  assert len(model.history_['cross_fitted_loss']) <= model.training_checks


def test_the_loss_of_dfiv_on_a_sine_still_falls():
  # Recorded at the default 200 iterations; 400 have half the error.
  losses = [
    0.91844,
    0.91881,
    0.9192,
    0.91868,
    0.91829,
    0.91788,
    0.91729,
    0.91676,
    0.91638,
    0.9151,
  ]
  assert convergence.late_fall(losses) == pytest.approx(0.0018, abs=5e-5)
  assert convergence.still_falls(losses)
