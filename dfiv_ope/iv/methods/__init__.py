"""The methods, one module each; `entries` has what is known before that.

Each module has `Config`, `fit(config, stage1, stage2, *, seed, progress=None)`
and `build(config, sizes, *, seed=0)`; a `fit` whose model can predict while it
is trained may have `watch` (`descent.Watch`). `fit` takes standardised batches
whose instrument has the covariates among its columns, and returns a model with
`predict(treatment, covariate=None)`, its `config` and its `history`; `build`
makes one of the same shape, for a saved one to fill (`storage`): a
`closed_form.Model`, or a `tf.Module` where there is training. A method that is
trained has `TRAINED`: which losses of the history a longer training should
lower, and the hyper-parameter that makes it longer (`convergence`).
"""

from collections.abc import Mapping
import types

from dfiv_ope import registry
from dfiv_ope.iv.methods import entries

ENTRIES: Mapping[str, registry.Entry] = entries.ENTRIES
NAMES = tuple(ENTRIES)
# These are solved without TensorFlow.
CLOSED_FORMS = tuple(
  name for name, entry in ENTRIES.items() if not entry.trained
)
# The models of these can predict while they are trained.
WATCHABLE = ('dfiv', 'deepgmm')


def load(name: str) -> types.ModuleType:
  """Returns the module of a method; a trained one imports TensorFlow."""
  return registry.load(name, ENTRIES, __name__)


def require_watchable(name: str) -> None:
  """Refuses a method whose training cannot be watched.

  Raises:
    ValueError: it is one.
  """
  if name not in WATCHABLE:
    raise ValueError(
      f'{ENTRIES[name].style.label} cannot be watched: it can only predict '
      'once it is fitted. Leave --watch out, or name '
      f'{" or ".join(WATCHABLE)}.'
    )
