"""What speaks against an estimate: a grade, and words."""

from collections.abc import Mapping
import math
from typing import NamedTuple

from dfiv_ope.evaluation import inference

TRUST, CARE, DO_NOT = GRADES = ('trust', 'with care', 'do not')


class Reason(NamedTuple):
  """What speaks against an estimate.

  Attributes:
    grade: that it leaves.
    words: a sentence or two.
  """

  grade: str
  words: str


def scale(metrics: Mapping[str, float], interval: inference.Interval) -> float:
  """Returns what differences are compared with; infinite if that is 0."""
  return max(abs(interval.estimate), metrics.get('return_spread', 0.0)) or (
    math.inf
  )
