"""The estimators that train networks, and so load TensorFlow.

Users name them in `estimators`, which imports this module when they do.
"""

from dfiv_ope.iv import iv_estimator


class DeepIV(iv_estimator.IVEstimator, method='deepiv'):
  """DeepIV: a mixture density of the treatment, then a response network."""


class DeepGMM(iv_estimator.IVEstimator, method='deepgmm'):
  """DeepGMM: a structural function against a critic."""


class DFIV(iv_estimator.IVEstimator, method='dfiv'):
  """Deep feature instrumental variable regression."""
