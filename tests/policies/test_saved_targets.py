"""SavedModels that users name as policies."""

import numpy as np
import pytest
import tensorflow as tf

from dfiv_ope.policies import finite


class _Fixed(tf.Module):
  def __init__(self, *numbers):
    super().__init__()
    self._numbers = tf.constant([numbers])

  def action_probabilities(self, observation):
    return tf.tile(self._numbers, [tf.shape(observation)[0], 1])


def _save(path, *numbers):
  finite.save(_Fixed(*numbers), path, num_observations=2)
  return path


def test_a_saved_model_is_loaded_and_normalised(resolved, asked, tmp_path):
  target = resolved(_save(tmp_path / 'policy', 0.2, 0.3, 0.50005))
  np.testing.assert_allclose(
    asked(target)[0], np.array([0.2, 0.3, 0.50005]) / 1.00005, rtol=1e-6
  )
  assert asked(target).sum(axis=1) == pytest.approx(1.0, abs=1e-6)
  other = resolved(_save(tmp_path / 'other', 0.2, 0.2, 0.6))
  assert len(target.digest) == 64
  assert target.digest != other.digest


def test_the_directory_of_a_trained_policy_works_too(resolved, asked, tmp_path):
  _save(tmp_path / 'trained' / 'saved_model', 0.5, 0.25, 0.25)
  (tmp_path / 'trained' / 'policy.json').write_text('{"schema": 1}')
  np.testing.assert_allclose(
    asked(resolved(tmp_path / 'trained'))[0], [0.5, 0.25, 0.25]
  )


def test_saved_models_that_are_refused(resolved, tmp_path):
  with pytest.raises(FileNotFoundError, match='holds no policy'):
    resolved(tmp_path)
  with pytest.raises(ValueError, match='add a softmax'):
    resolved(_save(tmp_path / 'logits', 1.0, 2.0, 3.0))
  with pytest.raises(ValueError, match='chooses between 2 actions'):
    resolved(_save(tmp_path / 'two', 0.5, 0.5))
  with pytest.raises(ValueError, match='does not accept 4'):
    resolved(_save(tmp_path / 'other', 0.5, 0.3, 0.2), num_observations=4)
