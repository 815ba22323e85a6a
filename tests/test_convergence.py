"""Held-out losses that still fall are said to, others are not."""

import math
import types

import numpy as np
import pytest

from dfiv_ope import convergence, estimators, methods


@pytest.mark.parametrize('losses, fall', [
    ([1., .9, .8, .4], 0.5),
    # The least before the last quarter counts, not the one just before it.
    ([1., .5, .8, .7, .6, .5, .45, .4], 0.2),
    ([1., .5, .4, .4, .4, .4, .4, .4], 0.),
    ([1., .4, .5, .5, .5, .5, .6, .5], -0.25)])
def test_the_fall_is_that_of_the_least_loss(losses, fall):
  assert convergence.late_fall(losses) == pytest.approx(fall)


@pytest.mark.parametrize('losses', [
    [], [1., 0.5, 0.1], [1., 1., 1., math.inf], [1., 0.5, 0., -1.]])
def test_few_or_impossible_losses_tell_nothing(losses):
  assert math.isnan(convergence.late_fall(losses))


def test_a_loss_that_still_falls_is_said_with_what_to_do():
  config = types.SimpleNamespace(iterations=200)
  (found,) = convergence.warnings(
      {'loss': [1., .9, .8, .776], 'other': [1., .5, .2, .1]},
      {'loss': 'iterations'}, config)
  assert isinstance(found, convergence.NotConvergedWarning)
  assert str(found) == (
      'The training has not converged: loss still fell by 3 % over the last '
      'quarter of 200 iterations, so the estimate may be far from what a '
      'longer training gives. Try iterations=800.')
  assert convergence.warnings(
      {'loss': [1., .9, .8, .8]}, {'loss': 'iterations'}, config) == []
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
  losses = iter([1., .9, .8, .4])
  monkeypatch.setattr(
      methods.load('dfiv').dfiv_stages, 'cross_fitted_loss',
      lambda *_, **__: next(losses))
  with pytest.warns(convergence.NotConvergedWarning) as caught:
    model = estimators.DFIV(iterations=4, checks=4).fit(
        treatment + noise, treatment, Z=z)
  (words,) = (str(each.message) for each in caught if isinstance(
      each.message, convergence.NotConvergedWarning))
  assert 'cross_fitted_loss still fell by 50 % over the last' in words
  assert 'Try iterations=16.' in words
  assert f'Warning: {words}' in model.summary()
  assert model.history_['cross_fitted_loss'] == [1., .9, .8, .4]
