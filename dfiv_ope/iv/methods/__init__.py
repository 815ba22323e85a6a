"""The six methods, one module each.

Each module has `Config`, `fit(config, stage1, stage2, *, seed, progress=None)`
and `build(config, *, treatment_size, instrument_size, covariate_size=0,
seed=0)`; a `fit` whose model can predict while it is trained may have `watch`
(`descent.Watch`). `fit` takes standardised batches whose instrument has the
covariates among its columns, and returns a model with
`predict(treatment, covariate=None)`, its `config` and its `history`; `build`
makes one of the same shape, for a saved one to fill (`storage`): a
`closed_form.Model`, or a `tf.Module` where there is training. A method that is
trained has `TRAINED`: which losses of the history a longer training should
lower, and the hyper-parameter that makes it longer (`convergence`).
"""

from collections.abc import Mapping
import importlib
import types

# Of each method's numbers: raised when they change, which makes stored results
# others. tests/test_fingerprints.py fails where that was forgotten.
VERSIONS: Mapping[str, int] = {
    'two_sls': 1,
    'sieve': 1,
    'kiv': 1,
    'deepiv': 1,
    'deepgmm': 1,
    'dfiv': 1,
}
NAMES = tuple(VERSIONS)
# These are solved without TensorFlow.
CLOSED_FORMS = ('two_sls', 'sieve', 'kiv')


def load(name: str) -> types.ModuleType:
  """Returns the module of a method; a trained one imports TensorFlow."""
  if name not in NAMES:
    raise ValueError(
        f'There is no method {name!r}. Choose one of {", ".join(NAMES)}.')
  return importlib.import_module(f'dfiv_ope.iv.methods.{name}')
