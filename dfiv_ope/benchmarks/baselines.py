"""What the errors of the suite are held against: rows that take no instrument.

What a plan asks of them is here; nothing of it needs numpy.
"""

from collections.abc import Callable
import functools
import time
from typing import TYPE_CHECKING

from dfiv_ope import types
from dfiv_ope.iv import methods

if TYPE_CHECKING:
  from dfiv_ope.benchmarks import suite
  from dfiv_ope.results import rows

CONSTANT, PLAIN, PLAIN_DFIV, ORACLE = (
  'constant',
  'plain_kiv',
  'plain_dfiv',
  'oracle',
)
# What each of them is, as rows have it.
CONFIGS: dict[str, dict[str, str]] = {
  CONSTANT: {'fit': 'the mean outcome'},
  PLAIN: {'fit': 'KIV with the treatment as its own instrument'},
  PLAIN_DFIV: {'fit': 'DFIV with the treatment as its own instrument'},
  ORACLE: {'fit': 'KIV likewise, on outcomes whose noise is shuffled'},
}
NAMES = tuple(CONFIGS)
# Those with networks.
TRAINED = (PLAIN_DFIV,)


def version(name: str) -> int:
  """Returns the version of the numbers of a baseline."""
  if name == CONSTANT:
    return 1
  return methods.ENTRIES[_method(name)].version


def run(design: 'suite.Design', name: str, *, seed: int) -> 'rows.Row':
  """Fits a baseline to a sample of a design and measures its error.

  The oracle sees the outcome as it would be without confounding: the same
  noise, given to other rows. The rest is plain regression.
  """
  import numpy as np

  from dfiv_ope.benchmarks import trials
  from dfiv_ope.iv import estimators

  predict: Callable[..., types.FloatArray]
  data = design.sample(seed)
  outcome = data.outcome
  start = time.process_time()
  if name == CONSTANT:
    predict = functools.partial(_constant, float(np.mean(outcome)))
  else:
    if name == ORACLE:
      truth = design.truth(data.treatment, data.covariate)
      outcome = truth + np.random.default_rng(seed).permutation(outcome - truth)
    estimator = estimators.ESTIMATORS[_method(name)](random_state=seed)
    if 'n_splits' in estimator.get_params():
      estimator.set_params(n_splits=1)
    estimator.fit(outcome, data.treatment, Z=data.treatment, X=data.covariate)
    predict = estimator.predict
  return trials.row(
    design,
    name,
    CONFIGS[name],
    predict,
    version=version(name),
    seed=seed,
    cpu_seconds=time.process_time() - start,
  )


def _method(name: str) -> str:
  return 'dfiv' if name == PLAIN_DFIV else 'kiv'


def _constant(
  value: float, treatment: types.Nest, covariate: types.Nest = None
) -> types.FloatArray:
  """Returns the same value at all points, [B, 1]."""
  import numpy as np

  del covariate
  return np.full((len(treatment), 1), value)
