"""Stage-1 diagnostics from sums, against the rows themselves."""

import dataclasses

import numpy as np
import pytest
import tensorflow as tf

from dfiv_ope import agents
from dfiv_ope.agents import fixed_features, memory
from dfiv_ope.agents.entries import random_features
from dfiv_ope.iv import features, ridge
from dfiv_ope.ope import bellman


def test_sums_by_action_are_the_sums_of_the_features(case):
  psi = fixed_features.make(
      case.problem, size=6, bandwidth_scale=1., seed=0)
  data = memory.InMemory(case.rows, batch_size=1, seed=0)
  total = ridge.merge(*fixed_features.half_sums(psi, data.parts))
  rows = case.rows
  plain = ridge.sums(psi(rows.instrument), np.concatenate(
      [bellman.difference(psi, rows.treatment), rows.outcome], axis=1))
  for name, value in plain._asdict().items():
    np.testing.assert_allclose(
        getattr(total, name), value, rtol=1e-9, atol=1e-7, err_msg=name)


def test_waves_in_a_graph_are_the_fourier_features_of_numpy():
  fourier = features.FourierFeatures(np.array([0.5, 2.]), size=6, seed=0)
  x = np.random.default_rng(0).normal(size=(9, 2))
  np.testing.assert_allclose(
      tf.function(fixed_features.Waves(fourier))(tf.constant(x)), fourier(x),
      rtol=1e-10, atol=1e-12)


def test_stage1_r2_is_that_of_a_regression_on_other_rows(case):
  psi = fixed_features.make(
      case.problem, size=4, bandwidth_scale=1., seed=0)
  data = memory.InMemory(case.rows, batch_size=1, seed=0)
  halves = fixed_features.half_sums(psi, data.parts)
  found = fixed_features.stage1_metrics(*halves, 1e-9)
  # The same in numpy, from rows.
  sides = [], []
  for index, rows in enumerate(data.parts()):
    sides[index % 2].append(tuple(
        np.asarray(each, np.float64) for each in (
            psi(rows.instrument), bellman.change(psi, rows.treatment))))
  first, second = (
      [np.concatenate(each) for each in zip(*side, strict=True)]
      for side in sides)
  error = 0.
  for (phi, later), (other, target) in ((first, second), (second, first)):
    weights = np.linalg.lstsq(phi, later, rcond=1e-12)[0]
    error += np.mean(np.sum((target - other @ weights) ** 2, axis=1)) / 2.
  later = np.concatenate([first[1], second[1]])
  assert found['stage1_held_out_r2'] == pytest.approx(
      1. - error / np.sum(later.var(axis=0)), abs=1e-4)
  assert found['stage1_rank'] > 0.
  assert found['instrument_condition'] >= 1.


def test_features_that_do_not_fit_the_memory_are_refused_before_work(case):
  kiv, lstd = agents.load('kiv'), agents.load('lstd')
  many = dataclasses.replace(case.problem, num_actions=25)
  with pytest.raises(ValueError) as refused:
    lstd.make(lstd.Config(), many, seed=0)
  assert str(refused.value) == (
      '25 actions x 301 features = 7,525 columns: about 10.0 GB to solve for '
      'as many weights, more than the 2 GB allowed. Set random_features=132 '
      'or fewer (--set random_features=132).')
  with pytest.raises(ValueError, match='Set random_features=88 or fewer'):
    kiv.make(kiv.Config(), many, seed=0)
  lstd.make(lstd.Config(random_features=132), many, seed=0)
  kiv.make(kiv.Config(random_features=88), many, seed=0)


@pytest.mark.parametrize('method', ['lstd', 'kiv'])
def test_a_billion_features_are_refused_with_their_memory(method):
  with pytest.raises(ValueError, match='1 action x 1,000,000,001 .* GB'):
    agents.load(method).Config(random_features=1_000_000_000)


def test_what_is_affordable_fits_and_two_more_do_not():
  for actions in (2, 9, 25, 300):
    most = random_features.affordable(actions)
    random_features.require(actions, most)
    with pytest.raises(ValueError, match='columns'):
      random_features.require(actions, most + 2)
