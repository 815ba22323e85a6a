"""The baseline of pictures: a quadratic in the number of lit pixels.

It is fitted by two-stage least squares and takes no learning. What a plan asks
of it is here; the fit is `dsprites.lit_pixels_baseline`.
"""

import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
  from dfiv_ope.benchmarks import trials
  from dfiv_ope.results import rows

# The method and config of its rows.
NAME = 'lit_pixels'
CONFIG = {'features': 'lit pixels and their square'}
# Of its numbers: raised when they change, see `registry.Entry`.
VERSION = 1


def run(design: 'trials.Design', *, seed: int) -> 'rows.Row':
  """Fits the baseline to a sample of dSprites and measures its error."""
  from dfiv_ope.benchmarks import dsprites
  from dfiv_ope.benchmarks import trials as trials_lib

  start = time.process_time()
  predict = dsprites.lit_pixels_baseline(design.sample(seed))
  return trials_lib.row(
    design,
    NAME,
    CONFIG,
    predict,
    version=VERSION,
    seed=seed,
    cpu_seconds=time.process_time() - start,
  )
