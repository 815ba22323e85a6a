"""Digits for designs that need some: each picture tells its number."""

import numpy as np
import pytest

from dfiv_ope.benchmarks import mnist


def _pool(first, copies):
  """Pictures filled with a number; the digit is the number modulo ten."""
  numbers = np.arange(first, first + 10 * copies, dtype=np.uint8)
  images = np.broadcast_to(
    numbers[:, np.newaxis, np.newaxis], (len(numbers), 28, 28)
  )
  return mnist.Pool(images, numbers % 10)


@pytest.fixture
def numbered_digits(monkeypatch):
  """Training pictures show 0..99, test pictures 100..199."""
  digits = mnist.Digits(train=_pool(0, 10), test=_pool(100, 10))
  monkeypatch.setattr(mnist, 'load', lambda directory: digits)
