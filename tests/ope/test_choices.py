"""Codes of decisions, by hand."""

import numpy as np

from dfiv_ope.ope import choices


def test_a_policy_of_few_kinds_of_decisions_has_a_code_for_each():
  probabilities = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 0.0], [0.1, 0.9]])
  found = choices.Choices.of(probabilities)
  np.testing.assert_array_equal(found.codes, [0, 1, 0, 2])
  np.testing.assert_array_equal(
    found.table, [[1.0, 0.0], [0.0, 1.0], [0.1, 0.9]]
  )
  np.testing.assert_array_equal(
    found.at(np.array([3, 0])), [[0.1, 0.9], [1.0, 0.0]]
  )


def test_a_policy_of_many_kinds_keeps_its_probabilities():
  share = np.random.default_rng(0).uniform(size=5_000)
  probabilities = np.stack([share, 1.0 - share], axis=1)
  found = choices.Choices.of(probabilities)
  assert found.codes is None
  np.testing.assert_array_equal(found.at(slice(7, 9)), probabilities[7:9])


def test_rare_kinds_that_a_sample_does_not_show_are_seen():
  # A stride of 5 shows one kind; between lie 40 others.
  probabilities = np.tile([1.0, 0.0], (5_000, 1))
  probabilities[1:200:5, 0] = np.linspace(0.0, 0.9, 40)
  probabilities[:, 1] = 1.0 - probabilities[:, 0]
  assert choices.Choices.of(probabilities).codes is None
