"""Estimators whose columns are pictures."""

import numpy as np
import pytest

from dfiv_ope.iv import estimators
from dfiv_ope.nn import layers as layers_lib


def pictures(rows=400, seed=0):
  """Pictures whose brightness is the treatment; a corner is always black."""
  generator = np.random.default_rng(seed)
  instrument, confounder = generator.normal(size=(2, rows))
  bright = instrument + confounder
  images = bright[:, None, None] * np.array([[1.0, 2.0], [3.0, 0.0]])
  return 2.0 * bright + 3.0 * confounder, images, instrument


def test_pixels_of_a_picture_share_one_scale():
  outcome, images, instrument = pictures()
  model = estimators.TwoSLS(stage2_penalty=1e-6).fit(
    outcome, images, Z=instrument
  )
  scale = model.scales_.treatment
  np.testing.assert_allclose(scale.mean, np.full(4, images.mean()))
  np.testing.assert_allclose(scale.scale, np.full(4, images.std()))
  # The brightness has the slope two, whatever pixel it is read from.
  brighter = model.predict(images + [[1.0, 2.0], [3.0, 0.0]])
  np.testing.assert_allclose(brighter - model.predict(images), 2.0, rtol=0.15)


def test_blocks_stand_side_by_side_each_with_its_scale():
  outcome, images, instrument = pictures()
  numbers = np.random.default_rng(1).normal(5.0, 9.0, (400, 2))
  model = estimators.TwoSLS().fit(
    outcome, numbers[:, 0], Z=instrument, X=(numbers[:, 1], images)
  )
  scale = model.scales_.covariate
  np.testing.assert_allclose(
    scale.mean, [numbers[:, 1].mean(), *[images.mean()] * 4]
  )
  np.testing.assert_allclose(
    scale.scale, [numbers[:, 1].std(), *[images.std()] * 4]
  )
  flat = np.concatenate([numbers[:, 1:], images.reshape(400, 4)], axis=1)
  np.testing.assert_array_equal(
    model.predict(numbers[:, 0], (numbers[:, 1], images)),
    model.predict(numbers[:, 0], flat),
  )


def test_a_convolution_reads_pictures_and_survives_saving(tmp_path):
  outcome, images, instrument = pictures()
  layers = (
    layers_lib.Image(2, 2),
    layers_lib.Conv(3, 2),
    layers_lib.Dense(2, None),
  )
  model = estimators.DFIV(treatment_net=layers, iterations=30, checks=2).fit(
    outcome, images, Z=instrument
  )
  model.save(tmp_path / 'saved')
  again = estimators.load(tmp_path / 'saved')
  np.testing.assert_allclose(
    again.predict(images[:5]), model.predict(images[:5]), rtol=1e-5
  )


def test_a_training_can_be_watched():
  outcome, images, instrument = pictures()
  seen = []
  model = estimators.DFIV(iterations=4, checks=2).fit(
    outcome,
    images,
    Z=instrument,
    watch=lambda each: seen.append(each.predict(images[:1])),
  )
  assert len(seen) == 2
  again = estimators.DFIV(iterations=4, checks=2).fit(
    outcome, images, Z=instrument
  )
  # Looking changes nothing.
  np.testing.assert_array_equal(model.predict(images), again.predict(images))
  with pytest.raises(ValueError, match='TwoSLS cannot be watched'):
    estimators.TwoSLS().fit(
      outcome, images, Z=instrument, watch=lambda each: None
    )
